//===- ShardingModels.cpp - ShardingInterface of the attention ops --------===//
//
// What upstream's sharding-propagation and shard-partition ask of attn.sdpa and
// attn.sdpa_backward. A device then has
//
//   batch, heads   the op on its part
//   rows of Q      the op with a causal offset; terms of dkey and dvalue, summed
//   keys           results that mergeShards joins; terms of dquery, summed
//
// What counts positions, and has no offset, is refused.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MergeShards.h"
#include "attn/IR/Structure.h"
#include "attn/IR/Words.h"
#include "attn/Sharding/Sharding.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterface.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace attn;
using shard::Sharding;

namespace {

/// The map of a tensor over the domain and one dimension more, which is on no device alone: upstream wants a dimension
/// for each dimension of a tensor, and no other expression. `h floordiv G` becomes h, which is right where the number
/// of devices divides the heads of K.
AffineMap getShardMap(AffineMap map, ArrayRef<int64_t> shape) {
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

/// Operands first, then results, which have the maps of their destinations.
SmallVector<AffineMap> getShardMaps(Operation *op) {
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
  auto dps = cast<DestinationStyleOpInterface>(op);
  for (OpResult result : op->getResults())
    maps.push_back(maps[dps.getTiedOpOperand(result)->getOperandNumber()]);
  return maps;
}

/// Which axes of the grid each dimension of the domain is split by.
struct SplitAxes {
  SmallVector<AffineMap> maps;
  SmallVector<SmallVector<shard::GridAxis>> axes;
  unsigned numBatch;

  SplitAxes(Operation *op, ArrayRef<Sharding> shardings)
      : maps(getShardMaps(op)), axes(getStaticDomain(op).size() + 1), numBatch(getNumBatchDims(op)) {
    for (auto [map, sharding] : llvm::zip_equal(maps, shardings))
      for (auto [expr, split] : llvm::zip(map.getResults(), sharding.getSplitAxes()))
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          axes[dim.getPosition()].assign(split.asArrayRef().begin(), split.asArrayRef().end());
  }
  ArrayRef<shard::GridAxis> getRows() const { return axes[numBatch]; }
  ArrayRef<shard::GridAxis> getKeys() const { return axes[numBatch + 1]; }
  ArrayRef<shard::GridAxis> getHeadSize() const { return axes[numBatch + 2]; }
  ArrayRef<shard::GridAxis> getValueSize() const { return axes[numBatch + 3]; }
  bool isWhole() const {
    return llvm::all_of(axes, [](const auto &split) { return split.empty(); });
  }
  bool hasPositions() const { return !getRows().empty() || !getKeys().empty(); }
};

/// The size of a tensor along a dimension of the domain; null where it has none.
OpFoldResult getSize(OpBuilder &b, Location loc, Value tensor, AffineMap map, unsigned dim) {
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    if (expr == b.getAffineDimExpr(dim))
      return tensor::getMixedSize(b, loc, tensor, i);
  return {};
}

/// Upstream leaves it to assertions that shards are of one size.
LogicalResult checkSizes(Operation *op, ArrayRef<Sharding> shardings, shard::GridOp grid) {
  SmallVector<OperandSpec> specs = getOperandSpecs(op);
  for (auto [i, spec] : llvm::enumerate(specs))
    for (auto [dim, axes] : llvm::enumerate(shardings[i].getSplitAxes())) {
      int64_t size = cast<ShapedType>(op->getOperand(i).getType()).getDimSize(dim);
      int64_t devices = shard::collectiveProcessGroupSize(axes.asArrayRef(), grid);
      if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(devices) && size % devices != 0)
        return op->emitOpError("expected a size that ")
               << devices << " devices divide in dimension " << dim << " of " << spec.name << ", found " << size;
    }
  return success();
}

/// Sugar on positions follows an offset; regions and lengths do not, nor what stands for the whole of a tensor.
template <typename OpTy> LogicalResult checkWords(OpTy op, const SplitAxes &split) {
  if (!split.getHeadSize().empty())
    return op.emitOpError("expected the head size whole on each device, found it sharded; shard batch, heads, rows of "
                          "query or keys");
  for (Region &region : op->getRegions())
    if (!region.empty())
      return op.emitOpError("expected no region beside a sharding, found one: its positions count from the shard");
  if (split.isWhole())
    return success();
  if (op.getCuSeqlensQ() || op.getKeyScale())
    return op.emitOpError("expected neither cu_seqlens nor kv_scale beside a sharding: they are of the whole");
  bool isStatic = llvm::none_of(ArrayRef(getStaticDomain(op)).take_front(split.numBatch + 2), ShapedType::isDynamic);
  if (op.getDropoutP() && !isStatic && !op.getWholeHq())
    return op.emitOpError("expected static sizes beside dropout and a sharding, found dynamic ones; write "
                          "whole(%hq, %sq, %sk : i64, i64, i64), by which dropout counts");
  if (!split.hasPositions())
    return success();
  if (op.getQLengths() || op.getKvLengths())
    return op.emitOpError("expected no lengths beside sharded rows or keys, found them: they count from the start of "
                          "the whole; write a causal offset, or shard batch or heads");
  if (split.getKeys().empty())
    return success();
  if (op.getSink())
    return op.emitOpError("expected no sink beside sharded keys: it would count once a shard");
  if (op.getMaps())
    return op.emitOpError("expected the default layout beside sharded keys, found maps");
  return success();
}

LogicalResult checkOperands(SdpaOp op, const SplitAxes &split) {
  if (op.getScoreWeight() && !split.isWhole())
    return op.emitOpError("expected no score_weight beside a sharding");
  return checkWords(op, split);
}

LogicalResult checkOperands(SdpaBackwardOp op, const SplitAxes &split) {
  if (!split.isWhole() && (op.getDbias() || op.getSink() || !op.getDcaptures().empty()))
    return op.emitOpError("expected dquery, dkey and dvalue alone beside a sharding, found another gradient or a sink");
  if (!split.getValueSize().empty())
    return op.emitOpError("expected the value size whole on each device, found it sharded; shard batch, heads, rows of "
                          "query or keys");
  return checkWords(op, split);
}

/// Joins what the devices have computed. One value a result.
SmallVector<Value> joinResults(OpBuilder &b, SdpaOp local, StringRef grid, const SplitAxes &split) {
  if (split.getKeys().empty())
    return SmallVector<Value>(local->getResults());
  return mergeShards(b, local, {grid, split.getKeys()});
}

/// A gradient is a sum over what its tensor does not have: dquery over keys, dkey and dvalue over rows, and over heads
/// that share one of K. Of lse of whole rows, each device has terms of these sums.
SmallVector<Value> joinResults(OpBuilder &b, SdpaBackwardOp local, StringRef grid, const SplitAxes &split) {
  SmallVector<Value> results(local->getResults());
  ArrayRef<AffineMap> maps = split.maps;
  for (auto [result, map] : llvm::zip_equal(results, maps.take_back(results.size()))) {
    SmallVector<shard::GridAxis> summed;
    for (auto [dim, axes] : llvm::enumerate(split.axes))
      if (!map.isFunctionOfDim(dim))
        llvm::append_range(summed, axes);
    if (!summed.empty())
      result = DeviceGroup{grid, summed}.reduce(b, local.getLoc(), result, shard::ReductionKind::Sum);
  }
  return results;
}

template <typename OpTy>
struct AttentionSharding : shard::ShardingInterface::ExternalModel<AttentionSharding<OpTy>, OpTy> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    SmallVector<utils::IteratorType> types = getIteratorTypes(op);
    types.push_back(utils::IteratorType::parallel); // of getShardMap
    return types;
  }

  /// Upstream has no name for the softmax; what is a sum here is made one by partition.
  SmallVector<shard::ReductionKind> getReductionLoopIteratorKinds(Operation *op) const {
    return SmallVector<shard::ReductionKind>(llvm::count(getIteratorTypes(op), utils::IteratorType::reduction),
                                             shard::ReductionKind::Generic);
  }

  SmallVector<AffineMap> getIndexingMaps(Operation *op) const { return getShardMaps(op); }

  LogicalResult partition(Operation *op, ArrayRef<Value> operands, ArrayRef<Sharding> operandShardings,
                          ArrayRef<Sharding> resultShardings, IRMapping &partitionMap, SymbolTableCollection &symbols,
                          OpBuilder &b) const {
    std::vector<Sharding> shardings(operandShardings.begin(), operandShardings.end());
    llvm::append_range(shardings, resultShardings);
    for (const Sharding &sharding : shardings)
      if (!sharding.getStaticHaloSizes().empty() || !sharding.getStaticShardedDimsOffsets().empty())
        return op->emitOpError("expected shards of one size without halos");
    FlatSymbolRefAttr grid = operandShardings[0].getGridAttr();
    shard::GridOp gridOp = shard::getGrid(op, grid, symbols);
    SplitAxes split(op, shardings);
    if (failed(checkSizes(op, shardings, gridOp)) || failed(checkOperands(cast<OpTy>(op), split)))
      return failure();
    shard::partitionTriviallyShardableOperation(*op, operands, operandShardings, resultShardings, partitionMap, symbols,
                                                b);
    auto local = partitionMap.lookup(op->getResult(0)).template getDefiningOp<OpTy>();
    if (!split.isWhole()) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(local);
      if (split.hasPositions() && failed(placePositions(b, cast<OpTy>(op), local, gridOp, split)))
        return failure();
      if (local.getDropoutP())
        placeDropout(b, cast<OpTy>(op), local, gridOp, split);
    }
    b.setInsertionPointAfter(local);
    partitionMap.map(op->getResults(), joinResults(b, local, grid.getValue(), split));
    return success();
  }

