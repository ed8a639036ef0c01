//===- ShardPositions.cpp - the rows and keys of a device -----------------===//
//
// With r and c the device's first row and first key in the whole problem,
//
//   offset       that of the whole problem + r - c
//   origins      those of the whole problem + r and + c, where absolute key positions are used
//   q_lengths    min(max(n - r, 0), rows of the device), and likewise kv_lengths
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ShardPositions.h"
#include "attn/IR/Structure.h"
#include "attn/IR/Words.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;
using shard::GridAxis;

static AffineMap getShardMap(AffineMap map, ArrayRef<int64_t> shape) {
  unsigned whole = map.getNumDims();
  SmallVector<AffineExpr> results(map.getResults());
  for (auto [expr, size] : llvm::zip(results, shape)) {
    auto division = dyn_cast<AffineBinaryOpExpr>(expr);
    bool isGroup = division && division.getKind() == AffineExprKind::FloorDiv;
    if (isa<AffineConstantExpr>(expr) || (isGroup && size == 1))
      expr = getAffineDimExpr(whole, map.getContext());
    else if (isGroup)
      expr = division.getLHS();
  }
  return AffineMap::get(whole + 1, 0, results, map.getContext());
}

SmallVector<AffineMap> attn::getShardMaps(Operation *op) {
  MLIRContext *ctx = op->getContext();
  SmallVector<AffineMap> maps = getMaps(op);
  for (auto [map, operand] : llvm::zip(maps, op->getOperands()))
    map = getShardMap(map, cast<ShapedType>(operand.getType()).getShape());
  unsigned dims = maps[0].getNumDims();
  for (Value operand : op->getOperands().drop_front(maps.size())) {
    // Lengths and offsets have one element per batch index, sinks one per head. Others are whole.
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    SmallVector<AffineExpr> exprs(type ? type.getRank() : 0, getAffineDimExpr(dims - 1, ctx));
    for (auto [word, value] : getWordOperands(op)) {
      if (value != operand || exprs.size() != 1)
        continue;
      if (word->shape == WordShape::PerBatch && type.getDimSize(0) != 1)
        exprs[0] = getAffineDimExpr(0, ctx);
      if (word->shape == WordShape::PerHead)
        exprs[0] = getAffineDimExpr(getNumBatchDims(op) - 1, ctx);
    }
    maps.push_back(AffineMap::get(dims, 0, exprs, ctx));
  }
  // Results have the maps of their destinations.
  auto dps = cast<DestinationStyleOpInterface>(op);
  for (OpResult result : op->getResults())
    maps.push_back(maps[dps.getTiedOpOperand(result)->getOperandNumber()]);
  return maps;
}

SplitAxes::SplitAxes(Operation *op, ArrayRef<shard::Sharding> shardings)
    : maps(getShardMaps(op)), axes(getStaticDomain(op).size() + 1), numBatch(getNumBatchDims(op)) {
  for (auto [map, sharding] : llvm::zip_equal(maps, shardings))
    for (auto [expr, split] : llvm::zip(map.getResults(), sharding.getSplitAxes()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        axes[dim.getPosition()].assign(split.asArrayRef().begin(), split.asArrayRef().end());
}

/// The size of a tensor along a dimension of the domain.
static Value getSize(OpBuilder &b, Location loc, Value tensor, AffineMap map, unsigned dim) {
  std::optional<unsigned> position = map.getResultPosition(b.getAffineDimExpr(dim));
  return getValueOrCreateConstantIndexOp(b, loc, tensor::getMixedSize(b, loc, tensor, *position));
}

/// The position, in the whole problem, of the first of the device's `size` rows or keys.
static Value getStart(OpBuilder &b, Location loc, shard::GridOp grid, ArrayRef<GridAxis> axes, Value size) {
  Value start = arith::ConstantIndexOp::create(b, loc, 0);
  if (axes.empty())
    return start;
  // The first axis varies slowest.
  auto position = shard::ProcessMultiIndexOp::create(b, loc, grid.getSymName(), axes);
  for (auto [axis, index] : llvm::zip_equal(axes, position->getResults())) {
    Value devices = arith::ConstantIndexOp::create(b, loc, grid.getShape()[axis]);
    start = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, start, devices), index);
  }
  return arith::MulIOp::create(b, loc, start, size);
}

