//===- LinearForm.cpp - comparisons as linear forms over positions --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LinearForm.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// Bits of the factors of a form: products of two, and of one with a size, then fit in 64 bits.
static constexpr unsigned kMaxBits = 31;

/// Positions are below 2^31. A form is used only if its run-time values are within +-2^32.
static constexpr unsigned kPositionBits = 31, kRunTimeBits = 32;
/// Most terms of a form, and most bits of each with its factor: their sum, with those of both positions, does not wrap.
static constexpr size_t kMaxTerms = 4;
static constexpr unsigned kMaxTermBits = 59;

static std::optional<int64_t> getConstant(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) || constant.getSignificantBits() > kMaxBits)
    return std::nullopt;
  return constant.getSExtValue();
}

Dependence attn::getDependence(Value value, Region &region) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getParentRegion() != &region)
    return {};
  if (auto index = dyn_cast<IndexOp>(op))
    return {index.getKind() == IndexKind::Query, index.getKind() == IndexKind::Key};
  Dependence result;
  for (Value operand : op->getOperands()) {
    Dependence dependence = getDependence(operand, region);
    result.query |= dependence.query;
    result.key |= dependence.key;
  }
  return result;
}

/// Bits of a value that is never negative, judging only by its form; nullopt for others, and for those that may wrap.
static std::optional<unsigned> getNonNegativeBits(Value value) {
  auto fit = [&](unsigned bits) -> std::optional<unsigned> {
    unsigned width = value.getType().isIndex() ? 64 : value.getType().getIntOrFloatBitWidth();
    return bits < width ? std::optional(bits) : std::nullopt;
  };
  if (std::optional<int64_t> constant = getConstant(value))
    return *constant >= 0 ? fit(llvm::Log2_64_Ceil(*constant + 1)) : std::nullopt;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<IndexOp>(op))
    return fit(kPositionBits);
  auto get = [&](unsigned i) { return getNonNegativeBits(op->getOperand(i)); };
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op)) {
    std::optional<unsigned> bits = get(0);
    return bits ? fit(*bits) : std::nullopt;
  }
  if (!isa<arith::AddIOp, arith::MulIOp, arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
           arith::MinSIOp, arith::RemSIOp>(op))
    return std::nullopt;
  std::optional<unsigned> lhs = get(0), rhs = get(1);
  if (!lhs || !rhs)
    return std::nullopt;
  return fit(isa<arith::AddIOp>(op) ? std::max(*lhs, *rhs) + 1 : isa<arith::MulIOp>(op) ? *lhs + *rhs : *lhs);
}
static bool isNonNegative(Value value) { return getNonNegativeBits(value).has_value(); }

std::optional<Quotient> attn::matchQuotient(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(op))
    return std::nullopt;
  std::optional<int64_t> divisor = getConstant(op->getOperand(1));
  if (!divisor || *divisor < 1 || (!isa<arith::FloorDivSIOp>(op) && !isNonNegative(op->getOperand(0))))
    return std::nullopt;
  return Quotient{op->getOperand(0), *divisor};
}

/// True if the value, or one that it is computed from, is a constant too large for forms.
static bool holdsLargeConstant(Value value, Region &region) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getParentRegion() != &region)
    return false;
  if (op->hasTrait<OpTrait::ConstantLike>())
    return value.getType().isIntOrIndex() && !getConstant(value);
  return llvm::any_of(op->getOperands(), [&](Value operand) { return holdsLargeConstant(operand, region); });
}

/// Bits of a value that does not depend on rows and keys, by its form; 64 where unknown.
static unsigned getRunTimeBits(Value value) {
  if (std::optional<int64_t> constant = getConstant(value))
    return kMaxBits;
  if (!value.getType().isIndex() && value.getType().getIntOrFloatBitWidth() <= kRunTimeBits)
    return value.getType().getIntOrFloatBitWidth();
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(op))
    return getRunTimeBits(op->getOperand(0));
  return 64;
}

/// |value| < 2^bits for an integer that isBoundable accepts, if no run-time value appended to `wide` has more than
/// kRunTimeBits.
static unsigned getBits(Value value, Region &region, SmallVectorImpl<Value> &wide) {
  if (!getDependence(value, region).isOnAny()) {
    unsigned bits = getRunTimeBits(value);
    if (bits <= kRunTimeBits)
      return bits;
    if (!llvm::is_contained(wide, value))
      wide.push_back(value);
    return kRunTimeBits;
  }
  Operation *op = value.getDefiningOp();
  if (isa<IndexOp>(op))
    return kPositionBits;
  auto get = [&](unsigned i) { return getBits(op->getOperand(i), region, wide); };
  if (isa<arith::SelectOp>(op))
    return std::max(get(1), get(2));
  unsigned bits = get(0);
  if (isa<arith::IndexCastOp>(op) || matchQuotient(value))
    return bits;
  unsigned other = get(1);
  return isa<arith::MulIOp>(op)                  ? bits + other
         : isa<arith::AddIOp, arith::SubIOp>(op) ? std::max(bits, other) + 1
                                                 : std::max(bits, other);
}

