//===- KeyRanges.cpp - from a predicate to ranges of keys -----------------===//
//
// Each affine conjunct c + a i + b j >= 0 bounds the keys of a query row from
// one side. Over a tile of rows the bound is monotone in i, so its extremes lie
// at the first or the last row: one extreme says which keys any row keeps
// (visited), the other which keys all rows keep (full).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Analysis/KeyRanges.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

namespace {

/// Sizes of the problem, and affine forms of values in a predicate.
class FormBuilder {
public:
  FormBuilder(int64_t numQueries, int64_t numKeys) : numQueries(numQueries), numKeys(numKeys) {}

  /// lhs ? rhs as forms that must be >= 0.
  std::optional<SmallVector<LinearForm, 2>> getForms(arith::CmpIOp cmp) const {
    std::optional<LinearForm> lhs = get(cmp.getLhs()), rhs = get(cmp.getRhs());
    if (!lhs || !rhs)
      return std::nullopt;
    std::optional<LinearForm> less = combine(*rhs, *lhs, -1), greater = combine(*lhs, *rhs, -1); // rhs - lhs, lhs - rhs
    if (!less || !greater)
      return std::nullopt;
    auto minusOne = [](LinearForm form) { return LinearForm{form.constant - 1, form.query, form.key}; };
    switch (cmp.getPredicate()) {
    case arith::CmpIPredicate::sle: return {{*less}};
    case arith::CmpIPredicate::slt: return {{minusOne(*less)}};
    case arith::CmpIPredicate::sge: return {{*greater}};
    case arith::CmpIPredicate::sgt: return {{minusOne(*greater)}};
    case arith::CmpIPredicate::eq: return {{*less, *greater}};
    default: return std::nullopt;
    }
  }

private:
  /// Integers wrap where the form does not: a form is one of `value` only if no row and key leave its type.
  std::optional<LinearForm> get(Value value) const {
    std::optional<LinearForm> form = getUnbounded(value);
    return form && fits(*form, value.getType()) ? form : std::nullopt;
  }

  std::optional<LinearForm> getUnbounded(Value value) const {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) {
      if (constant.getSignificantBits() > kMaxBits)
        return std::nullopt;
      return LinearForm{constant.getSExtValue()};
    }
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto index = dyn_cast<IndexOp>(op)) {
      if (index.getKind() == IndexKind::Query)
        return LinearForm{0, 1, 0};
      if (index.getKind() == IndexKind::Key)
        return LinearForm{0, 0, 1};
      return std::nullopt;
    }
    if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
      return get(op->getOperand(0));
    if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
      return std::nullopt;
    std::optional<LinearForm> lhs = get(op->getOperand(0)), rhs = get(op->getOperand(1));
    if (!lhs || !rhs)
      return std::nullopt;
    if (isa<arith::AddIOp>(op))
      return combine(*lhs, *rhs, 1);
    if (isa<arith::SubIOp>(op))
      return combine(*lhs, *rhs, -1);
    if (lhs->query || lhs->key)
      std::swap(*lhs, *rhs);
    if (lhs->query || lhs->key)
      return std::nullopt; // a product of two indices
    return combine({}, *rhs, lhs->constant);
  }

  /// a + factor * b, if its numbers are small enough to calculate with.
  static std::optional<LinearForm> combine(LinearForm a, LinearForm b, int64_t factor) {
    auto add = [&](int64_t left, int64_t right) { return left + factor * right; };
    LinearForm sum{add(a.constant, b.constant), add(a.query, b.query), add(a.key, b.key)};
    bool isSmall =
        llvm::isIntN(kMaxBits, sum.constant) && llvm::isIntN(kMaxBits, sum.query) && llvm::isIntN(kMaxBits, sum.key);
    return isSmall ? std::optional(sum) : std::nullopt;
  }

  bool fits(const LinearForm &form, Type type) const {
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    if (width == 64)
      return true;
    if (ShapedType::isDynamic(numQueries) || ShapedType::isDynamic(numKeys))
      return form.query == 0 && form.key == 0;
    int64_t largest = std::abs(form.constant) + std::abs(form.query) * numQueries + std::abs(form.key) * numKeys;
    return llvm::isIntN(width, largest);
  }

  /// Numbers of a form, so that products of two, and of one with a size, stay within 64 bits.
  static constexpr unsigned kMaxBits = 31;

  int64_t numQueries, numKeys;
};

/// The smallest value over i in [0, numQueries), j in [0, numKeys) is >= 0.
bool isAlwaysNonNegative(const LinearForm &form, int64_t numQueries, int64_t numKeys) {
  auto minimum = [](int64_t coefficient, int64_t size) -> std::optional<int64_t> {
    if (coefficient >= 0)
      return 0;
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    return coefficient * (size - 1);
  };
  std::optional<int64_t> query = minimum(form.query, numQueries), key = minimum(form.key, numKeys);
  return query && key && form.constant + *query + *key >= 0;
}

