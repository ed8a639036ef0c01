//===- BlockMap.cpp - the kinds of all tiles, at run time -----------------===//
//
// Before: a step whose mask_mod has conjuncts that ranges cannot express (block_map). After: before its loops, a
// scf.forall that fills a tensor of i8, (batch, head, query tile, key tile), with results of attn.classify_tile. The
// forward pass reads a row of it for a query tile, gradients a column for a key tile. A predicate that is the same for
// all heads is evaluated once.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardTile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using namespace attn;

/// Most rows of a part of a gradient tile. These tiles are larger than those of the forward pass: without parts, more
/// of them would be on the boundary of a mask.
static constexpr int64_t kMaxPartRows = 32;

/// Query tile `tile` of the batch indices `batch`.
using GetTileFn = llvm::function_ref<TilePosition(ValueRange batch, Value tile)>;

/// The indices that kinds depend on: sequences have lengths of their own.
static BlockMap getAxes(const StepShape &s, Region &maskMod, bool isPacked) {
  BlockMap blockMap;
  blockMap.byBatch = isPacked;
  maskMod.walk([&](IndexOp op) {
    blockMap.byBatch |= op.getKind() == IndexKind::Batch && s.numBatch > 1;
    blockMap.byHead |= op.getKind() == IndexKind::Head || op.getKind() == IndexKind::KvHead ||
                       (op.getKind() == IndexKind::Batch && s.numBatch == 1);
  });
  return blockMap;
}

/// The kinds of tiles of `queryTile` by `keyTile` positions, with `queryTiles` of them per batch index.
template <typename StepOp>
static BlockMap createKinds(OpBuilder &b, const StepShape &s, StepOp step, int64_t queryTile, int64_t keyTile,
                            int64_t lanes, OpFoldResult queryTiles, GetTileFn getTile) {
  Location loc = s.loc;
  BlockMap blockMap = getAxes(s, step.getMaskMod(), getPackedSequences(step) != nullptr);
  AffineExpr dim = b.getAffineDimExpr(0);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  auto countTiles = [&](OpFoldResult keys) {
    return affine::makeComposedFoldedAffineApply(b, loc, dim.ceilDiv(keyTile), {keys});
  };
  OpFoldResult numKeys = s.domainSizes[s.keyPos()], keyTiles = countTiles(numKeys);
  SmallVector<OpFoldResult> shape = {blockMap.byBatch ? s.domainSizes[0] : one,
                                     blockMap.byHead ? s.domainSizes[s.numBatch - 1] : one, queryTiles, keyTiles};
  Value init = tensor::EmptyOp::create(b, loc, shape, b.getI8Type());
  auto forall = createParallelTiles(b, loc, ArrayRef(shape).drop_back(), init, s.schedule);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forall.getBody());
  SmallVector<Value> ivs = forall.getInductionVars();
  // The map is indexed by (batch, head); the domain may have further batch dimensions, which no predicate uses.
  SmallVector<Value> batch(s.numBatch, index(b, loc, 0));
  if (blockMap.byBatch)
    batch.front() = ivs[0];
  if (blockMap.byHead)
    batch.back() = ivs[1];
  TilePosition tile = getTile(batch, ivs[2]);
  SmallVector<OpFoldResult> origin = {ivs[0], ivs[1], ivs[2], zero}, extent = {one, one, one, keyTiles};
  SmallVector<OpFoldResult> unit(4, one);
  Value row = tensor::ExtractSliceOp::create(b, loc, forall.getRegionIterArgs()[0], origin, extent, unit);
  if (Value sequences = step.getCuSeqlensK()) // tiles after the keys of the sequence are not visited
    numKeys = getSequenceLength(b, loc, sequences, batch[0]);
  Value keys = toValue(b, loc, numKeys), first = index(b, loc, 0);
  bool isWhole = isConstantIntValue(tile.rows, queryTile);
  auto getEndRow = [&] { return tile.endQuery; };
  TileState filled = createLoop(
      b, loc, first, toValue(b, loc, countTiles(numKeys)), 1, {row}, [&](Value keyTileIndex, TileState carried) {
        Value key = affine::makeComposedAffineApply(b, loc, dim * keyTile, {OpFoldResult(keyTileIndex)});
        Value count = clampedDifference(b, loc, keys, key, keyTile);
        SmallVector<OpFoldResult> offsets = tile.offsets;
        offsets[s.keyPos()] = key;
        auto classify =
            ClassifyTileOp::create(b, loc, b.getI8Type(), toValue(b, loc, tile.rows), count, queryTile, lanes);
        cloneTileRegion(b, step.getMaskMod(), classify.getMaskMod(), classify, step, offsets, IndexKind::Query,
                        isWhole ? function_ref<Value()>() : function_ref<Value()>(getEndRow));
        Value zeroIndex = index(b, loc, 0);
        Value next = tensor::InsertOp::create(b, loc, classify, carried[0],
                                              ValueRange{zeroIndex, zeroIndex, zeroIndex, keyTileIndex});
        return TileState{next};
      });
  insertInParallel(b, forall, filled[0], forall.getRegionIterArgs()[0], {origin, extent, unit});
  blockMap.kinds = forall.getResult(0);
  blockMap.queryTile = queryTile;
  blockMap.keyTile = keyTile;
  return blockMap;
}

