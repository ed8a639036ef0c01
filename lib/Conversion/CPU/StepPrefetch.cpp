//===- StepPrefetch.cpp - prefetch instructions beside products --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepPrefetch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

static int64_t getBits(const Operand &operand) {
  return getElementTypeOrSelf(operand.memref.getType()).getIntOrFloatBitWidth();
}

/// The tiles with contiguous columns, which can be prefetched by cache lines.
static SmallVector<PrefetchTile> getTiles(VectorBuilder &vb, PrefetchOp op) {
  SmallVector<PrefetchTile> tiles;
  for (Value memref : op.getTiles()) {
    Operand operand{viewAsBytes(vb.b, vb.loc, memref), op.getMap()};
    if (operand.isInnermost(1))
      tiles.push_back({operand, 0, 1, int64_t(op.getRows()), int64_t(op.getColumns()), op.getRow(), op.getColumn()});
  }
  return tiles;
}

StepPrefetches::StepPrefetches(VectorBuilder &vb, OnlineStepOp step) {
  SmallVector<PrefetchOp> ops;
  for (Operation *op = step->getPrevNode(); op && !isa<OnlineStepOp>(op); op = op->getPrevNode())
    if (auto prefetch = dyn_cast<PrefetchOp>(op); prefetch && prefetch.getBeside())
      ops.push_back(prefetch);
  for (PrefetchOp op : llvm::reverse(ops)) {
    llvm::append_range(tiles[unsigned(*op.getBeside())], getTiles(vb, op));
    op.erase();
  }
}

LogicalResult attn::cpu::lowerPrefetch(RewriterBase &rewriter, PrefetchOp op, const TargetInfo &target) {
  if (op.getBeside())
    return op.emitOpError("expected a step behind it in its block, beside whose products it is to stand");
  rewriter.setInsertionPoint(op);
  VectorBuilder vb(rewriter, op.getLoc(), target, rewriter.getF32Type());
  for (PrefetchTile tile : getTiles(vb, op)) {
    tile.locality = 3;
    emitPrefetchPart(vb, tile, vb.index(0), /*parts=*/1);
  }
  rewriter.eraseOp(op);
  return success();
}

void attn::cpu::emitPrefetchPart(VectorBuilder &vb, const PrefetchTile &tile, Value part, int64_t parts) {
  if (tile.rows == 0 || tile.columns == 0)
    return;
  OpBuilder &b = vb.b;
  int64_t perLine = kBufferAlignment * 8 / getBits(tile.operand), lines = llvm::divideCeil(tile.columns, perLine);
  // A part is some rows, or some lines of a row.
  int64_t rowsPerPart = llvm::divideCeil(tile.rows, parts);
  int64_t partsPerRow = std::clamp<int64_t>(parts / tile.rows, 1, lines);
  int64_t linesPerPart = llvm::divideCeil(lines, partsPerRow);
  if (tile.rows * partsPerRow < parts)
    part = vb.remainder(part, tile.rows * partsPerRow);
  Value row = vb.multiply(vb.divide(part, partsPerRow), rowsPerPart);
  row = vb.add(row, tile.firstRow);
  Value column = vb.multiply(vb.remainder(part, partsPerRow), linesPerPart * perLine);
  column = vb.add(column, tile.firstColumn);
  for (int64_t r = 0; r < rowsPerPart; ++r)
    for (int64_t line = 0; line < linesPerPart; ++line) {
      SmallVector<Value> domain(tile.operand.map.getNumDims());
      domain[tile.rowPosition] = vb.add(row, r);
      domain[tile.columnPosition] = vb.add(column, line * perLine);
      memref::PrefetchOp::create(b, vb.loc, tile.operand.memref, tile.operand.getIndices(vb, domain),
                                 /*isWrite=*/false, tile.locality, /*isDataCache=*/true);
    }
}
