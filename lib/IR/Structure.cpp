//===- Structure.cpp - the table of operands -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Structure.h"
#include "attn/IR/Attn.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attn {

using enum DimKind;
using enum OperandRole;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

bool isStructuredOp(Operation *op) {
  return isa<ScoresOp, ScaleOp, ModifyOp, SoftcapOp, MaskOp, SoftmaxOp, DropoutOp, ApplyOp, SdpaOp, InitStateOp,
             OnlineStepOp, MergeStatesOp, FinalizeOp, PackOp, ProductOp, MapScoresOp, RowMaxOp, RescaleOp, WeightsOp,
             SdpaBackwardOp, RowDeltaOp, BackwardStepOp, ScoreGradientsOp, LinearOp, LinearBackwardOp>(op);
}

bool isChainOp(Operation *op) {
  return isa<ScoresOp, ScaleOp, ModifyOp, SoftcapOp, MaskOp, SoftmaxOp, DropoutOp, ApplyOp>(op);
}

bool readsInits(Operation *op) {
  if (auto product = dyn_cast<ProductOp>(op))
    return product.getAccumulate();
  if (auto sdpa = dyn_cast<SdpaOp>(op))
    return sdpa.getAccumulate();
  if (auto finalize = dyn_cast<FinalizeOp>(op))
    return finalize.getAccumulate();
  if (auto backward = dyn_cast<SdpaBackwardOp>(op))
    return backward.getAccumulate().has_value();
  return isa<OnlineStepOp, MergeStatesOp, KvAppendOp, RescaleOp, WeightsOp, BackwardStepOp>(op);
}

bool readsInit(OpOperand &init) {
  if (auto linear = dyn_cast<LinearOp>(init.getOwner()))
    return &init == &linear.getStateMutable();
  if (auto linear = dyn_cast<LinearBackwardOp>(init.getOwner()))
    return &init == &linear.getDstateMutable();
  auto backward = dyn_cast<SdpaBackwardOp>(init.getOwner());
  if (!backward)
    return readsInits(init.getOwner());
  return (&init == &backward.getDqueryMutable() && accumulatesInto(backward, "dquery")) ||
         (&init == &backward.getDkeyMutable() && accumulatesInto(backward, "dkey")) ||
         (&init == &backward.getDvalueMutable() && accumulatesInto(backward, "dvalue"));
}

bool accumulatesInto(SdpaBackwardOp op, StringRef output) {
  std::optional<ArrayAttr> names = op.getAccumulate();
  return names && llvm::is_contained(names->getAsValueRange<StringAttr>(), output);
}

bool isUnreadInit(OpOperand &operand) {
  auto dps = dyn_cast<DestinationStyleOpInterface>(operand.getOwner());
  if (!dps || !dps.isDpsInit(&operand))
    return false;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(operand.getOwner()))
    return !linalgOp.payloadUsesValueFromOperand(&operand);
  return isOfDialect<AttnDialect>(operand.getOwner()) && !readsInit(operand);
}

Value getDestination(Value value) {
  while (auto op = value.getDefiningOp<DestinationStyleOpInterface>())
    value = op.getTiedOpOperand(cast<OpResult>(value))->get();
  return value;
}

static constexpr DimKind kQueryKeyHead[] = {Query, Key, HeadSize};
static constexpr DimKind kQueryKeyValue[] = {Query, Key, ValueSize};
static constexpr DimKind kQueryKeyHeadValue[] = {Query, Key, HeadSize, ValueSize};
static constexpr DimKind kQueryKey[] = {Query, Key};
static constexpr DimKind kQueryHead[] = {Query, HeadSize};
static constexpr DimKind kQueryHeadSizeValue[] = {Query, HeadSize, ValueSize};
static constexpr DimKind kQueryValue[] = {Query, ValueSize};

ArrayRef<DimKind> getDomainDims(Operation *op) {
  return TypeSwitch<Operation *, ArrayRef<DimKind>>(op)
      .Case<ScoresOp>([](auto) { return ArrayRef(kQueryKeyHead); })
      .Case<ScaleOp, ModifyOp, SoftcapOp, MaskOp, SoftmaxOp, DropoutOp, MapScoresOp, RowMaxOp, WeightsOp,
            ScoreGradientsOp>([](auto) { return ArrayRef(kQueryKey); })
      .Case<ProductOp>([](ProductOp product) {
        return product.getContraction() == Contraction::Scores ? ArrayRef(kQueryKeyHead) : ArrayRef(kQueryKeyValue);
      })
      .Case<ApplyOp>([](auto) { return ArrayRef(kQueryKeyValue); })
      .Case<SdpaOp, OnlineStepOp, SdpaBackwardOp, BackwardStepOp>([](auto) { return ArrayRef(kQueryKeyHeadValue); })
      .Case<PackOp, CopyOp>([](auto) { return ArrayRef(kQueryHead); })
      .Case<LinearOp, LinearBackwardOp>([](auto) { return ArrayRef(kQueryHeadSizeValue); })
      .Default([](Operation *) { return ArrayRef(kQueryValue); });
}

