//===- PackFirst.cpp - V packed in front of the query tiles ---------------===//
//
// Before: none. After: a parallel loop over heads of V and key tiles, which packs
// each key tile that any query visits into a tensor of all of them. Steps take their
// tile from it (`pack_first` of #attn.prefill), so they begin at multiples of it.
//
// Key tiles of packed sequences follow each other as well, with at most one more for
// each sequence: those of sequence b, whose first row is s, begin at
// s floordiv T + b, behind those of the one before.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using namespace attn;

/// Indices of batch dimension `dim` that share K, V and the keys they visit; 0 where all of them do.
static int64_t getSharing(const TileShape &s, unsigned dim) {
  bool isOwn = (dim == 0 && (getPackedSequences(s.step) || visitsKeysBy(s.step, {IndexKind::Batch}))) ||
               (dim + 1 == s.numBatch && visitsKeysBy(s.step, {IndexKind::Head}));
  return isOwn ? 1 : std::gcd(getSharingHeads(s.maps[1], dim), getSharingHeads(s.maps[2], dim));
}

static OpFoldResult apply(OpBuilder &b, const TileShape &s, AffineExpr expr, OpFoldResult operand) {
  return affine::makeComposedFoldedAffineApply(b, s.step.getLoc(), expr, {operand});
}

static int64_t getTileKeys(Value packed) { return cast<RankedTensorType>(packed.getType()).getShape().back(); }

/// `count` tiles of `packed` from `tile` on, of the batch indices `batch`.
static Slice getTiles(OpBuilder &b, Value packed, ArrayRef<OpFoldResult> batch, OpFoldResult tile, OpFoldResult count) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(packed.getType()).getShape();
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  Slice slice{SmallVector<OpFoldResult>(batch), SmallVector<OpFoldResult>(batch.size(), one),
              SmallVector<OpFoldResult>(shape.size(), one)};
  slice.offsets.append({tile, zero, zero});
  slice.sizes.append({count, b.getIndexAttr(shape.end()[-2]), b.getIndexAttr(shape.back())});
  return slice;
}

/// One of several tiles, without their dimension.
static Value extractTile(OpBuilder &b, Location loc, Value tiles, const Slice &slice) {
  SmallVector<int64_t> shape(slice.offsets.size() - 3, 1);
  ArrayRef<int64_t> all = cast<RankedTensorType>(tiles.getType()).getShape();
  shape.append({all.end()[-2], *getConstantIntValue(slice.sizes.back())});
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(tiles.getType()));
  return tensor::ExtractSliceOp::create(b, loc, type, tiles, slice.offsets, slice.sizes, slice.strides);
}

/// The first tile of the sequence at `at`; 0 where there are no packed ones.
static OpFoldResult getFirstTile(OpBuilder &b, const TileShape &s, const DomainTile &at, int64_t tileKeys) {
  if (!at.keyStart)
    return b.getIndexAttr(0);
  AffineExpr start = b.getAffineDimExpr(0), sequence = b.getAffineDimExpr(1);
  return affine::makeComposedFoldedAffineApply(b, s.step.getLoc(), start.floorDiv(tileKeys) + sequence,
                                               {OpFoldResult(at.keyStart), at.offsets[0]});
}

/// All queries and keys of the batch indices `batch`.
static TilePosition getAllQueries(OpBuilder &b, const TileShape &s, ValueRange batch) {
  Location loc = s.step.getLoc();
  TilePosition at{{b, s.domainSizes, batch}, {}, {}, {}, {}, {}, {}};
  at.firstQuery = index(b, loc, 0);
  at.endQuery = toValue(b, loc, s.domainSizes[s.queryPos()]);
  if (s.step.getCuSeqlensQ()) {
    at.endQuery = getSequenceLength(b, loc, s.step.getCuSeqlensQ(), batch[0]);
    at.queryStart = getSequenceStart(b, loc, s.step.getCuSeqlensQ(), batch[0]);
    at.keyStart = getSequenceStart(b, loc, s.step.getCuSeqlensK(), batch[0]);
  }
  return at;
}

/// Packs tile `tile` of the keys before `upper` into `target`.
static Value packTile(OpBuilder &b, const TileShape &s, TilePosition at, Value tile, Value upper, Value target) {
  Location loc = s.step.getLoc();
  int64_t keyTile = getKeyTile(s);
  std::optional<int64_t> end = getConstantIntValue(upper);
  at.offsets[s.keyPos()] = apply(b, s, b.getAffineDimExpr(0) * keyTile, tile);
  at.sizes[s.keyPos()] = b.getIndexAttr(keyTile);
  if (!end || *end % keyTile != 0)
    at.sizes[s.keyPos()] = clampedDifference(b, loc, upper, toValue(b, loc, at.offsets[s.keyPos()]), keyTile);
  AffineMap map = s.maps[2];
  Value rows = loadRows(b, s, at, s.step.getValue(), map, s.valuePos());
  return packColumns(b, s, rows, getRowMap(s, map, s.valuePos()), target);
}

