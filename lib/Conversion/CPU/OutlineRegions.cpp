//===- OutlineRegions.cpp - attn-outline-regions --------------------------===//
//
// Before: scf.execute_region with no_inline; with `repeats`, also parallel loops
// that a module contains several times. After: a call of a private function, which
// is not inlined. Equal ones are merged by attn-merge-functions.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace attn {
#define GEN_PASS_DEF_OUTLINEREGIONSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;

static void outline(IRRewriter &rewriter, scf::ExecuteRegionOp op) {
  Location loc = op.getLoc();
  Region &body = op.getRegion();
  auto parent = op->getParentOfType<func::FuncOp>();
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(body, used);
  SmallVector<Value> captures;
  rewriter.setInsertionPointToStart(&body.front());
  for (Value value : used) {
    Operation *constant = value.getDefiningOp();
    if (constant && constant->hasTrait<OpTrait::ConstantLike>()) {
      replaceAllUsesInRegionWith(value, rewriter.clone(*constant)->getResult(0), body);
      continue;
    }
    captures.push_back(value);
    replaceAllUsesInRegionWith(value, body.addArgument(value.getType(), loc), body);
  }
  auto type = rewriter.getFunctionType(ValueRange(captures).getTypes(), {});
  SymbolTable symbols(SymbolTable::getNearestSymbolTable(parent));
  func::FuncOp function;
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.clearInsertionPoint();
    function = func::FuncOp::create(rewriter, loc, (parent.getName() + "_part").str(), type);
    function.setPrivate();
    function->setAttr("passthrough", rewriter.getStrArrayAttr({"noinline"})); // what LLVM's dialect hands on
    symbols.insert(function);                                                 // makes the name unique
  }
  function.getBody().takeBody(body);
  Operation *yield = function.getBody().front().getTerminator();
  rewriter.setInsertionPoint(yield);
  rewriter.replaceOpWithNewOp<func::ReturnOp>(yield);
  rewriter.setInsertionPoint(op);
  rewriter.replaceOpWithNewOp<func::CallOp>(op, function, captures);
}

/// Equal for equal loops, whatever they capture.
static llvm::hash_code hashLoop(scf::ForallOp loop) {
  llvm::hash_code hash = llvm::hash_value(loop->getNumOperands());
  loop->walk([&](Operation *op) {
    hash = llvm::hash_combine(hash, op->getName(), op->getRawDictionaryAttrs(), op->hashProperties(),
                              llvm::hash_combine_range(op->getOperandTypes()),
                              llvm::hash_combine_range(op->getResultTypes()));
  });
  return hash;
}

/// Regions around the parallel loops that look like another one of the module.
static void wrapRepeats(IRRewriter &rewriter, ModuleOp module) {
  llvm::MapVector<size_t, SmallVector<scf::ForallOp, 1>> loops;
  module.walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
    loops[size_t(hashLoop(loop))].push_back(loop);
    return WalkResult::skip();
  });
  for (auto &[hash, equal] : loops)
    for (scf::ForallOp loop : equal) {
      if (equal.size() == 1 || loop->getNumResults() > 0)
        continue;
      rewriter.setInsertionPoint(loop);
      auto region = scf::ExecuteRegionOp::create(rewriter, loop.getLoc(), TypeRange(), /*no_inline=*/true);
      Block *block = rewriter.createBlock(&region.getRegion());
      rewriter.moveOpBefore(loop, block, block->end());
      rewriter.setInsertionPointToEnd(block);
      scf::YieldOp::create(rewriter, loop.getLoc());
    }
}

namespace {
struct OutlineRegionsPass : public attn::impl::OutlineRegionsPassBase<OutlineRegionsPass> {
  using Base::Base;
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    if (repeats)
      wrapRepeats(rewriter, getOperation());
    SmallVector<scf::ExecuteRegionOp> ops;
    getOperation().walk([&](scf::ExecuteRegionOp op) {
      if (op.getNoInline() && op.getNumResults() == 0 && op.getRegion().hasOneBlock() &&
          op->getParentOfType<func::FuncOp>())
        ops.push_back(op);
    });
    for (scf::ExecuteRegionOp op : ops) // inner ones first
      outline(rewriter, op);
  }
};
} // namespace