/// The state triple in the order acc, row max, row sum.
static void addState(SmallVectorImpl<OperandSpec> &specs, OperandRole role = Plain) {
  specs.push_back({"acc", {Query, ValueSize}, role});
  specs.push_back({"row_max", {Query}, role});
  specs.push_back({"row_sum", {Query}, role});
}

/// Q, K, V and the dense operands of a predicate, for `sdpa` and `online_step`.
template <typename OpTy> static void addAttentionInputs(SmallVectorImpl<OperandSpec> &specs, OpTy op) {
  specs.push_back({"query", {Query, HeadSize}});
  specs.push_back({"key", {Key, HeadSize}, SharedHead});
  specs.push_back({"value", {Key, ValueSize}, SharedHead});
  if (op.getBias())
    specs.push_back({"bias", {Query, Key}, Broadcast});
  if (op.getMask())
    specs.push_back({"mask", {Query, Key}, Broadcast});
}

/// The row results besides the output that are requested.
template <typename OpTy> static void addRowResults(SmallVectorImpl<OperandSpec> &specs, OpTy op) {
  for (auto [operand, name] :
       {std::pair(op.getLse(), "lse"), std::pair(op.getMax(), "max"), std::pair(op.getLogSum(), "log_sum")})
    if (operand)
      specs.push_back({name, {Query}});
}

/// The gradients of a backward op. Heads of K share those of K and V; that of a bias is summed where it broadcasts.
template <typename OpTy> static void addGradients(SmallVectorImpl<OperandSpec> &specs, OpTy op) {
  if (op.getBias())
    specs.push_back({"bias", {Query, Key}, Broadcast});
  if (op.getMask())
    specs.push_back({"mask", {Query, Key}, Broadcast});
  if (op.getDquery())
    specs.push_back({"dquery", {Query, HeadSize}});
  if (op.getDkey())
    specs.push_back({"dkey", {Key, HeadSize}, SharedHead});
  if (op.getDvalue())
    specs.push_back({"dvalue", {Key, ValueSize}, SharedHead});
  if (op.getDbias())
    specs.push_back({"dbias", {Query, Key}, Broadcast});
}

/// The operands of linear attention that have gradients: tokens are the rows.
template <typename OpTy> static void addLinearInputs(SmallVectorImpl<OperandSpec> &specs, OpTy op) {
  specs.push_back({"query", {Query, HeadSize}, SharedHead});
  specs.push_back({"key", {Query, HeadSize}, SharedHead});
  specs.push_back({"value", {Query, ValueSize}});
  if (op.getDecay())
    specs.push_back({"decay", {Query}});
  if (op.hasChannelDecay())
    specs.back().dims.push_back(HeadSize);
  if (op.getBeta())
    specs.push_back({"beta", {Query}});
  if (op.getErase())
    specs.push_back({"erase", {Query, HeadSize}});
  if (op.getWrite())
    specs.push_back({"write", {Query, HeadSize}});
}

static void addLinearOperands(SmallVectorImpl<OperandSpec> &specs, LinearOp op) {
  addLinearInputs(specs, op);
  specs.push_back({"output", {Query, ValueSize}});
  specs.push_back({"state", {HeadSize, ValueSize}, op.getSlots() ? Pool : Plain});
}

/// Gradients have the dimensions of their inputs, those of query and key the heads of value.
static void addLinearGradients(SmallVectorImpl<OperandSpec> &specs, LinearBackwardOp op) {
  addLinearInputs(specs, op);
  specs.push_back({"dout", {Query, ValueSize}});
  specs.push_back({"state", {HeadSize, ValueSize}, op.getSlots() ? Pool : Plain});
  specs.push_back({"dquery", {Query, HeadSize}});
  specs.push_back({"dkey", {Query, HeadSize}});
  specs.push_back({"dvalue", {Query, ValueSize}});
  if (op.getDdecay())
    specs.push_back({"ddecay", {Query}});
  if (op.getDdecay() && op.hasChannelDecay())
    specs.back().dims.push_back(HeadSize);
  if (op.getDbeta())
    specs.push_back({"dbeta", {Query}});
  if (op.getDerase())
    specs.push_back({"derase", {Query, HeadSize}});
  if (op.getDwrite())
    specs.push_back({"dwrite", {Query, HeadSize}});
  specs.push_back({"dstate", {HeadSize, ValueSize}, op.getSlots() ? Pool : Plain});
}

