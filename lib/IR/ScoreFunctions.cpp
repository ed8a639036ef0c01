//===- ScoreFunctions.cpp - the evaluator of score functions --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/ScoreFunctions.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace attn;

bool ScoreFunctions::hasOnlyScaleAndMasks() const {
  return *this ==
         ScoreFunctions{.numBatch = numBatch, .scale = scale, .mask = mask, .maskMod = maskMod, .weightMod = weightMod};
}

bool attn::isFinite(Region &scoreMod) {
  return scoreMod.empty() ||
         llvm::all_of(scoreMod.front().without_terminator(), [](Operation &op) { return isa<ScoreFunction>(op); });
}

Value ScorePosition::getConstant(double value) { return createFloatConstant(b, loc, type, value); }

Value ScorePosition::convert(Value x, Type to) { return convertFloat(b, loc, x, to); }

/// region(x), in the type that it is written in
static Value modify(ScorePosition &at, Region *region, Value x) {
  if (!region)
    return x;
  Value argument = at.convert(x, region->getArgument(0).getType());
  return at.convert(at.evaluate(*region, argument), at.type);
}

Value attn::evaluateScore(ScorePosition &at, const ScoreFunctions &functions, Value score) {
  // Binds all fields: a field without a formula here does not compile.
  [[maybe_unused]] const auto &[numBatch, scale, scaleValue, scoreMod, bias, mask, maskMod, weightMod] = functions;
  return maskScore(at, functions, scaleScore(at, functions, score));
}

Value attn::evaluateWeight(ScorePosition &at, const ScoreFunctions &functions, Value weight) {
  if (!functions.weightMod)
    return weight;
  // (p == 0) ? 0 : weight_mod(p): what the region reads for a removed key (a scale past the lengths) may be NaN
  Value zero = at.getConstant(0);
  Value isZero = arith::CmpFOp::create(at.b, at.loc, arith::CmpFPredicate::OEQ, weight, zero);
  return arith::SelectOp::create(at.b, at.loc, isZero, zero, modify(at, functions.weightMod, weight));
}

Value attn::scaleScore(ScorePosition &at, const ScoreFunctions &functions, Value score) {
  // s * scale
  if (functions.scaleValue)
    score = arith::MulFOp::create(at.b, at.loc, score, at.broadcast(functions.scaleValue), at.flags);
  else if (functions.scale && *functions.scale != 1)
    score = arith::MulFOp::create(at.b, at.loc, score, at.getConstant(*functions.scale), at.flags);
  return modify(at, functions.scoreMod, score);
}

Value attn::maskScore(ScorePosition &at, const ScoreFunctions &functions, Value score) {
  OpBuilder &b = at.b;
  Location loc = at.loc;
  if (!functions.bias.value && !functions.mask.value && !functions.maskMod)
    return score;
  Value removed = at.getConstant(-std::numeric_limits<double>::infinity());
  // s + bias, and -inf for a bias of -inf whatever s is: the key is removed, so a NaN in it has no effect
  if (functions.bias.value) {
    Value bias = at.load(functions.bias);
    Value isRemoved = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, bias, removed);
    score = arith::SelectOp::create(b, loc, isRemoved, removed, arith::AddFOp::create(b, loc, score, bias, at.flags));
  }
  // keep ? s : -inf
  if (functions.mask.value) {
    Value keep = at.load(functions.mask);
    if (!getElementTypeOrSelf(keep.getType()).isInteger(1)) {
      Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(keep.getType()));
      keep = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, keep, zero);
    }
    score = arith::SelectOp::create(b, loc, keep, score, removed);
  }
  if (functions.maskMod)
    score = arith::SelectOp::create(b, loc, at.evaluate(*functions.maskMod, {}), score, removed);
  return score;
}

Value attn::buildSmallTanhRatio(Value square, function_ref<Value(double)> getConstant,
                                function_ref<Value(Value, Value, Value)> multiplyAdd) {
  // minimax polynomial; highest degree first
  static constexpr double kCoefficients[] = {0.0171349114, -0.052986034, 0.133247788, -0.333330694, 0.999999987};
  Value polynomial = getConstant(kCoefficients[0]);
  for (double coefficient : ArrayRef(kCoefficients).drop_front())
    polynomial = multiplyAdd(polynomial, square, getConstant(coefficient));
  return polynomial;
}
