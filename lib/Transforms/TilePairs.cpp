//===- TilePairs.cpp - tiles of pairs, for product = dot and amx ------------===//
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

bool attn::hasScoreWeight(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op).Case<SdpaOp, OnlineStepOp>(
      [](auto attention) { return attention.getScoreWeight() != nullptr; });
}

bool attn::canUseDotProducts(Operation *op, KernelKind kernel) {
  auto isMultiplied = [&](Type type) { return type.isBF16() || (kernel == KernelKind::Prefill && isQuantised(type)); };
  for (auto [i, operand] : llvm::enumerate(op->getOperands().take_front(3)))
    if (Type type = getElementTypeOrSelf(operand.getType()); i == 0 ? !type.isBF16() : !isMultiplied(type))
      return false;
  int64_t headSize = getStaticSize(op, DimKind::HeadSize);
  if (hasScoreWeight(op) || ShapedType::isDynamic(headSize) || headSize % 2 != 0)
    return false;
  AffineExpr head = getAffineDimExpr(getDomainPosition(op, DimKind::HeadSize), op->getContext());
  return llvm::all_of(ArrayRef(getMaps(op)).take_front(2),
                      [&](AffineMap map) { return map.getResults().back() == head; });
}

bool attn::canUseTileProducts(Operation *op) {
  return canUseDotProducts(op, KernelKind::Prefill) &&
         getStaticSize(op, DimKind::HeadSize) % TargetInfo::kTileDepth == 0 &&
         getStaticSize(op, DimKind::ValueSize) % TargetInfo::kTileDepth == 0;
}

bool attn::canUseByteDotProducts(Operation *op) {
  auto getType = [&](unsigned operand) { return getElementTypeOrSelf(op->getOperand(operand).getType()); };
  if (!isa<FloatType>(getType(0)) || getType(0).getIntOrFloatBitWidth() != 16 || !getType(1).isInteger(8) ||
      !getType(2).isInteger(8))
    return false;
  SmallVector<AffineMap> maps = getMaps(op);
  auto liesTogether = [&](DimKind kind, unsigned operand) {
    int64_t size = getStaticSize(op, kind);
    return !ShapedType::isDynamic(size) && size % TargetInfo::kByteDotColumns == 0 &&
           size <= TargetInfo::kMaxByteDotSum &&
           maps[operand].getResults().back() == getAffineDimExpr(getDomainPosition(op, kind), op->getContext());
  };
  return !hasScoreWeight(op) && liesTogether(DimKind::HeadSize, 1) && liesTogether(DimKind::ValueSize, 2);
}

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
    return dim == queryPos ? schedule.getQueryTile() : dim == keyPos ? keyTile : *getConstantIntValue(domainSizes[dim]);
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

/// `count` rows of V as their products take them; updates `map`. Returns the schedule of those: AMX tiles are of whole
/// key tiles, others are pairs.
ScheduleAttr TileBuilder::packValue(Value &value, AffineMap &map, OpFoldResult count) {
  AffineMap rowMap = getRowMap(map, valuePos);
  if (schedule.getProduct() == ProductKind::AMX && isConstantIntValue(count, keyTile)) {
    value = packColumns(value, rowMap);
    map = getTileMap({valuePos, keyPos});
    return schedule;
  }
  value = packPairs(value, rowMap, keyPos, valuePos);
  map = getPairMap(domainSizes.size(), keyPos, valuePos);
  return schedule.withProduct(ProductKind::Dot);
}
