//===- Ops.cpp - interface methods of the attn ops that are short ---------===//
//
// Destinations, memory effects and result shapes. Verifiers, decomposition,
// tiling and bufferisation have files of their own.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;

#define GET_OP_CLASSES
#include "attn/IR/AttnOps.cpp.inc"

static CacheDims getDims(PageLayout layout) { return layout == PageLayout::NHD ? CacheDims{1, 2} : CacheDims{2, 1}; }

CacheDims GatherPagesOp::getCacheDims() { return getDims(getPageLayout()); }
int64_t GatherPagesOp::getPageSize() {
  std::optional<uint64_t> rows = getRowsPerPage();
  return rows ? *rows : cast<ShapedType>(getCache().getType()).getDimSize(getCacheDims().row);
}

SmallVector<Value, 4> GatherPagesOp::getCachePosition(OpBuilder &b, Location loc, Value batch, Value head, Value key) {
  Value size = arith::ConstantIndexOp::create(b, loc, getPageSize());
  Value entry = arith::DivUIOp::create(b, loc, key, size), row = arith::RemUIOp::create(b, loc, key, size);
  Value page = isa<TensorType>(getBlockTable().getType())
                   ? tensor::ExtractOp::create(b, loc, getBlockTable(), ValueRange{batch, entry}).getResult()
                   : memref::LoadOp::create(b, loc, getBlockTable(), ValueRange{batch, entry}).getResult();
  page = arith::IndexCastOp::create(b, loc, b.getIndexType(), page);
  if (getRowsPerPage())
    return {page, head};
  SmallVector<Value, 4> position = {page, row, row};
  position[getCacheDims().head] = head;
  return position;
}

/// A dense cache is (B, Hkv, capacity, D).
CacheDims KvAppendOp::getCacheDims() { return getDims(getPageLayout().value_or(PageLayout::HND)); }

SmallVector<Value> OnlineStepOp::getKeySegments() {
  SmallVector<Value> segments{getKey()};
  llvm::append_range(segments, getMoreKeys());
  return segments;
}

SmallVector<Value> OnlineStepOp::getValueSegments() {
  SmallVector<Value> segments{getValue()};
  llvm::append_range(segments, getMoreValues());
  return segments;
}

/// Adds operands in order, each with its segment index; null ones are left out.
static void addOperands(OperationState &state, MutableArrayRef<int32_t> segments,
                        ArrayRef<std::pair<int, Value>> operands) {
  for (auto [place, operand] : operands)
    if (operand) {
      state.addOperands(operand);
      segments[place] = 1;
    }
}

void MaskOp::build(OpBuilder &builder, OperationState &state, Value input, Value bias, Value mask, Value output,
                   ArrayAttr maps) {
  Properties &properties = state.getOrAddProperties<Properties>();
  addOperands(state, properties.operandSegmentSizes,
              {{odsIndex_input, input}, {odsIndex_bias, bias}, {odsIndex_mask, mask}, {odsIndex_output, output}});
  properties.setMaps(maps);
  state.addTypes(output.getType());
  state.addRegion();
}

void SdpaOp::build(OpBuilder &builder, OperationState &state, Value query, Value key, Value value, Value output,
                   Value lse, ArrayRef<AffineMap> maps) {
  Properties &properties = state.getOrAddProperties<Properties>();
  addOperands(state, properties.operandSegmentSizes,
              {{odsIndex_query, query},
               {odsIndex_key, key},
               {odsIndex_value, value},
               {odsIndex_output, output},
               {odsIndex_lse, lse}});
  if (!maps.empty())
    properties.setMaps(builder.getAffineMapArrayAttr(maps));
  for (Value init : {output, lse})
    if (init && isa<RankedTensorType>(init.getType()))
      state.addTypes(init.getType());
  for (unsigned i = 0; i < 4; ++i)
    state.addRegion();
}

/// The last `count` shaped operands are the destinations.
static MutableOperandRange getInits(Operation *op, unsigned count) {
  return MutableOperandRange(op, getOperandSpecs(op).size() - count, count);
}

/// The output and the row results that are requested.
template <typename OpTy> static MutableOperandRange getResultInits(OpTy op) {
  unsigned count = 1;
  for (Value statistic : {op.getLse(), op.getMax(), op.getLogSum()})
    count += statistic ? 1 : 0;
  return getInits(op, count);
}

/// The destinations of a backward op over the domain, and those after them that have shapes of their own.
template <typename OpTy> static MutableOperandRange getGradients(OpTy op, unsigned numOthers) {
  unsigned numMapped = 0;
  for (Value gradient : {op.getDquery(), op.getDkey(), op.getDvalue(), op.getDbias()})
    numMapped += gradient ? 1 : 0;
  return MutableOperandRange(op, getOperandSpecs(op).size() - numMapped, numMapped + numOthers);
}

