//===- TilePairs.cpp - tiles of pairs of elements ------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// A map of `numDims` dimensions that holds `paired` in pairs around `other`.
AffineMap attn::getPairMap(const TileShape &s, unsigned numDims, unsigned paired, unsigned other) {
  Builder b(s.step.getContext());
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < s.numBatch; ++i)
    exprs.push_back(b.getAffineDimExpr(i));
  AffineExpr pair = b.getAffineDimExpr(paired);
  exprs.append({pair.floorDiv(2), b.getAffineDimExpr(other), pair % 2});
  return AffineMap::get(numDims, 0, exprs, b.getContext());
}

/// `rows`, which `map` finds under (batch…, row, column), with the dimension `paired` in pairs: (pair, other, 2).
Value attn::packPairs(OpBuilder &b, const TileShape &s, const TilePosition &at, Value rows, AffineMap map,
                      unsigned paired, unsigned other) {
  Location loc = s.step.getLoc();
  SmallVector<int64_t> shape(s.numBatch, 1);
  shape.append({int64_t(llvm::divideCeil(getTileSize(s, paired), 2)), getTileSize(s, other), 2});
  Value target = tensor::EmptyOp::create(b, loc, shape, s.rowType);
  bool pairsRows = paired == s.keyPos();
  if (pairsRows)
    target = sliceKeys(b, s, at, target, s.numBatch, /*perIndex=*/2);
  AffineMap tileMap = getPairMap(s, s.numBatch + 2, s.numBatch + !pairsRows, s.numBatch + pairsRows);
  return PackOp::create(b, loc, target.getType(), rows, target, b.getAffineMapArrayAttr({map, tileMap}))->getResult(0);
}

/// A whole key tile of V's `rows`, which `map` finds under (batch…, key, column), as (column, key): the keys that a
/// tile instruction adds up lie together.
static Value packColumns(OpBuilder &b, const TileShape &s, const TilePosition &at, Value rows, AffineMap map) {
  Location loc = s.step.getLoc();
  Value target = emptyTile(b, s, {s.valuePos(), s.keyPos()}, s.rowType);
  SmallVector<unsigned> dims = getPositions(s, {s.numBatch + 1, s.numBatch});
  AffineMap tileMap = AffineMap::getMultiDimMapWithTargets(s.numBatch + 2, dims, b.getContext());
  return PackOp::create(b, loc, target.getType(), rows, target, b.getAffineMapArrayAttr({map, tileMap}))->getResult(0);
}

/// `count` rows of V as their products take them; updates `map`. Returns the schedule of those: some instructions
/// multiply whole key tiles only.
ScheduleAttr attn::packValue(OpBuilder &b, const TileShape &s, const TilePosition &at, Value &value, AffineMap &map,
                             OpFoldResult count) {
  AffineMap rowMap = getRowMap(s, map, s.valuePos());
  const InstructionInfo &info = s.schedule.getInfo();
  if (info.valueLayout == OperandLayout::Columns && isConstantIntValue(count, getTileSize(s, s.keyPos()))) {
    value = packColumns(b, s, at, value, rowMap);
    map = getTileMap(s, {s.valuePos(), s.keyPos()});
    return s.schedule;
  }
  value = packPairs(b, s, at, value, rowMap, s.keyPos(), s.valuePos());
  map = getPairMap(s, s.domainSizes.size(), s.keyPos(), s.valuePos());
  return cast<PrefillAttr>(s.schedule).withInstruction(info.forPartialTiles);
}