static bool isBoundableValue(Value value, Region &region, RangeAxis axis);

bool attn::isBoundable(Value value, Region &region, RangeAxis axis) {
  SmallVector<Value> wide;
  return isBoundableValue(value, region, axis) && getBits(value, region, wide) <= kMaxTermBits;
}

static bool isBoundableValue(Value value, Region &region, RangeAxis axis) {
  if (holdsLargeConstant(value, region))
    return false;
  Dependence dependence = getDependence(value, region);
  if (dependence.isOn(axis))
    return false;
  if (!dependence.isOnAny())
    return true;
  Operation *op = value.getDefiningOp();
  auto areBoundable = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value operand) { return isBoundable(operand, region, axis); });
  };
  if (isa<IndexOp>(op))
    return true;
  // Narrower integers may wrap in between.
  if (!value.getType().isIndex() && !value.getType().isInteger(64))
    return false;
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp, arith::IndexCastOp>(op))
    return areBoundable(op->getOperands());
  if (isa<arith::MulIOp>(op))
    return (getConstant(op->getOperand(0)) || getConstant(op->getOperand(1))) && areBoundable(op->getOperands());
  if (isa<arith::SelectOp>(op))
    return areBoundable(op->getOperands().drop_front());
  if (std::optional<Quotient> quotient = matchQuotient(value))
    return isBoundable(quotient->dividend, region, axis);
  return false;
}

/// a + factor * b, if its factors stay small enough.
static std::optional<LinearForm> combine(LinearForm a, const LinearForm &b, int64_t factor) {
  a.constant += factor * b.constant;
  a.query += factor * b.query;
  a.key += factor * b.key;
  for (Value value : b.wide)
    if (!llvm::is_contained(a.wide, value))
      a.wide.push_back(value);
  for (auto [term, weight] : b.terms) {
    auto *known = llvm::find_if(a.terms, [&, term = term](auto &entry) { return entry.first == term; });
    if (known == a.terms.end())
      a.terms.push_back({term, factor * weight});
    else
      known->second += factor * weight;
  }
  llvm::erase_if(a.terms, [](auto &entry) { return entry.second == 0; });
  bool isSmall = llvm::isIntN(kMaxBits, a.constant) && llvm::isIntN(kMaxBits, a.query) &&
                 llvm::isIntN(kMaxBits, a.key) &&
                 llvm::all_of(a.terms, [](auto &entry) { return llvm::isIntN(kMaxBits, entry.second); });
  return isSmall ? std::optional(std::move(a)) : std::nullopt;
}

std::optional<LinearForm> LinearForms::get(Value value) const {
  std::optional<LinearForm> form = getWide(value);
  if (form && fits(*form, value.getType()))
    return form;
  if (!isBoundable(value, region, axis))
    return std::nullopt;
  LinearForm opaque;
  opaque.terms.push_back({value, 1});
  if (getDependence(value, region).isOnAny())
    getBits(value, region, opaque.wide);
  return opaque;
}

