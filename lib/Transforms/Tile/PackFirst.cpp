//===- PackFirst.cpp - K and V packed before the query tiles --------------===//
//
// Before: no packed keys. After: a parallel loop over heads of V and key tiles, which packs each key tile that any
// query visits into a tensor of all tiles: V, and K where its rows are not read in place. Steps read their tiles from
// it (`pack_first` of #attn.prefill), so they begin at multiples of a tile.
//
// Key tiles of packed sequences are consecutive too, with at most one more for each sequence: those of sequence b,
// whose first row is s, begin at s floordiv T + b, after those of the previous one. An iteration of the loop has all
// tiles of a sequence.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using namespace attn;

/// Number of indices of batch dimension `dim` that share K, V and their visited keys; 0 where all do.
static int64_t getSharing(const TileShape &s, unsigned dim) {
  bool isOwn = (dim == 0 && (getPackedSequences(s.step) || visitsKeysBy(s.step, {IndexKind::Batch}))) ||
               (dim + 1 == s.numBatch && visitsKeysBy(s.step, {IndexKind::Head}));
  return isOwn ? 1 : std::gcd(getSharingHeads(s.maps[1], dim), getSharingHeads(s.maps[2], dim));
}

static OpFoldResult apply(OpBuilder &b, const TileShape &s, AffineExpr expr, ArrayRef<OpFoldResult> operands) {
  return affine::makeComposedFoldedAffineApply(b, s.step.getLoc(), expr, operands);
}

/// `count` tiles of `tiles`, (batch…, tile, row, column), from `first` on, of the batch indices `batch`.
static Slice getTiles(OpBuilder &b, Value tiles, ArrayRef<OpFoldResult> batch, OpFoldResult first, OpFoldResult count) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tiles.getType()).getShape();
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  Slice slice{SmallVector<OpFoldResult>(batch), SmallVector<OpFoldResult>(batch.size(), one),
              SmallVector<OpFoldResult>(shape.size(), one)};
  slice.offsets.append({first, zero, zero});
  slice.sizes.append({count, b.getIndexAttr(shape.end()[-2]), b.getIndexAttr(shape.back())});
  return slice;
}

/// The slice of one tile, without the dimension of tiles.
static Value extractTile(OpBuilder &b, Location loc, Value tiles, const Slice &slice) {
  SmallVector<int64_t> shape(slice.sizes.size() - 3, 1);
  for (OpFoldResult size : ArrayRef(slice.sizes).take_back(2))
    shape.push_back(*getConstantIntValue(size));
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(tiles.getType()));
  return tensor::ExtractSliceOp::create(b, loc, type, tiles, slice.offsets, slice.sizes, slice.strides);
}

/// The first tile of the sequence at `at`; 0 without packed sequences.
static OpFoldResult getFirstTile(OpBuilder &b, const TileShape &s, const DomainTile &at, int64_t tileKeys) {
  if (!at.keyStart)
    return b.getIndexAttr(0);
  return apply(b, s, b.getAffineDimExpr(0).floorDiv(tileKeys) + b.getAffineDimExpr(1),
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
    if (hasPackedKeys(s.step))
      at.keyStart = getSequenceStart(b, loc, s.step.getCuSeqlensK(), batch[0]);
  }
  return at;
}

/// Packs the keys before `upper` of the tile at `at` into `target`: rows of K, or columns of V.
static Value packTile(OpBuilder &b, const TileShape &s, TilePosition at, bool isKey, Value tile, Value upper,
                      Value target) {
  Location loc = s.step.getLoc();
  int64_t keyTile = getKeyTile(s);
  std::optional<int64_t> end = getConstantIntValue(upper);
  OpFoldResult &first = at.offsets[s.keyPos()], &count = at.sizes[s.keyPos()];
  first = apply(b, s, b.getAffineDimExpr(0) * keyTile, {OpFoldResult(tile)});
  count = b.getIndexAttr(keyTile);
  if (!end || *end % keyTile != 0)
    count = clampedDifference(b, loc, upper, toValue(b, loc, first), keyTile);
  AffineMap map = s.maps[isKey ? 1 : 2];
  if (!isKey) {
    Value rows = loadRows(b, s, at, s.step.getValue(), map, s.valuePos());
    return packColumns(b, s, rows, getRowMap(s, map, s.valuePos()), target);
  }
  Value rows = loadRows(b, s, at, s.step.getKey(), map, s.headPos(), target);
  Slice slice = getDimSlice(b, loc, target, s.numBatch, b.getIndexAttr(0), count);
  return tensor::InsertSliceOp::create(b, loc, rows, target, slice.offsets, slice.sizes, slice.strides);
}

