//===- ShardPositions.cpp - which rows and keys a device has --------------===//
//
// With r and c the device's first row and first key of the whole,
//
//   offset       that of the whole + r - c
//   q_lengths    min(max(n - r, 0), rows of the device), and so kv_lengths
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
    // Lengths and offsets count one a batch index, sinks one a head. Others are whole.
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

/// The position in the whole of the first of `size` rows or keys of this device.
static Value getStart(OpBuilder &b, Location loc, shard::GridOp grid, ArrayRef<GridAxis> axes, Value size) {
  Value start = arith::ConstantIndexOp::create(b, loc, 0);
  if (axes.empty())
    return start;
  // The first axis is the slowest.
  auto position = shard::ProcessMultiIndexOp::create(b, loc, grid.getSymName(), axes);
  for (auto [axis, index] : llvm::zip_equal(axes, position->getResults())) {
    Value devices = arith::ConstantIndexOp::create(b, loc, grid.getShape()[axis]);
    start = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, start, devices), index);
  }
  return arith::MulIOp::create(b, loc, start, size);
}

namespace {

/// Integers, one a batch index.
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

template <typename OpTy>
LogicalResult attn::placePositions(OpBuilder &b, OpTy whole, OpTy local, shard::GridOp grid, const SplitAxes &split) {
  auto causal = dyn_cast_or_null<CausalAlignmentAttr>(local.getCausalAttr());
  bool isPlaced = local.getCausal() || local.getWindow() || local.getChunk();
  Value qLengths = local.getQLengths(), kvLengths = local.getKvLengths();
  if (!isPlaced && !qLengths && !kvLengths)
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

  if (isPlaced) {
    Value given = local.getCausalOffset();
    std::optional<unsigned> batch = maps[0].getResultPosition(b.getAffineDimExpr(0));
    BatchIntegers integers = given ? BatchIntegers(b, loc, given)
                                   : BatchIntegers(b, loc, tensor::getMixedSize(b, loc, local.getQuery(), *batch));
    Value offset = integers.splat(arith::SubIOp::create(b, loc, row, key));
    if (given)
      offset = arith::AddIOp::create(b, loc, given, offset);
    CausalAlignmentAttr alignment = causal ? causal : local.getAlignAttr();
    if (alignment && alignment.getValue() == CausalAlignment::BottomRight) {
      SmallVector<int64_t> sizes = getStaticDomain(whole);
      if (ShapedType::isDynamic(sizes[rowDim]) || ShapedType::isDynamic(sizes[keyDim]))
        return whole.emitOpError("expected static numbers of rows and keys beside #attn.causal<bottom_right> and "
                                 "sharded rows or keys; write #attn.causal<offset>");
      // Of the whole, and of its lengths where it has them.
      Value zero = arith::ConstantIndexOp::create(b, loc, 0);
      auto count = [&](Value lengths, int64_t size) {
        Value all = arith::ConstantIndexOp::create(b, loc, size);
        return lengths ? integers.convert(clampLengths(b, loc, lengths, zero, all)) : integers.splat(all);
      };
      Value behind = arith::SubIOp::create(b, loc, count(kvLengths, sizes[keyDim]), count(qLengths, sizes[rowDim]));
      offset = arith::AddIOp::create(b, loc, offset, behind);
    }
    local.getCausalOffsetMutable().assign(offset);
    auto byOffset = CausalAlignmentAttr::get(b.getContext(), CausalAlignment::Offset);
    if (local.getCausal())
      local.setCausalAttr(byOffset);
    else
      local.setAlignAttr(byOffset);
  }
  if (qLengths && !split.getRows().empty())
    local.getQLengthsMutable().assign(clampLengths(b, loc, qLengths, row, rows));
  if (kvLengths && !split.getKeys().empty())
    local.getKvLengthsMutable().assign(clampLengths(b, loc, kvLengths, key, keys));
  return success();
}

template LogicalResult attn::placePositions(OpBuilder &, SdpaOp, SdpaOp, shard::GridOp, const SplitAxes &);
template LogicalResult attn::placePositions(OpBuilder &, SdpaBackwardOp, SdpaBackwardOp, shard::GridOp,
                                            const SplitAxes &);
