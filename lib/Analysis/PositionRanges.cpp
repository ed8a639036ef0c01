//===- PositionRanges.cpp - ranges of the integers in a region ------------===//
//
// MLIR's interval arithmetic (InferIntRangeInterface) on one block of scalar code, from the first op to the last. attn
// adds the positions of attn.index, wrapping arithmetic that ignores overflow flags, floor modulo as tracers write it,
// |x|, and what the condition of a select implies in its branches.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Analysis/PositionRanges.h"
#include "attn/Analysis/KeyRanges.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/Utils/InferIntRangeCommon.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// Most ops through which a condition is propagated, and most conjuncts that are considered.
static constexpr unsigned kMaxRefinedOps = 3, kMaxConjuncts = 8;
static constexpr unsigned kIndexBits = 64;

static unsigned getBits(Value value) { return ConstantIntRanges::getStorageBitwidth(value.getType()); }
static ConstantIntRanges getAny(Value value) { return ConstantIntRanges::maxRange(getBits(value)); }

static ConstantIntRanges getRange(int64_t lo, int64_t hi, unsigned bits = kIndexBits) {
  return ConstantIntRanges::fromSigned(APInt(bits, lo, /*isSigned=*/true), APInt(bits, hi, /*isSigned=*/true));
}

static std::optional<APInt> matchConstant(Value value) {
  APInt constant;
  if (!value.getType().isIntOrIndex() || !matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant;
}

PositionRanges::PositionRanges(Operation *op, Region &region) {
  this->op = op;
  if (isStructuredOp(op)) {
    domain = getStaticDomain(op);
    numBatch = getNumBatchDims(op);
    if (numBatch > 0)
      kvHeadMap = getKvHeadMap(op);
  }
  for (Operation &nested : region.front().without_terminator()) {
    if (nested.getNumResults() != 1 || !nested.getResult(0).getType().isIntOrIndex())
      continue;
    if (std::optional<PositionRange> range = infer(&nested))
      ranges.try_emplace(nested.getResult(0), *range);
  }
}

PositionRange PositionRanges::get(Value value) const {
  if (auto found = ranges.find(value); found != ranges.end())
    return found->second;
  if (std::optional<APInt> constant = matchConstant(value))
    return {ConstantIntRanges::constant(*constant), true};
  return {getAny(value), false};
}

/// [0, size) of the dimension that it indexes; unbounded where it begins at an origin. A dimension without elements has
/// no position, so any range is correct.
PositionRange PositionRanges::getIndex(IndexOp op) const {
  if (isShifted(this->op, op.getKind()))
    return {getAny(op), false};
  unsigned position = 0;
  bool isBound = false;
  switch (op.getKind()) {
  case IndexKind::Batch: break;
  case IndexKind::Head:
  case IndexKind::KvHead: position = numBatch - 1; break;
  case IndexKind::FirstQuery:
  case IndexKind::EndQuery: isBound = true; [[fallthrough]];
  case IndexKind::Query: position = numBatch; break;
  case IndexKind::FirstKey:
  case IndexKind::EndKey: isBound = true; [[fallthrough]];
  case IndexKind::Key: position = numBatch + 1; break;
  }
  bool isStatic = position < domain.size() && !ShapedType::isDynamic(domain[position]);
  int64_t last = isStatic ? std::max<int64_t>(domain[position], isBound ? 0 : 1) - (isBound ? 0 : 1) : kNoBound;
  if (op.getKind() == IndexKind::KvHead && kvHeadMap) {
    AffineExpr expr = kvHeadMap.getResult(0);
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return {getRange(constant.getValue(), constant.getValue()), true};
    if (auto group = dyn_cast<AffineBinaryOpExpr>(expr))
      last /= cast<AffineConstantExpr>(group.getRHS()).getValue();
  }
  return {getRange(0, last), isStatic};
}

/// The range of `op` given those of its operands; the range of its type where nothing else is known.
static ConstantIntRanges inferFromOperands(Operation *op, ArrayRef<ConstantIntRanges> operands) {
  using namespace intrange;
  std::optional<ConstantIntRanges> result;
  // Overflow flags are ignored: a wrong one would allow an access out of bounds.
  TypeSwitch<Operation *>(op)
      .Case<arith::AddIOp>([&](auto) { result = inferAdd(operands, OverflowFlags::None); })
      .Case<arith::SubIOp>([&](auto) { result = inferSub(operands, OverflowFlags::None); })
      .Case<arith::MulIOp>([&](auto) { result = inferMul(operands, OverflowFlags::None); })
      .Case<arith::ShLIOp>([&](auto) { result = inferShl(operands, OverflowFlags::None); })
      .Case<InferIntRangeInterface>([&](InferIntRangeInterface inferring) {
        inferring.inferResultRanges(operands, [&](Value, const ConstantIntRanges &range) { result = range; });
      });
  return result ? *result : getAny(op->getResult(0));
}

/// x - (x floordiv y) y
static std::optional<std::pair<Value, Value>> matchFloorModulo(Operation *op) {
  auto difference = dyn_cast<arith::SubIOp>(op);
  auto product = difference ? difference.getRhs().getDefiningOp<arith::MulIOp>() : arith::MulIOp();
  if (!product)
    return std::nullopt;
  for (auto [factor, y] : {std::pair(product.getLhs(), product.getRhs()), {product.getRhs(), product.getLhs()}})
    if (auto quotient = factor.getDefiningOp<arith::FloorDivSIOp>();
        quotient && quotient.getLhs() == difference.getLhs() && quotient.getRhs() == y)
      return std::pair(difference.getLhs(), y);
  return std::nullopt;
}

/// max(x, -x) or math.absi x
static Value matchAbsolute(Operation *op) {
  if (auto absolute = dyn_cast<math::AbsIOp>(op))
    return absolute.getOperand();
  auto maximum = dyn_cast<arith::MaxSIOp>(op);
  if (!maximum)
    return {};
  for (auto [x, negated] : {std::pair(maximum.getLhs(), maximum.getRhs()), {maximum.getRhs(), maximum.getLhs()}})
    if (auto negation = negated.getDefiningOp<arith::SubIOp>();
        negation && negation.getRhs() == x && matchPattern(negation.getLhs(), m_Zero()))
      return x;
  return {};
}

std::optional<PositionRange> PositionRanges::infer(Operation *op) const {
  if (auto index = dyn_cast<IndexOp>(op))
    return getIndex(index);
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return std::nullopt;
  bool isStatic = llvm::all_of(op->getOperands(), [&](Value operand) { return get(operand).isStatic; });
  Value result = op->getResult(0);
  unsigned bits = getBits(result);
  if (auto modulo = matchFloorModulo(op)) {
    // Between 0 and y, exclusive of y; 0 for y = 0.
    ConstantIntRanges divisor = get(modulo->second).values;
    APInt zero(bits, 0), one(bits, 1);
    APInt lo = divisor.smin().isNegative() ? divisor.smin() + one : zero;
    APInt hi = divisor.smax().isStrictlyPositive() ? divisor.smax() - one : zero;
    return PositionRange{ConstantIntRanges::fromSigned(lo, hi), isStatic};
  }
  if (Value operand = matchAbsolute(op)) {
    ConstantIntRanges of = get(operand).values;
    if (of.smin().isMinSignedValue()) // its absolute value is not representable
      return PositionRange{getAny(result), isStatic};
    APInt hi = llvm::APIntOps::smax(of.smin().abs(), of.smax().abs());
    APInt lo = of.smin().isNegative() && of.smax().isNonNegative()
                   ? APInt(bits, 0)
                   : llvm::APIntOps::smin(of.smin().abs(), of.smax().abs());
    return PositionRange{ConstantIntRanges::fromSigned(lo, hi), isStatic};
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return PositionRange{inferSelect(select), isStatic};
  auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) { return get(operand).values; });
  return PositionRange{inferFromOperands(op, operands), isStatic};
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// The comparisons that hold where `condition` equals `holds`.
static void splitCondition(Value condition, bool holds, SmallVectorImpl<std::pair<arith::CmpIOp, bool>> &comparisons) {
  SmallVector<std::pair<Value, bool>> worklist = {{condition, holds}};
  for (unsigned i = 0; i < worklist.size() && i < kMaxConjuncts; ++i) {
    auto [value, isTrue] = worklist[i];
    Operation *op = value.getDefiningOp();
    if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op))
      comparisons.push_back({comparison, isTrue});
    else if (isTrue ? isa_and_nonnull<arith::AndIOp>(op) : isa_and_nonnull<arith::OrIOp>(op))
      worklist.append({{op->getOperand(0), isTrue}, {op->getOperand(1), isTrue}});
  }
}

