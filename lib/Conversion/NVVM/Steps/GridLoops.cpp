//===- GridLoops.cpp - one scf.forall for each kernel ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "GridLoops.h"
#include "attn/IR/Attn.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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
