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
AffineMap TileBuilder::getPairMap(unsigned numDims, unsigned paired, unsigned other) {
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < numBatch; ++i)
    exprs.push_back(b.getAffineDimExpr(i));
  AffineExpr pair = b.getAffineDimExpr(paired);
  exprs.append({pair.floorDiv(2), b.getAffineDimExpr(other), pair % 2});
  return AffineMap::get(numDims, 0, exprs, b.getContext());
}

/// `rows`, which `map` finds under (batch…, row, column), with the dimension `paired` in pairs: (pair, other, 2).
Value TileBuilder::packPairs(Value rows, AffineMap map, unsigned paired, unsigned other) {
  auto getTileSize = [&](unsigned dim) {
    return dim == queryPos ? queryTile : dim == keyPos ? keyTile : *getConstantIntValue(domainSizes[dim]);
  };
  SmallVector<int64_t> shape(numBatch, 1);
  shape.append({int64_t(llvm::divideCeil(getTileSize(paired), 2)), getTileSize(other), 2});
  Value target = tensor::EmptyOp::create(b, loc, shape, rowType);
  bool pairsRows = paired == keyPos;
  if (pairsRows)
    target = sliceKeys(target, numBatch, /*perIndex=*/2);
  AffineMap tileMap = getPairMap(numBatch + 2, numBatch + !pairsRows, numBatch + pairsRows);
  return PackOp::create(b, loc, target.getType(), rows, target, b.getAffineMapArrayAttr({map, tileMap}))->getResult(0);
}

/// A whole key tile of V's `rows`, which `map` finds under (batch…, key, column), as (column, key): the keys that a
/// tile instruction adds up lie together.
Value TileBuilder::packColumns(Value rows, AffineMap map) {
  Value target = emptyTile({valuePos, keyPos}, rowType);
  SmallVector<unsigned> dims = getPositions({numBatch + 1, numBatch});
  AffineMap tileMap = AffineMap::getMultiDimMapWithTargets(numBatch + 2, dims, b.getContext());
  return PackOp::create(b, loc, target.getType(), rows, target, b.getAffineMapArrayAttr({map, tileMap}))->getResult(0);
}

/// `count` rows of V as their products take them; updates `map`. Returns the schedule of those: some instructions
/// multiply whole key tiles only.
ScheduleAttr TileBuilder::packValue(Value &value, AffineMap &map, OpFoldResult count) {
  AffineMap rowMap = getRowMap(map, valuePos);
  const InstructionInfo &info = schedule.getInfo();
  if (info.valueLayout == OperandLayout::Columns && isConstantIntValue(count, keyTile)) {
    value = packColumns(value, rowMap);
    map = getTileMap({valuePos, keyPos});
    return schedule;
  }
  value = packPairs(value, rowMap, keyPos, valuePos);
  map = getPairMap(domainSizes.size(), keyPos, valuePos);
  return cast<PrefillAttr>(schedule).withInstruction(info.forPartialTiles);
}
