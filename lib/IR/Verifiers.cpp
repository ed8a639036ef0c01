//===- Verifiers.cpp - the numbered constraints of attn.sdpa and its steps ===//
//
// Each check names its constraint (C1 …) as the op's documentation does. The
// message says what was expected, what was found, and what to write.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "attn/IR/Decompose.h"
#include <cmath>

using namespace mlir;
using namespace attn;

static ShapedType getShaped(Value value) { return cast<ShapedType>(value.getType()); }

LogicalResult attn::verifySoftcap(Operation *op, std::optional<APFloat> softcap, Type accumulationType,
                                  StringRef name) {
  if (!softcap)
    return success();
  double value = softcap->convertToDouble();
  if (!std::isfinite(value) || value <= 0)
    return op->emitOpError("C6: expected ") << name << " to be finite and greater than 0, found " << value;
  // Scores are multiplied by its reciprocal, which must be finite, too.
  bool isNormal = accumulationType.isF32() ? std::isnormal(static_cast<float>(value)) : std::isnormal(value);
  if (!isNormal)
    return op->emitOpError("C6: expected ")
           << name << " to be a normal number in " << accumulationType << ", the type of the accumulation, found "
           << value << "; leave it out for no cap";
  return success();
}

LogicalResult attn::verifyScale(Operation *op, Value value, std::optional<APFloat> scale, Type accumulationType) {
  if (value && scale)
    return op->emitOpError("C9: expected one of scale and scale_value, found both");
  if (scale && !std::isfinite(scale->convertToDouble()))
    return op->emitOpError("C9: expected a finite scale, found ") << scale->convertToDouble();
  if (scale && accumulationType.isF32() && !std::isfinite(static_cast<float>(scale->convertToDouble())))
    return op->emitOpError("C9: expected a scale that is finite in f32, the type of the accumulation, found ")
           << scale->convertToDouble();
  if (value && value.getType() != accumulationType)
    return op->emitOpError("C4: expected scale_value to have the type of the accumulation, ")
           << accumulationType << ", found " << value.getType();
  return success();
}

LogicalResult attn::verifyFloat(Operation *op, Value operand, StringRef name, Type expected, StringRef reason) {
  Type type = getElementTypeOrSelf(operand.getType());
  if (!isa<FloatType>(type))
    return op->emitOpError("C4: expected ") << name << " to be floating point, found " << type;
  if (expected && type != expected)
    return op->emitOpError("C4: expected ")
           << name << " to have element type " << expected << reason << ", found " << type;
  return success();
}

LogicalResult attn::verifyMaskMod(Operation *op, Region &region) {
  return verifyScalarRegion(op, region, "mask_mod", {}, IntegerType::get(op->getContext(), 1), "i1 (true = keep)");
}

LogicalResult attn::verifyScoreMod(Operation *op, Region &region, StringRef name, Type type) {
  return verifyScalarRegion(op, region, name, type, type, "one float of the type that it takes");
}

LogicalResult attn::verifySink(Operation *op, Value sink) {
  if (!sink)
    return success();
  if (failed(verifyFloat(op, sink, "sink")))
    return failure();
  if (getShaped(sink).getRank() != 1 || getNumBatchDims(op) == 0)
    return op->emitOpError("C2: expected sink to have one dimension, the query heads, found ") << sink.getType();
  int64_t heads = getStaticDomain(op)[getNumBatchDims(op) - 1], found = getShaped(sink).getDimSize(0);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(found) || heads == found)
    return success();
  return op->emitOpError("C2: expected sink to have ") << heads << " elements, one a query head, found " << found;
}

LogicalResult attn::verifyDropout(Operation *op, std::optional<APFloat> p, Value seed) {
  if (bool(p) != bool(seed))
    return op->emitOpError("C16: expected dropout_p beside dropout(%seed, %offset), found ")
           << (p ? "dropout_p" : "dropout") << " alone";
  if (!p)
    return success();
  // attn.index has one batch index.
  if (getNumBatchDims(op) > 2)
    return op->emitOpError("C16: expected at most two batch dimensions, batch and head, with dropout, found ")
           << getNumBatchDims(op) << "; collapse the leading ones into one with tensor.collapse_shape";
  double value = p->convertToDouble();
  if (value >= 0 && value <= 1)
    return success();
  return op->emitOpError("C16: expected dropout_p in [0, 1], found ") << value;
}