/// The values of `x` for which `x predicate y` holds for some y.
static ConstantIntRanges getHolding(arith::CmpIPredicate predicate, const ConstantIntRanges &x,
                                    const ConstantIntRanges &y) {
  unsigned bits = x.smin().getBitWidth();
  APInt lowest = APInt::getSignedMinValue(bits), largest = APInt::getSignedMaxValue(bits), zero(bits, 0);
  auto below = [&](const APInt &bound) { return ConstantIntRanges::fromSigned(lowest, bound); };
  auto above = [&](const APInt &bound) { return ConstantIntRanges::fromSigned(bound, largest); };
  switch (predicate) {
  case arith::CmpIPredicate::eq: return y;
  case arith::CmpIPredicate::slt: return y.smax() == lowest ? x : below(y.smax() - 1);
  case arith::CmpIPredicate::sle: return below(y.smax());
  case arith::CmpIPredicate::sgt: return y.smin() == largest ? x : above(y.smin() + 1);
  case arith::CmpIPredicate::sge: return above(y.smin());
  case arith::CmpIPredicate::ult: return y.umax().isZero() ? x : ConstantIntRanges::fromUnsigned(zero, y.umax() - 1);
  case arith::CmpIPredicate::ule: return ConstantIntRanges::fromUnsigned(zero, y.umax());
  default: return x;
  }
}