SmallVector<OperandSpec> getOperandSpecs(Operation *op) {
  SmallVector<OperandSpec> specs;
  TypeSwitch<Operation *>(op)
      .Case<ScoresOp>([&](auto) {
        specs = {{"query", {Query, HeadSize}}, {"key", {Key, HeadSize}, SharedHead}, {"output", {Query, Key}}};
      })
      .Case<ScaleOp, ModifyOp, SoftcapOp, DropoutOp>(
          [&](auto) { specs = {{"input", {Query, Key}}, {"output", {Query, Key}}}; })
      .Case<SoftmaxOp>([&](SoftmaxOp softmax) {
        specs = {{"input", {Query, Key}}, {"output", {Query, Key}}};
        if (softmax.getLse())
          specs.push_back({"lse", {Query}});
      })
      .Case<MaskOp>([&](MaskOp mask) {
        specs.push_back({"input", {Query, Key}});
        if (mask.getBias())
          specs.push_back({"bias", {Query, Key}, Broadcast});
        if (mask.getMask())
          specs.push_back({"mask", {Query, Key}, Broadcast});
        specs.push_back({"output", {Query, Key}});
      })
      .Case<ApplyOp>([&](auto) {
        specs = {{"weights", {Query, Key}}, {"value", {Key, ValueSize}, SharedHead}, {"output", {Query, ValueSize}}};
      })
      .Case<LinearOp>([&](LinearOp linear) { addLinearOperands(specs, linear); })
      .Case<LinearBackwardOp>([&](LinearBackwardOp linear) { addLinearGradients(specs, linear); })
      .Case<SdpaOp>([&](SdpaOp sdpa) {
        addAttentionInputs(specs, sdpa);
        specs.push_back({"output", {Query, ValueSize}});
        addRowResults(specs, sdpa);
      })
      .Case<InitStateOp>([&](auto) { addState(specs); })
      .Case<OnlineStepOp>([&](OnlineStepOp step) {
        addAttentionInputs(specs, step);
        addState(specs);
      })
      .Case<MergeStatesOp, StoreStateOp>([&](auto) {
        addState(specs);
        addState(specs);
      })
      .Case<FinalizeOp>([&](FinalizeOp finalize) {
        addState(specs, State);
        specs.push_back({"output", {Query, ValueSize}});
        addRowResults(specs, finalize);
      })
      .Case<ProductOp>([&](ProductOp product) {
        if (product.getContraction() == Contraction::Scores)
          specs = {{"lhs", {Query, HeadSize}}, {"rhs", {Key, HeadSize}, SharedHead}, {"output", {Query, Key}}};
        else
          specs = {{"lhs", {Query, Key}}, {"rhs", {Key, ValueSize}, SharedHead}, {"output", {Query, ValueSize}}};
      })
      .Case<MapScoresOp>([&](MapScoresOp map) {
        specs.push_back({"input", {Query, Key}});
        if (map.getBias())
          specs.push_back({"bias", {Query, Key}, Broadcast});
        if (map.getMask())
          specs.push_back({"mask", {Query, Key}, Broadcast});
        specs.push_back({"output", {Query, Key}});
      })
      .Case<RowMaxOp>([&](auto) { specs = {{"scores", {Query, Key}}, {"row_max", {Query}}, {"output", {Query}}}; })
      .Case<RescaleOp>([&](auto) {
        specs.push_back({"new_max", {Query}});
        addState(specs);
      })
      .Case<WeightsOp>([&](auto) {
        specs = {{"scores", {Query, Key}}, {"row_max", {Query}}, {"output", {Query, Key}}, {"row_sum", {Query}}};
      })
      .Case<SdpaBackwardOp>([&](SdpaBackwardOp backward) {
        specs = {{"query", {Query, HeadSize}},
                 {"key", {Key, HeadSize}, SharedHead},
                 {"value", {Key, ValueSize}, SharedHead},
                 {"output", {Query, ValueSize}},
                 {"lse", {Query}},
                 {"dout", {Query, ValueSize}}};
        if (backward.getDlse())
          specs.push_back({"dlse", {Query}});
        if (backward.getLogSum())
          specs.push_back({"log_sum", {Query}});
        addGradients(specs, backward);
      })
      .Case<RowDeltaOp>([&](RowDeltaOp row) {
        specs = {{"output", {Query, ValueSize}}, {"dout", {Query, ValueSize}}, {"lse", {Query}}};
        if (row.getDlse())
          specs.push_back({"dlse", {Query}});
        specs.push_back({"delta", {Query}});
      })
      .Case<BackwardStepOp>([&](BackwardStepOp step) {
        specs = {{"query", {Query, HeadSize}},
                 {"key", {Key, HeadSize}, SharedHead},
                 {"value", {Key, ValueSize}, SharedHead},
                 {"lse", {Query}},
                 {"dout", {Query, ValueSize}},
                 {"delta", {Query}}};
        if (step.getLogSum())
          specs.push_back({"log_sum", {Query}});
        addGradients(specs, step);
      })
      .Case<ScoreGradientsOp>([&](ScoreGradientsOp gradients) {
        specs = {{"scores", {Query, Key}}, {"lse", {Query}}};
        if (gradients.getDweights())
          specs.push_back({"dweights", {Query, Key}});
        if (gradients.getDelta())
          specs.push_back({"delta", {Query}});
        if (gradients.getLogSum())
          specs.push_back({"log_sum", {Query}});
        if (gradients.getBias())
          specs.push_back({"bias", {Query, Key}, Broadcast});
        if (gradients.getMask())
          specs.push_back({"mask", {Query, Key}, Broadcast});
        if (gradients.getWeights())
          specs.push_back({"weights", {Query, Key}});
        if (gradients.getGradients())
          specs.push_back({"gradients", {Query, Key}});
      })
      .Case<PackOp>(
          [&](auto) { specs = {{"input", {Query, HeadSize}, Broadcast}, {"output", {Query, HeadSize}, State}}; })
      .Case<CopyOp>([&](CopyOp copy) {
        specs = {{"input", {Query, HeadSize}, Broadcast}, {"output", {Query, HeadSize}, State}};
        if (copy.getLse())
          specs.push_back({"lse", {Query}});
      });
  return specs;
}