namespace {

//===----------------------------------------------------------------------===//
// Constraints shared by several ops
//===----------------------------------------------------------------------===//

/// C4 for the state triple.
LogicalResult verifyState(Operation *op, Value acc, Value max, Value sum) {
  Type type = getElementTypeOrSelf(acc.getType());
  if (!type.isF32() && !type.isF64())
    return op->emitOpError("C4: expected the state to be f32 or f64, found ") << type;
  if (failed(verifyFloat(op, max, "row_max", type, ", that of acc")))
    return failure();
  return verifyFloat(op, sum, "row_sum", type, ", that of acc");
}

LogicalResult verifyKeyRanges(Operation *op, Region &region) {
  Type index = IndexType::get(op->getContext());
  return verifyScalarRegion(op, region, "key_ranges", {}, {index, index, index, index},
                            "four numbers of keys: visited lower and upper, full lower and upper");
}

/// C10 of the start of rows: the score of a sink, which attn-analyze-mask replaces by this region.
LogicalResult verifyStart(SdpaOp op) {
  if (op.getSink() && !op.getStart().empty())
    return op.emitOpError("C10: expected one of sink and start, which attn-analyze-mask makes of a sink, found both");
  Type accumulation = getAccumulationType(getElementTypeOrSelf(op.getQuery().getType()));
  return verifyScalarRegion(op, op.getStart(), "start", {}, accumulation,
                            accumulation.isF64() ? "f64, the type of the accumulation"
                                                 : "f32, the type of the accumulation");
}

/// C2 of additive scoring: one weight per column of Q and K.
LogicalResult verifyScoreWeight(Operation *op, Value weight) {
  if (!weight)
    return success();
  if (failed(verifyFloat(op, weight, "score_weight")))
    return failure();
  int64_t size = getStaticSize(op, DimKind::HeadSize),
          found = getShaped(weight).getRank() == 1 ? getShaped(weight).getDimSize(0) : -1;
  if (found == size || ShapedType::isDynamic(found))
    return success();
  return op->emitOpError("C2: expected score_weight to have ")
         << size << " elements, one a column of query and key, found " << weight.getType();
}

/// C4 of K and V: the type of Q, or a narrower one that is widened when loaded.
LogicalResult verifyKeysAndValues(Operation *op, Type query, Type key, Type value) {
  if (key != value)
    return op->emitOpError("C4: expected key and value to have one element type, found ") << key << " and " << value;
  if (key == query || isQuantised(key) || (query.isF32() && (key.isF16() || key.isBF16())))
    return success();
  return op->emitOpError("C4: expected key and value to have element type ")
         << query << ", that of query, f16 or bf16 beside f32, or i8, f8E4M3FN or f8E5M2 with kv_scale, found " << key;
}

/// The type that score_mod and weight_mod compute in: that of the accumulation, or, if present, of the state.
Type getModType(Region &region, Type query, Value accumulator) {
  Type state = accumulator ? getElementTypeOrSelf(accumulator.getType()) : Type();
  bool isOfState = !region.empty() && region.getNumArguments() == 1 && region.getArgument(0).getType() == state;
  return isOfState ? state : getAccumulationType(query);
}

/// The checks that sdpa and online_step share.
template <typename OpTy> LogicalResult verifyAttention(OpTy op, Value accumulator) {
  Type type = getElementTypeOrSelf(op.getQuery().getType());
  if (failed(verifyFloat(op, op.getQuery(), "query")) ||
      failed(verifyKeysAndValues(op, type, getElementTypeOrSelf(op.getKey().getType()),
                                 getElementTypeOrSelf(op.getValue().getType()))) ||
      (op.getBias() && failed(verifyFloat(op, op.getBias(), "bias"))) || failed(verifyMask(op, op.getMask())) ||
      failed(verifyMaskMod(op, op.getMaskMod())) ||
      failed(verifyScoreMod(op, op.getScoreMod(), "score_mod", getModType(op.getScoreMod(), type, accumulator))) ||
      failed(verifyKeyRanges(op, op.getKeyRanges())) || failed(verifyScoreWeight(op, op.getScoreWeight())))
    return failure();
  if constexpr (requires { op.getSoftcap(); })
    if (failed(verifySoftcap(op, op.getSoftcap(), getAccumulationType(type))))
      return failure();
  Type accumulation = accumulator ? getElementTypeOrSelf(accumulator.getType()) : getAccumulationType(type);
  return verifyScale(op, op.getScaleValue(), op.getScale(), accumulation);
}

} // namespace

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

/// lse, max and log_sum have `type`, or any floating-point type where it is null.
template <typename OpTy> static LogicalResult verifyRowResults(OpTy op, Type type) {
  for (auto [operand, name] :
       {std::pair(op.getLse(), "lse"), std::pair(op.getMax(), "max"), std::pair(op.getLogSum(), "log_sum")})
    if (operand && failed(verifyFloat(op, operand, name, type, ", that of the accumulation")))
      return failure();
  return success();
}

/// C28: the outputs determine the state that they hold.
template <typename OpTy> static LogicalResult verifyAccumulate(OpTy op, Type type) {
  if (!op.getAccumulate())
    return success();
  bool hasTerms = op.getMax() && op.getLogSum();
  if (bool(op.getMax()) != bool(op.getLogSum()) || (!op.getLse() && !hasTerms))
    return op.emitOpError(
               "C28: expected lse, or max and log_sum, beside accumulate, which reads the state of rows there, "
               "found ")
           << (op.getMax()      ? "max alone"
               : op.getLogSum() ? "log_sum alone"
                                : "neither")
           << "; write outs(%out, %lse : …), or max(…) and log_sum(…)";
  Type output = getElementTypeOrSelf(op.getOutput().getType());
  if (output != type)
    return op.emitOpError("C28: expected output to have element type ")
           << type << ", that of the accumulation, beside accumulate, found " << output;
  return success();
}

