//===- Verifiers.cpp - the numbered constraints of the attn ops -----------===//
//
// Each check names its constraint (C1 …) as the op's documentation does. What
// is expected, what was found, and what to write stand in the message.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {

ShapedType getShaped(Value value) { return cast<ShapedType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Constraints shared by several ops
//===----------------------------------------------------------------------===//

/// C4: the operand is floating point; where `expected` is given, of that type.
LogicalResult verifyFloat(Operation *op, Value operand, StringRef name, Type expected = {}, StringRef reason = "") {
  Type type = getElementTypeOrSelf(operand.getType());
  if (!isa<FloatType>(type))
    return op->emitOpError("C4: expected ") << name << " to be floating point, found " << type;
  if (expected && type != expected)
    return op->emitOpError("C4: expected ")
           << name << " to have element type " << expected << reason << ", found " << type;
  return success();
}

/// C4 for the state triple.
LogicalResult verifyState(Operation *op, Value acc, Value max, Value sum) {
  Type type = getElementTypeOrSelf(acc.getType());
  if (!type.isF32() && !type.isF64())
    return op->emitOpError("C4: expected the state to be f32 or f64, found ") << type;
  if (failed(verifyFloat(op, max, "row_max", type, ", that of acc")))
    return failure();
  return verifyFloat(op, sum, "row_sum", type, ", that of acc");
}

/// C5: an alignment is spelled out unless the sizes make every alignment the same.
LogicalResult verifyCausal(Operation *op, std::optional<Attribute> causal, bool hasLengths) {
  if (!causal || isa<CausalAlignmentAttr>(*causal))
    return success();
  if (!isa<UnitAttr>(*causal))
    return op->emitOpError("C5: expected causal to be #attn.causal<top_left>, #attn.causal<bottom_right> or "
                           "#attn.causal<offset>, found ")
           << *causal;
  int64_t queries = getStaticSize(op, DimKind::Query), keys = getStaticSize(op, DimKind::Key);
  if (queries == keys && !ShapedType::isDynamic(queries) && !hasLengths)
    return success();
  auto print = [](int64_t size) { return ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size); };
  return op->emitOpError("C5: causal needs an alignment unless the numbers of queries and keys are static and equal, "
                         "found Sq = ")
         << print(queries) << " and Sk = " << print(keys) << (hasLengths ? " with lengths of their own" : "")
         << "; write causal = #attn.causal<top_left> (keeps j <= i) or causal = #attn.causal<bottom_right> "
            "(keeps j <= i + Sk - Sq)";
}

/// Lengths of each batch index: their numbers of queries and keys may differ where those of the problem do not.
bool hasLengths(MaskOp op) { return op.getQLengths() || op.getKvLengths(); }
bool hasLengths(SdpaOp op) { return op.getQLengths() || op.getKvLengths() || op.getCuSeqlensQ(); }

/// C12: a window or chunk is placed by the causal alignment or by one of its own.
template <typename OpTy> LogicalResult verifyWindow(OpTy op) {
  bool isPlaceable = op.getWindow() || op.getChunk();
  if (op.getChunk() && *op.getChunk() < 1)
    return op.emitOpError("C12: expected chunk to be at least 1, found ") << *op.getChunk();
  if (op.getAlign() && (!isPlaceable || op.getCausal()))
    return op.emitOpError("C12: expected align only for a window or chunk without causal, found it ")
           << (op.getCausal() ? "beside causal" : "without a window");
  int64_t queries = getStaticSize(op, DimKind::Query), keys = getStaticSize(op, DimKind::Key);
  bool isPlaced =
      op.getCausal() || op.getAlign() || (queries == keys && !ShapedType::isDynamic(queries) && !hasLengths(op));
  if (!isPlaceable || isPlaced)
    return success();
  return op.emitOpError(
      "C12: a window or chunk without causal needs an alignment unless the numbers of queries and keys "
      "are static and equal; write align = #attn.causal<top_left> or align = "
      "#attn.causal<bottom_right>");
}