Value attn::packFirst(OpBuilder &b, const TileShape &s) {
  auto prefill = dyn_cast<PrefillAttr>(s.schedule);
  OpFoldResult numKeys = s.domainSizes[s.keyPos()];
  if (!prefill || !prefill.getPackFirst() || isConstantIntValue(numKeys, 0))
    return {};
  Location loc = s.step.getLoc();
  AffineExpr dim = b.getAffineDimExpr(0);
  int64_t keyTile = getKeyTile(s);
  SmallVector<int64_t> sharing;
  SmallVector<OpFoldResult> grid;
  for (unsigned i = 0; i < s.numBatch; ++i) {
    sharing.push_back(getSharing(s, i));
    grid.push_back(sharing[i] == 0 ? b.getIndexAttr(1) : apply(b, s, dim.ceilDiv(sharing[i]), s.domainSizes[i]));
  }
  bool hasSequences = static_cast<bool>(getPackedSequences(s.step));
  OpFoldResult numTiles = apply(b, s, dim.ceilDiv(keyTile), numKeys);
  SmallVector<OpFoldResult> shape(grid);
  if (hasSequences) {
    shape[0] = b.getIndexAttr(1);
    numTiles = affine::makeComposedFoldedAffineApply(b, loc, dim.floorDiv(keyTile) + b.getAffineDimExpr(1),
                                                     {numKeys, grid[0]});
  } else {
    grid.push_back(numTiles);
  }
  shape.append({numTiles, s.domainSizes[s.valuePos()], b.getIndexAttr(keyTile)});
  Value packed = tensor::EmptyOp::create(b, loc, shape, s.rowType);
  auto forall = scf::ForallOp::create(b, loc, grid, packed, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forall.getBody());
  SmallVector<Value> ivs = forall.getInductionVars(), batch;
  for (unsigned i = 0; i < s.numBatch; ++i)
    batch.push_back(toValue(b, loc, apply(b, s, dim * std::max<int64_t>(sharing[i], 1), ivs[i])));
  TilePosition at = getAllQueries(b, s, batch);
  // The tiles of this round: of a sequence all.
  Value first = hasSequences ? index(b, loc, 0) : ivs.back(), end = add(b, loc, first, index(b, loc, 1));
  if (hasSequences)
    end = divideUp(b, loc, getSequenceLength(b, loc, s.step.getCuSeqlensK(), batch[0]), index(b, loc, keyTile));
  SmallVector<OpFoldResult> place(ArrayRef(ivs).take_front(s.numBatch));
  if (hasSequences)
    place[0] = b.getIndexAttr(0);
  OpFoldResult origin = hasSequences ? getFirstTile(b, s, at, keyTile) : OpFoldResult(first);
  Slice own = getTiles(b, packed, place, origin, hasSequences ? OpFoldResult(end) : b.getIndexAttr(1));
  Value tiles = createSlice(b, loc, forall.getRegionIterArgs()[0], own);
  ColumnRanges visited = getKeyColumns(b, s, at);
  auto packInto = [&](Value tile, TileState carried) -> TileState {
    Slice slice = getTiles(b, packed, SmallVector<OpFoldResult>(s.numBatch, b.getIndexAttr(0)),
                           subtract(b, loc, tile, first), b.getIndexAttr(1));
    Value target = extractTile(b, loc, carried[0], slice);
    Value result = packTile(b, s, at, tile, visited.upper, target);
    return {tensor::InsertSliceOp::create(b, loc, result, carried[0], slice.offsets, slice.sizes, slice.strides)};
  };
  bool visitsAll = getConstantIntValue(visited.lower) == 0 && getConstantIntValue(numKeys) &&
                   getConstantIntValue(visited.upper) == getConstantIntValue(numKeys) && !hasSequences;
  if (visitsAll) {
    tiles = packInto(first, {tiles})[0];
  } else {
    Value lower = max(b, loc, first, divide(b, loc, visited.lower, index(b, loc, keyTile)));
    Value upper = min(b, loc, end, divideUp(b, loc, visited.upper, index(b, loc, keyTile)));
    tiles = createLoop(b, loc, lower, upper, 1, {tiles}, packInto)[0];
  }
  insertInParallel(b, forall, tiles, forall.getRegionIterArgs()[0], own);
  return forall.getResult(0);
}

Value attn::loadPackedValue(OpBuilder &b, const TileShape &s, const TilePosition &at, AffineMap &map) {
  Location loc = s.step.getLoc();
  int64_t tileKeys = getTileKeys(s.packedValue);
  AffineExpr dim = b.getAffineDimExpr(0), tile = b.getAffineDimExpr(1);
  OpFoldResult key = at.offsets[s.keyPos()], zero = b.getIndexAttr(0);
  SmallVector<OpFoldResult> place;
  for (unsigned i = 0; i < s.numBatch; ++i) {
    int64_t sharing = getSharing(s, i);
    bool isOne = sharing == 0 || (i == 0 && at.keyStart);
    place.push_back(isOne ? zero : apply(b, s, dim.floorDiv(sharing), at.offsets[i]));
  }
  OpFoldResult position = affine::makeComposedFoldedAffineApply(b, loc, dim.floorDiv(tileKeys) + tile,
                                                                {key, getFirstTile(b, s, at, tileKeys)});
  Slice slice = getTiles(b, s.packedValue, place, position, b.getIndexAttr(1));
  // A tile of few keys is a part of one.
  slice.sizes.back() = b.getIndexAttr(getKeyTile(s));
  if (getKeyTile(s) != tileKeys)
    slice.offsets.back() = apply(b, s, dim % tileKeys, key);
  map = getTileMap(s, {s.valuePos(), s.keyPos()});
  Value whole = extractTile(b, loc, s.packedValue, slice);
  return isConstantIntValue(at.sizes[s.keyPos()], getKeyTile(s)) ? whole
                                                                : sliceKeys(b, s, at, whole, s.numBatch + 1);
}