BlockMap attn::createBlockMap(OpBuilder &b, const TileShape &s) {
  // Without keys there is nothing to classify. Decode tiles evaluate their predicate once anyway, as they have few
  // rows.
  if (isDecode(s) || !s.step.getBlockMap() || s.step.getMaskMod().empty() ||
      isConstantIntValue(s.domainSizes[s.keyPos()], 0))
    return {};
  return createKinds(b, s, s.step, getQueryTile(s), getKeyTile(s), s.schedule.getLanes(), getNumQueryTiles(b, s),
                     [&](ValueRange batch, Value tile) { return getPrefillTile(b, s, batch, tile); });
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Rows of a part: the largest divisor of the tile that is a multiple of the lanes.
static int64_t getPartRows(int64_t queryTile, int64_t lanes) {
  for (int64_t rows = kMaxPartRows; rows >= lanes; --rows)
    if (queryTile % rows == 0 && rows % lanes == 0)
      return rows;
  return queryTile;
}

namespace {
/// Size of the parts of tiles, and the rows of a tile.
struct Parts {
  int64_t rows, keys, lanes, queryTile;
};
} // namespace

/// On a CPU, rows that fill vectors by a panel of keys. On a GPU, a column tile in both dimensions, as rows of its
/// kernels are queries or keys.
static Parts getParts(ScheduleAttr schedule) {
  if (auto block = dyn_cast<BlockAttr>(schedule))
    return {block.getKeyTile(), block.getKeyTile(), block.getLanes(), block.getKeyTile()};
  auto task = cast<BackwardAttr>(schedule);
  int64_t keyTile = task.getKeyTile(), panel = task.getPanelKeys();
  int64_t rows = getPartRows(task.getQueryTile(), task.getLanes());
  return {rows, keyTile % panel == 0 ? panel : keyTile, std::gcd(rows, task.getLanes()), task.getQueryTile()};
}

BlockMap attn::createBlockMap(OpBuilder &b, const BackwardShape &s) {
  if (!asksForBlockMap(s.step) || llvm::is_contained(getStaticDomain(s.step), 0))
    return {};
  Location loc = s.loc;
  auto [rows, keys, lanes, queryTile] = getParts(s.schedule);
  int64_t partRows = rows;
  AffineExpr dim = b.getAffineDimExpr(0);
  Value sequences = s.step.getCuSeqlensQ();
  OpFoldResult numQueries =
      getMostQueries(b, s, sequences, [&](Value batch) { return getSequenceLength(b, loc, sequences, batch); });
  // Whole tiles: parts after the last row are empty.
  OpFoldResult numParts =
      affine::makeComposedFoldedAffineApply(b, loc, dim.ceilDiv(queryTile) * (queryTile / partRows), {numQueries});
  auto getPart = [&](ValueRange batch, Value part) {
    TilePosition at{{b, s.domainSizes, batch}, {}, part, {}, {}, {}, {}};
    at.firstQuery = affine::makeComposedAffineApply(b, loc, dim * partRows, {OpFoldResult(part)});
    OpFoldResult all =
        sequences ? OpFoldResult(getSequenceLength(b, loc, sequences, batch[0])) : s.domainSizes[s.queryPos()];
    at.rows = clampedDifference(b, loc, toValue(b, loc, all), at.firstQuery, partRows);
    at.endQuery = min(b, loc, add(b, loc, at.firstQuery, index(b, loc, partRows)), toValue(b, loc, all));
    at.offsets[s.queryPos()] = at.firstQuery;
    return at;
  };
  return createKinds(b, s, s.step, rows, keys, lanes, numParts, getPart);
}

/// The part of the map that contains position `offset`.
static Value getPartIndex(OpBuilder &b, Location loc, OpFoldResult offset, int64_t size) {
  return toValue(b, loc, affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0).floorDiv(size), {offset}));
}

