//===- KvAppend.cpp - new rows of K or V into a cache, by loops -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"
#include "attn/Conversion/AppendRows.h"

using namespace mlir;
using namespace attn;

LogicalResult attn::cpu::lowerKvAppend(RewriterBase &rewriter, KvAppendOp op) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  emitAppendedRows(rewriter, op, [&](unsigned dim, function_ref<void(Value)> body) {
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0),
          one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    Value count = rewriter.createOrFold<memref::DimOp>(loc, op.getInput(), dim);
    auto loop = scf::ForOp::create(rewriter, loc, zero, count, one);
    rewriter.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  });
  rewriter.eraseOp(op);
  return success();
}
