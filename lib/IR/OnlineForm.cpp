//===- OnlineForm.cpp - sdpa as init_state, online_step, finalize ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
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
  for (AffineMap map : ArrayRef(all).take_back(3))
    maps.push_back(restrictDomain(map, kept));
  return maps;
}

FailureOr<FinalizeOp> attn::buildOnlineForm(OpBuilder &builder, SdpaOp op, Type stateType, StateLayout layout) {
  if (!isa<RankedTensorType>(op.getOutput().getType()))
    return failure();
  FloatAttr scale = op.getScaleAttr();
  if (!scale && !op.getScaleValue()) {
    // The default: 1 / sqrt(D), D of Q and K.
    int64_t headSize = getStaticSize(op, DimKind::HeadSize);
    if (ShapedType::isDynamic(headSize))
      return failure();
    scale = builder.getF64FloatAttr(1.0 / std::sqrt(static_cast<double>(headSize)));
  }
  Value scaleValue = op.getScaleValue();
  if (scaleValue)
    scaleValue = convertFloat(builder, op.getLoc(), scaleValue, stateType);
  Location loc = op.getLoc();
  // Before the step, which captures what the regions need from outside.
  if (hasSpelledOutMask(op))
    expandSpelledOutMasks(builder, op, op);
  Type regionType = getAccumulationType(getElementTypeOrSelf(op.getQuery().getType()));
  Region weightMod;
  if (op.getDropoutP())
    buildDropout(builder, op, op.getDropoutSeed(), op.getDropoutOffset(), op.getDropoutP()->convertToDouble(),
                 regionType, weightMod);
  // Out of the op for as long as its scores get the scale of K in front of its own score_mod.
  Region scoreMod;
  scoreMod.takeBody(op.getScoreMod());
  if (op.getKeyScale()) {
    composeKvScale(builder, loc, op.getKeyScale(), ScaleOrder::BeforeRegion, stateType, scoreMod);
    composeKvScale(builder, loc, op.getValueScale(), ScaleOrder::AfterRegion, stateType, weightMod);
  }

  MLIRContext *ctx = op.getContext();
  SmallVector<OpFoldResult> sizes = getDomainSizes(builder, op);
  unsigned numBatch = getNumBatchDims(op), numDims = sizes.size();
  unsigned queryPos = getDomainPosition(op, DimKind::Query), valuePos = getDomainPosition(op, DimKind::ValueSize);

  // The state over (batch…, query, value), in the order that the layout asks for.
  SmallVector<unsigned> rowDims = llvm::to_vector(llvm::seq<unsigned>(0, numBatch));
  SmallVector<unsigned> accDims = rowDims;
  rowDims.push_back(queryPos);
  if (layout == StateLayout::RowMajor)
    accDims.append({queryPos, valuePos});
  else
    accDims.append({valuePos, queryPos});
  auto empty = [&](ArrayRef<unsigned> dims) -> Value {
    SmallVector<OpFoldResult> shape = llvm::map_to_vector(dims, [&](unsigned dim) { return sizes[dim]; });
    return tensor::EmptyOp::create(builder, loc, shape, stateType);
  };
  Value inits[] = {empty(accDims), empty(rowDims), empty(rowDims)};
  SmallVector<Type> stateTypes = llvm::map_to_vector(inits, [](Value init) { return init.getType(); });
  AffineMap accMap = AffineMap::getMultiDimMapWithTargets(numDims, accDims, ctx);
  AffineMap rowMap = AffineMap::getMultiDimMapWithTargets(numDims, rowDims, ctx);

  SmallVector<AffineMap> maps = getMaps(op);
  unsigned numInputs = maps.size() - op.getNumDpsInits();
  SmallVector<AffineMap> stepMaps = llvm::to_vector(ArrayRef(maps).take_front(numInputs));
  stepMaps.append({accMap, rowMap, rowMap});
  SmallVector<unsigned> kept = getStatePositions(op);
  SmallVector<AffineMap> stateMaps;
  for (AffineMap map : {accMap, rowMap, rowMap})
    stateMaps.push_back(restrictDomain(map, kept));
  SmallVector<AffineMap> finalizeMaps = stateMaps;
  for (AffineMap map : ArrayRef(maps).drop_front(numInputs))
    finalizeMaps.push_back(restrictDomain(map, kept));

  auto init = InitStateOp::create(builder, loc, stateTypes, inits[0], inits[1], inits[2],
                                  builder.getAffineMapArrayAttr(stateMaps));
  init.getStart().takeBody(op.getStart());
  auto step =
      OnlineStepOp::create(builder, loc, stateTypes, op.getQuery(), op.getKey(), op.getValue(), op.getBias(),
                           op.getMask(), init->getResult(0), init->getResult(1), init->getResult(2), op.getCuSeqlensQ(),
                           op.getCuSeqlensK(), op.getScoreWeight(), scaleValue, scale, op.getSoftcapAttr(),
                           builder.getAffineMapArrayAttr(stepMaps), op.getBlockMapAttr(), op.getScheduleAttr());
  step.getMaskMod().takeBody(op.getMaskMod());
  step.getScoreMod().takeBody(scoreMod);
  step.getKeyRanges().takeBody(op.getKeyRanges());
  step.getWeightMod().takeBody(weightMod);
  builder.setInsertionPointAfter(step);
  return FinalizeOp::create(builder, loc, op.getResultTypes(), step->getResult(0), step->getResult(1),
                            step->getResult(2), op.getOutput(), op.getLse(), op.getCuSeqlensQ(),
                            builder.getAffineMapArrayAttr(finalizeMaps));
}
