//===- ColumnLoops.cpp - loops over the columns that a tile visits --------===//
//
// Columns are the keys of a query tile, or the queries of a key tile.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "attn/IR/LoopAttrs.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

TileState attn::createLoop(OpBuilder &b, Location loc, Value lower, Value upper, int64_t step, TileState state,
                           function_ref<TileState(Value, TileState)> body, bool isConsecutive) {
  auto loop = scf::ForOp::create(b, loc, lower, upper, index(b, loc, step), state,
                                 [&](OpBuilder &nested, Location, Value key, ValueRange carried) {
                                   OpBuilder::InsertionGuard guard(b);
                                   b.setInsertionPointToEnd(nested.getInsertionBlock());
                                   TileState next = body(key, TileState(carried));
                                   scf::YieldOp::create(b, loc, next);
                                 });
  if (isConsecutive)
    loop->setAttr(kConsecutiveAttr, b.getUnitAttr());
  return TileState(loop.getResults());
}

TileState attn::createBranch(OpBuilder &b, Location loc, Value condition, function_ref<TileState()> then,
                             function_ref<TileState()> otherwise) {
  // The result types are known only once a branch is built.
  auto build = [&](function_ref<TileState()> body) {
    return [&, body](OpBuilder &nested, Location) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(nested.getInsertionBlock());
      scf::YieldOp::create(b, loc, body());
    };
  };
  return TileState(scf::IfOp::create(b, loc, condition, build(then), build(otherwise)).getResults());
}

static Value isOfKind(OpBuilder &b, Location loc, Value kind, int8_t expected) {
  Value constant = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(expected));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, kind, constant);
}

TileState attn::createStepOfKind(OpBuilder &b, Location loc, Value kind, bool isDense, TileState state,
                                 function_ref<TileState(bool)> step, function_ref<Value()> canBeFull) {
  auto visit = [&] {
    if (isDense)
      return step(/*isPartial=*/true);
    Value isWhole = canBeFull ? canBeFull() : Value(), isFull = isOfKind(b, loc, kind, kFullTile);
    if (isWhole)
      isFull = arith::AndIOp::create(b, loc, isFull, isWhole);
    return createBranch(
        b, loc, isFull, [&] { return step(/*isPartial=*/false); }, [&] { return step(/*isPartial=*/true); });
  };
  return createBranch(b, loc, isOfKind(b, loc, kind, kEmptyTile), [&] { return state; }, visit);
}

TileState attn::createLoopOfTiles(OpBuilder &b, Location loc, int64_t size, Value lower, Value upper, TileState state,
                                  ColumnStep step, bool isConsecutive) {
  auto createStep = [&](Value column, TileState carried) {
    Value count = arith::MinSIOp::create(b, loc, index(b, loc, size), arith::SubIOp::create(b, loc, upper, column));
    return step(column, count, carried);
  };
  return createLoop(b, loc, lower, upper, size, state, createStep, isConsecutive);
}

TileState attn::createTiles(OpBuilder &b, Location loc, int64_t size, Value lower, Value upper, TileState state,
                            ColumnStep step, bool isConsecutive) {
  std::optional<int64_t> first = getConstantIntValue(lower), last = getConstantIntValue(upper);
  if (!first || !last)
    return createLoopOfTiles(b, loc, size, lower, upper, state, step, isConsecutive);
  int64_t length = std::max<int64_t>(*last - *first, 0), whole = length / size * size;
  auto createStep = [&](Value column, TileState carried) { return step(column, b.getIndexAttr(size), carried); };
  if (whole > 0)
    state = createLoop(b, loc, lower, index(b, loc, *first + whole), size, state, createStep, isConsecutive);
  return length > whole ? step(index(b, loc, *first + whole), b.getIndexAttr(length - whole), state) : state;
}

RangesSummary attn::buildMaskRanges(OpBuilder &b, Operation *step, Region &maskMod, RangeAxis axis, bool isDense,
                                    Region &ranges) {
  OpBuilder::InsertionGuard guard(b);
  return buildRanges(b, step->getLoc(), maskMod, axis, getStaticSize(step, DimKind::Query),
                     getStaticSize(step, DimKind::Key), isDense, ranges);
}

ColumnRanges::ColumnRanges(OpBuilder &b, Location loc, ArrayRef<Value> bounds, Value first, Value end)
    : fullLower(bounds[2]), fullUpper(bounds[3]), startsPartial(getConstantIntValue(fullLower) != 0),
      endsPartial(getConstantIntValue(fullUpper) != kNoBound), isNeverFull(getConstantIntValue(fullUpper) == 0) {
  lower = getConstantIntValue(bounds[0]) == 0 ? first : max(b, loc, bounds[0], first);
  upper = getConstantIntValue(bounds[1]) == kNoBound ? end : min(b, loc, bounds[1], end);
}

/// The first column that all rows keep, in [lower, upper].
static Value getFullStart(OpBuilder &b, Location loc, const ColumnRanges &ranges) {
  Value lower = ranges.lower, last = max(b, loc, lower, ranges.upper);
  Value full = min(b, loc, max(b, loc, ranges.fullLower, lower), last);
  if (ranges.startMultiple == 1)
    return full;
  AffineExpr start = b.getAffineDimExpr(0), first = b.getAffineDimExpr(1);
  int64_t multiple = ranges.startMultiple;
  full = affine::makeComposedAffineApply(b, loc, first + (start - first).ceilDiv(multiple) * multiple,
                                         {OpFoldResult(full), OpFoldResult(lower)});
  return min(b, loc, full, last);
}

/// Two rounds of partial tiles, then full ones: those up to `full`, then those up to the end, where no full ones
/// follow. So the code of partial tiles is there once.
static TileState createRounds(OpBuilder &b, Location loc, const ColumnRanges &ranges, Value full, TileState state,
                              ColumnTiles tiles, FullColumnTiles fullTiles) {
  Value fullEnd = min(b, loc, ranges.fullUpper, ranges.upper), zero = index(b, loc, 0);
  state.push_back(ranges.lower);
  state = createLoop(b, loc, zero, index(b, loc, 2), 1, state, [&](Value round, TileState carried) {
    Value position = carried.pop_back_val();
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, round, zero);
    Value stop = arith::SelectOp::create(b, loc, isFirst, full, ranges.upper);
    carried = tiles(position, stop, /*isPartial=*/true, carried);
    Value end;
    carried = fullTiles(stop, fullEnd, carried, end);
    carried.push_back(end);
    return carried;
  });
  state.pop_back();
  return state;
}

TileState attn::createColumnTiles(OpBuilder &b, Location loc, const ColumnRanges &ranges, TileState state,
                                  ColumnTiles tiles, FullColumnTiles fullTiles) {
  Value lower = ranges.lower, upper = ranges.upper;
  if (ranges.isNeverFull)
    return tiles(lower, upper, /*isPartial=*/true, state);
  if (ranges.startsPartial) {
    Value full = getFullStart(b, loc, ranges);
    bool isStatic = getConstantIntValue(full) && getConstantIntValue(upper);
    if (ranges.inRounds && ranges.endsPartial && !isStatic)
      return createRounds(b, loc, ranges, full, state, tiles, fullTiles);
    state = tiles(lower, full, /*isPartial=*/true, state);
    lower = full;
  }
  Value end;
  state = fullTiles(lower, ranges.endsPartial ? min(b, loc, ranges.fullUpper, upper) : upper, state, end);
  return end == upper && !ranges.endsPartial ? state : tiles(end, upper, ranges.endsPartial, state);
}
