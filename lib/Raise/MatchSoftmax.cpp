//===- MatchSoftmax.cpp - softmax in every spelling -----------------------===//
//
// weights = e / l with e = exp(s - m) and l the sum of the same e over the keys, in any number of ops. Looks through
// guards against rows that keep no key: attn gives zeros there.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace attn::raise;
using arith::CmpFPredicate;

namespace {

class SoftmaxMatcher {
public:
  SoftmaxMatcher(MatchContext &ctx, const LinearIndex &key, Attention &attention)
      : ctx(ctx), elements(ctx.elements), key(key), attention(attention) {}

  FailureOr<ExprRef> match(ExprRef weights, ExprRef denominator) {
    ExprRef quotient = peelZeros(weights);
    if (quotient->isElement())
      attention.weights = quotient;
    FailureOr<ExprRef> scores = matchQuotient(quotient, denominator);
    if (failed(scores))
      return failure();
    for (auto [condition, isEmpty] : rowGuards)
      if (!testsEmptyRow(condition, isEmpty, *scores))
        return ctx.fail("expected weights that a select replaces by 0 only where the row keeps no key, found another "
                        "condition; put -inf in the place of the scores instead");
    return scores;
  }

private:
  /// Looks through selects with 0 and products with booleans.
  ExprRef peelZeros(ExprRef weights) {
    while (true) {
      weights = elements.stripCasts(weights);
      ExprRef expr = elements.expand(weights);
      if (expr->isOp<arith::MulFOp>()) {
        ExprRef lhs = getBoolean(expr->operands[0]), rhs = getBoolean(expr->operands[1]);
        if ((lhs == nullptr) == (rhs == nullptr))
          return weights;
        addZero(lhs ? lhs : rhs, /*zeroIfTrue=*/false);
        weights = expr->operands[lhs ? 1 : 0];
        continue;
      }
      if (!expr->isOp<arith::SelectOp>())
        return weights;
      auto [condition, whenTrue, whenFalse] = std::make_tuple(expr->operands[0], expr->operands[1], expr->operands[2]);
      if (testsInfinity(elements.expand(condition), whenFalse)) { // nan_to_num; no weight is infinite
        weights = whenFalse;
        continue;
      }
      bool zeroIfTrue = isConstant(whenTrue, 0);
      if (zeroIfTrue == isConstant(whenFalse, 0))
        return weights;
      weights = zeroIfTrue ? whenFalse : whenTrue;
      if (!testsNaN(elements.expand(condition), zeroIfTrue, weights))
        addZero(condition, zeroIfTrue);
    }
  }

  /// The boolean whose value is 0.0 or 1.0 here; null for other expressions.
  ExprRef getBoolean(ExprRef expr) {
    expr = elements.expand(elements.stripCasts(expr));
    return expr->isOp<arith::UIToFPOp>() && expr->operands[0]->type.isInteger(1) ? expr->operands[0] : nullptr;
  }

  void addZero(ExprRef condition, bool zeroIfTrue) {
    ExprRef expr = elements.expand(condition);
    if (elements.dependsOn(expr, key))
      attention.gates.push_back({condition, !zeroIfTrue});
    else if (ExprRef negated = getNegated(expr))
      addZero(negated, !zeroIfTrue);
    else if (ExprRef each = getReduced(expr, zeroIfTrue); each && !getComparison(elements.expand(each)))
      attention.gates.push_back({each, !zeroIfTrue}); // for the row: where none, or all, of its keys satisfy it
    else
      rowGuards.push_back({expr, zeroIfTrue});
  }

  /// The condition that `condition` requires of all keys of a row; of one of them where `isEmpty` is false.
  ExprRef getReduced(ExprRef condition, bool isEmpty) {
    return elements.matchReduction(condition, isEmpty ? Reduction::And : Reduction::Or, key);
  }

