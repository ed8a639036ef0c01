//===- BackwardVerifiers.cpp - constraints of the ops of the backward pass ===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "attn/IR/Decompose.h"

using namespace mlir;
using namespace attn;

static Type getElement(Value value) { return getElementTypeOrSelf(value.getType()); }

/// C24: the operand has one of two types.
static LogicalResult verifyType(Operation *op, Value operand, StringRef name, Type expected, Type other) {
  Type found = getElement(operand);
  if (isa<FloatType>(found) && (found == expected || found == other))
    return success();
  InFlightDiagnostic diag = op->emitOpError("C24: expected ") << name << " to have element type " << expected;
  if (other != expected)
    diag << " or " << other;
  return diag << ", found " << found;
}

/// C25: two floats in, one out; accumulations only into dcaptures.
template <typename OpTy> static LogicalResult verifyScoreGrad(OpTy op) {
  Region &grad = op.getScoreGrad();
  if (grad.empty() != op.getScoreMod().empty())
    return op.emitOpError("C25: expected score_grad exactly where score_mod stands, found ")
           << (grad.empty() ? "score_mod alone; run attn-differentiate, or write score_grad" : "score_grad alone");
  if (grad.empty())
    return success();
  for (AccumulateOp add : grad.getOps<AccumulateOp>())
    if (!llvm::is_contained(op.getDcaptures(), add.getDestination()))
      return op.emitOpError("C25: expected attn.accumulate into one of dcaptures, found it into another ")
             << add.getDestination().getType();
  Type type = op.getScoreMod().getArgument(0).getType();
  return verifyScalarRegion(op, grad, "score_grad", {type, type}, type, "one float, the gradient of the score");
}

/// The checks that both ops share.
template <typename OpTy> static LogicalResult verifyBackward(OpTy op, Type accumulation) {
  Type type = getElement(op.getQuery()), key = getElement(op.getKey());
  if (!isa<FloatType>(type))
    return op.emitOpError("C4: expected query to be floating point, found ") << type;
  if (getElement(op.getValue()) != key || (key != type && !isQuantised(key) && !isa<FloatType>(key)))
    return op.emitOpError(
               "C4: expected key and value to have one element type, that of query or a narrower one, found ")
           << key << " and " << getElement(op.getValue());
  if (op.getBias() && !isa<FloatType>(getElement(op.getBias())))
    return op.emitOpError("C4: expected bias to be floating point, found ") << getElement(op.getBias());
  if (bool(op.getDbias()) && !op.getBias())
    return op.emitOpError("C26: expected dbias beside bias, found it alone");
  Type captureSums = std::is_same_v<OpTy, BackwardStepOp> ? Float64Type::get(op.getContext()) : accumulation;
  if (failed(verifyMask(op, op.getMask())) ||
      failed(verifyScale(op, op.getScaleValue(), op.getScale(), accumulation)) ||
      failed(verifyScalarRegion(op, op.getMaskMod(), "mask_mod", {}, IntegerType::get(op.getContext(), 1),
                                "i1 (true = keep)")) ||
      failed(verifyType(op, op.getDout(), "dout", type, accumulation)) ||
      failed(verifyType(op, op.getLse(), "lse", accumulation, getAccumulationType(type))) ||
      (op.getLogSum() && failed(verifyType(op, op.getLogSum(), "log_sum", accumulation, getAccumulationType(type)))) ||
      (op.getDquery() && failed(verifyType(op, op.getDquery(), "dquery", type, accumulation))) ||
      (op.getDkey() &&
       failed(verifyType(op, op.getDkey(), "dkey", isQuantised(key) ? accumulation : key, accumulation))) ||
      (op.getDvalue() &&
       failed(verifyType(op, op.getDvalue(), "dvalue", isQuantised(key) ? accumulation : key, accumulation))) ||
      llvm::any_of(op.getDcaptures(),
                   [&](Value capture) {
                     return failed(verifyType(op, capture, "a destination of dcaptures", accumulation, captureSums));
                   }) ||
      (op.getDbias() && failed(verifyType(op, op.getDbias(), "dbias", getElement(op.getBias()), accumulation))))
    return failure();
  Type regionType = getAccumulationType(type);
  if (!op.getScoreMod().empty() && op.getScoreMod().getNumArguments() == 1 &&
      op.getScoreMod().getArgument(0).getType() == accumulation)
    regionType = accumulation;
  if (failed(verifyScalarRegion(op, op.getScoreMod(), "score_mod", regionType, regionType,
                                "one float of the type that it takes")))
    return failure();
  Type index = IndexType::get(op.getContext());
  if (failed(verifyScalarRegion(op, op.getQueryRanges(), "query_ranges", {}, {index, index, index, index},
                                "four numbers of queries: visited lower and upper, full lower and upper")))
    return failure();
  return verifyScoreGrad(op);
}

