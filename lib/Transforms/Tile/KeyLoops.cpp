//===- KeyLoops.cpp - the keys that a query tile visits -------------------===//
//
// The loops follow from key_ranges alone. No key outside of the visited range is read. Where ranges cannot express it,
// a block map has the kind of each tile.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

/// Visited lower and upper, full lower and upper, as the region of ranges yields them.
static SmallVector<Value> getKeyBounds(OpBuilder &b, const TileShape &s, const TilePosition &at, Region &ranges) {
  return inlineRegion(b, ranges, {}, [&](IndexOp op) {
    if (op.getKind() == IndexKind::FirstQuery)
      return at.firstQuery;
    return op.getKind() == IndexKind::EndQuery ? at.endQuery : evaluateIndex(b, s.step, at, op);
  });
}

static bool needsAlignedTiles(const TileShape &s) {
  return s.packed.value || liesInPages(s, s.step.getKey(), s.maps[1]) || liesInPages(s, s.step.getValue(), s.maps[2]);
}

/// Whole tiles of `length` keys from `lower` on, each from several segments. Segments of a dense range are parts of it,
/// so each load walks through memory without a gap; where heads are adjacent, they are parts of the tile. Segments of
/// pages are the next pages.
static TileState createSegmentedTiles(OpBuilder &b, const TileShape &s, const TilePosition &at, ValueRange query,
                                      Value lower, OpFoldResult length, TileState state) {
  Location loc = s.step.getLoc();
  AffineExpr dim = b.getAffineDimExpr(0);
  auto apply = [&](AffineExpr expr) {
    return toValue(b, loc, affine::makeComposedFoldedAffineApply(b, loc, expr, {length}));
  };
  /// Steps of `rows` keys from each of the segments, which start at `getFirst`.
  auto createSteps = [&](Value from, Value to, int64_t by, int64_t rows, int64_t numSegments,
                         function_ref<Value(int64_t, Value)> getFirst) {
    state = createLoop(b, loc, from, to, by, state, [&](Value position, TileState carried) {
      SmallVector<Value> firstKeys;
      for (int64_t segment = 0; segment < numSegments; ++segment)
        firstKeys.push_back(getFirst(segment, position));
      return createStep(b, s, at, query, firstKeys, b.getIndexAttr(rows), /*isPartial=*/false, carried);
    });
    return state;
  };
  auto getNext = [&](int64_t rows) {
    return [&, rows](int64_t segment, Value key) { return add(b, loc, key, index(b, loc, segment * rows)); };
  };
  bool isPaged = liesInPages(s, s.step.getKey(), s.maps[1]);
  int64_t keyTile = getKeyTile(s), roundKeys = s.numSegments * keyTile;
  if (!isPaged && getHeadsPerTile(s) > s.headsPerStep)
    return createSteps(lower, add(b, loc, lower, apply(dim)), keyTile, getSegmentRows(s), s.numSegments,
                       getNext(getSegmentRows(s)));
  if (!isPaged) {
    Value perSegment = apply(dim.floorDiv(s.numSegments));
    SmallVector<Value> starts;
    for (int64_t segment = 0; segment < s.numSegments; ++segment)
      starts.push_back(add(b, loc, lower, apply(dim.floorDiv(s.numSegments) * segment)));
    return createSteps(index(b, loc, 0), perSegment, getSegmentRows(s), getSegmentRows(s), s.numSegments,
                       [&](int64_t segment, Value row) { return add(b, loc, starts[segment], row); });
  }
  Value end = add(b, loc, lower, apply(dim.floorDiv(roundKeys) * roundKeys));
  createSteps(lower, end, roundKeys, keyTile, s.numSegments, getNext(keyTile));
  return createSteps(end, add(b, loc, lower, apply(dim)), keyTile, keyTile, /*numSegments=*/1, getNext(keyTile));
}

/// Whole tiles from `lower` on; sets `end` to their end.
static TileState createWholeTiles(OpBuilder &b, const TileShape &s, const TilePosition &at, ValueRange query,
                                  Value lower, Value upper, bool isPartial, TileState state, Value &end) {
  Location loc = s.step.getLoc();
  std::optional<int64_t> first = getConstantIntValue(lower), last = getConstantIntValue(upper);
  OpFoldResult whole;
  if (first && last) {
    int64_t length = std::max<int64_t>(*last - *first, 0) / getKeyTile(s) * getKeyTile(s);
    end = index(b, loc, *first + length);
    if (length == 0)
      return state;
    whole = b.getIndexAttr(length);
  } else {
    Value length = subtract(b, loc, upper, lower);
    length = max(b, loc, length, index(b, loc, 0));
    length = roundDown(b, loc, length, getKeyTile(s));
    whole = length;
    end = add(b, loc, lower, length);
  }
  if (s.numSegments > 1 && !isPartial)
    return createSegmentedTiles(b, s, at, query, lower, whole, state);
  auto step = [&](Value key, TileState carried) {
    return createStep(b, s, at, query, key, b.getIndexAttr(getKeyTile(s)), isPartial, carried);
  };
  return createLoop(b, loc, lower, end, getKeyTile(s), state, step, /*isConsecutive=*/isGpu(s));
}