private:
  /// The position in the whole of the first row or key of this device.
  static Value getStart(OpBuilder &b, Location loc, shard::GridOp grid, ArrayRef<shard::GridAxis> axes,
                        OpFoldResult size) {
    Value start = arith::ConstantIndexOp::create(b, loc, 0);
    if (axes.empty())
      return start;
    // The first axis is the slowest.
    auto position = shard::ProcessMultiIndexOp::create(b, loc, grid.getSymName(), axes);
    for (auto [axis, index] : llvm::zip_equal(axes, position->getResults())) {
      Value devices = arith::ConstantIndexOp::create(b, loc, grid.getShape()[axis]);
      start = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, start, devices), index);
    }
    return arith::MulIOp::create(b, loc, start, getValueOrCreateConstantIndexOp(b, loc, size));
  }

  /// Causal alignment and what it places become offsets: that of the whole and first row - first key of this device.
  static LogicalResult placePositions(OpBuilder &b, OpTy whole, OpTy local, shard::GridOp grid,
                                      const SplitAxes &split) {
    bool hasWindow = local.getWindow() || local.getChunk();
    // An offset says how far rows are from keys; what counts keys themselves needs to know where both are.
    bool countsKeys = (!split.getKeys().empty() && (local.getChunk() || local.getPrefix())) || local.getDropoutP() ||
                      local.getQOrigin() || local.getKOrigin();
    if (!local.getCausal() && !hasWindow && !countsKeys)
      return success();
    if (split.numBatch == 0)
      return whole.emitOpError("expected a batch dimension beside sharded rows or keys and a mask of positions, found "
                               "none: offsets are one a batch index");
    if (ShapedType::isDynamicShape(grid.getShape()))
      return whole.emitOpError("expected a grid of static shape beside sharded rows or keys");
    Location loc = local.getLoc();
    SmallVector<AffineMap> maps = getMaps(local);
    unsigned rowDim = split.numBatch, keyDim = split.numBatch + 1;
    Value row = getStart(b, loc, grid, split.getRows(), getSize(b, loc, local.getQuery(), maps[0], rowDim));
    Value key = getStart(b, loc, grid, split.getKeys(), getSize(b, loc, local.getKey(), maps[1], keyDim));
    Value offset;
    if (countsKeys) {
      local.getQOriginMutable().assign(addToEach(b, local, local.getQOrigin(), row));
      local.getKOriginMutable().assign(addToEach(b, local, local.getKOrigin(), key));
    } else {
      offset = arith::SubIOp::create(b, loc, row, key);
    }

    auto causal = dyn_cast_or_null<CausalAlignmentAttr>(local.getCausalAttr());
    CausalAlignmentAttr alignment = causal ? causal : local.getAlignAttr();
    if (alignment && alignment.getValue() == CausalAlignment::BottomRight) {
      SmallVector<int64_t> sizes = getStaticDomain(whole);
      if (ShapedType::isDynamic(sizes[rowDim]) || ShapedType::isDynamic(sizes[keyDim]))
        return whole.emitOpError("expected static numbers of rows and keys beside #attn.causal<bottom_right> and "
                                 "sharded rows or keys; write #attn.causal<offset>");
      Value behind = arith::ConstantIndexOp::create(b, loc, sizes[keyDim] - sizes[rowDim]);
      offset = offset ? arith::AddIOp::create(b, loc, offset, behind).getResult() : behind;
    }
    if (!offset && (alignment || (!local.getCausal() && !hasWindow)))
      return success();
    if (offset)
      local.getCausalOffsetMutable().assign(addToEach(b, local, local.getCausalOffset(), offset));
    auto placed = CausalAlignmentAttr::get(b.getContext(), offset ? CausalAlignment::Offset : CausalAlignment::TopLeft);
    if (local.getCausal())
      local.setCausalAttr(placed);
    else
      local.setAlignAttr(placed);
    return success();
  }

  /// Dropout counts weights by batch indices, heads and sizes of the whole.
  static void placeDropout(OpBuilder &b, OpTy whole, OpTy local, shard::GridOp grid, const SplitAxes &split) {
    Location loc = local.getLoc();
    AffineMap map = getMaps(local)[0];
    auto toNumber = [&](Value index) -> Value { return arith::IndexCastOp::create(b, loc, b.getI64Type(), index); };
    auto place = [&](unsigned dim, MutableOperandRange operand) {
      if (split.axes[dim].empty())
        return;
      Value start = toNumber(getStart(b, loc, grid, split.axes[dim], getSize(b, loc, local.getQuery(), map, dim)));
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
    auto getConstant = [&](unsigned dim) -> Value {
      return arith::ConstantIntOp::create(b, loc, b.getI64Type(), sizes[dim]);
    };
    local.getWholeHqMutable().assign(split.numBatch > 0 ? getConstant(split.numBatch - 1)
                                                        : arith::ConstantIntOp::create(b, loc, b.getI64Type(), 1));
    local.getWholeSqMutable().assign(getConstant(split.numBatch));
    local.getWholeSkMutable().assign(getConstant(split.numBatch + 1));
  }

  /// A list of one number a batch index: `offset`, added to what `given`, which may be null, has.
  static Value addToEach(OpBuilder &b, OpTy local, Value given, Value offset) {
    Location loc = local.getLoc();
    if (given) {
      auto type = cast<RankedTensorType>(given.getType());
      Value number = arith::IndexCastOp::create(b, loc, type.getElementType(), offset);
      SmallVector<Value> sizes;
      if (type.isDynamicDim(0))
        sizes.push_back(tensor::DimOp::create(b, loc, given, 0));
      Value all = tensor::SplatOp::create(b, loc, type, number, sizes);
      return arith::AddIOp::create(b, loc, given, all);
    }
    Value number = arith::IndexCastOp::create(b, loc, b.getI32Type(), offset);
    OpFoldResult size = getSize(b, loc, local.getQuery(), getMaps(local)[0], 0);
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResult(size, dynamic, shape);
    auto type = RankedTensorType::get(shape, b.getI32Type());
    return tensor::SplatOp::create(b, loc, type, number, dynamic);
  }
};

} // namespace

void attn::registerShardingModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *ctx, AttnDialect *, shard::ShardDialect *) {
    SdpaOp::attachInterface<AttentionSharding<SdpaOp>>(*ctx);
    SdpaBackwardOp::attachInterface<AttentionSharding<SdpaBackwardOp>>(*ctx);
  });
}
