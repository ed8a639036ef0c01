//===- MatchScores.cpp - functions on the scores --------------------------===//
//
// Peels the scores from the outside in, in the reverse order of attn.sdpa's formula: masks, bias, softcap, then a scale
// at the product. The rest in between becomes one function of the score, attn.modify, so no unknown op stops a match.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace attn;
using namespace attn::raise;

namespace {

class ScorePeeler {
public:
  ScorePeeler(MatchContext &ctx, Attention &attention)
      : ctx(ctx), elements(ctx.elements), attention(attention), scores(attention.scores) {}

  LogicalResult peel(ExprRef expr) {
    // For a softmax in powers of 2, ln 2: it commutes with masks and with other factors.
    double factor = scores.scale;
    scores.scale = 1;
    while (ExprRef inner = peelMaskOrBias(expr))
      expr = inner;
    if (ExprRef inner = peelSoftcap(expr))
      expr = inner;
    if (!peelScales(expr)) {
      scores.scale = 1;
      scores.scaleValue = nullptr;
      scores.modify = expr;
      if (failed(checkPure(expr)))
        return failure();
    }
    if (factor != 1 && (scores.bias || scores.softcap || scores.modify))
      return ctx.fail("expected a softmax in powers of 2 of a product that is only scaled and masked");
    scores.scale *= factor;
    return success();
  }

  bool contains(ExprRef expr) {
    expr = elements.expand(expr);
    if (expr == scores.product)
      return true;
    auto [entry, isNew] = known.try_emplace(expr, false);
    if (!isNew)
      return entry->second;
    bool found = llvm::any_of(expr->operands, [&](ExprRef operand) { return contains(operand); });
    return known[expr] = found;
  }

private:
  /// The operands of a binary op, first the one that contains the product; nulls where both do.
  std::pair<ExprRef, ExprRef> split(ExprRef expr) {
    bool isLeft = contains(expr->operands[0]);
    if (isLeft && contains(expr->operands[1]))
      return {};
    return {expr->operands[isLeft ? 0 : 1], expr->operands[isLeft ? 1 : 0]};
  }

  /// The expression inside of the outermost mask or bias; null where there is none.
  ExprRef peelMaskOrBias(ExprRef unexpanded) {
    ExprRef expr = elements.expand(elements.stripCasts(unexpanded));
    if (expr->isOp<arith::SelectOp>()) {
      bool isTrue = contains(expr->operands[1]);
      if (contains(expr->operands[0]) || isTrue == contains(expr->operands[2]))
        return nullptr;
      std::optional<double> removed = elements.stripCasts(expr->operands[isTrue ? 2 : 1])->getConstant();
      if (!removed || !canMask(*removed) || !addMask(ctx, expr->operands[0], isTrue, *removed, attention))
        return nullptr;
      return expr->operands[isTrue ? 1 : 2];
    }
    if (!expr->isOp<arith::AddFOp>() || !split(expr).first)
      return nullptr;
    auto [inner, added] = split(expr);
    return peelAddition(elements.stripCasts(added)) ? inner : nullptr;
  }

  /// Masks commute with an outer bias if they use -inf.
  bool canMask(double removed) { return !scores.bias || removed == -HUGE_VAL; }

  bool peelAddition(ExprRef added) {
    if (std::optional<double> constant = elements.expand(added)->getConstant())
      return std::isfinite(*constant) && !std::isnan(*constant); // the same for all keys
    if (std::optional<Choice> choice = matchChoice(elements, added)) {
      for (bool keepIf : {true, false}) {
        double kept = keepIf ? choice->whenTrue : choice->whenFalse;
        double removed = keepIf ? choice->whenFalse : choice->whenTrue;
        if (kept == 0 && removed < 0 && canMask(removed) && addMask(ctx, choice->condition, keepIf, removed, attention))
          return true;
      }
    }
    if (std::optional<double> removed = getMaskValue(added);
        removed && canMask(*removed) && addMask(ctx, added, true, *removed, attention))
      return true;
    ExprRef seen = elements.expand(added);
    if (seen->isOp<arith::AddFOp>()) {
      Scores before = scores;
      if (peelAddition(elements.stripCasts(seen->operands[0])) && peelAddition(elements.stripCasts(seen->operands[1])))
        return true;
      scores = before;
    }
    // Any tensor can be a bias, even a computed one; but values that depend on positions are computed in the kernel.
    return !scores.bias && added->isElement() && !hasPosition(seen) && setBias(added);
  }

