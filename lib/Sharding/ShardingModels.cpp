//===- ShardingModels.cpp - ShardingInterface of the attention ops --------===//
//
// The interface of attn.sdpa and attn.sdpa_backward for upstream's sharding-propagation and shard-partition. A device
// then has
//
//   batch, heads   the op on its part
//   rows of Q      the op with a causal offset; terms of dkey and dvalue, summed
//   keys           results that mergeShards joins; terms of dquery, summed
//
// Words that use positions and have no offset are refused.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MergeShards.h"
#include "ShardPositions.h"
#include "attn/IR/Structure.h"
#include "attn/IR/Words.h"
#include "attn/Sharding/Sharding.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterface.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterfaceImpl.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace attn;
using shard::Sharding;

namespace {

/// Upstream only asserts that shards have equal sizes.
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

/// Mask sugar on positions follows an offset, and lengths become those of a shard. Regions cannot follow, nor can words
/// for a whole tensor.
template <typename OpTy> LogicalResult checkWords(OpTy op, const SplitAxes &split) {
  if (!split.getHeadSize().empty())
    return op.emitOpError("expected the head size whole on each device, found it sharded; shard batch, heads, rows of "
                          "query or keys");
  for (Region &region : op->getRegions())
    if (!region.empty())
      return op.emitOpError("expected no region beside a sharding, found one: its positions count from the shard");
  if (split.isWhole())
    return success();
  if (op.getAccumulate())
    return op.emitOpError("expected no accumulate beside a sharding: what the outputs hold would count once a shard");
  if (op.getCuSeqlensQ() || op.getKeyScale())
    return op.emitOpError("expected neither cu_seqlens nor kv_scale beside a sharding: they are of the whole");
  bool isStatic = llvm::none_of(ArrayRef(getStaticDomain(op)).take_front(split.numBatch + 2), ShapedType::isDynamic);
  if (op.getDropoutP() && !isStatic && !op.getWholeHq())
    return op.emitOpError("expected static sizes beside dropout and a sharding, found dynamic ones; write "
                          "whole(%hq, %sq, %sk : i64, i64, i64), by which dropout counts");
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

/// Joins the results of the devices. Returns one value per result.
SmallVector<Value> joinResults(OpBuilder &b, SdpaOp local, StringRef grid, const SplitAxes &split) {
  if (split.getKeys().empty())
    return SmallVector<Value>(local->getResults());
  return mergeShards(b, local, {grid, split.getKeys()});
}

/// A gradient is a sum over the dimensions that its tensor lacks: dquery over keys; dkey and dvalue over rows, and over
/// heads that share a key head. With lse of whole rows, each device has terms of these sums.
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
    types.push_back(utils::IteratorType::parallel); // as in getShardMap
    return types;
  }

  /// Upstream has no kind for the softmax; partition makes the sums here.
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
};

} // namespace

void attn::registerShardingModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *ctx, AttnDialect *, shard::ShardDialect *) {
    SdpaOp::attachInterface<AttentionSharding<SdpaOp>>(*ctx);
    SdpaBackwardOp::attachInterface<AttentionSharding<SdpaBackwardOp>>(*ctx);
  });
}
