//===- GridLoops.cpp - one scf.forall for each kernel ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "GridLoops.h"
#include "attn/IR/Attn.h"
#include "attn/Support/Dialects.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;

/// The host launches kernels one after the other, so its loops and branches must not contain whole tiles.
static LogicalResult verifyNoTilesInControlFlow(func::FuncOp host) {
  for (Operation &op : host.getBody().getOps()) {
    if (isa<scf::ForallOp>(op))
      continue;
    WalkResult found = op.walk([&](Operation *inner) {
      return inner != &op && isa<scf::ForallOp, FinalizeOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (found.wasInterrupted())
      return op.emitOpError("has attention in it, which a GPU has no kernel for: expected attention in the function "
                            "itself; write rounds as batch dimensions, or loop where the kernel is called");
  }
  return success();
}

/// Reads of the function, such as the end of the last packed sequence, are repeated in each op with a body that uses
/// them: the host cannot read device memory.
static void sinkReads(func::FuncOp host) {
  Block &block = host.getBody().front();
  OpBuilder b(host.getContext());
  // An argument that is read is not written; other loads are refused.
  auto isRead = [](Operation *op) {
    auto load = dyn_cast<memref::LoadOp>(op);
    return load && isa<BlockArgument>(load.getMemRef());
  };
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == &block && (isMemoryEffectFree(op) || isRead(op)); };
  for (Operation &op : block)
    for (Region &region : op.getRegions()) {
      SetVector<Value> used;
      getUsedValuesDefinedAbove(region, used);
      IRMapping mapping;
      b.setInsertionPointToStart(&region.front());
      for (Value value : used) {
        SetVector<Operation *> slice;
        if (failed(getBackwardSlice(value, &slice, options)) || llvm::none_of(slice, isRead))
          continue;
        for (Operation *computed : slice)
          if (!mapping.contains(computed))
            b.clone(*computed, mapping);
        replaceAllUsesInRegionWith(value, mapping.lookup(value), region);
      }
    }
  IRRewriter rewriter(b);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
}

/// Each op on a tile, and each read of memory, needs a kernel.
static LogicalResult verifyTilesInLoops(func::FuncOp host) {
  WalkResult found = host.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (isa<scf::ForallOp>(op))
      return WalkResult::skip();
    if (!isOfDialect<AttnDialect>(op) && !isa<memref::LoadOp>(op))
      return WalkResult::advance();
    return WalkResult(op->emitOpError("expected it in an scf.forall, whose rounds are thread blocks, found it in the "
                                      "function; run attn-tile with a schedule #attn.block<…>"));
  });
  return failure(found.wasInterrupted());
}

LogicalResult attn::nvvm::makeGridLoops(func::FuncOp host) {
  if (failed(verifyNoTilesInControlFlow(host)))
    return failure();
  sinkReads(host);
  makeElementLoops(host);
  return verifyTilesInLoops(host);
}

LogicalResult attn::nvvm::verifyHost(func::FuncOp host) {
  for (Operation &op : host.getBody().getOps())
    if (isa<memref::CopyOp, linalg::LinalgOp>(op))
      return op.emitOpError(
          "no GPU kernel for this op: only attention (attn.sdpa, or the chain that attn-fuse fuses), "
          "elementwise ops, sums, copies and attn.kv_append have one; out=weights, and scores or weights "
          "with another use, keep a chain from fusing (--remarks=missed): leave them out, or compile "
          "for the host");
  return success();
}