  bool hasPosition(ExprRef expr) {
    expr = elements.expand(expr);
    return expr->kind == Expr::Kind::Position ||
           llvm::any_of(expr->operands, [&](ExprRef operand) { return hasPosition(operand); });
  }

  bool setBias(ExprRef expr) {
    if (!isa<FloatType>(expr->type))
      return false;
    scores.bias = expr;
    return true;
  }

  /// The nonzero value of a constant tensor that has 0 and one other value.
  std::optional<double> getMaskValue(ExprRef expr) {
    DenseElementsAttr values;
    if (!expr->isElement() || !matchPattern(expr->value, m_Constant(&values)) ||
        !isa<FloatType>(values.getElementType()))
      return std::nullopt;
    std::optional<APFloat> other;
    for (const APFloat &value : values.getValues<APFloat>()) {
      if (value.isZero())
        continue;
      if (other && !other->bitwiseIsEqual(value))
        return std::nullopt;
      other = value;
    }
    if (!other || !other->isNegative())
      return std::nullopt;
    bool losesInfo;
    other->convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return other->convertToDouble();
  }

  /// c * tanh(x / c)
  ExprRef peelSoftcap(ExprRef unexpanded) {
    ExprRef expr = elements.expand(elements.stripCasts(unexpanded));
    if (!expr->isOp<arith::MulFOp>() || !split(expr).first)
      return nullptr;
    auto [inner, factor] = split(expr);
    std::optional<double> cap = elements.stripCasts(factor)->getConstant();
    ExprRef tanh = elements.expand(elements.stripCasts(inner));
    if (!cap || !(*cap > 0) || !std::isfinite(*cap) || !tanh->isOp<math::TanhOp>())
      return nullptr;
    ExprRef quotient = elements.expand(elements.stripCasts(tanh->operands[0]));
    if (quotient->operands.size() != 2 || !split(quotient).first)
      return nullptr;
    std::optional<double> divisor = elements.stripCasts(split(quotient).second)->getConstant();
    // As a product, the reciprocal is rounded.
    constexpr double kTolerance = 1e-6;
    bool isQuotient = divisor && quotient->isOp<arith::DivFOp>() && contains(quotient->operands[0]) && *divisor == *cap;
    bool isProduct = divisor && quotient->isOp<arith::MulFOp>() && std::abs(*divisor * *cap - 1) < kTolerance;
    if (!isQuotient && !isProduct)
      return nullptr;
    scores.softcap = *cap;
    return split(quotient).first;
  }

  /// True where only factors are left; otherwise the scale is not valid.
  bool peelScales(ExprRef unexpanded) {
    ExprRef expr = elements.expand(elements.stripCasts(unexpanded));
    if (expr == scores.product)
      return true;
    bool isDivision = expr->isOp<arith::DivFOp>();
    if ((!isDivision && !expr->isOp<arith::MulFOp>()) || !split(expr).first)
      return false;
    auto [inner, factor] = split(expr);
    if (isDivision && inner != expr->operands[0])
      return false;
    return multiplyScale(factor, isDivision) && peelScales(inner);
  }

  bool multiplyScale(ExprRef factor, bool isDivision) {
    factor = elements.expand(elements.stripCasts(factor));
    if (std::optional<double> constant = factor->getConstant()) {
      scores.scale = isDivision ? scores.scale / *constant : scores.scale * *constant;
      return std::isfinite(scores.scale);
    }
    // A value of rank 0, as a factor.
    bool isScalar = factor->kind == Expr::Kind::Scalar ||
                    (factor->isElement() && llvm::all_of(factor->indices, [](auto &i) { return i.isConstant(); }));
    if (!isScalar || isDivision || scores.scaleValue)
      return false;
    scores.scaleValue = factor;
    return true;
  }