std::optional<LinearForm> LinearForms::getWide(Value value) const {
  if (std::optional<int64_t> constant = getConstant(value))
    return LinearForm{*constant, 0, 0, {}, {}};
  Operation *op = value.getDefiningOp();
  if (!op || op->getParentRegion() != &region)
    return std::nullopt;
  if (auto index = dyn_cast<IndexOp>(op)) {
    if (index.getKind() == IndexKind::Query)
      return LinearForm{0, 1, 0, {}, {}};
    if (index.getKind() == IndexKind::Key)
      return LinearForm{0, 0, 1, {}, {}};
    return std::nullopt;
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return get(op->getOperand(0));
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<LinearForm> lhs = get(op->getOperand(0)), rhs = get(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  // Arithmetic on a run-time value may wrap, even where the value cancels later.
  for (LinearForm *form : {&*lhs, &*rhs})
    for (auto [term, factor] : form->terms)
      getBits(term, region, form->wide);
  if (isa<arith::AddIOp>(op))
    return combine(*lhs, *rhs, 1);
  if (isa<arith::SubIOp>(op))
    return combine(*lhs, *rhs, -1);
  auto isConstant = [](const LinearForm &form) { return !form.query && !form.key && form.terms.empty(); };
  if (!isConstant(*lhs))
    std::swap(*lhs, *rhs);
  if (!isConstant(*lhs))
    return std::nullopt; // a product of two indices
  return combine({}, *rhs, lhs->constant);
}

std::optional<LinearForm> LinearForms::getLessEqual(Value lhs, Value rhs, int64_t slack) const {
  // rhs - lhs + slack >= 0
  std::optional<LinearForm> left = get(lhs), right = get(rhs);
  LinearForm extra{slack, 0, 0, {}, {}};
  if (left && right) {
    std::optional<LinearForm> difference = combine(*right, *left, -1);
    return difference ? combine(*difference, extra, 1) : std::nullopt;
  }
  // x floordiv n <= r is x <= n r + n - 1; l <= x floordiv n is n l <= x, with r + slack and l - slack.
  if (std::optional<Quotient> quotient = matchQuotient(lhs); quotient && right) {
    std::optional<LinearForm> dividend = get(quotient->dividend), bound = combine(*right, extra, 1);
    if (!dividend || !bound)
      return std::nullopt;
    bound = combine(LinearForm{quotient->divisor - 1, 0, 0, {}, {}}, *bound, quotient->divisor);
    return bound ? combine(*bound, *dividend, -1) : std::nullopt;
  }
  if (std::optional<Quotient> quotient = matchQuotient(rhs); quotient && left) {
    std::optional<LinearForm> dividend = get(quotient->dividend), bound = combine(*left, extra, -1);
    return dividend && bound ? combine(*dividend, *bound, -quotient->divisor) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<SmallVector<LinearForm, 2>> LinearForms::get(arith::CmpIPredicate predicate, Value lhs, Value rhs) const {
  SmallVector<LinearForm, 2> forms;
  auto add = [&](std::optional<LinearForm> form) {
    if (form)
      forms.push_back(std::move(*form));
    return form.has_value();
  };
  using enum arith::CmpIPredicate;
  // Unsigned comparisons equal signed ones where both operands are never negative.
  bool isUnsigned = llvm::is_contained({ule, ult, uge, ugt}, predicate);
  if (isUnsigned && !(isNonNegative(lhs) && isNonNegative(rhs)))
    return std::nullopt;
  bool isSolved = false;
  switch (predicate) {
  case sle:
  case ule: isSolved = add(getLessEqual(lhs, rhs, 0)); break;
  case slt:
  case ult: isSolved = add(getLessEqual(lhs, rhs, -1)); break;
  case sge:
  case uge: isSolved = add(getLessEqual(rhs, lhs, 0)); break;
  case sgt:
  case ugt: isSolved = add(getLessEqual(rhs, lhs, -1)); break;
  case eq: isSolved = add(getLessEqual(lhs, rhs, 0)) && add(getLessEqual(rhs, lhs, 0)); break;
  case ne: break;
  }
  isSolved &= llvm::all_of(forms, [&](const LinearForm &form) { return staysWithin64Bits(form); });
  return isSolved ? std::optional(std::move(forms)) : std::nullopt;
}

bool LinearForms::staysWithin64Bits(const LinearForm &form) const {
  SmallVector<Value> wide;
  return form.terms.size() <= kMaxTerms && llvm::all_of(form.terms, [&](auto &entry) {
           return getBits(entry.first, region, wide) + llvm::Log2_64_Ceil(std::abs(entry.second) + 1) <= kMaxTermBits;
         });
}

SmallVector<Value> LinearForms::getWideValues(const LinearForm &form) const {
  SmallVector<Value> wide(form.wide.begin(), form.wide.end());
  // Solved for j, j < x (x - 1 - j >= 0) and j >= x (j - x >= 0) have x itself as the bound.
  int64_t factor = form.getFactor(axis);
  bool isPlain = form.getFactor(getOtherAxis(axis)) == 0 && form.terms.size() == 1 &&
                 ((factor == -1 && form.constant == -1 && form.terms.front().second == 1) ||
                  (factor == 1 && form.constant == 0 && form.terms.front().second == -1));
  if (!isPlain)
    for (auto [term, factor] : form.terms)
      getBits(term, region, wide);
  return wide;
}

Value attn::isWithinRunTimeBits(OpBuilder &b, Location loc, Value value) {
  // value + 2^31 <u 2^32
  Value half = arith::ConstantIndexOp::create(b, loc, int64_t(1) << (kRunTimeBits - 1));
  Value all = arith::ConstantIndexOp::create(b, loc, int64_t(1) << kRunTimeBits);
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, b.createOrFold<arith::AddIOp>(loc, value, half),
                                       all);
}

bool LinearForms::isAlwaysNonNegative(const LinearForm &form) const {
  if (!form.terms.empty() || !form.wide.empty())
    return false;
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

bool LinearForms::fits(const LinearForm &form, Type type) const {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (width == 64)
    return true;
  if (!form.terms.empty())
    return false;
  if (ShapedType::isDynamic(numQueries) || ShapedType::isDynamic(numKeys))
    return form.query == 0 && form.key == 0;
  int64_t largest = std::abs(form.constant) + std::abs(form.query) * numQueries + std::abs(form.key) * numKeys;
  return llvm::isIntN(width, largest);
}
