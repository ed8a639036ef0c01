//===- Solve.cpp - the unit lower triangular solve of a tile --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LinearTile.h"
#include "Matmul.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Rows from `first` on of a panel of columns: what earlier rows add by a product, then the triangle of the block.
static void emitBlock(VectorBuilder &vb, SolveOp op, Value first, int64_t rows, int64_t column, int64_t vectors) {
  int64_t columns = cast<MemRefType>(op.getX().getType()).getDimSize(1);
  Values starts, masks, acc;
  for (int64_t v = 0; v < vectors; ++v) {
    starts.push_back(vb.index(column + v * vb.lanes));
    masks.push_back(vb.getMask(columns - column - v * vb.lanes));
  }
  auto lower = [&](int64_t row, Value at) -> Value {
    return memref::LoadOp::create(vb.b, vb.loc, op.getLower(), ValueRange{vb.add(first, row), at});
  };
  auto load = [&](Value row, int64_t v) { return vb.loadMasked(op.getX(), {row, starts[v]}, masks[v]); };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t v = 0; v < vectors; ++v)
      acc.push_back(load(vb.add(first, row), v));
  acc = emitRegisterKernel(vb, rows, vectors, /*depth=*/first, acc, lower, load);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t below = row + 1; below < rows; ++below) {
      Value factor = vb.broadcast(lower(below, vb.add(first, row)));
      for (int64_t v = 0; v < vectors; ++v)
        acc[below * vectors + v] = vb.multiplyAdd(factor, acc[row * vectors + v], acc[below * vectors + v]);
    }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t v = 0; v < vectors; ++v)
      vb.storeMasked(acc[row * vectors + v], op.getX(), {vb.add(first, row), starts[v]}, masks[v]);
}

LogicalResult attn::cpu::lowerSolve(RewriterBase &rewriter, SolveOp op, const TargetInfo &target) {
  rewriter.setInsertionPoint(op);
  auto type = cast<MemRefType>(op.getX().getType());
  VectorBuilder vb(rewriter, op.getLoc(), target, cast<FloatType>(type.getElementType()));
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  int64_t vectors = getPanelVectors(target, vb.elementType.getWidth(), columns);
  for (int64_t column = 0; column < columns; column += vectors * vb.lanes) {
    int64_t some = std::min(vectors, llvm::divideCeilSigned(columns - column, vb.lanes));
    forEachBlock(vb, rewriter.getIndexAttr(rows), getRegisterRows(target, vectors), {},
                 [&](Value first, int64_t block, ValueRange) {
                   emitBlock(vb, op, first, block, column, some);
                   return Values();
                 });
  }
  rewriter.eraseOp(op);
  return success();
}