  /// Checks the ops that attn.modify may contain (C10): scalar ops of arith and math, and reads of tensors.
  LogicalResult checkPure(ExprRef unexpanded) {
    ExprRef expr = elements.expand(unexpanded);
    if (expr == scores.product || expr->kind != Expr::Kind::Op || !visited.insert(expr).second)
      return success();
    bool isKnown = isOfDialect<arith::ArithDialect, math::MathDialect>(expr->op) || expr->isOp<tensor::ExtractOp>();
    if (!isKnown || !expr->type.isIntOrIndexOrFloat())
      return ctx.fail("expected scores calculated by ops of arith and math and by reads of tensors, found " +
                      expr->op->getName().getStringRef());
    for (ExprRef operand : expr->operands)
      if (failed(checkPure(operand)))
        return failure();
    return success();
  }

  MatchContext &ctx;
  Elements &elements;
  Attention &attention;
  Scores &scores;
  llvm::DenseMap<ExprRef, bool> known;
  llvm::DenseSet<ExprRef> visited;
};

/// Collects candidates for the product of Q and K: sums that depend on the key, nearest first.
void collectProducts(Elements &elements, ExprRef expr, const LinearIndex &key, llvm::DenseSet<ExprRef> &visited,
                     SmallVectorImpl<ExprRef> &products) {
  expr = elements.expand(expr);
  if (!visited.insert(expr).second)
    return;
  if (expr->isElement() && (key.isConstant() || elements.dependsOn(expr, key)) && elements.matchContraction(expr))
    products.push_back(expr);
  for (ExprRef operand : expr->operands)
    collectProducts(elements, operand, key, visited, products);
}

/// Removes factors of Q and K, which commute with the product: sqrt(scale) each in PyTorch, the scale on Q elsewhere.
ExprRef peelFactors(Elements &elements, ExprRef expr, double &scale) {
  while (true) {
    ExprRef seen = elements.expand(elements.stripCasts(expr));
    bool isDivision = seen->isOp<arith::DivFOp>();
    if (!isDivision && !seen->isOp<arith::MulFOp>())
      return expr;
    unsigned factorAt = 1;
    std::optional<double> factor = elements.stripCasts(seen->operands[1])->getConstant();
    if (!factor && !isDivision) {
      factorAt = 0;
      factor = elements.stripCasts(seen->operands[0])->getConstant();
    }
    double scaled = factor ? (isDivision ? scale / *factor : scale * *factor) : NAN;
    if (!std::isfinite(scaled) || scaled == 0)
      return expr;
    scale = scaled;
    expr = seen->operands[1 - factorAt];
  }
}

} // namespace

LogicalResult attn::raise::matchScores(MatchContext &ctx, ExprRef expr, Attention &attention) {
  Elements &elements = ctx.elements;
  SmallVector<ExprRef> products;
  llvm::DenseSet<ExprRef> visited;
  collectProducts(elements, expr, attention.keyIndex, visited, products);
  if (products.empty())
    return ctx.fail("expected scores that are calculated from a product of two matrices, found none that depends on "
                    "the keys");
  for (ExprRef product : products) {
    std::optional<Elements::Contraction> contraction = elements.matchContraction(product);
    bool isLeft = elements.dependsOn(contraction->lhs, attention.keyIndex);
    // With one key, either factor may be the query.
    if (!attention.keyIndex.isConstant() && isLeft == elements.dependsOn(contraction->rhs, attention.keyIndex))
      continue;
    Attention found = attention;
    found.query = isLeft ? contraction->rhs : contraction->lhs;
    found.key = isLeft ? contraction->lhs : contraction->rhs;
    found.headIndex = contraction->summed;
    found.scores.product = product;
    if (failed(ScorePeeler(ctx, found).peel(expr)))
      return failure();
    found.query = peelFactors(elements, found.query, found.scores.scale);
    found.key = peelFactors(elements, found.key, found.scores.scale);
    attention = found;
    return success();
  }
  return ctx.fail("expected a product of queries and keys of which one depends on the keys, found a product of two "
                  "that do");
}