/// The predicate p' with p'(y, x) = p(x, y).
static arith::CmpIPredicate swapOperands(arith::CmpIPredicate predicate) {
  using enum arith::CmpIPredicate;
  switch (predicate) {
  case slt: return sgt;
  case sle: return sge;
  case sgt: return slt;
  case sge: return sle;
  case ult: return ugt;
  case ule: return uge;
  case ugt: return ult;
  case uge: return ule;
  default: return predicate;
  }
}

/// The common values; all of `x` where there are none, as in a branch that is never taken.
static ConstantIntRanges intersect(const ConstantIntRanges &x, const ConstantIntRanges &y) {
  APInt lo = llvm::APIntOps::smax(x.smin(), y.smin()), hi = llvm::APIntOps::smin(x.smax(), y.smax());
  return lo.sgt(hi) ? x : ConstantIntRanges::fromSigned(lo, hi);
}

ConstantIntRanges PositionRanges::inferSelect(arith::SelectOp op) const {
  auto getBranch = [&](Value branch, bool holds) {
    SmallVector<std::pair<arith::CmpIOp, bool>> comparisons;
    splitCondition(op.getCondition(), holds, comparisons);
    Ranges known;
    for (auto [comparison, isTrue] : comparisons) {
      arith::CmpIPredicate predicate =
          isTrue ? comparison.getPredicate() : arith::invertPredicate(comparison.getPredicate());
      Value x = comparison.getLhs(), y = comparison.getRhs();
      auto narrow = [&](Value value, arith::CmpIPredicate holding, Value other) {
        ConstantIntRanges old = refine(value, known, 0);
        ConstantIntRanges now = intersect(old, getHolding(holding, old, get(other).values));
        known.erase(value);
        known.try_emplace(value, now);
      };
      narrow(x, predicate, y);
      narrow(y, swapOperands(predicate), x);
    }
    return refine(branch, known, kMaxRefinedOps);
  };
  return getBranch(op.getTrueValue(), true).rangeUnion(getBranch(op.getFalseValue(), false));
}

ConstantIntRanges PositionRanges::refine(Value value, const Ranges &known, unsigned depth) const {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  ConstantIntRanges all = get(value).values;
  Operation *op = value.getDefiningOp();
  if (depth == 0 || !op || !ranges.contains(value) || isa<IndexOp, arith::SelectOp>(op))
    return all;
  auto operands =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) { return refine(operand, known, depth - 1); });
  return intersect(all, inferFromOperands(op, operands));
}
