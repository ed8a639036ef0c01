//===- KeyRanges.cpp - from a predicate to ranges of positions ------------===//
//
// Each linear comparison R(i) + b j >= 0 bounds j from one side. Over a tile of i, the extremes of R determine which j
// any i keeps (visited) and which j all i keep (full). Where keys are bounded, i is a query and j a key; where queries
// are bounded, the other way round. Conjunctions intersect; disjunctions take the hull of the visited ranges and the
// larger full range. The bounds are scalar arithmetic in a region: they may contain run-time values.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Analysis/KeyRanges.h"
#include "LinearForm.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;

/// Larger conjuncts are tested on every key. The analysis walks a predicate as a tree, so a value with two uses is
/// visited twice. Conjuncts of attention have some tens of ops.
static constexpr int64_t kMaxTreeSize = 512;

namespace {

/// Bounds of positions as index values; a null bound means unbounded.
struct Interval {
  Value lower, upper;
};
struct Ranges {
  Interval visited, full;
};

/// Emits the bounds of one predicate.
class RangeBuilder {
public:
  RangeBuilder(OpBuilder &builder, Location loc, Region &maskMod, RangeAxis axis, int64_t numQueries, int64_t numKeys)
      : b(builder), loc(loc), region(maskMod), axis(axis), forms(maskMod, axis, numQueries, numKeys) {
    bool isOfQueries = axis == RangeAxis::Keys;
    first = IndexOp::create(b, loc, b.getIndexType(), isOfQueries ? IndexKind::FirstQuery : IndexKind::FirstKey);
    Value end = IndexOp::create(b, loc, b.getIndexType(), isOfQueries ? IndexKind::EndQuery : IndexKind::EndKey);
    last = arith::SubIOp::create(b, loc, end, constant(1));
  }

  /// The ranges of an i1 value, or of its negation.
  Ranges analyze(Value value, bool negated) {
    APInt bit;
    if (matchPattern(value, m_ConstantInt(&bit)))
      return bit.isZero() == negated ? Ranges() : getNone();
    Dependence dependence = getDependence(value, region);
    if (!dependence.isOnAny()) {
      // A run-time flag keeps all keys or none.
      Value flag = cloneSymbol(value), all = constant(kNoBound), none = constant(0);
      Value upper = negated ? select(flag, none, all) : select(flag, all, none);
      return {{{}, upper}, {{}, upper}};
    }
    Operation *op = value.getDefiningOp();
    if (isa<arith::AndIOp, arith::OrIOp>(op)) {
      Ranges lhs = analyze(op->getOperand(0), negated), rhs = analyze(op->getOperand(1), negated);
      return isa<arith::AndIOp>(op) != negated ? intersect(lhs, rhs) : unite(lhs, rhs);
    }
    if (isa<arith::XOrIOp>(op))
      for (unsigned i : {0, 1})
        if (matchPattern(op->getOperand(i), m_One()))
          return analyze(op->getOperand(1 - i), !negated);
    if (auto choice = dyn_cast<arith::SelectOp>(op)) {
      // (c and a) or (not c and b)
      Ranges chosen = intersect(analyze(choice.getCondition(), false), analyze(choice.getTrueValue(), negated));
      return unite(chosen, intersect(analyze(choice.getCondition(), true), analyze(choice.getFalseValue(), negated)));
    }
    if (auto cmp = dyn_cast<arith::CmpIOp>(op))
      return compare(negated ? arith::invertPredicate(cmp.getPredicate()) : cmp.getPredicate(), cmp.getLhs(),
                     cmp.getRhs());
    return getUnsolved();
  }

  Ranges intersect(const Ranges &x, const Ranges &y) {
    return {{max(x.visited.lower, y.visited.lower), min(x.visited.upper, y.visited.upper)},
            {max(x.full.lower, y.full.lower), min(x.full.upper, y.full.upper)}};
  }

  Ranges getNone() { return {{{}, constant(0)}, {{}, constant(0)}}; }
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

  /// Any position may be kept; none is known to be.
  Ranges getUnsolved() {
    isSolved = false;
    return {{}, {{}, constant(0)}};
  }

  /// True while every part of the predicate has become a bound.
  bool isSolved = true;

private:
  Ranges compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    if (predicate == arith::CmpIPredicate::ne)
      return unite(compare(arith::CmpIPredicate::slt, lhs, rhs), compare(arith::CmpIPredicate::sgt, lhs, rhs));
    auto solved = forms.get(predicate, lhs, rhs);
    if (!solved)
      return getUnsolved();
    Ranges result;
    for (const LinearForm &form : *solved)
      result = intersect(result, whereExact(form, getRanges(form)));
    return result;
  }