  bool testsInfinity(ExprRef condition, ExprRef value) {
    return getComparison(condition) == CmpFPredicate::OEQ && elements.areEqual(condition->operands[0], value) &&
           std::isinf(elements.stripCasts(condition->operands[1])->getConstant().value_or(0));
  }

  bool isConstant(ExprRef expr, double value) { return elements.stripCasts(expr)->getConstant() == value; }

  static std::optional<CmpFPredicate> getComparison(ExprRef expr) {
    if (!expr->isOp<arith::CmpFOp>())
      return std::nullopt;
    return cast<arith::CmpFOp>(expr->op).getPredicate();
  }

  /// `condition` is `value != value`, or `value == value` where `isNaN` is false.
  bool testsNaN(ExprRef condition, bool isNaN, ExprRef value) {
    std::optional<CmpFPredicate> predicate = getComparison(condition);
    if (!predicate || !elements.areEqual(condition->operands[0], condition->operands[1]) ||
        !elements.areEqual(condition->operands[0], value))
      return false;
    return isNaN ? *predicate == CmpFPredicate::UNE || *predicate == CmpFPredicate::UNO
                 : *predicate == CmpFPredicate::OEQ || *predicate == CmpFPredicate::ORD;
  }

  /// The operand of `not x`; null for other expressions.
  ExprRef getNegated(ExprRef expr) {
    if (!expr->isOp<arith::XOrIOp>())
      return nullptr;
    for (unsigned i : {0, 1})
      if (elements.expand(expr->operands[i])->getConstant().value_or(0) != 0)
        return elements.expand(expr->operands[1 - i]);
    return nullptr;
  }

  /// `condition` is true where all scores of the row are -inf; where `isEmpty` is false, if one is not.
  bool testsEmptyRow(ExprRef condition, bool isEmpty, ExprRef scores) {
    condition = elements.expand(condition);
    if (ExprRef negated = getNegated(condition))
      return testsEmptyRow(negated, !isEmpty, scores);
    if (getComparison(condition)) // compares the maximum with -inf
      return testsRemoved(condition, isEmpty, [&](ExprRef value) {
        ExprRef maximum = elements.matchReduction(elements.stripCasts(value), Reduction::Maximum, key);
        return maximum && elements.areEqual(maximum, scores);
      });
    ExprRef each = getReduced(condition, isEmpty);
    return each && testsRemoved(elements.expand(each), isEmpty,
                                [&](ExprRef value) { return elements.areEqual(value, scores); });
  }

  /// `condition` is `value == -inf`, or `value != -inf` where `isRemoved` is false.
  bool testsRemoved(ExprRef condition, bool isRemoved, llvm::function_ref<bool(ExprRef)> isValue) {
    if (ExprRef negated = getNegated(condition))
      return testsRemoved(negated, !isRemoved, isValue);
    std::optional<CmpFPredicate> predicate = getComparison(condition);
    if (!predicate || !isConstant(condition->operands[1], -HUGE_VAL) || !isValue(condition->operands[0]))
      return false;
    using enum CmpFPredicate;
    return isRemoved ? *predicate == OEQ || *predicate == UEQ
                     : *predicate == ONE || *predicate == UNE || *predicate == OGT || *predicate == UGT;
  }

  /// Matches `expr` as a quotient, with its own denominator where `denominator` is null.
  FailureOr<ExprRef> matchQuotient(ExprRef weights, ExprRef denominator) {
    ExprRef expr = elements.expand(weights);
    if (expr->isElement() && expr->value.getDefiningOp<linalg::SoftmaxOp>())
      return matchSoftmaxOp(expr, denominator);
    ExprRef numerator = weights;
    if (!denominator && expr->isOp<arith::DivFOp>()) {
      numerator = expr->operands[0];
      denominator = expr->operands[1];
    } else if (!denominator && expr->isOp<arith::MulFOp>()) {
      for (unsigned i : {0, 1}) {
        ExprRef reciprocal = elements.stripCasts(expr->operands[i]);
        reciprocal = elements.expand(reciprocal);
        if (!reciprocal->isOp<arith::DivFOp>() || !isConstant(reciprocal->operands[0], 1))
          continue;
        numerator = expr->operands[1 - i];
        denominator = reciprocal->operands[1];
      }
    }
    if (!denominator)
      return matchLogSum(expr);
    ExprRef exponential = peelZeros(numerator);
    return matchSum(exponential, elements.expand(elements.stripCasts(denominator)));
  }