/// Packs the visited tiles in [first, end) of `at` into `tiles`.
static TileState packTiles(OpBuilder &b, const TileShape &s, const TilePosition &at, Value first, Value end,
                           TileState tiles) {
  Location loc = s.step.getLoc();
  ColumnRanges visited = getKeyColumns(b, s, at);
  auto pack = [&](Value tile, TileState carried) {
    SmallVector<OpFoldResult> batch(s.numBatch, b.getIndexAttr(0));
    for (auto [i, all] : llvm::enumerate(carried)) {
      Slice slice = getTiles(b, all, batch, subtract(b, loc, tile, first), b.getIndexAttr(1));
      Value packed = packTile(b, s, at, /*isKey=*/i > 0, tile, visited.upper, extractTile(b, loc, all, slice));
      all = tensor::InsertSliceOp::create(b, loc, packed, all, slice.offsets, slice.sizes, slice.strides);
    }
    return carried;
  };
  std::optional<int64_t> numKeys = getConstantIntValue(s.domainSizes[s.keyPos()]);
  if (!at.keyStart && numKeys && getConstantIntValue(visited.lower) == 0 &&
      getConstantIntValue(visited.upper) == numKeys)
    return pack(first, tiles);
  Value keyTile = index(b, loc, getKeyTile(s));
  Value lower = max(b, loc, first, divide(b, loc, visited.lower, keyTile));
  Value upper = min(b, loc, end, divideUp(b, loc, visited.upper, keyTile));
  return createLoop(b, loc, lower, upper, 1, tiles, pack);
}

/// The empty tensors of all tiles: of V, and of K where it is packed.
static SmallVector<Value> createEmptyTiles(OpBuilder &b, const TileShape &s, ArrayRef<OpFoldResult> batch,
                                           OpFoldResult numTiles) {
  OpFoldResult keys = b.getIndexAttr(getKeyTile(s));
  SmallVector<SmallVector<OpFoldResult>> tiles = {{numTiles, s.domainSizes[s.valuePos()], keys}};
  if (!readsInPlace(s, s.step.getKey(), s.maps[1]))
    tiles.push_back({numTiles, keys, s.domainSizes[s.headPos()]});
  return llvm::map_to_vector(tiles, [&](ArrayRef<OpFoldResult> tile) -> Value {
    SmallVector<OpFoldResult> shape(batch);
    llvm::append_range(shape, tile);
    return tensor::EmptyOp::create(b, s.step.getLoc(), shape, s.rowType);
  });
}

