//===- TileRowDelta.cpp - attn-tile of row_delta for a GPU ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

void attn::tileRowDelta(RewriterBase &b, RowDeltaOp row, BlockAttr schedule) {
  Location loc = row.getLoc();
  int64_t tileRows = schedule.getBlockRows();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(row);
  unsigned numBatch = getNumBatchDims(row);
  SmallVector<AffineMap> maps = getMaps(row);
  SmallVector<OpFoldResult> sizes = getDomainSizes(b, row), bounds(ArrayRef(sizes).take_front(numBatch));
  bounds.push_back(
      affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0).ceilDiv(tileRows), {sizes[numBatch]}));
  auto forall = createParallelTiles(b, loc, bounds, row.getDelta(), schedule);
  b.setInsertionPointToStart(forall.getBody());
  SmallVector<Value> ivs = forall.getInductionVars();
  DomainTile at(b, sizes, ArrayRef(ivs).drop_back());
  Value first = affine::makeComposedAffineApply(b, loc, b.getAffineDimExpr(0) * tileRows, {OpFoldResult(ivs.back())});
  at.offsets[numBatch] = first;
  at.sizes[numBatch] = getTileRows(b, loc, first, sizes[numBatch], tileRows);
  SmallVector<Value> parts;
  Slice output;
  for (auto [operand, map] : llvm::zip(SmallVector<Value>(row->getOperands()), maps)) {
    bool isOutput = operand == row.getDelta();
    output = getOperandSlice(b, loc, map, at.offsets, at.sizes);
    parts.push_back(createSlice(b, loc, isOutput ? Value(forall.getRegionIterArgs()[0]) : operand, output));
  }
  auto tiled = RowDeltaOp::create(b, loc, parts.back().getType(), parts[0], parts[1], parts[2],
                                  row.getDlse() ? parts[3] : Value(), parts.back(), b.getAffineMapArrayAttr(maps));
  insertInParallel(b, forall, tiled->getResult(0), forall.getRegionIterArgs()[0], output);
  b.replaceOp(row, forall.getResults());
}