  /// The scores of `exponential`, if `denominator` is its sum over the keys, plus that of a sink.
  FailureOr<ExprRef> matchSum(ExprRef exponential, ExprRef denominator) {
    if (ExprRef summand = elements.matchReduction(denominator, Reduction::Sum, key)) {
      if (!isSummand(summand, exponential))
        return ctx.fail("expected a denominator that sums the same exponentials that it divides, found others; "
                        "subtract one maximum from the scores, "
                        "and mask them, in front of both");
      return matchExponential(elements.expand(exponential));
    }
    for (unsigned offset : {0, 1})
      if (auto sum = elements.matchReductionOfOneMore(denominator, Reduction::Sum, key, offset);
          sum && isSummand(sum->each, exponential))
        return matchSink(exponential, sum->other);
    if (denominator->isOp<arith::AddFOp>())
      for (unsigned i : {0, 1})
        if (ExprRef summand =
                elements.matchReduction(elements.stripCasts(denominator->operands[i]), Reduction::Sum, key);
            summand && isSummand(summand, exponential))
          return matchSink(exponential, denominator->operands[1 - i]);
    return ctx.fail(
        "expected a denominator that is a sum over the keys, the dimension that the second product sums "
        "over, from 0 on and nothing else but one more exponential, a sink; take the softmax over that dimension");
  }

  /// True where `summand` is `exponential`. Where both are set to 0, the scores are masked.
  bool isSummand(ExprRef summand, ExprRef exponential) {
    SmallVector<Predicate> gates;
    std::swap(gates, attention.gates);
    ExprRef peeled = peelZeros(summand);
    std::swap(gates, attention.gates);
    for (const Predicate &gate : gates) {
      auto *same = llvm::find_if(attention.gates, [&](const Predicate &other) {
        return other.keepIf == gate.keepIf && elements.areEqual(other.condition, gate.condition);
      });
      if (same == attention.gates.end())
        return false;
      attention.scores.masks.push_back(*same);
    }
    return elements.areEqual(peeled, exponential);
  }

  /// exp(s - t), where `term`, an additional exponential in the row's sum, is exp(sink - t).
  FailureOr<ExprRef> matchSink(ExprRef exponential, ExprRef term) {
    StringRef expected =
        "expected a denominator whose one more term is the exponential of a score less the same "
        "maximum, a sink, found another; leave it out: with the maximum subtracted, the sum is at least 1";
    exponential = elements.expand(exponential);
    term = elements.expand(elements.stripCasts(term));
    if (!exponential->isOp<math::ExpOp>() || elements.dependsOn(term, key))
      return ctx.fail(expected);
    SmallVector<ExprRef> shifts, shiftsOfSink;
    ExprRef scores = collectShifts(exponential->operands[0], shifts);
    std::optional<double> constant = term->getConstant();
    if (constant && *constant > 0)
      attention.sink = elements.getConstant(term->type, std::log(*constant));
    else if (term->isOp<math::ExpOp>()) {
      ExprRef argument = elements.expand(elements.stripCasts(term->operands[0]));
      if (argument->isOp<arith::NegFOp>()) { // 0 - t
        shiftsOfSink.push_back(elements.stripCasts(argument->operands[0]));
        attention.sink = elements.getConstant(term->type, 0);
      } else
        attention.sink = elements.expand(collectShifts(term->operands[0], shiftsOfSink));
    }
    if (!attention.sink || !areSameShifts(shifts, shiftsOfSink))
      return ctx.fail(expected);
    return checkMaximum(scores);
  }