PackedTiles attn::packFirst(OpBuilder &b, const TileShape &s) {
  auto prefill = dyn_cast<PrefillAttr>(s.schedule);
  OpFoldResult numKeys = s.domainSizes[s.keyPos()], one = b.getIndexAttr(1);
  if (!prefill || !prefill.getPackFirst() || isConstantIntValue(numKeys, 0))
    return {};
  Location loc = s.step.getLoc();
  AffineExpr dim = b.getAffineDimExpr(0), other = b.getAffineDimExpr(1);
  int64_t keyTile = getKeyTile(s);
  bool hasSequences = hasPackedKeys(s.step);
  SmallVector<OpFoldResult> batchSizes;
  for (unsigned i = 0; i < s.numBatch; ++i)
    batchSizes.push_back(getSharing(s, i) == 0 ? one : apply(b, s, dim.ceilDiv(getSharing(s, i)), {s.domainSizes[i]}));
  SmallVector<OpFoldResult> rounds(batchSizes);
  OpFoldResult numTiles;
  if (hasSequences) {
    numTiles = apply(b, s, dim.floorDiv(keyTile) + other, {numKeys, batchSizes[0]});
    batchSizes[0] = one;
  } else {
    numTiles = apply(b, s, dim.ceilDiv(keyTile), {numKeys});
    rounds.push_back(numTiles);
  }
  SmallVector<Value> inits = createEmptyTiles(b, s, batchSizes, numTiles);
  auto forall = createParallelTiles(b, loc, rounds, inits, s.schedule);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forall.getBody());
  SmallVector<Value> ivs = forall.getInductionVars(), batch;
  for (unsigned i = 0; i < s.numBatch; ++i)
    batch.push_back(toValue(b, loc, apply(b, s, dim * std::max<int64_t>(getSharing(s, i), 1), {ivs[i]})));
  TilePosition at = getAllQueries(b, s, batch);
  SmallVector<OpFoldResult> place(ArrayRef(ivs).take_front(s.numBatch));
  OpFoldResult origin = ivs.back(), count = one;
  Value first = ivs.back(), end = add(b, loc, first, index(b, loc, 1));
  if (hasSequences) {
    place[0] = b.getIndexAttr(0);
    origin = getFirstTile(b, s, at, keyTile);
    first = index(b, loc, 0);
    end = divideUp(b, loc, getSequenceLength(b, loc, s.step.getCuSeqlensK(), batch[0]), index(b, loc, keyTile));
    count = end;
  }
  TileState tiles;
  for (Value all : forall.getRegionIterArgs())
    tiles.push_back(createSlice(b, loc, all, getTiles(b, all, place, origin, count)));
  tiles = packTiles(b, s, at, first, end, tiles);
  for (auto [own, all] : llvm::zip_equal(tiles, forall.getRegionIterArgs()))
    insertInParallel(b, forall, own, all, getTiles(b, all, place, origin, count));
  return {forall.getResult(0), tiles.size() > 1 ? forall.getResult(1) : Value()};
}

Value attn::loadPacked(OpBuilder &b, const TileShape &s, const TilePosition &at, Value tiles, bool isKey,
                       AffineMap &map) {
  Location loc = s.step.getLoc();
  unsigned keyDim = isKey ? 0 : 1; // of a tile
  int64_t tileKeys = cast<RankedTensorType>(tiles.getType()).getShape().take_back(2)[keyDim];
  AffineExpr dim = b.getAffineDimExpr(0);
  OpFoldResult key = at.offsets[s.keyPos()];
  SmallVector<OpFoldResult> place;
  for (unsigned i = 0; i < s.numBatch; ++i) {
    int64_t sharing = i == 0 && at.keyStart ? 0 : getSharing(s, i);
    place.push_back(sharing == 0 ? OpFoldResult(b.getIndexAttr(0))
                                 : apply(b, s, dim.floorDiv(sharing), {at.offsets[i]}));
  }
  OpFoldResult tile =
      apply(b, s, dim.floorDiv(tileKeys) + b.getAffineDimExpr(1), {key, getFirstTile(b, s, at, tileKeys)});
  Slice slice = getTiles(b, tiles, place, tile, b.getIndexAttr(1));
  // A smaller key tile is a part of a packed tile.
  slice.sizes[s.numBatch + 1 + keyDim] = b.getIndexAttr(getKeyTile(s));
  if (getKeyTile(s) != tileKeys)
    slice.offsets[s.numBatch + 1 + keyDim] = apply(b, s, dim % tileKeys, {key});
  map =
      getTileMap(s, isKey ? ArrayRef<unsigned>{s.keyPos(), s.headPos()} : ArrayRef<unsigned>{s.valuePos(), s.keyPos()});
  Value whole = extractTile(b, loc, tiles, slice);
  return isConstantIntValue(at.sizes[s.keyPos()], getKeyTile(s)) ? whole
                                                                 : sliceKeys(b, s, at, whole, s.numBatch + keyDim);
}
