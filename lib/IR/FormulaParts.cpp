//===- FormulaParts.cpp - what several ops are decomposed into ------------===//
//
// Bodies and contractions as linalg, over parts of the domain of a Formula's
// op.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FormulaParts.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace attn;

using enum DimKind;

static const double kInfinity = std::numeric_limits<double>::infinity();

Value attn::buildScores(Formula &f, Value query, AffineMap queryMap, Value key, AffineMap keyMap, Value output,
                        AffineMap outputMap, Value weight) {
  if (weight) {
    AffineMap weightMap =
        AffineMap::get(f.sizes.size(), 0, {getAffineDimExpr(f.numBatch + 2, f.op->getContext())}, f.op->getContext());
    return f.generic({Query, Key, HeadSize}, {HeadSize}, {query, key, weight}, {queryMap, keyMap, weightMap},
                     f.fill(output, 0), outputMap, [](OpBuilder &b, Location loc, ValueRange x) -> Value {
                       Value tanh = math::TanhOp::create(b, loc, arith::AddFOp::create(b, loc, x[0], x[1]));
                       return arith::AddFOp::create(b, loc, x[3], arith::MulFOp::create(b, loc, x[2], tanh));
                     });
  }
  return f.generic({Query, Key, HeadSize}, {HeadSize}, {query, key}, {queryMap, keyMap}, f.fill(output, 0), outputMap,
                   [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                     Value product = arith::MulFOp::create(b, loc, x[0], f.widen(b, x[1]));
                     return arith::AddFOp::create(b, loc, x[2], product);
                   });
}

Value attn::buildApply(Formula &f, Value weights, AffineMap weightsMap, Value value, AffineMap valueMap, Value output,
                       AffineMap outputMap) {
  return f.generic({Query, Key, DimKind::ValueSize}, {Key}, {weights, value}, {weightsMap, valueMap}, output, outputMap,
                   [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                     // A weight of 0 skips V: past the length, V may hold NaN.
                     Value zero = createFloatConstant(b, loc, f.type, 0);
                     Value isRemoved = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x[0], zero);
                     Value product = arith::MulFOp::create(b, loc, x[0], f.widen(b, x[1]));
                     product = arith::SelectOp::create(b, loc, isRemoved, zero, product);
                     return arith::AddFOp::create(b, loc, x[2], product);
                   });
}

Value FormulaPosition::load(const ScoreOperand &operand) {
  for (auto [i, map] : llvm::enumerate(f.maps))
    if (f.op->getOperand(i) == operand.value && map == operand.map)
      return elements[i];
  llvm_unreachable("an operand of the op");
}

Value FormulaPosition::evaluate(Region &region, ValueRange arguments) {
  auto apply = [&](ScoreFunction function, Value x) { return function.buildFormula(b, loc, x); };
  return inlineRegion(b, region, arguments, [&](IndexOp index) { return f.getIndex(b, index); }, apply).front();
}

Value attn::buildElementwise(Formula &f, const ScoreFunctions &functions,
                             function_ref<Value(ScorePosition &, const ScoreFunctions &, Value)> evaluate) {
  size_t numInputs = f.maps.size() - 1;
  return f.generic({Query, Key}, {}, f.op->getOperands().take_front(numInputs), ArrayRef(f.maps).drop_back(),
                   f.op->getOperand(numInputs), f.maps.back(), [&](OpBuilder &b, Location loc, ValueRange x) {
                     FormulaPosition at(f, b, loc, x);
                     return evaluate(at, functions, x[0]);
                   });
}

Value attn::guardedExp(Formula &f, OpBuilder &b, Location loc, Value x, Value m) {
  Value minusInf = createFloatConstant(b, loc, f.type, -kInfinity), zero = createFloatConstant(b, loc, f.type, 0);
  Value isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, m, minusInf);
  Value exp = math::ExpOp::create(b, loc, arith::SubFOp::create(b, loc, x, m));
  return arith::SelectOp::create(b, loc, isEmpty, zero, exp);
}

Value attn::buildWeight(OpBuilder &b, Location loc, Value score, Value max, Value logSum) {
  Value zero = createFloatConstant(b, loc, score.getType(), 0);
  Value exponent = arith::MinimumFOp::create(b, loc, arith::SubFOp::create(b, loc, score, max), zero);
  if (logSum)
    exponent = arith::SubFOp::create(b, loc, exponent, logSum);
  return math::ExpOp::create(b, loc, exponent);
}

Value attn::buildRescale(Formula &f, Value old, AffineMap oldMap, Value max, AffineMap maxMap) {
  return f.generic({Query}, {}, {old, max}, {oldMap, maxMap}, f.empty({Query}), f.getMap({Query}),
                   [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                     Value minusInf = createFloatConstant(b, loc, f.type, -kInfinity);
                     Value zero = createFloatConstant(b, loc, f.type, 0);
                     Value isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x[0], minusInf);
                     Value exp = math::ExpOp::create(b, loc, arith::SubFOp::create(b, loc, x[0], x[1]));
                     return arith::SelectOp::create(b, loc, isEmpty, zero, exp);
                   });
}