  /// exp(s - t - log(sum(exp(s - t)))), the form of logsumexp and log_softmax.
  FailureOr<ExprRef> matchLogSum(ExprRef expr) {
    StringRef expected = "expected weights that are exponentials divided by their sum, found no division by a sum; "
                         "divide the weights, or the "
                         "second product, by it";
    if (!expr->isOp<math::ExpOp>())
      return ctx.fail(expected);
    SmallVector<ExprRef> shifts;
    ExprRef scores = collectShifts(expr->operands[0], shifts);
    for (ExprRef shift : shifts) {
      ExprRef logarithm = elements.expand(shift);
      if (!logarithm->isOp<math::LogOp>())
        continue;
      ExprRef sum = elements.expand(elements.stripCasts(logarithm->operands[0]));
      if (sum->isOp<math::AbsFOp>()) // abs of a sum of exponentials
        sum = sum->operands[0];
      ExprRef summand = elements.matchReduction(elements.stripCasts(sum), Reduction::Sum, key);
      summand = summand ? elements.expand(peelZeros(summand)) : nullptr;
      if (!summand || !summand->isOp<math::ExpOp>())
        continue;
      SmallVector<ExprRef> others = shifts, summandShifts;
      llvm::erase(others, shift);
      ExprRef summandScores = collectShifts(summand->operands[0], summandShifts);
      if (!elements.areEqual(summandScores, scores) || !areSameShifts(others, summandShifts))
        return ctx.fail("expected the logarithm of the sum of the same exponentials, found others");
      return checkMaximum(scores);
    }
    return ctx.fail(expected);
  }

  /// Removes terms that are subtracted from `expr` and constant along the keys; adds them to `shifts`.
  ExprRef collectShifts(ExprRef expr, SmallVectorImpl<ExprRef> &shifts) {
    expr = elements.stripCasts(expr);
    ExprRef seen = elements.expand(expr);
    if (!seen->isOp<arith::SubFOp>() || elements.dependsOn(seen->operands[1], key))
      return expr;
    ExprRef scores = collectShifts(seen->operands[0], shifts);
    SmallVector<ExprRef> sum = {seen->operands[1]};
    while (!sum.empty()) {
      ExprRef shift = elements.stripCasts(sum.pop_back_val()), terms = elements.expand(shift);
      if (terms->isOp<arith::AddFOp>()) {
        llvm::append_range(sum, terms->operands);
        continue;
      }
      hasMaximum |= isShiftByMaximum(shift, scores);
      shifts.push_back(shift);
    }
    return scores;
  }

  bool areSameShifts(ArrayRef<ExprRef> lhs, ArrayRef<ExprRef> rhs) {
    return lhs.size() == rhs.size() && llvm::all_of(lhs, [&](ExprRef shift) {
             auto isSame = [&](ExprRef other) { return elements.areEqual(shift, other); };
             return llvm::count_if(lhs, isSame) == llvm::count_if(rhs, isSame);
           });
  }

  FailureOr<ExprRef> matchSoftmaxOp(ExprRef expr, ExprRef denominator) {
    auto op = expr->value.getDefiningOp<linalg::SoftmaxOp>();
    if (denominator)
      return ctx.fail("expected no division behind a linalg.softmax, found one");
    LinearIndex at = expr->indices[op.getDimension()];
    int64_t size = cast<RankedTensorType>(op.getInput().getType()).getShape()[op.getDimension()];
    std::optional<int64_t> keys = elements.getSpace().getExtent(key);
    if (keys && !ShapedType::isDynamic(*keys) && size == *keys + 1 && at.terms == key.terms) {
      SmallVector<LinearIndex> indices(expr->indices.begin(), expr->indices.end());
      indices[op.getDimension()] = LinearIndex();
      indices[op.getDimension()].constant = at.constant ? 0 : *keys;
      attention.sink = elements.expand(elements.get(op.getInput(), indices));
    } else if (!(at == key))
      return ctx.fail("expected a linalg.softmax over the keys, the dimension that the second product sums over; "
                      "change its dimension, or "
                      "transpose what it gives");
    return elements.get(op.getInput(), expr->indices);
  }