/// Those of query, key, value and state, and of what else there is.
static unsigned countGradients(LinearBackwardOp op) {
  unsigned count = 4;
  for (Value gradient : {op.getDdecay(), op.getDbeta(), op.getDerase(), op.getDwrite()})
    count += gradient ? 1 : 0;
  return count;
}

/// Buffers that the regions of `op` capture are read, or added to: C10 and C25 allow no other effect there.
static void addCapturedReads(Operation *op,
                             SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (Region &region : op->getRegions())
    visitUsedValuesDefinedAbove(region, [&](OpOperand *operand) {
      if (!isa<MemRefType>(operand->get().getType()))
        return;
      effects.emplace_back(MemoryEffects::Read::get(), operand, SideEffects::DefaultResource::get());
      if (isa<AccumulateOp>(operand->getOwner()))
        effects.emplace_back(MemoryEffects::Write::get(), operand, SideEffects::DefaultResource::get());
    });
}

/// Inputs are read, destinations written; those that hold a running state are read as well.
static void getStructuredEffects(Operation *op,
                                 SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  auto dps = cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool isInit = dps.isDpsInit(&operand);
    if (!isInit || readsInit(operand))
      effects.emplace_back(MemoryEffects::Read::get(), &operand, SideEffects::DefaultResource::get());
    if (isInit)
      effects.emplace_back(MemoryEffects::Write::get(), &operand, SideEffects::DefaultResource::get());
  }
  // The state of a loop is its own: CSE would hoist it out of a parallel loop, where it has to be copied.
  if (isa<InitStateOp>(op))
    for (OpResult result : op->getResults())
      effects.emplace_back(MemoryEffects::Allocate::get(), result, SideEffects::DefaultResource::get());
  addCapturedReads(op, effects);
}

#define ATTN_STRUCTURED_OP(OP, NUM_INITS) ATTN_DESTINATION_OP(OP, getInits(*this, NUM_INITS))
#define ATTN_DESTINATION_OP(OP, INITS)                                                                                 \
  MutableOperandRange OP::getDpsInitsMutable() { return INITS; }                                                       \
  void OP::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {                  \
    getStructuredEffects(*this, effects);                                                                              \
  }                                                                                                                    \
  LogicalResult OP::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {                       \
    for (Value init : cast<DestinationStyleOpInterface>(getOperation()).getDpsInits())                                 \
      if (isa<RankedTensorType>(init.getType()))                                                                       \
        shapes.push_back(tensor::getMixedSizes(builder, getLoc(), init));                                              \
    return success();                                                                                                  \
  }

ATTN_STRUCTURED_OP(ScoresOp, 1)
ATTN_STRUCTURED_OP(ScaleOp, 1)
ATTN_STRUCTURED_OP(ModifyOp, 1)
ATTN_STRUCTURED_OP(SoftcapOp, 1)
ATTN_STRUCTURED_OP(MaskOp, 1)
ATTN_STRUCTURED_OP(SoftmaxOp, getLse() ? 2 : 1)
ATTN_STRUCTURED_OP(DropoutOp, 1)
ATTN_STRUCTURED_OP(ApplyOp, 1)
ATTN_DESTINATION_OP(SdpaOp, getResultInits(*this))
ATTN_STRUCTURED_OP(InitStateOp, 3)
ATTN_STRUCTURED_OP(OnlineStepOp, 3)
ATTN_STRUCTURED_OP(MergeStatesOp, 3)
ATTN_DESTINATION_OP(FinalizeOp, getResultInits(*this))
ATTN_STRUCTURED_OP(PackOp, 1)
ATTN_STRUCTURED_OP(ProductOp, 1)
ATTN_STRUCTURED_OP(MapScoresOp, 1)
ATTN_STRUCTURED_OP(RowMaxOp, 1)
ATTN_STRUCTURED_OP(RescaleOp, 3)
ATTN_STRUCTURED_OP(WeightsOp, 2)
ATTN_STRUCTURED_OP(RowDeltaOp, 1)
ATTN_STRUCTURED_OP(ScoreGradientsOp, (getWeights() ? 1 : 0) + (getGradients() ? 1 : 0))
ATTN_STRUCTURED_OP(LinearOp, 2)
ATTN_STRUCTURED_OP(LinearBackwardOp, countGradients(*this))
ATTN_DESTINATION_OP(SdpaBackwardOp, getGradients(*this, (getDsink() ? 1 : 0) + getDcaptures().size()))
ATTN_DESTINATION_OP(BackwardStepOp, getGradients(*this, getDcaptures().size()))
#undef ATTN_STRUCTURED_OP
#undef ATTN_DESTINATION_OP

#define ATTN_LAYER_OP(OP)                                                                                              \
  void OP::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {                  \
    getStructuredEffects(*this, effects);                                                                              \
  }
ATTN_LAYER_OP(PackBytesOp)
ATTN_LAYER_OP(GatherPagesOp)
ATTN_LAYER_OP(KvAppendOp)
ATTN_LAYER_OP(MultiHeadOp)
#undef ATTN_LAYER_OP
