//===- StepTile.cpp - whether a step is one tile of its schedule ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Schedule/Schedule.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

/// True for a size that is at most `bound`, such as a minimum with it.
static bool isAtMost(OpFoldResult size, int64_t bound) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return *constant <= bound;
  auto value = dyn_cast<Value>(size);
  if (auto minimum = value.getDefiningOp<arith::MinSIOp>())
    return isAtMost(minimum.getLhs(), bound) || isAtMost(minimum.getRhs(), bound);
  auto minimum = value.getDefiningOp<affine::AffineMinOp>();
  return minimum && llvm::any_of(minimum.getMap().getResults(), [&](AffineExpr expr) {
           auto constant = dyn_cast<AffineConstantExpr>(expr);
           return constant && constant.getValue() <= bound;
         });
}

/// The size of a dimension of the domain, if an operand is a slice; null for other operands.
static OpFoldResult getSliceSize(OnlineStepOp step, unsigned operand, DimKind kind) {
  AffineExpr dim = getAffineDimExpr(getDomainPosition(step, kind), step.getContext());
  std::optional<unsigned> position = getMaps(step)[operand].getResultPosition(dim);
  Value source = getDestination(step->getOperand(operand));
  SmallVector<OpFoldResult> sizes;
  if (auto slice = source.getDefiningOp<tensor::ExtractSliceOp>())
    sizes = slice.getMixedSizes();
  else if (auto empty = source.getDefiningOp<tensor::EmptyOp>())
    sizes = empty.getMixedSizes();
  return position && !sizes.empty() ? sizes[*position] : OpFoldResult();
}

bool attn::hasTileRows(OnlineStepOp step) {
  if (!step.getSchedule())
    return false;
  int64_t queryTile = step.getSchedule()->getQueryTile(), queries = getStaticSize(step, DimKind::Query);
  if (!ShapedType::isDynamic(queries))
    return queries == queryTile;
  if (!isa<RankedTensorType>(step.getQuery().getType()))
    return true; // bufferised: it was a tile before
  OpFoldResult size = getSliceSize(step, 0, DimKind::Query);
  return size && isAtMost(size, queryTile);
}

bool attn::hasTileKeys(OnlineStepOp step) {
  if (!step.getSchedule())
    return false;
  int64_t keyTile = step.getSchedule()->getKeyTile(), keys = getStaticSize(step, DimKind::Key);
  if (!ShapedType::isDynamic(keys))
    return keys <= keyTile;
  if (!isa<RankedTensorType>(step.getKey().getType()))
    return true; // bufferised: it was a tile before
  OpFoldResult size = getSliceSize(step, 1, DimKind::Key);
  return size && isAtMost(size, keyTile);
}

int64_t attn::getMaxTileKeys(OnlineStepOp step) {
  int64_t keys = getStaticSize(step, DimKind::Key);
  return ShapedType::isDynamic(keys) ? step.getSchedule()->getKeyTile() : keys;
}

LogicalResult attn::verifyTileKeys(OnlineStepOp step) {
  int64_t keyTile = step.getSchedule()->getKeyTile(), keys = getStaticSize(step, DimKind::Key);
  if (ShapedType::isDynamic(keys) || keys <= keyTile)
    return success();
  return step.emitOpError("expected at most ") << keyTile << " keys, those of the schedule's tile, found " << keys;
}