namespace {

/// Integers, one per batch index.
struct BatchIntegers {
  OpBuilder &b;
  Location loc;
  RankedTensorType type;
  SmallVector<Value> dynamic;

  BatchIntegers(OpBuilder &b, Location loc, Value like) : b(b), loc(loc), type(cast<RankedTensorType>(like.getType())) {
    if (type.isDynamicDim(0))
      dynamic.push_back(tensor::DimOp::create(b, loc, like, 0));
  }
  /// i32, of a size
  BatchIntegers(OpBuilder &b, Location loc, OpFoldResult size) : b(b), loc(loc) {
    SmallVector<int64_t> shape;
    dispatchIndexOpFoldResult(size, dynamic, shape);
    type = RankedTensorType::get(shape, b.getI32Type());
  }
  Value splat(Value index) const {
    return tensor::SplatOp::create(b, loc, type, arith::IndexCastOp::create(b, loc, type.getElementType(), index),
                                   dynamic);
  }
  Value convert(Value numbers) const {
    unsigned from = getElementTypeOrSelf(numbers).getIntOrFloatBitWidth(), to = type.getElementTypeBitWidth();
    if (from == to)
      return numbers;
    return from < to ? arith::ExtSIOp::create(b, loc, type, numbers).getResult()
                     : arith::TruncIOp::create(b, loc, type, numbers).getResult();
  }
};

} // namespace

/// min(max(n - start, 0), size)
static Value clampLengths(OpBuilder &b, Location loc, Value lengths, Value start, Value size) {
  BatchIntegers integers(b, loc, lengths);
  Value zero = integers.splat(arith::ConstantIndexOp::create(b, loc, 0));
  Value behind = arith::SubIOp::create(b, loc, lengths, integers.splat(start));
  return arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, behind, zero), integers.splat(size));
}

/// Adds `number` to each element of `given`, one per batch index; a vector of `number` where `given` is null.
static Value addToEach(OpBuilder &b, Operation *local, Value given, Value number) {
  Location loc = local->getLoc();
  Value query = local->getOperand(0);
  std::optional<unsigned> batch = getMaps(local)[0].getResultPosition(b.getAffineDimExpr(0));
  if (!given)
    return BatchIntegers(b, loc, tensor::getMixedSize(b, loc, query, *batch)).splat(number);
  return arith::AddIOp::create(b, loc, given, BatchIntegers(b, loc, given).splat(number));
}

/// The distance of the last row of the whole problem from its last key, one per batch index, by the lengths if there
/// are any.
template <typename OpTy>
static Value getDistanceOfEnds(OpBuilder &b, OpTy local, int64_t rows, int64_t keys, Value like) {
  Location loc = local.getLoc();
  BatchIntegers integers(b, loc, like);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  auto count = [&](Value lengths, int64_t size) {
    Value all = arith::ConstantIndexOp::create(b, loc, size);
    return lengths ? integers.convert(clampLengths(b, loc, lengths, zero, all)) : integers.splat(all);
  };
  return arith::SubIOp::create(b, loc, count(local.getKvLengths(), keys), count(local.getQLengths(), rows));
}

/// True for lengths: integers that count rows or keys from the start of a batch index.
static bool isLengths(OpOperand &operand) {
  const WordInfo *word = findWord(operand);
  return word && word->shape == WordShape::PerBatch && word->counts != WordCounts::Nothing;
}