void collectConjuncts(Value value, const FormBuilder &builder, SmallVectorImpl<Conjunct> &conjuncts) {
  if (auto conjunction = value.getDefiningOp<arith::AndIOp>()) {
    collectConjuncts(conjunction.getLhs(), builder, conjuncts);
    collectConjuncts(conjunction.getRhs(), builder, conjuncts);
    return;
  }
  Conjunct conjunct{value, std::nullopt};
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    conjunct.forms = {LinearForm{constant.isZero() ? -1 : 0}};
  else if (auto cmp = value.getDefiningOp<arith::CmpIOp>())
    conjunct.forms = builder.getForms(cmp);
  conjuncts.push_back(conjunct);
}

} // namespace

SmallVector<Conjunct> attn::analyzePredicate(Region &maskMod, int64_t numQueries, int64_t numKeys) {
  SmallVector<Conjunct> conjuncts;
  if (maskMod.empty())
    return conjuncts;
  collectConjuncts(cast<YieldOp>(maskMod.front().getTerminator()).getValue(), FormBuilder(numQueries, numKeys),
                   conjuncts);
  for (Conjunct &conjunct : conjuncts)
    conjunct.alwaysHolds = conjunct.forms && llvm::all_of(*conjunct.forms, [&](const LinearForm &form) {
                             return isAlwaysNonNegative(form, numQueries, numKeys);
                           });
  return conjuncts;
}

KeyRangesAttr attn::getKeyRanges(MLIRContext *ctx, ArrayRef<Conjunct> conjuncts, bool isDense) {
  AffineExpr first = getAffineDimExpr(0, ctx), last = getAffineDimExpr(1, ctx) - 1;
  AffineExpr zero = getAffineConstantExpr(0, ctx);
  SmallVector<AffineExpr> visitedLower, visitedUpper, fullLower, fullUpper;
  bool hasFull = !isDense;
  for (const Conjunct &conjunct : conjuncts) {
    if (!conjunct.forms) {
      hasFull = false;
      continue;
    }
    for (const LinearForm &form : *conjunct.forms) {
      if (form.key == 0) {
        // Rows, not keys. A form without any index that is negative keeps nothing.
        if (form.query == 0 && form.constant < 0)
          visitedUpper.push_back(zero);
        hasFull &= form.query == 0 && form.constant >= 0;
        continue;
      }
      // At row i: b > 0 gives j >= ceil(-(c + a i) / b), b < 0 gives j < floor((c + a i) / -b) + 1.
      auto boundAt = [&](AffineExpr row) {
        AffineExpr rest = row * form.query + form.constant;
        return form.key > 0 ? (-rest).ceilDiv(form.key) : rest.floorDiv(-form.key) + 1;
      };
      // The bound grows with i where -a/b > 0 (lower) or a/-b > 0 (upper): the same sign test for both.
      bool grows = form.key > 0 ? form.query < 0 : form.query > 0;
      AffineExpr smallest = boundAt(grows ? first : last), largest = boundAt(grows ? last : first);
      if (form.key > 0) {
        visitedLower.push_back(smallest);
        fullLower.push_back(largest);
      } else {
        visitedUpper.push_back(largest);
        fullUpper.push_back(smallest);
      }
    }
  }
  if (!hasFull) {
    fullLower.assign({zero});
    fullUpper.assign({zero});
  }
  auto getMap = [&](ArrayRef<AffineExpr> exprs) { return simplifyAffineMap(AffineMap::get(2, 0, exprs, ctx)); };
  return KeyRangesAttr::get(ctx, getMap(visitedLower), getMap(visitedUpper), getMap(fullLower), getMap(fullUpper));
}

KeyBounds attn::evaluateKeyRanges(KeyRangesAttr ranges, int64_t first, int64_t end, int64_t numKeys) {
  auto evaluate = [&](AffineMap map, int64_t start, bool takesMax) {
    int64_t bound = start;
    for (int64_t value : map.compose(ArrayRef<int64_t>{first, end}))
      bound = takesMax ? std::max(bound, value) : std::min(bound, value);
    return std::clamp<int64_t>(bound, 0, numKeys);
  };
  KeyBounds bounds{evaluate(ranges.getVisitedLower(), 0, true), evaluate(ranges.getVisitedUpper(), numKeys, false),
                   evaluate(ranges.getFullLower(), 0, true), evaluate(ranges.getFullUpper(), numKeys, false)};
  return bounds;
}