bool ScoreGradientsOp::hasKeyRows() {
  AffineMap map = attn::getMaps(*this)[0];
  auto getPlace = [&](unsigned position) {
    return *map.getResultPosition(getAffineDimExpr(getNumBatchDims(*this) + position, getContext()));
  };
  return getPlace(1) < getPlace(0);
}

SmallVector<utils::IteratorType> getIteratorTypes(Operation *op) {
  SmallVector<utils::IteratorType> types(getNumBatchDims(op), utils::IteratorType::parallel);
  for (DimKind kind : getDomainDims(op)) {
    bool reduces = (kind == Key && isa<SdpaOp, OnlineStepOp, SoftmaxOp, ApplyOp, RowMaxOp, WeightsOp>(op)) ||
                   (kind == HeadSize && isa<SdpaOp, OnlineStepOp, ScoresOp, ProductOp>(op)) ||
                   (kind == DimKind::ValueSize && isa<RowDeltaOp>(op)) || isa<SdpaBackwardOp, BackwardStepOp>(op) ||
                   (kind != DimKind::ValueSize && isa<LinearOp>(op)) || isa<LinearBackwardOp>(op);
    if (auto product = dyn_cast<ProductOp>(op); product && kind == Key)
      reduces = product.getContraction() == Contraction::Values;
    types.push_back(reduces ? utils::IteratorType::reduction : utils::IteratorType::parallel);
  }
  return types;
}

//===----------------------------------------------------------------------===//
// The domain
//===----------------------------------------------------------------------===//

Value getPackedSequences(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<SdpaOp, OnlineStepOp, FinalizeOp, SdpaBackwardOp, BackwardStepOp>(
          [](auto packed) { return packed.getCuSeqlensQ(); })
      .Case<LinearOp, LinearBackwardOp>([](auto linear) { return linear.getCuSeqlens(); })
      .Default([](Operation *) { return Value(); });
}

bool hasPackedKeys(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case<SdpaOp, OnlineStepOp, SdpaBackwardOp, BackwardStepOp>(
          [](auto packed) { return packed.getCuSeqlensK() != Value(); })
      .Default(false);
}

unsigned getNumBatchDims(Operation *op) {
  if (ArrayAttr maps = getExplicitMaps(op))
    return cast<AffineMapAttr>(maps[0]).getAffineMap().getNumDims() - getDomainDims(op).size();
  if ((isa<LinearOp, LinearBackwardOp>(op) || getDomainDims(op).size() == std::size(kQueryKeyHeadValue)) &&
      getPackedSequences(op))
    return 2; // sequence, head
  return cast<ShapedType>(op->getOperand(0).getType()).getRank() - getOperandSpecs(op).front().dims.size();
}

unsigned getDomainPosition(Operation *op, DimKind kind) {
  ArrayRef<DimKind> dims = getDomainDims(op);
  return getNumBatchDims(op) + (llvm::find(dims, kind) - dims.begin());
}

bool isInRegisters(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_present<RegistersAttr>(tensor.getEncoding());
}

RankedTensorType getRegisterType(ArrayRef<int64_t> shape, Type elementType) {
  return RankedTensorType::get(shape, elementType, RegistersAttr::get(elementType.getContext()));
}

Type getAccumulationType(Type elementType) {
  return elementType.isF64() ? elementType : Float32Type::get(elementType.getContext());
}

bool isQuantised(Type elementType) {
  return elementType.isInteger(8) || isa<Float8E4M3FNType, Float8E5M2Type>(elementType);
}

} // namespace attn