LogicalResult SdpaBackwardOp::verify() {
  if (failed(verifyPacked(*this)) || failed(verifyStructure(*this)))
    return failure();
  Type accumulation = getAccumulationType(getElement(getQuery()));
  if (failed(verifyBackward(*this, accumulation)) || failed(verifyKvScale(*this)) ||
      failed(verifySpelledOutMask(*this)) || failed(verifySoftcap(*this, getSoftcap(), accumulation)))
    return failure();
  if (failed(verifyType(*this, getOutput(), "output", getElement(getQuery()), accumulation)) ||
      (getDlse() && failed(verifyType(*this, getDlse(), "dlse", accumulation, accumulation))))
    return failure();
  if (getDsink() && !getSink())
    return emitOpError("C26: expected dsink beside sink, found it alone");
  std::optional<ArrayAttr> names = getAccumulate();
  for (Attribute name : names ? names->getValue() : ArrayRef<Attribute>()) {
    auto text = cast<StringAttr>(name).getValue();
    Value output = text == "dquery"   ? getDquery()
                   : text == "dkey"   ? getDkey()
                   : text == "dvalue" ? getDvalue()
                                      : Value();
    if (!output)
      return emitOpError("C28: expected accumulate to name some of dquery, dkey and dvalue, found ") << name;
    if (getElement(output) != accumulation)
      return emitOpError("C28: expected ")
             << text << " to have element type " << accumulation
             << ", that of the accumulation, as accumulate names it, found " << getElement(output);
  }
  return success();
}

LogicalResult RowDeltaOp::verify() {
  if (failed(verifyStructure(*this)))
    return failure();
  for (Value operand : {getOutput(), getDout(), getLse()})
    if (!isa<FloatType>(getElement(operand)))
      return emitOpError("C4: expected floating-point operands, found ") << getElement(operand);
  if (!getElement(getDelta()).isF32() && !getElement(getDelta()).isF64())
    return emitOpError("C4: expected delta to be f32 or f64, found ") << getElement(getDelta());
  return success();
}

LogicalResult BackwardStepOp::verify() {
  if (failed(verifyStructure(*this)))
    return failure();
  Type type = getElement(getDelta());
  if (!type.isF32() && !type.isF64())
    return emitOpError("C4: expected delta to be f32 or f64, found ") << type;
  if (failed(verifyBackward(*this, type)))
    return failure();
  Type regionType = getAccumulationType(getElement(getQuery()));
  if (!getWeightMod().empty() && getWeightMod().getNumArguments() == 1 &&
      getWeightMod().getArgument(0).getType() == type)
    regionType = type;
  return verifyScalarRegion(*this, getWeightMod(), "weight_mod", regionType, regionType,
                            "one float of the type that it takes");
}

LogicalResult ScoreGradientsOp::verify() {
  if (failed(verifyStructure(*this)))
    return failure();
  Type type = getElement(getScores());
  if (!type.isF32() && !type.isF64())
    return emitOpError("C4: expected scores to be f32 or f64, found ") << type;
  for (auto [operand, name] : {std::pair(getDweights(), "dweights"), std::pair(getWeights(), "weights"),
                               std::pair(getGradients(), "gradients")})
    if (operand && getElement(operand) != type)
      return emitOpError("C4: expected ")
             << name << " to have element type " << type << ", found " << getElement(operand);
  if (bool(getGradients()) != bool(getDweights()))
    return emitOpError("expected dweights and delta where gradients stands, found ")
           << (getGradients() ? "gradients alone" : "dweights alone");
  SmallVector<AffineMap> maps = attn::getMaps(*this);
  for (auto [map, spec] : llvm::zip(maps, getOperandSpecs(*this)))
    if (llvm::is_contained({"dweights", "weights", "gradients"}, spec.name) && map != maps[0])
      return emitOpError("C1: expected the map of scores for ") << spec.name << ", found another one";
  Type flag = IntegerType::get(getContext(), 1);
  if (failed(verifyMask(*this, getMask())) || failed(verifyScale(*this, getScaleValue(), getScale(), type)) ||
      failed(verifyScalarRegion(*this, getMaskMod(), "mask_mod", {}, flag, "i1 (true = keep)")))
    return failure();
  for (auto [region, name] : {std::pair(&getScoreMod(), "score_mod"), std::pair(&getWeightMod(), "weight_mod")})
    if (failed(verifyScalarRegion(*this, *region, name, type, type, "one float of the type that it takes")))
      return failure();
  return verifyScalarRegion(*this, getScoreGrad(), "score_grad", {type, type}, type,
                            "one float, the gradient of the score");
}