template <typename OpTy>
LogicalResult attn::placePositions(OpBuilder &b, OpTy whole, OpTy local, shard::GridOp grid, const SplitAxes &split) {
  bool isPlaced = local.getCausal() || hasPlacedWord(local);
  // An offset is the distance of rows from keys. Where positions themselves are used, the origins of both are needed.
  bool needsOrigins = countsPositions(local, !split.getRows().empty(), !split.getKeys().empty()) ||
                      local.getDropoutP() || local.getQOrigin() || local.getKOrigin();
  if (!isPlaced && !needsOrigins && llvm::none_of(local->getOpOperands(), isLengths))
    return success();
  if (split.numBatch == 0)
    return whole.emitOpError("expected a batch dimension beside sharded rows or keys and a mask of positions, found "
                             "none: offsets are one a batch index");
  if (ShapedType::isDynamicShape(grid.getShape()))
    return whole.emitOpError("expected a grid of static shape beside sharded rows or keys");
  Location loc = local.getLoc();
  SmallVector<AffineMap> maps = getMaps(local);
  unsigned rowDim = split.numBatch, keyDim = split.numBatch + 1;
  Value rows = getSize(b, loc, local.getQuery(), maps[0], rowDim);
  Value keys = getSize(b, loc, local.getKey(), maps[1], keyDim);
  Value row = getStart(b, loc, grid, split.getRows(), rows), key = getStart(b, loc, grid, split.getKeys(), keys);

  auto causal = dyn_cast_or_null<CausalAlignmentAttr>(local.getCausalAttr());
  CausalAlignmentAttr alignment = causal ? causal : local.getAlignAttr();
  Value offset;
  if (needsOrigins) {
    local.getQOriginMutable().assign(addToEach(b, local, local.getQOrigin(), row));
    local.getKOriginMutable().assign(addToEach(b, local, local.getKOrigin(), key));
  } else if (isPlaced) {
    offset = addToEach(b, local, local.getCausalOffset(), arith::SubIOp::create(b, loc, row, key));
  }
  if (isPlaced && alignment && alignment.getValue() == CausalAlignment::BottomRight) {
    SmallVector<int64_t> sizes = getStaticDomain(whole);
    if (ShapedType::isDynamic(sizes[rowDim]) || ShapedType::isDynamic(sizes[keyDim]))
      return whole.emitOpError("expected static numbers of rows and keys beside #attn.causal<bottom_right> and "
                               "sharded rows or keys; write #attn.causal<offset>");
    Value before = offset ? offset : addToEach(b, local, {}, arith::ConstantIndexOp::create(b, loc, 0));
    Value behind = getDistanceOfEnds(b, local, sizes[rowDim], sizes[keyDim], before);
    offset = arith::AddIOp::create(b, loc, before, behind);
  }
  if (offset)
    local.getCausalOffsetMutable().assign(offset);
  if (isPlaced && (offset || !alignment)) {
    auto placed = CausalAlignmentAttr::get(b.getContext(), offset ? CausalAlignment::Offset : CausalAlignment::TopLeft);
    if (local.getCausal())
      local.setCausalAttr(placed);
    else
      local.setAlignAttr(placed);
  }
  for (OpOperand &lengths : llvm::make_filter_range(local->getOpOperands(), isLengths)) {
    bool areOfRows = findWord(lengths)->counts == WordCounts::Queries;
    if (!(areOfRows ? split.getRows() : split.getKeys()).empty())
      lengths.set(clampLengths(b, loc, lengths.get(), areOfRows ? row : key, areOfRows ? rows : keys));
  }
  return success();
}

template <typename OpTy>
void attn::placeDropout(OpBuilder &b, OpTy whole, OpTy local, shard::GridOp grid, const SplitAxes &split) {
  Location loc = local.getLoc();
  AffineMap map = getMaps(local)[0];
  auto place = [&](unsigned dim, MutableOperandRange operand) {
    if (split.axes[dim].empty())
      return;
    Value first = getStart(b, loc, grid, split.axes[dim], getSize(b, loc, local.getQuery(), map, dim));
    Value start = arith::IndexCastOp::create(b, loc, b.getI64Type(), first);
    if (!operand.empty())
      start = arith::AddIOp::create(b, loc, operand.begin()->get(), start);
    operand.assign(start);
  };
  if (split.numBatch > 1)
    place(0, local.getBOriginMutable());
  if (split.numBatch > 0)
    place(split.numBatch - 1, local.getHOriginMutable());
  if (local.getWholeHq())
    return;
  SmallVector<int64_t> sizes = getStaticDomain(whole);
  auto getConstant = [&](int64_t size) -> Value { return arith::ConstantIntOp::create(b, loc, b.getI64Type(), size); };
  local.getWholeHqMutable().assign(getConstant(split.numBatch > 0 ? sizes[split.numBatch - 1] : 1));
  local.getWholeSqMutable().assign(getConstant(sizes[split.numBatch]));
  local.getWholeSkMutable().assign(getConstant(sizes[split.numBatch + 1]));
}

#define ATTN_PLACE(OpTy)                                                                                               \
  template LogicalResult attn::placePositions(OpBuilder &, OpTy, OpTy, shard::GridOp, const SplitAxes &);              \
  template void attn::placeDropout(OpBuilder &, OpTy, OpTy, shard::GridOp, const SplitAxes &);
ATTN_PLACE(SdpaOp)
ATTN_PLACE(SdpaBackwardOp)
#undef ATTN_PLACE
