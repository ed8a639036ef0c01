//===- OnlineForm.cpp - sdpa as init_state, online_step, finalize ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "attn/IR/State.h"
#include "attn/IR/Words.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace attn;

/// The domain (batch…, query, value) as positions of the domain (batch…, query, key, head, value).
static SmallVector<unsigned> getStatePositions(Operation *op) {
  SmallVector<unsigned> kept(llvm::to_vector(llvm::seq<unsigned>(0, getNumBatchDims(op))));
  kept.push_back(getDomainPosition(op, DimKind::Query));
  kept.push_back(getDomainPosition(op, DimKind::ValueSize));
  return kept;
}

SmallVector<AffineMap> attn::getStateMaps(OnlineStepOp op) {
  SmallVector<unsigned> kept = getStatePositions(op);
  SmallVector<AffineMap> maps;
  SmallVector<AffineMap> all = getMaps(op);
  for (OpOperand &part : op.getDpsInitsMutable())
    maps.push_back(restrictDomain(all[part.getOperandNumber()], kept));
  return maps;
}

FloatAttr attn::getStaticScale(Operation *op) {
  if (auto scale = op->getAttrOfType<FloatAttr>("scale"))
    return scale;
  int64_t headSize = getStaticSize(op, DimKind::HeadSize);
  if (ShapedType::isDynamic(headSize))
    return nullptr;
  return Builder(op->getContext()).getF64FloatAttr(1.0 / std::sqrt(static_cast<double>(headSize)));
}

/// The regions of the step for scores and weights: those of `op` with its words and the scales of K and V.
static void takeScoreRegions(OpBuilder &builder, SdpaOp op, Type stateType, Region &scoreMod, Region &weightMod) {
  if (op.getDropoutP())
    buildDropout(builder, op, op.getDropoutSeed(), op.getDropoutOffset(), op.getDropoutP()->convertToDouble(),
                 getAccumulationType(getElementTypeOrSelf(op.getQuery().getType())), weightMod);
  // The region is taken out of the op while the scale of K is composed before it.
  scoreMod.takeBody(op.getScoreMod());
  if (!op.getKeyScale())
    return;
  composeKvScale(builder, op.getLoc(), op.getKeyScale(), ScaleOrder::BeforeRegion, stateType, scoreMod);
  composeKvScale(builder, op.getLoc(), op.getValueScale(), ScaleOrder::AfterRegion, stateType, weightMod);
}

/// Empty tensors over (batch…, query, value), in the order of the layout, and their maps.
struct StateTensors {
  StateValues inits;
  StateMaps maps;
};

static StateTensors createStateTensors(OpBuilder &builder, SdpaOp op, Type stateType, StateLayout layout) {
  SmallVector<OpFoldResult> sizes = getDomainSizes(builder, op);
  SmallVector<unsigned> rowDims = llvm::to_vector(llvm::seq<unsigned>(0, getNumBatchDims(op)));
  SmallVector<unsigned> accDims = rowDims;
  unsigned queryPos = getDomainPosition(op, DimKind::Query), valuePos = getDomainPosition(op, DimKind::ValueSize);
  rowDims.push_back(queryPos);
  if (layout == StateLayout::RowMajor)
    accDims.append({queryPos, valuePos});
  else
    accDims.append({valuePos, queryPos});
  auto empty = [&](ArrayRef<unsigned> dims) -> Value {
    SmallVector<OpFoldResult> shape = llvm::map_to_vector(dims, [&](unsigned dim) { return sizes[dim]; });
    return tensor::EmptyOp::create(builder, op.getLoc(), shape, stateType);
  };
  auto getMap = [&](ArrayRef<unsigned> dims) {
    return AffineMap::getMultiDimMapWithTargets(sizes.size(), dims, op.getContext());
  };
  return {{empty(accDims), empty(rowDims), empty(rowDims)}, {getMap(accDims), getMap(rowDims), getMap(rowDims)}};
}

FailureOr<FinalizeOp> attn::buildOnlineForm(OpBuilder &builder, SdpaOp op, Type stateType, StateLayout layout) {
  if (!isa<RankedTensorType>(op.getOutput().getType()))
    return failure();
  Value scaleValue = op.getScaleValue();
  FloatAttr scale = scaleValue ? nullptr : getStaticScale(op);
  if (!scale && !scaleValue)
    return failure();
  Location loc = op.getLoc();
  if (scaleValue)
    scaleValue = convertFloat(builder, loc, scaleValue, stateType);
  // Before the step is built, as it captures what the regions read from outside.
  expandWords(builder, op, op, stateType);
  if (failed(checkWordsKept(op, OnlineStepOp::getOperationName(), /*expanded=*/Word::dropout_p)))
    return failure();
  Region scoreMod, weightMod;
  takeScoreRegions(builder, op, stateType, scoreMod, weightMod);

  StateTensors state = createStateTensors(builder, op, stateType, layout);
  SmallVector<Type> stateTypes = llvm::map_to_vector(state.inits.toVector(), [](Value init) { return init.getType(); });
  SmallVector<AffineMap> maps = getMaps(op);
  ArrayRef<AffineMap> inputMaps = ArrayRef(maps).drop_back(op.getNumDpsInits());
  ArrayRef<AffineMap> outputMaps = ArrayRef(maps).take_back(op.getNumDpsInits());
  SmallVector<AffineMap> allStateMaps = llvm::to_vector<0>(state.maps.toVector());
  SmallVector<AffineMap> stepMaps = llvm::to_vector(llvm::concat<const AffineMap>(inputMaps, ArrayRef(allStateMaps)));
  SmallVector<unsigned> kept = getStatePositions(op);
  auto restrict = [&](AffineMap map) { return restrictDomain(map, kept); };
  SmallVector<AffineMap> stateMaps = llvm::map_to_vector(allStateMaps, restrict);
  SmallVector<AffineMap> finalizeMaps = stateMaps;
  llvm::append_range(finalizeMaps, llvm::map_range(outputMaps, restrict));

  auto init = InitStateOp::create(builder, loc, stateTypes, state.inits.acc, state.inits.rowMax, state.inits.rowSum,
                                  builder.getAffineMapArrayAttr(stateMaps));
  init.getStart().takeBody(op.getStart());
  auto before = StateValues::of(init->getResults());
  auto step = OnlineStepOp::create(
      builder, loc, stateTypes, op.getQuery(), op.getKey(), op.getValue(), op.getBias(), op.getMask(), before.acc,
      before.rowMax, before.rowSum, op.getCuSeqlensQ(), op.getCuSeqlensK(), op.getScoreWeight(), scaleValue,
      /*more_keys=*/ValueRange(), /*more_values=*/ValueRange(),
      /*query_bytes=*/ValueRange(), scale, builder.getAffineMapArrayAttr(stepMaps), op.getBlockMapAttr(),
      op.getMax() ? builder.getUnitAttr() : UnitAttr(), op.getMinQueriesAttr(), op.getScheduleAttr());
  step.getMaskMod().takeBody(op.getMaskMod());
  step.getScoreMod().takeBody(scoreMod);
  step.getKeyRanges().takeBody(op.getKeyRanges());
  step.getWeightMod().takeBody(weightMod);
  builder.setInsertionPointAfter(step);
  auto after = StateValues::of(step->getResults());
  return FinalizeOp::create(builder, loc, op.getResultTypes(), after.acc, after.rowMax, after.rowSum, op.getOutput(),
                            op.getLse(), op.getMax(), op.getLogSum(), op.getCuSeqlensQ(),
                            builder.getAffineMapArrayAttr(finalizeMaps), op.getAccumulateAttr());
}