  /// If a run-time value is so large that the predicate wraps, any position may be kept, and none is known to be.
  Ranges whereExact(const LinearForm &form, Ranges ranges) {
    Value isExact;
    for (Value value : forms.getWideValues(form)) {
      Value isSmall = isWithinRunTimeBits(b, loc, toIndex(cloneSymbol(value)));
      isExact = isExact ? b.createOrFold<arith::AndIOp>(loc, isExact, isSmall) : isSmall;
    }
    if (!isExact)
      return ranges;
    if (ranges.visited.lower)
      ranges.visited.lower = select(isExact, ranges.visited.lower, constant(0));
    if (ranges.visited.upper)
      ranges.visited.upper = select(isExact, ranges.visited.upper, constant(kNoBound));
    ranges.full.upper = select(isExact, upperOf(ranges.full), constant(0));
    return ranges;
  }

  /// R(i) + b j >= 0 with smallest and largest R over the tile: b > 0 gives j >= ceil(-R / b), b < 0 gives
  /// j < floor(R / -b) + 1.
  Ranges getRanges(const LinearForm &form) {
    Value smallest = getTileBound(form, /*largest=*/false), largest = getTileBound(form, /*largest=*/true);
    int64_t factor = form.getFactor(axis);
    if (factor == 0) {
      // A condition on the tile alone: all positions or none.
      auto getUpper = [&](Value rest) {
        Value holds = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, rest, constant(0));
        return select(holds, constant(kNoBound), constant(0));
      };
      return {{{}, getUpper(largest)}, {{}, getUpper(smallest)}};
    }
    auto getBound = [&](Value rest) -> Value {
      if (factor < 0)
        return add(b.createOrFold<arith::FloorDivSIOp>(loc, rest, constant(-factor)), constant(1));
      Value negative = b.createOrFold<arith::SubIOp>(loc, constant(0), rest);
      return b.createOrFold<arith::CeilDivSIOp>(loc, negative, constant(factor));
    };
    if (factor > 0)
      return {{getBound(largest), {}}, {getBound(smallest), {}}};
    return {{{}, getBound(largest)}, {{}, getBound(smallest)}};
  }

  /// The extreme over the tile of all terms of a form, except that of the axis it is solved for.
  Value getTileBound(const LinearForm &form, bool largest) {
    Value sum = constant(form.constant);
    if (int64_t factor = form.getFactor(getOtherAxis(axis)))
      sum = add(sum, multiply((factor > 0) == largest ? last : first, factor));
    for (auto [term, factor] : form.terms)
      sum = add(sum, multiply(getBound(term, (factor > 0) == largest), factor));
    return sum;
  }

  /// The smallest or largest value of a boundable term over the tile (isBoundable of LinearForm.h).
  Value getBound(Value value, bool largest) {
    if (!getDependence(value, region).isOnAny())
      return toIndex(cloneSymbol(value));
    Operation *op = value.getDefiningOp();
    if (isa<IndexOp>(op))
      return largest ? last : first;
    if (auto subtract = dyn_cast<arith::SubIOp>(op))
      return b.createOrFold<arith::SubIOp>(loc, getBound(subtract.getLhs(), largest),
                                           getBound(subtract.getRhs(), !largest));
    if (auto product = dyn_cast<arith::MulIOp>(op)) {
      APInt factor;
      bool isLeft = matchPattern(product.getLhs(), m_ConstantInt(&factor));
      if (!isLeft)
        (void)matchPattern(product.getRhs(), m_ConstantInt(&factor));
      Value other = isLeft ? product.getRhs() : product.getLhs();
      return multiply(getBound(other, factor.isNegative() != largest), factor.getSExtValue());
    }
    if (isa<arith::IndexCastOp>(op))
      return getBound(op->getOperand(0), largest);
    if (std::optional<Quotient> quotient = matchQuotient(value))
      return b.createOrFold<arith::FloorDivSIOp>(loc, getBound(quotient->dividend, largest),
                                                 constant(quotient->divisor));
    if (auto choice = dyn_cast<arith::SelectOp>(op)) {
      Value x = getBound(choice.getTrueValue(), largest), y = getBound(choice.getFalseValue(), largest);
      return largest ? max(x, y) : min(x, y);
    }
    Value x = getBound(op->getOperand(0), largest), y = getBound(op->getOperand(1), largest);
    if (isa<arith::AddIOp>(op))
      return add(x, y);
    return isa<arith::MaxSIOp>(op) ? max(x, y) : min(x, y);
  }

  /// The hull of the visited ranges. The union of the full ranges if they meet, otherwise the longer one.
  Ranges unite(const Ranges &x, const Ranges &y) {
    Ranges result;
    auto isEmpty = [&](const Interval &interval) {
      return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, lowerOf(interval), upperOf(interval));
    };
    Value emptyX = isEmpty(x.visited), emptyY = isEmpty(y.visited);
    auto hull = [&](Value ofX, Value ofY, Value both) { return select(emptyX, ofY, select(emptyY, ofX, both)); };
    Value lowerX = lowerOf(x.visited), lowerY = lowerOf(y.visited);
    Value upperX = upperOf(x.visited), upperY = upperOf(y.visited);
    result.visited = {hull(lowerX, lowerY, min(lowerX, lowerY)), hull(upperX, upperY, max(upperX, upperY))};

    lowerX = lowerOf(x.full), lowerY = lowerOf(y.full), upperX = upperOf(x.full), upperY = upperOf(y.full);
    auto lengthOf = [&](Value lower, Value upper) {
      return max(b.createOrFold<arith::SubIOp>(loc, upper, lower), constant(0));
    };
    Value lengthX = lengthOf(lowerX, upperX), lengthY = lengthOf(lowerY, upperY);
    Value isX = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, lengthX, lengthY);
    Value meets =
        b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, max(lowerX, lowerY), min(upperX, upperY));
    Value shorter = b.createOrFold<arith::MinSIOp>(loc, lengthX, lengthY);
    Value areBoth = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, shorter, constant(0));
    Value isUnion = b.createOrFold<arith::AndIOp>(loc, meets, areBoth);
    result.full = {select(isUnion, min(lowerX, lowerY), select(isX, lowerX, lowerY)),
                   select(isUnion, max(upperX, upperY), select(isX, upperX, upperY))};
    return result;
  }

  Value lowerOf(const Interval &interval) { return interval.lower ? interval.lower : constant(0); }
  Value upperOf(const Interval &interval) { return interval.upper ? interval.upper : constant(kNoBound); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
  Value multiply(Value x, int64_t factor) { return b.createOrFold<arith::MulIOp>(loc, x, constant(factor)); }
  Value select(Value condition, Value x, Value y) { return b.createOrFold<arith::SelectOp>(loc, condition, x, y); }
  Value max(Value x, Value y) { return x && y ? b.createOrFold<arith::MaxSIOp>(loc, x, y) : x ? x : y; }
  Value min(Value x, Value y) { return x && y ? b.createOrFold<arith::MinSIOp>(loc, x, y) : x ? x : y; }
  Value toIndex(Value value) {
    return value.getType().isIndex() ? value : arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  }

  /// Clones a value of the predicate that does not depend on rows and keys into the region of the ranges.
  Value cloneSymbol(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getParentRegion() != &region)
      return value;
    if (Value known = mapping.lookupOrNull(value))
      return known;
    for (Value operand : op->getOperands())
      mapping.map(operand, cloneSymbol(operand));
    b.clone(*op, mapping);
    return mapping.lookup(value);
  }

  OpBuilder &b;
  Location loc;
  Region &region;
  RangeAxis axis; // the axis that is bounded
  LinearForms forms;
  Value first, last; // of the tile
  IRMapping mapping;
};