LogicalResult SdpaOp::verify() {
  if (failed(verifyPacked(*this)) || failed(verifyStructure(*this)) ||
      failed(verifyAttention(*this, /*accumulator=*/{})) || failed(verifyKvScale(*this)) ||
      failed(verifySpelledOutMask(*this)) || failed(verifySink(*this, getSink())) ||
      failed(verifyDropout(*this, getDropoutP(), getDropoutSeed())) || failed(verifyStart(*this)))
    return failure();
  if (!getScale() && !getScaleValue() && getStaticSize(*this, DimKind::HeadSize) == 0)
    return emitOpError("C9: expected a scale where the head size is 0, as 1/sqrt(0) is infinite, found none");
  // A partial result, which attn.merge or the caller adds to others, is rounded once, after the sum.
  Type type = getElementTypeOrSelf(getQuery().getType()), accumulation = getAccumulationType(type);
  Type output = getElementTypeOrSelf(getOutput().getType());
  if (output != type && output != accumulation)
    return emitOpError("C4: expected output to have element type ")
           << type << ", that of query" << (type == accumulation ? "" : ", or f32, that of the accumulation")
           << ", found " << output;
  if (getAccumulate() && (getSink() || !getStart().empty()))
    return emitOpError("C28: expected no ")
           << (getSink() ? "sink" : "start")
           << " beside accumulate, where it would count once more with each call; give "
           << "it to the call that makes the state";
  if (failed(verifyAccumulate(*this, accumulation)))
    return failure();
  return verifyRowResults(*this, accumulation);
}

LogicalResult InitStateOp::verify() {
  if (failed(verifyStructure(*this)) || failed(verifyScalarRegion(*this, getStart(), "start", {}, Type(), "one float")))
    return failure();
  return verifyState(*this, getAcc(), getRowMax(), getRowSum());
}

/// C22: further segments have the type of the first, and the keys may be visited in any order.
static LogicalResult verifySegments(OnlineStepOp op) {
  if (op.getMoreKeys().size() != op.getMoreValues().size())
    return op.emitOpError("C22: expected as many segments of values as of keys (")
           << op.getMoreKeys().size() << "), found " << op.getMoreValues().size();
  if (op.getMoreKeys().empty())
    return success();
  auto isLike = [](Value first, Value other) {
    auto type = cast<ShapedType>(first.getType()), otherType = cast<ShapedType>(other.getType());
    return type.getShape() == otherType.getShape() && type.getElementType() == otherType.getElementType();
  };
  for (auto [first, others] :
       {std::pair<Value, ValueRange>(op.getKey(), op.getMoreKeys()), {op.getValue(), op.getMoreValues()}})
    for (Value other : others)
      if (!isLike(first, other))
        return op.emitOpError("C22: expected segments of one size and element type, found ")
               << first.getType() << " and " << other.getType();
  if (!op.getMaskMod().empty() || asksForKeys(op))
    return op.emitOpError(
        "C22: expected no bias, mask, mask_mod or region that asks for the key beside segments, whose "
        "keys come in any order");
  return success();
}

LogicalResult OnlineStepOp::verify() {
  if (!llvm::is_contained({0, 3}, int(getQueryBytes().size())))
    return emitOpError("C22: expected query_bytes to be digits, scales and offsets, found ")
           << getQueryBytes().size() << " operands";
  if (failed(verifyStructure(*this)) || failed(verifySegments(*this)) || failed(verifyAttention(*this, getAcc())) ||
      failed(verifyScoreMod(*this, getWeightMod(), "weight_mod",
                            getModType(getWeightMod(), getElementTypeOrSelf(getQuery().getType()), getAcc()))))
    return failure();
  return verifyState(*this, getAcc(), getRowMax(), getRowSum());
}

LogicalResult MergeStatesOp::verify() {
  if (failed(verifyStructure(*this)) || failed(verifyState(*this, getAcc(), getRowMax(), getRowSum())))
    return failure();
  Type type = getElementTypeOrSelf(getAcc().getType());
  for (Value other : {getOtherAcc(), getOtherMax(), getOtherSum()})
    if (failed(verifyFloat(*this, other, "the merged state", type, ", that of acc")))
      return failure();
  return success();
}

LogicalResult FinalizeOp::verify() {
  if (failed(verifyStructure(*this)) || failed(verifyState(*this, getAcc(), getRowMax(), getRowSum())) ||
      failed(verifyFloat(*this, getOutput(), "output")) ||
      failed(verifyAccumulate(*this, getElementTypeOrSelf(getAcc().getType()))))
    return failure();
  return verifyRowResults(*this, /*type=*/{});
}