/// C6.
LogicalResult verifySoftcap(Operation *op, std::optional<APFloat> softcap, Type accumulationType) {
  if (!softcap)
    return success();
  double value = softcap->convertToDouble();
  if (!std::isfinite(value) || value <= 0)
    return op->emitOpError("C6: expected softcap to be finite and greater than 0, found ") << value;
  if (float narrow = value; accumulationType.isF32() && (!std::isfinite(narrow) || narrow == 0))
    return op->emitOpError("C6: expected softcap to be finite and greater than 0 in f32, the type of the accumulation, "
                           "found ")
           << value << "; leave it out for no cap";
  return success();
}

/// C8.
LogicalResult verifyMask(Operation *op, Value mask) {
  if (!mask || getShaped(mask).getElementType().isInteger(1))
    return success();
  // A packed tile holds its booleans as bytes.
  if (isa<OnlineStepOp>(op) && getShaped(mask).getElementType().isInteger(8))
    return success();
  return op->emitOpError("C8: expected mask to have element type i1 (true = attend), found ")
         << getShaped(mask).getElementType() << "; an additive mask is a bias";
}

/// C9.
LogicalResult verifyScale(Operation *op, Value value, std::optional<APFloat> scale, Type accumulationType) {
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

LogicalResult verifyMaskMod(Operation *op, Region &region) {
  return verifyScalarRegion(op, region, "mask_mod", {}, IntegerType::get(op->getContext(), 1), "i1 (true = keep)");
}

LogicalResult verifyScoreMod(Operation *op, Region &region, StringRef name, Type type) {
  return verifyScalarRegion(op, region, name, type, type, "one float of the type that it takes");
}

LogicalResult verifyKeyRanges(Operation *op, Region &region) {
  Type index = IndexType::get(op->getContext());
  return verifyScalarRegion(op, region, "key_ranges", {}, {index, index, index, index},
                            "four numbers of keys: visited lower and upper, full lower and upper");
}

/// C13: integers, `excess` more than there are batch indices.
LogicalResult verifyPerBatch(Operation *op, Value operand, StringRef name, int64_t excess = 0) {
  if (!operand)
    return success();
  ShapedType type = getShaped(operand);
  if (type.getRank() != 1 || !(type.getElementType().isInteger(32) || type.getElementType().isInteger(64)))
    return op->emitOpError("C13: expected ") << name << " to have one dimension of i32 or i64, found " << type;
  if (getNumBatchDims(op) == 0)
    return op->emitOpError("C13: expected a batch dimension beside ") << name << ", found none";
  int64_t batch = getStaticDomain(op).front(), found = type.getDimSize(0);
  if (ShapedType::isDynamic(batch) || ShapedType::isDynamic(found) || found == batch + excess)
    return success();
  return op->emitOpError("C13: expected ") << name << " to have " << batch + excess << " elements, one a batch index"
                                           << (excess ? " and one more" : "") << ", found " << found;
}

/// C4, C2 of a sink: one float a query head.
LogicalResult verifySink(Operation *op, Value sink) {
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

/// C16.
LogicalResult verifyDropout(Operation *op, std::optional<APFloat> p, Value seed) {
  if (bool(p) != bool(seed))
    return op->emitOpError("C16: expected dropout_p beside dropout(%seed, %offset), found ")
           << (p ? "dropout_p" : "dropout") << " alone";
  if (!p)
    return success();
  double value = p->convertToDouble();
  if (value >= 0 && value <= 1)
    return success();
  return op->emitOpError("C16: expected dropout_p in [0, 1], found ") << value;
}

/// C13, C14 of sdpa and mask.
template <typename OpTy> LogicalResult verifySpelledOutOperands(OpTy op) {
  auto isOffset = [](std::optional<Attribute> attribute) {
    auto alignment = attribute ? dyn_cast_or_null<CausalAlignmentAttr>(*attribute) : CausalAlignmentAttr();
    return alignment && alignment.getValue() == CausalAlignment::Offset;
  };
  std::optional<Attribute> align = op.getAlignAttr() ? std::optional<Attribute>(op.getAlignAttr()) : std::nullopt;
  if ((isOffset(op.getCausal()) || isOffset(align)) != bool(op.getCausalOffset()))
    return op.emitOpError("C14: expected causal_offset(%v) beside the alignment #attn.causal<offset>, found ")
           << (op.getCausalOffset() ? "causal_offset" : "the alignment") << " alone";
  if (failed(verifyPerBatch(op, op.getQLengths(), "q_lengths")) ||
      failed(verifyPerBatch(op, op.getKvLengths(), "kv_lengths")))
    return failure();
  return verifyPerBatch(op, op.getCausalOffset(), "causal_offset");
}

/// C13, C15.
LogicalResult verifyPacked(SdpaOp op) {
  if (!op.getCuSeqlensQ())
    return success();
  if (getNumBatchDims(op) != 2)
    return op.emitOpError("C15: expected the batch dimensions (sequence, head) beside cu_seqlens, found ")
           << getNumBatchDims(op);
  StringRef other = op.getQLengths() || op.getKvLengths() ? "lengths, which cu_seqlens say themselves"
                    : op.getBias()                        ? "bias"
                    : op.getMask()                        ? "mask"
                    : op.getDropoutP()                    ? "dropout"
                                                          : "";
  if (!other.empty())
    return op.emitOpError("C15: expected cu_seqlens without ") << other << "; write a mask or bias as a region";
  if (failed(verifyPerBatch(op, op.getCuSeqlensQ(), "cu_seqlens of queries", /*excess=*/1)))
    return failure();
  return verifyPerBatch(op, op.getCuSeqlensK(), "cu_seqlens of keys", /*excess=*/1);
}

/// C2 of additive scoring: one weight a column of Q and K.
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

/// C4 of K and V: the type of Q, or a narrower one that is widened as it is read.
LogicalResult verifyKeysAndValues(Operation *op, Type query, Type key, Type value) {
  if (key != value)
    return op->emitOpError("C4: expected key and value to have one element type, found ") << key << " and " << value;
  if (key == query || isQuantised(key) || (query.isF32() && (key.isF16() || key.isBF16())))
    return success();
  return op->emitOpError("C4: expected key and value to have element type ")
         << query << ", that of query, f16 or bf16 beside f32, or i8 or f8E4M3FN with kv_scale, found " << key;
}

/// What score_mod and weight_mod calculate in: the type of the accumulation, or, where there is one, of the state.
Type getModType(Region &region, Type query, Value accumulator) {
  Type state = accumulator ? getElementTypeOrSelf(accumulator.getType()) : Type();
  bool isOfState = !region.empty() && region.getNumArguments() == 1 && region.getArgument(0).getType() == state;
  return isOfState ? state : getAccumulationType(query);
}

/// What sdpa and online_step share.
template <typename OpTy> LogicalResult verifyAttention(OpTy op, Value accumulator) {
  Type type = getElementTypeOrSelf(op.getQuery().getType());
  if (failed(verifyFloat(op, op.getQuery(), "query")) ||
      failed(verifyKeysAndValues(op, type, getElementTypeOrSelf(op.getKey().getType()),
                                 getElementTypeOrSelf(op.getValue().getType()))) ||
      (op.getBias() && failed(verifyFloat(op, op.getBias(), "bias"))) || failed(verifyMask(op, op.getMask())) ||
      failed(verifySoftcap(op, op.getSoftcap(), getAccumulationType(type))) ||
      failed(verifyMaskMod(op, op.getMaskMod())) ||
      failed(verifyScoreMod(op, op.getScoreMod(), "score_mod", getModType(op.getScoreMod(), type, accumulator))) ||
      failed(verifyKeyRanges(op, op.getKeyRanges())) || failed(verifyScoreWeight(op, op.getScoreWeight())))
    return failure();
  Type accumulation = accumulator ? getElementTypeOrSelf(accumulator.getType()) : getAccumulationType(type);
  return verifyScale(op, op.getScaleValue(), op.getScale(), accumulation);
}

} // namespace

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

/// C18: general has W (D, D); additive has w (D), or W_q (D, A), W_k (D, A), w (A).
static LogicalResult verifyScoreKind(ScoresOp op) {
  OperandRange weights = op.getWeights();
  auto kind = op.getKind();
  auto fail = [&](StringRef expected) {
    InFlightDiagnostic diag = op.emitOpError("C18: expected ") << expected << ", found ";
    if (weights.empty())
      diag << "none";
    llvm::interleaveComma(weights.getTypes(), diag);
    return diag;
  };
  if (!kind)
    return weights.empty() ? success()
                           : LogicalResult(fail("kind = #attn.score_kind<general> or <additive> for weights"));
  int64_t columns = getStaticSize(op, DimKind::HeadSize);
  auto hasShape = [&](Value weight, ArrayRef<int64_t> shape) {
    return getElementTypeOrSelf(weight.getType()) == getElementTypeOrSelf(op.getQuery().getType()) &&
           succeeded(verifyCompatibleShape(getShaped(weight).getShape(), shape));
  };
  if (*kind == ScoreKind::General) {
    bool fits = weights.size() == 1 && hasShape(weights[0], {columns, columns});
    return fits ? success() : LogicalResult(fail("one weight W of the head size squared and the type of query"));
  }
  if (weights.size() == 1 && hasShape(weights[0], {columns}))
    return success();
  bool areProjections = weights.size() == 3 && getShaped(weights[2]).getRank() == 1;
  if (areProjections) {
    int64_t hidden = getShaped(weights[2]).getDimSize(0);
    areProjections = hasShape(weights[0], {columns, hidden}) && hasShape(weights[1], {columns, hidden}) &&
                     hasShape(weights[2], {hidden});
  }
  return areProjections
             ? success()
             : LogicalResult(fail("weights w (D), or W_q (D, A), W_k (D, A) and w (A), of the type of query"));
}

LogicalResult ScoresOp::verify() {
  if (failed(verifyStructure(*this)) || failed(verifyFloat(*this, getQuery(), "query")) ||
      failed(verifyFloat(*this, getKey(), "key", getElementTypeOrSelf(getQuery().getType()), ", that of query")))
    return failure();
  if (failed(verifyFloat(*this, getOutput(), "output")))
    return failure();
  return verifyScoreKind(*this);
}

/// C4 of the elementwise ops: input and output are of one floating-point type.
static LogicalResult verifyElementwise(Operation *op, Value input, Value output) {
  if (failed(verifyStructure(op)) || failed(verifyFloat(op, input, "input")))
    return failure();
  return verifyFloat(op, output, "output", getElementTypeOrSelf(input.getType()), ", that of input");
}

LogicalResult ScaleOp::verify() {
  if (failed(verifyElementwise(*this, getInput(), getOutput())))
    return failure();
  if (!getScale() && !getScaleValue())
    return emitOpError("C9: expected scale = … : f64 or scale_value(%s : …), found neither");
  Type accumulation = getAccumulationType(getElementTypeOrSelf(getInput().getType()));
  return verifyScale(*this, getScaleValue(), getScale(), accumulation);
}

LogicalResult SoftcapOp::verify() {
  if (failed(verifyElementwise(*this, getInput(), getOutput())))
    return failure();
  return verifySoftcap(*this, getSoftcap(), getAccumulationType(getElementTypeOrSelf(getInput().getType())));
}

LogicalResult MaskOp::verify() {
  if (failed(verifyElementwise(*this, getInput(), getOutput())) ||
      (getBias() && failed(verifyFloat(*this, getBias(), "bias"))) ||
      failed(verifyCausal(*this, getCausal(), hasLengths(*this))) || failed(verifyWindow(*this)) ||
      failed(verifySpelledOutOperands(*this)) || failed(verifyMask(*this, getMask())))
    return failure();
  return verifyMaskMod(*this, getMaskMod());
}

LogicalResult ModifyOp::verify() {
  if (failed(verifyElementwise(*this, getInput(), getOutput())))
    return failure();
  return verifyScoreMod(*this, getScoreMod(), "score_mod",
                        getAccumulationType(getElementTypeOrSelf(getInput().getType())));
}

LogicalResult SoftmaxOp::verify() {
  if (failed(verifyElementwise(*this, getInput(), getOutput())) || failed(verifySink(*this, getSink())) ||
      failed(verifyPerBatch(*this, getQLengths(), "q_lengths")))
    return failure();
  Type accumulation = getAccumulationType(getElementTypeOrSelf(getInput().getType()));
  return getLse() ? verifyFloat(*this, getLse(), "lse", accumulation, ", that of the accumulation") : success();
}

LogicalResult DropoutOp::verify() {
  if (failed(verifyElementwise(*this, getInput(), getOutput())))
    return failure();
  return verifyDropout(*this, getDropoutP(), getDropoutSeed());
}

LogicalResult ApplyOp::verify() {
  if (failed(verifyStructure(*this)) || failed(verifyFloat(*this, getWeights(), "weights")) ||
      failed(verifyFloat(*this, getValue(), "value")))
    return failure();
  return verifyFloat(*this, getOutput(), "output", getElementTypeOrSelf(getValue().getType()), ", that of value");
}

LogicalResult SdpaOp::verify() {
  if (failed(verifyPacked(*this)) || failed(verifyStructure(*this)) ||
      failed(verifyAttention(*this, /*accumulator=*/{})) || failed(verifyKvScale(*this)) ||
      failed(verifyCausal(*this, getCausal(), hasLengths(*this))) || failed(verifyWindow(*this)) ||
      failed(verifySpelledOutOperands(*this)) || failed(verifySink(*this, getSink())) ||
      failed(verifyDropout(*this, getDropoutP(), getDropoutSeed())) ||
      failed(verifyScalarRegion(*this, getStart(), "start", {}, Type(), "one float")))
    return failure();
  if (!getScale() && !getScaleValue() && getStaticSize(*this, DimKind::HeadSize) == 0)
    return emitOpError("C9: expected a scale where the head size is 0, as 1/sqrt(0) is infinite, found none");
  Type type = getElementTypeOrSelf(getQuery().getType());
  if (failed(verifyFloat(*this, getOutput(), "output", type, ", that of query")))
    return failure();
  if (getLse())
    return verifyFloat(*this, getLse(), "lse", getAccumulationType(type), ", that of the accumulation");
  return success();
}

LogicalResult InitStateOp::verify() {
  if (failed(verifyStructure(*this)) || failed(verifyScalarRegion(*this, getStart(), "start", {}, Type(), "one float")))
    return failure();
  return verifyState(*this, getAcc(), getRowMax(), getRowSum());
}

LogicalResult OnlineStepOp::verify() {
  if (failed(verifyStructure(*this)) || failed(verifyAttention(*this, getAcc())) ||
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
      failed(verifyFloat(*this, getOutput(), "output")))
    return failure();
  if (getLse())
    return verifyFloat(*this, getLse(), "lse");
  return success();
}

LogicalResult PackOp::verify() {
  if (failed(verifyStructure(*this)))
    return failure();
  Type input = getElementTypeOrSelf(getInput().getType()), output = getElementTypeOrSelf(getOutput().getType());
  bool isWidened = isa<FloatType>(output) && (isa<FloatType>(input) || isQuantised(input));
  if (input == output || isWidened || (input.isInteger(1) && output.isInteger(8)))
    return success();
  return emitOpError("C4: expected floats, an i8 input and a float output, one element type, or an i1 input and an i8 "
                     "output, found ")
         << input << " and " << output;
}