void collectConjuncts(Value value, SetVector<Value> &conjuncts, DenseSet<Value> &visited) {
  if (!visited.insert(value).second)
    return;
  if (auto conjunction = value.getDefiningOp<arith::AndIOp>()) {
    collectConjuncts(conjunction.getLhs(), conjuncts, visited);
    collectConjuncts(conjunction.getRhs(), conjuncts, visited);
    return;
  }
  conjuncts.insert(value);
}

/// The number of ops of a predicate as a tree. An op with two uses counts twice. So does the condition of a select,
/// which is also needed negated. Counting stops one above the limit.
int64_t getTreeSize(Value value, Region &region, DenseMap<Value, int64_t> &known) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getParentRegion() != &region)
    return 1;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  int64_t size = 1;
  for (Value operand : op->getOperands())
    size += getTreeSize(operand, region, known);
  if (auto choice = dyn_cast<arith::SelectOp>(op))
    size += getTreeSize(choice.getCondition(), region, known);
  return known[value] = std::min(size, kMaxTreeSize + 1);
}

/// `op` with constant operands, folded.
LogicalResult foldConstants(Operation &op, DenseMap<Value, Attribute> &known) {
  SmallVector<Attribute> operands;
  for (Value operand : op.getOperands()) {
    Attribute constant = known.lookup(operand);
    if (!constant && !matchPattern(operand, m_Constant(&constant)))
      return failure();
    operands.push_back(constant);
  }
  SmallVector<OpFoldResult> results;
  if (failed(op.fold(operands, results)))
    return failure();
  for (auto [value, folded] : llvm::zip_equal(op.getResults(), results)) {
    // A fold may return one of the operands.
    Attribute constant = isa<Attribute>(folded) ? cast<Attribute>(folded) : known.lookup(cast<Value>(folded));
    if (!constant)
      return failure();
    known[value] = constant;
  }
  return success();
}

} // namespace

