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

static int64_t getParts(const TileShape &s) {
  auto prefill = dyn_cast<PrefillAttr>(s.schedule);
  return prefill ? prefill.getParts() : 1;
}

/// `map` of an operand with the parts of its elements after the batch dimensions.
static AffineMap addParts(const TileShape &s, AffineMap map) {
  return getParts(s) == 1 ? map : map.insertResult(getAffineConstantExpr(0, map.getContext()), s.numBatch);
}

/// An empty tile for a product operand: of one batch index and head, with its parts, (batch…, shape…).
static Value emptyParts(OpBuilder &b, const TileShape &s, ArrayRef<int64_t> tileShape) {
  SmallVector<int64_t> shape(s.numBatch, 1);
  if (getParts(s) > 1)
    shape.push_back(getParts(s));
  llvm::append_range(shape, tileShape);
  return tensor::EmptyOp::create(b, s.step.getLoc(), shape, getParts(s) > 1 ? b.getBF16Type() : s.rowType);
}

/// `rows`, with `map` over (batch…, row, column), as parts in whole tiles (…, row, column), and their map; unchanged if
/// there is one part. Parts of rows out of range are 0.
static Value splitRows(OpBuilder &b, const TileShape &s, Value rows, AffineMap &map, unsigned row, unsigned column) {
  if (getParts(s) == 1)
    return rows;
  Value target = emptyParts(b, s, {getTileSize(s, row), getTileSize(s, column)});
  AffineMap tileMap = addParts(s, b.getMultiDimIdentityMap(s.numBatch + 2));
  auto maps = b.getAffineMapArrayAttr({map, tileMap});
  map = tileMap;
  return PackOp::create(b, s.step.getLoc(), target.getType(), rows, target, maps)->getResult(0);
}

/// A map of `numDims` dimensions with `paired` in pairs around `other`.
AffineMap attn::getPairMap(const TileShape &s, unsigned numDims, unsigned paired, unsigned other) {
  Builder b(s.step.getContext());
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < s.numBatch; ++i)
    exprs.push_back(b.getAffineDimExpr(i));
  AffineExpr pair = b.getAffineDimExpr(paired);
  exprs.append({pair.floorDiv(2), b.getAffineDimExpr(other), pair % 2});
  return addParts(s, AffineMap::get(numDims, 0, exprs, b.getContext()));
}

/// `rows`, with `map` over (batch…, row, column), with the dimension `paired` in pairs: (pair, other, 2).
Value attn::packPairs(OpBuilder &b, const TileShape &s, const TilePosition &at, Value rows, AffineMap map,
                      unsigned paired, unsigned other) {
  Location loc = s.step.getLoc();
  bool pairsRows = paired == s.keyPos();
  rows = splitRows(b, s, rows, map, pairsRows ? paired : other, pairsRows ? other : paired);
  Value target = emptyParts(b, s, {int64_t(llvm::divideCeil(getTileSize(s, paired), 2)), getTileSize(s, other), 2});
  if (pairsRows)
    target = sliceKeys(b, s, at, target, s.numBatch, /*perIndex=*/2);
  AffineMap tileMap = getPairMap(s, s.numBatch + 2, s.numBatch + !pairsRows, s.numBatch + pairsRows);
  return PackOp::create(b, loc, target.getType(), rows, target, b.getAffineMapArrayAttr({map, tileMap}))->getResult(0);
}

/// True where a step has all keys of a tile.
static bool isWholeTile(const TileShape &s, const TilePosition &at) {
  return isConstantIntValue(at.sizes[s.keyPos()], getTileSize(s, s.keyPos()));
}

/// V's `rows`, with `rowMap` over (batch…, key, column), as (column, key): the keys that a tile instruction sums are
/// adjacent. The padding of a short tile is 0.
Value attn::packColumns(OpBuilder &b, const TileShape &s, Value rows, AffineMap rowMap, Value target) {
  SmallVector<unsigned> dims = getPositions(s, {s.numBatch + 1, s.numBatch});
  AffineMap tileMap = addParts(s, AffineMap::getMultiDimMapWithTargets(s.numBatch + 2, dims, b.getContext()));
  return PackOp::create(b, s.step.getLoc(), target.getType(), rows, target, b.getAffineMapArrayAttr({rowMap, tileMap}))
      ->getResult(0);
}

void attn::packKey(OpBuilder &b, const TileShape &s, const TilePosition &at, Value &key, AffineMap &map) {
  if (s.schedule.getInfo().keyMultiple == 1 || (isWholeTile(s, at) && getParts(s) == 1))
    return;
  Location loc = s.step.getLoc();
  if (getParts(s) > 1) {
    AffineMap rowMap = getRowMap(s, map, s.headPos());
    key = splitRows(b, s, key, rowMap, s.keyPos(), s.headPos());
    map = addParts(s, getTileMap(s, {s.keyPos(), s.headPos()}));
    if (!isWholeTile(s, at))
      key = sliceKeys(b, s, at, key, map.getNumResults() - 2);
    return;
  }
  Value target = emptyTile(b, s, {s.keyPos(), s.headPos()}, s.rowType);
  auto maps = b.getAffineMapArrayAttr({getRowMap(s, map, s.headPos()), b.getMultiDimIdentityMap(s.numBatch + 2)});
  Value tile = PackOp::create(b, loc, target.getType(), key, target, maps)->getResult(0);
  key = sliceKeys(b, s, at, tile, s.numBatch);
  map = getTileMap(s, {s.keyPos(), s.headPos()});
}

void attn::packValue(OpBuilder &b, const TileShape &s, const TilePosition &at, Value &value, AffineMap &map) {
  AffineMap rowMap = getRowMap(s, map, s.valuePos());
  if (s.schedule.getInfo().valueLayout == OperandLayout::Columns) {
    value = splitRows(b, s, value, rowMap, s.keyPos(), s.valuePos());
    value =
        packColumns(b, s, value, rowMap, emptyParts(b, s, {getTileSize(s, s.valuePos()), getTileSize(s, s.keyPos())}));
    map = addParts(s, getTileMap(s, {s.valuePos(), s.keyPos()}));
    if (!isWholeTile(s, at))
      value = sliceKeys(b, s, at, value, map.getNumResults() - 1);
    return;
  }
  value = packPairs(b, s, at, value, rowMap, s.keyPos(), s.valuePos());
  map = getPairMap(s, s.domainSizes.size(), s.keyPos(), s.valuePos());
}