/// Tiles from `lower` to `upper`; the last one may be short.
static TileState createKeyTiles(OpBuilder &b, const TileShape &s, const TilePosition &at, ValueRange query, Value lower,
                                Value upper, bool isPartial, TileState state) {
  Location loc = s.step.getLoc();
  std::optional<int64_t> first = getConstantIntValue(lower), last = getConstantIntValue(upper);
  if ((!first || !last) && isPartial && s.schedule.getInfo().keyMultiple > 1) {
    Value end; // the instruction multiplies whole key tiles
    state = createWholeTiles(b, s, at, query, lower, upper, isPartial, state, end);
    lower = end;
  }
  auto step = [&](Value key, OpFoldResult count, TileState carried) {
    return createStep(b, s, at, query, key, count, isPartial, carried);
  };
  return createTiles(b, loc, getKeyTile(s), lower, upper, state, step, /*isConsecutive=*/isGpu(s));
}

/// Tiles at multiples of the key tile; the block map says whether each is skipped, full or partial.
static TileState createMappedTiles(OpBuilder &b, const TileShape &s, const TilePosition &at, const BlockMap &blockMap,
                                   ValueRange query, Value lower, Value upper, TileState state) {
  Location loc = s.step.getLoc();
  AffineExpr dim = b.getAffineDimExpr(0);
  lower = roundDown(b, loc, lower, getKeyTile(s));
  return createLoop(b, loc, lower, upper, getKeyTile(s), state, [&](Value key, TileState carried) {
    Value keyTileIndex = affine::makeComposedAffineApply(b, loc, dim.floorDiv(getKeyTile(s)), {OpFoldResult(key)});
    Value kind = getKindOfTile(b, loc, blockMap, at, at.tile, keyTileIndex);
    Value count =
        arith::MinSIOp::create(b, loc, index(b, loc, getKeyTile(s)), arith::SubIOp::create(b, loc, upper, key));
    auto step = [&](bool isPartial) {
      OpFoldResult whole = b.getIndexAttr(getKeyTile(s));
      return createStep(b, s, at, query, key, isPartial ? OpFoldResult(count) : whole, isPartial, carried);
    };
    return createStepOfKind(b, loc, kind, isDense(s), carried, step, [&]() -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, count, index(b, loc, getKeyTile(s)));
    });
  });
}

ColumnRanges attn::getKeyColumns(OpBuilder &b, const TileShape &s, const TilePosition &at) {
  Location loc = s.step.getLoc();
  Region built;
  Region &known = s.step.getKeyRanges();
  if (known.empty())
    buildMaskRanges(b, s.step, s.step.getMaskMod(), RangeAxis::Keys, isDense(s), built);
  SmallVector<Value> bounds = getKeyBounds(b, s, at, known.empty() ? built : known);
  return ColumnRanges(b, loc, bounds, index(b, loc, 0), toValue(b, loc, s.domainSizes[s.keyPos()]));
}

TileState attn::foldKeys(OpBuilder &b, const TileShape &s, const TilePosition &at, const BlockMap &blockMap,
                         ValueRange query, TileState state) {
  Location loc = s.step.getLoc();
  // The start of a sequence without rows is known only at run time.
  if (isConstantIntValue(s.domainSizes[s.keyPos()], 0))
    return state;
  ColumnRanges ranges = getKeyColumns(b, s, at);
  Value &lower = ranges.lower, &upper = ranges.upper;
  // A tile after the rows of its sequence visits no keys.
  if (getPackedSequences(s.step))
    upper = arith::SelectOp::create(
        b, loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at.firstQuery, at.endQuery), upper, lower);
  if (at.lower) {
    lower = max(b, loc, lower, at.lower);
    upper = min(b, loc, upper, at.upper);
  }
  if (blockMap.kinds && !s.hasFewKeys)
    return createMappedTiles(b, s, at, blockMap, query, lower, upper, state);
  // A tile of a page must not cross its end.
  AffineExpr tile = b.getAffineDimExpr(0);
  auto align = [&](Value &bound, AffineExpr aligned) {
    if (needsAlignedTiles(s) && getConstantIntValue(bound) != 0)
      bound = affine::makeComposedAffineApply(b, loc, aligned * getKeyTile(s), {OpFoldResult(bound)});
  };
  align(lower, tile.floorDiv(getKeyTile(s)));
  align(ranges.fullLower, tile.ceilDiv(getKeyTile(s)));
  ranges.isNeverFull |= s.hasFewKeys;
  ranges.inRounds = isa<PrefillAttr>(s.schedule); // its steps are long code
  // Copies run ahead by whole tiles.
  if (auto block = dyn_cast<BlockAttr>(s.schedule); block && block.getStages() > 1)
    ranges.startMultiple = getKeyTile(s);
  return createColumnTiles(
      b, loc, ranges, state,
      [&](Value first, Value last, bool isPartial, TileState carried) {
        return createKeyTiles(b, s, at, query, first, last, isPartial, carried);
      },
      [&](Value first, Value last, TileState carried, Value &end) {
        return createWholeTiles(b, s, at, query, first, last, /*isPartial=*/false, carried, end);
      });
}
