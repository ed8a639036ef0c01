//===- ChainVerifiers.cpp - the numbered constraints of the chain's ops ---===//
//
// And of the functions in their regions.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

using namespace mlir;
using namespace attn;

static ShapedType getShaped(Value value) { return cast<ShapedType>(value.getType()); }

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

LogicalResult CapOp::verify() { return verifySoftcap(*this, getLimit(), getScore().getType(), "limit"); }

LogicalResult RandomKeepOp::verify() {
  if (llvm::isUInt<32>(getThreshold()))
    return success();
  return emitOpError("C16: expected a threshold in [0, 2^32), found ") << static_cast<int64_t>(getThreshold());
}

LogicalResult SoftcapOp::verify() {
  if (failed(verifyElementwise(*this, getInput(), getOutput())))
    return failure();
  return verifySoftcap(*this, getSoftcap(), getAccumulationType(getElementTypeOrSelf(getInput().getType())));
}

LogicalResult MaskOp::verify() {
  if (failed(verifyElementwise(*this, getInput(), getOutput())) ||
      (getBias() && failed(verifyFloat(*this, getBias(), "bias"))) || failed(verifySpelledOutMask(*this)) ||
      failed(verifyMask(*this, getMask())))
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
