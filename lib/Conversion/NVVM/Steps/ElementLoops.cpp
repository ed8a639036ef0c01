//===- ElementLoops.cpp - what is beside attention, an element a thread ---===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "GridLoops.h"
#include "attn/Conversion/AppendRows.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attn;

/// An elementwise op, by loads, its body and stores. False where elements are summed or indices counted.
static bool lowerGeneric(OpBuilder &b, linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 0 || op.hasIndexSemantics() || !op.hasPureBufferSemantics())
    return false;
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> sizes =
      llvm::map_to_vector(cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(b, loc),
                          [](const Range &range) { return range.size; });
  auto loop = scf::ForallOp::create(b, loc, sizes, ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  auto getPosition = [&](OpOperand &operand) {
    SmallVector<Value> position;
    for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
      AffineMap map = AffineMap::get(sizes.size(), 0, expr);
      position.push_back(affine::makeComposedAffineApply(b, loc, map, getAsOpFoldResult(loop.getInductionVars())));
    }
    return position;
  };
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (!isa<MemRefType>(operand.get().getType()))
      mapping.map(argument, operand.get());
    else if (!argument.use_empty())
      mapping.map(argument, memref::LoadOp::create(b, loc, operand.get(), getPosition(operand)));
  }
  for (Operation &inner : op.getBody()->without_terminator())
    b.clone(inner, mapping);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Value value = op.getMatchingYieldValue(&init)->get();
    memref::StoreOp::create(b, loc, mapping.lookupOrDefault(value), init.get(), getPosition(init));
  }
  return true;
}

static bool lowerCopy(OpBuilder &b, memref::CopyOp op) {
  Location loc = op.getLoc();
  if (!isa<MemRefType>(op.getSource().getType()) || !isa<MemRefType>(op.getTarget().getType()))
    return false;
  auto loop = scf::ForallOp::create(b, loc, memref::getMixedSizes(b, loc, op.getTarget()), ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value element = memref::LoadOp::create(b, loc, op.getSource(), loop.getInductionVars());
  memref::StoreOp::create(b, loc, element, op.getTarget(), loop.getInductionVars());
  return true;
}

static bool lowerAppend(OpBuilder &b, KvAppendOp op) {
  Location loc = op.getLoc();
  auto loop = scf::ForallOp::create(b, loc, memref::getMixedSizes(b, loc, op.getInput()), ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  emitAppendedRows(b, op, [&](unsigned dim, function_ref<void(Value)> body) { body(loop.getInductionVar(dim)); });
  return true;
}

void attn::nvvm::makeElementLoops(func::FuncOp host) {
  OpBuilder b(host.getContext());
  for (Operation &op : llvm::make_early_inc_range(host.getBody().front())) {
    b.setInsertionPoint(&op);
    bool isLowered = false;
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      isLowered = lowerGeneric(b, generic);
    else if (auto copy = dyn_cast<memref::CopyOp>(op))
      isLowered = lowerCopy(b, copy);
    else if (auto append = dyn_cast<KvAppendOp>(op))
      isLowered = lowerAppend(b, append);
    if (isLowered)
      op.erase();
  }
}

bool attn::nvvm::isElementLoop(scf::ForallOp loop) {
  WalkResult others = loop.walk([](Operation *op) {
    bool isOther = isOfDialect<AttnDialect>(op) || isa<linalg::LinalgOp, memref::AllocOp, memref::AllocaOp>(op);
    return isOther ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !others.wasInterrupted();
}