SmallVector<Conjunct> attn::splitPredicate(Region &maskMod, int64_t numQueries, int64_t numKeys) {
  SmallVector<Conjunct> conjuncts;
  if (maskMod.empty())
    return conjuncts;
  SetVector<Value> values;
  DenseSet<Value> visited;
  collectConjuncts(cast<YieldOp>(maskMod.front().getTerminator()).getValue(), values, visited);
  DenseMap<Value, int64_t> sizes;
  for (Value value : values)
    conjuncts.push_back({value, /*alwaysHolds=*/false, getTreeSize(value, maskMod, sizes) > kMaxTreeSize});
  LinearForms forms(maskMod, RangeAxis::Keys, numQueries, numKeys);
  for (Conjunct &conjunct : conjuncts) {
    if (conjunct.isTooLarge)
      continue;
    if (matchPattern(conjunct.value, m_One())) {
      conjunct.alwaysHolds = true;
      continue;
    }
    auto cmp = conjunct.value.getDefiningOp<arith::CmpIOp>();
    auto solved = cmp ? forms.get(cmp.getPredicate(), cmp.getLhs(), cmp.getRhs()) : std::nullopt;
    conjunct.alwaysHolds =
        solved && llvm::all_of(*solved, [&](const LinearForm &form) { return forms.isAlwaysNonNegative(form); });
  }
  return conjuncts;
}

RangesSummary attn::buildRanges(OpBuilder &builder, Location loc, Region &maskMod, RangeAxis axis, int64_t numQueries,
                                int64_t numKeys, bool isDense, Region &ranges) {
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&ranges);
  RangeBuilder rb(builder, loc, maskMod, axis, numQueries, numKeys);
  RangesSummary summary;
  Ranges result;
  for (const Conjunct &conjunct : splitPredicate(maskMod, numQueries, numKeys)) {
    rb.isSolved = true;
    result =
        rb.intersect(result, conjunct.isTooLarge ? rb.getUnsolved() : rb.analyze(conjunct.value, /*negated=*/false));
    ++(rb.isSolved ? summary.numSolved : summary.numTested);
  }
  if (isDense || summary.numTested > 0)
    result.full = rb.getNone().full;
  auto orElse = [&](Value bound, int64_t none) { return bound ? bound : rb.constant(none); };
  YieldOp::create(builder, loc,
                  ValueRange{orElse(result.visited.lower, 0), orElse(result.visited.upper, kNoBound),
                             orElse(result.full.lower, 0), orElse(result.full.upper, kNoBound)});
  // Erases intermediate values without uses.
  SmallVector<Operation *> ops =
      llvm::map_to_vector(ranges.front().without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
  return summary;
}

std::optional<RangeBounds> attn::evaluateRanges(Region &ranges, int64_t first, int64_t end, int64_t size) {
  Builder b(ranges.front().getTerminator()->getContext());
  DenseMap<Value, Attribute> known;
  for (Operation &op : ranges.front().without_terminator()) {
    if (auto index = dyn_cast<IndexOp>(op)) {
      IndexKind kind = index.getKind();
      if (kind == IndexKind::FirstQuery || kind == IndexKind::FirstKey)
        known[index.getResult()] = b.getIndexAttr(first);
      else if (kind == IndexKind::EndQuery || kind == IndexKind::EndKey)
        known[index.getResult()] = b.getIndexAttr(end);
    } else if (failed(foldConstants(op, known))) {
      continue; // a bound that needs it is then missing
    }
  }
  SmallVector<int64_t> bounds;
  for (Value value : ranges.front().getTerminator()->getOperands()) {
    Attribute constant = known.lookup(value);
    if (!constant && !matchPattern(value, m_Constant(&constant)))
      return std::nullopt;
    bounds.push_back(std::clamp<int64_t>(cast<IntegerAttr>(constant).getInt(), 0, size));
  }
  return RangeBounds{bounds[0], bounds[1], bounds[2], bounds[3]};
}