  /// exp(s - m), or exp2 of it with s in powers of 2.
  FailureOr<ExprRef> matchExponential(ExprRef expr) {
    bool isBase2 = expr->isOp<math::Exp2Op>();
    if (!isBase2 && !expr->isOp<math::ExpOp>())
      return ctx.fail("expected weights that are exponentials, found " +
                      (expr->op ? expr->op->getName().getStringRef() : StringRef("none")));
    // 2^s = e^(s ln 2)
    if (isBase2)
      attention.scores.scale *= std::log(2.0);
    return checkMaximum(peelShift(elements.stripCasts(expr->operands[0])));
  }

  FailureOr<ExprRef> checkMaximum(ExprRef scores) {
    if (!hasMaximum) {
      if (!ctx.options.allowUnsafeSoftmax)
        return ctx.fail("expected exponentials of scores minus their maximum over the keys, found none; write "
                        "allow-unsafe-softmax=true where overflow is no part of what is meant");
      attention.relaxations.push_back("softmax without its maximum");
    }
    return scores;
  }

  /// Removes terms that are constant along the keys from `expr`: softmax is invariant under a shift.
  ExprRef peelShift(ExprRef expr) {
    ExprRef seen = elements.expand(expr);
    if (seen->isOp<arith::SubFOp>() && !elements.dependsOn(seen->operands[1], key) &&
        (key.isConstant() || elements.dependsOn(seen->operands[0], key))) {
      ExprRef scores = elements.stripCasts(seen->operands[0]);
      hasMaximum |= isShiftByMaximum(seen->operands[1], scores);
      return peelShift(scores);
    }
    // (s - m) * c = s c - m c
    if (seen->isOp<arith::MulFOp>() || seen->isOp<arith::DivFOp>()) {
      ExprRef factor = elements.stripCasts(seen->operands[1]);
      ExprRef difference = elements.expand(elements.stripCasts(seen->operands[0]));
      if (factor->getConstant() && difference->isOp<arith::SubFOp>() &&
          !elements.dependsOn(difference->operands[1], key)) {
        hasMaximum |= isShiftByMaximum(difference->operands[1], elements.stripCasts(difference->operands[0]));
        return elements.getOp(seen->op, {difference->operands[0], factor});
      }
    }
    return expr;
  }

  /// True where `shift` is computed from the maximum of `scores` over the keys.
  bool isShiftByMaximum(ExprRef shift, ExprRef scores) {
    shift = elements.expand(shift);
    if (ExprRef each = elements.matchReduction(shift, Reduction::Maximum, key))
      return elements.areEqual(each, scores);
    for (unsigned offset : {0, 1})
      if (auto maximum = elements.matchReductionOfOneMore(shift, Reduction::Maximum, key, offset);
          maximum && elements.areEqual(maximum->each, scores))
        return true;
    return llvm::any_of(shift->operands, [&](ExprRef operand) { return isShiftByMaximum(operand, scores); });
  }

  MatchContext &ctx;
  Elements &elements;
  const LinearIndex &key;
  Attention &attention;
  SmallVector<std::pair<ExprRef, bool>> rowGuards; // true: zero where the condition holds
  bool hasMaximum = false;
};

} // namespace

FailureOr<ExprRef> attn::raise::matchSoftmax(MatchContext &ctx, ExprRef weights, ExprRef denominator,
                                             const LinearIndex &key, Attention &attention) {
  return SoftmaxMatcher(ctx, key, attention).match(weights, denominator);
}
