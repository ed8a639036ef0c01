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

LinearForm combine(LinearForm a, LinearForm b, int64_t factor) {
  return {a.constant + factor * b.constant, a.query + factor * b.query, a.key + factor * b.key};
}

std::optional<LinearForm> getLinearForm(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return LinearForm{constant.getSExtValue()};
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
    return getLinearForm(op->getOperand(0));
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<LinearForm> lhs = getLinearForm(op->getOperand(0)), rhs = getLinearForm(op->getOperand(1));
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

/// lhs ? rhs as forms that must be >= 0.
std::optional<SmallVector<LinearForm, 2>> getForms(arith::CmpIOp cmp) {
  std::optional<LinearForm> lhs = getLinearForm(cmp.getLhs()), rhs = getLinearForm(cmp.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  LinearForm less = combine(*rhs, *lhs, -1), greater = combine(*lhs, *rhs, -1); // rhs - lhs, lhs - rhs
  auto minusOne = [](LinearForm form) { return LinearForm{form.constant - 1, form.query, form.key}; };
  switch (cmp.getPredicate()) {
  case arith::CmpIPredicate::sle: return {{less}};
  case arith::CmpIPredicate::slt: return {{minusOne(less)}};
  case arith::CmpIPredicate::sge: return {{greater}};
  case arith::CmpIPredicate::sgt: return {{minusOne(greater)}};
  case arith::CmpIPredicate::eq: return {{less, greater}};
  default: return std::nullopt;
  }
}

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

void collectConjuncts(Value value, SmallVectorImpl<Conjunct> &conjuncts) {
  if (auto conjunction = value.getDefiningOp<arith::AndIOp>()) {
    collectConjuncts(conjunction.getLhs(), conjuncts);
    collectConjuncts(conjunction.getRhs(), conjuncts);
    return;
  }
  Conjunct conjunct{value, std::nullopt};
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    conjunct.forms = {LinearForm{constant.isZero() ? -1 : 0}};
  else if (auto cmp = value.getDefiningOp<arith::CmpIOp>())
    conjunct.forms = getForms(cmp);
  conjuncts.push_back(conjunct);
}

} // namespace

SmallVector<Conjunct> attn::analyzePredicate(Region &maskMod, int64_t numQueries, int64_t numKeys) {
  SmallVector<Conjunct> conjuncts;
  if (maskMod.empty())
    return conjuncts;
  collectConjuncts(cast<YieldOp>(maskMod.front().getTerminator()).getValue(), conjuncts);
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