Value attn::buildRowMax(Formula &f, Value scores, AffineMap scoresMap, Value init, AffineMap initMap) {
  return f.generic(
      {Query, Key}, {Key}, {scores}, {scoresMap}, init, initMap,
      [](OpBuilder &b, Location loc, ValueRange x) -> Value { return arith::MaximumFOp::create(b, loc, x[1], x[0]); });
}

Value attn::buildRowSum(Formula &f, Value weights, AffineMap weightsMap, Value init, AffineMap initMap) {
  return f.generic(
      {Query, Key}, {Key}, {weights}, {weightsMap}, init, initMap,
      [](OpBuilder &b, Location loc, ValueRange x) -> Value { return arith::AddFOp::create(b, loc, x[1], x[0]); });
}

Value attn::buildRowResults(Formula &f, RowResult kind, Value max, AffineMap maxMap, Value sum, AffineMap sumMap,
                            Value output, AffineMap map) {
  return f.generic({Query}, {}, {max, sum}, {maxMap, sumMap}, output, map,
                   [&](OpBuilder &b, Location loc, ValueRange x) { return buildRowResult(b, loc, kind, x[0], x[1]); });
}

template <typename OpTy> static SmallVector<std::pair<RowResult, Value>> getRowOutputs(OpTy op) {
  SmallVector<std::pair<RowResult, Value>> outputs;
  for (auto [kind, output] : {std::pair(RowResult::Lse, op.getLse()), std::pair(RowResult::Max, op.getMax()),
                              std::pair(RowResult::LogSum, op.getLogSum())})
    if (output)
      outputs.emplace_back(kind, output);
  return outputs;
}

SmallVector<std::pair<RowResult, Value>> attn::getRowResults(FinalizeOp op) { return getRowOutputs(op); }

Value attn::getRowResult(SdpaOp op, RowResult kind) {
  if (op->getNumResults() == 0)
    return {};
  for (auto [output, result] : llvm::zip_equal(getRowOutputs(op), llvm::drop_begin(op->getResults())))
    if (output.first == kind)
      return result;
  return {};
}

Value attn::buildRowResult(OpBuilder &b, Location loc, RowResult kind, Value max, Value sum) {
  Value result = kind == RowResult::Max ? max : math::LogOp::create(b, loc, sum).getResult();
  if (kind == RowResult::Lse)
    result = arith::AddFOp::create(b, loc, max, result);
  Value isEmpty =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, createFloatConstant(b, loc, sum.getType(), 0));
  return arith::SelectOp::create(b, loc, isEmpty, createFloatConstant(b, loc, sum.getType(), -kInfinity), result);
}

MergedRow attn::mergeRow(OpBuilder &b, Location loc, Value max, Value sum, Value oldLse, Value oldMax,
                         Value oldLogSum) {
  Type type = sum.getType();
  Value zero = createFloatConstant(b, loc, type, 0), minusInf = createFloatConstant(b, loc, type, -kInfinity);
  auto isEqual = [&](Value x, Value y) -> Value {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, y);
  };
  auto select = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, loc, condition, x, y);
  };
  auto exp = [&](Value x) -> Value { return math::ExpOp::create(b, loc, x); };
  auto multiply = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, loc, x, y); };
  // A finished row is a state whose sum is 1: out = acc / 1, lse = m + ln 1.
  bool hasTerms = oldMax && oldLogSum;
  Value old = hasTerms ? oldMax : oldLse, isNone = isEqual(old, minusInf), isEmpty = isEqual(max, minusInf);
  Value oldSum = hasTerms ? exp(oldLogSum) : createFloatConstant(b, loc, type, 1);
  Value both = arith::MaximumFOp::create(b, loc, max, old);
  Value weight = select(isEmpty, zero, exp(arith::SubFOp::create(b, loc, max, both)));
  Value oldWeight = select(isNone, zero, multiply(oldSum, exp(arith::SubFOp::create(b, loc, old, both))));
  Value all = arith::AddFOp::create(b, loc, multiply(weight, sum), oldWeight), hasNoKey = isEqual(all, zero);
  auto divide = [&](Value x) -> Value {
    return select(hasNoKey, zero, arith::DivFOp::create(b, loc, x, all).getResult());
  };
  return {divide(weight), divide(oldWeight), both, all};
}

Value attn::mergeRowResult(OpBuilder &b, Location loc, RowResult kind, const MergedRow &merged, Value sum, Value old) {
  Value zero = createFloatConstant(b, loc, sum.getType(), 0);
  Value isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, zero);
  return arith::SelectOp::create(b, loc, isEmpty, old, buildRowResult(b, loc, kind, merged.max, merged.sum));
}