Value attn::getKindOfTile(OpBuilder &b, const BackwardShape &s, const DomainTile &at) {
  Location loc = s.loc;
  const BlockMap &map = s.blockMap;
  Value zero = index(b, loc, 0), firstRow = getPartIndex(b, loc, at.offsets[s.queryPos()], map.queryTile),
        firstKey = getPartIndex(b, loc, at.offsets[s.keyPos()], map.keyTile);
  auto count = [&](unsigned position, Value first, int64_t size) {
    Value end = add(b, loc, toValue(b, loc, at.offsets[position]), toValue(b, loc, at.sizes[position]));
    return subtract(b, loc, divideUp(b, loc, end, index(b, loc, size)), first);
  };
  Value rows = count(s.queryPos(), firstRow, map.queryTile), keys = count(s.keyPos(), firstKey, map.keyTile);
  auto constant = [&](int8_t kind) -> Value { return arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(kind)); };
  Value empty = constant(kEmptyTile), partial = constant(kPartialTile), full = constant(kFullTile);
  TileState extremes = createLoop(b, loc, zero, rows, 1, {empty, full}, [&](Value row, TileState outer) {
    return createLoop(b, loc, zero, keys, 1, outer, [&](Value key, TileState inner) {
      Value kind = getKindOfTile(b, loc, map, at, add(b, loc, firstRow, row), add(b, loc, firstKey, key));
      return TileState{max(b, loc, inner[0], kind), min(b, loc, inner[1], kind)};
    });
  });
  // The common kind of all parts, or partial.
  Value isSame = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, extremes[0], extremes[1]);
  return arith::SelectOp::create(b, loc, isSame, extremes[0], partial);
}

void attn::buildMappedRanges(OpBuilder &b, const TaskShape &s, const DomainTile &at, BackwardStepOp tiled) {
  Location loc = s.loc;
  const BlockMap &map = s.blockMap;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(tiled);
  Value firstRow = getPartIndex(b, loc, at.offsets[s.queryPos()], map.queryTile),
        firstKey = toValue(b, loc, at.offsets[s.keyPos()]);
  b.createBlock(&tiled.getQueryRanges());
  Value key = IndexOp::create(b, loc, b.getIndexType(), IndexKind::FirstKey);
  Value part = divide(b, loc, add(b, loc, key, firstKey), index(b, loc, map.keyTile));
  Value zero = index(b, loc, 0), empty = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(kEmptyTile));
  int64_t queryTile = s.schedule.getQueryTile();
  SmallVector<Value> isVisited;
  for (int64_t row = 0; row < queryTile / map.queryTile; ++row) {
    Value kind = getKindOfTile(b, loc, map, at, add(b, loc, firstRow, index(b, loc, row)), part);
    isVisited.push_back(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, kind, empty));
  }
  Value lower = index(b, loc, queryTile), upper = zero;
  for (auto [row, visits] : llvm::enumerate(isVisited))
    upper = arith::SelectOp::create(b, loc, visits, index(b, loc, (row + 1) * map.queryTile), upper);
  for (int64_t row = isVisited.size() - 1; row >= 0; --row)
    lower = arith::SelectOp::create(b, loc, isVisited[row], index(b, loc, row * map.queryTile), lower);
  YieldOp::create(b, loc, ValueRange{lower, upper, zero, zero});
}

//===----------------------------------------------------------------------===//
// Its parts
//===----------------------------------------------------------------------===//

Value attn::getKindOfTile(OpBuilder &b, Location loc, const BlockMap &blockMap, const DomainTile &at, Value queryTile,
                          Value keyTile) {
  Value batch = blockMap.byBatch ? toValue(b, loc, at.offsets[0]) : index(b, loc, 0),
        head = blockMap.byHead ? toValue(b, loc, at.offsets[at.queryPos() - 1]) : index(b, loc, 0);
  return tensor::ExtractOp::create(b, loc, blockMap.kinds, ValueRange{batch, head, queryTile, keyTile});
}
