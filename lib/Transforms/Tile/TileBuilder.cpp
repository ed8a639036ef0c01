//===- TileBuilder.cpp - one query tile, and one step over it -------------===//
//
// A prefill tile of a CPU has its query rows innermost, padded to whole vectors. A decode tile, and every tile of a
// GPU, has its rows in their original order. KeyLoops.cpp has the loops over key tiles, TileOperands.cpp the operands.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "attn/Schedule/ColumnGroups.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using namespace attn;

int64_t attn::getSharingHeads(AffineMap map, unsigned head) {
  for (AffineExpr expr : map.getResults())
    if (expr.isFunctionOfDim(head)) {
      auto group = dyn_cast<AffineBinaryOpExpr>(expr);
      return group ? cast<AffineConstantExpr>(group.getRHS()).getValue() : 1;
    }
  return 0;
}

/// The heads that share a head of K and of V; 1 where they do not visit the same keys.
static int64_t getHeadsPerStep(const TileShape &s) {
  if (visitsKeysBy(s.step, {IndexKind::Head}))
    return 1;
  int64_t shared = std::gcd(getSharingHeads(s.maps[1], s.numBatch - 1), getSharingHeads(s.maps[2], s.numBatch - 1));
  return std::max<int64_t>(shared, 1);
}

/// The keys of a block of products, if rows form one block: a second block reads what the first has left in the cache.
/// Products of dense 8-bit K and V take about as long as memory, and are fastest with one segment and prefetch
/// instructions ahead of it.
static int64_t getNumSegments(const TileShape &s) {
  auto decode = dyn_cast<DecodeAttr>(s.schedule);
  if (!decode || asksForKeys(s.step) || !readsInPlace(s, s.step.getKey(), s.maps[1]) ||
      !readsInPlace(s, s.step.getValue(), s.maps[2]))
    return 1;
  int64_t rows = s.headsPerStep * getQueryTile(s), block = decode.getKeyBlock(rows);
  bool isPaged = liesInPages(s, s.step.getKey(), s.maps[1]),
       isSplit = isPaged || liesInPages(s, s.step.getValue(), s.maps[2]);
  bool isNarrow = getElementTypeOrSelf(s.step.getKey().getType()).getIntOrFloatBitWidth() <= 8;
  // An iteration of pages of all heads would exceed what an L2 cache of 512 KB keeps of the next one.
  bool isWalked = isPaged ? decode.getKvHeads() == 1 : !isSplit && !isNarrow;
  return rows <= decode.getBlockQueries() && isWalked && getKeyTile(s) % block == 0 ? block : 1;
}

int64_t attn::getTileSize(const TileShape &s, unsigned dim) {
  return dim == s.queryPos() ? getQueryTile(s)
         : dim == s.keyPos() ? getKeyTile(s)
                             : *getConstantIntValue(s.domainSizes[dim]);
}

/// Rows of each segment in a step. Where tiles of pages prefetch the next one, the distance is the keys of a tile.
int64_t attn::getSegmentRows(const TileShape &s) {
  int64_t tileKeys = getKeyTile(s), all = getKeyTile(s) * s.numSegments;
  if (liesInPages(s, s.step.getKey(), s.maps[1]))
    while (tileKeys < cast<DecodeAttr>(s.schedule).getPrefetch() && all % (2 * tileKeys) == 0)
      tileKeys *= 2;
  return tileKeys / s.numSegments;
}

StepShape::StepShape(OpBuilder &b, Operation *step, ScheduleAttr schedule, Value query, Value sums)
    : loc(step->getLoc()), schedule(schedule), domainSizes(getDomainSizes(b, step)), numBatch(getNumBatchDims(step)),
      stateType(cast<FloatType>(getElementTypeOrSelf(sums.getType()))),
      rowType(schedule.getInfo().takesNarrow ? cast<FloatType>(getElementTypeOrSelf(query.getType())) : stateType) {}

TileShape::TileShape(OpBuilder &b, OnlineStepOp step)
    : StepShape(b, step, *step.getSchedule(), step.getQuery(), step.getAcc()), step(step), maps(getMaps(step)) {
  if (isDecode(*this) && numBatch > 0)
    headsPerStep = getHeadsPerStep(*this);
  if (auto decode = dyn_cast<DecodeAttr>(schedule))
    headsPerStep = decode.getHeadsOfGroup(headsPerStep);
  else if (auto block = dyn_cast<BlockAttr>(schedule))
    headsPerStep = getHeadsOfBlock(block, headsPerStep, getStaticSize(step, DimKind::ValueSize));
  numSegments = getNumSegments(*this);
}

bool attn::usesPairs(const TileShape &s) {
  return isa<PrefillAttr>(s.schedule) && s.schedule.getInfo().queryLayout == OperandLayout::Pairs;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value attn::index(OpBuilder &b, Location loc, int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

Value attn::toValue(OpBuilder &b, Location loc, OpFoldResult value) {
  return getValueOrCreateConstantIndexOp(b, loc, value);
}

Value attn::add(OpBuilder &b, Location loc, Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
Value attn::subtract(OpBuilder &b, Location loc, Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); }
Value attn::multiply(OpBuilder &b, Location loc, Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }
Value attn::divide(OpBuilder &b, Location loc, Value x, Value y) { return b.createOrFold<arith::DivSIOp>(loc, x, y); }
Value attn::divideUp(OpBuilder &b, Location loc, Value x, Value y) {
  return b.createOrFold<arith::CeilDivSIOp>(loc, x, y);
}
Value attn::remainder(OpBuilder &b, Location loc, Value x, Value y) {
  return b.createOrFold<arith::RemSIOp>(loc, x, y);
}
Value attn::roundDown(OpBuilder &b, Location loc, Value x, int64_t size) {
  AffineExpr rounded = b.getAffineDimExpr(0).floorDiv(size) * size;
  return toValue(b, loc, affine::makeComposedFoldedAffineApply(b, loc, rounded, {OpFoldResult(x)}));
}
Value attn::max(OpBuilder &b, Location loc, Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(loc, x, y); }
Value attn::min(OpBuilder &b, Location loc, Value x, Value y) { return b.createOrFold<arith::MinSIOp>(loc, x, y); }

/// min(max(upper - lower, 0), largest)
Value attn::clampedDifference(OpBuilder &b, Location loc, Value upper, Value lower, int64_t largest) {
  Value difference = b.createOrFold<arith::SubIOp>(loc, upper, lower);
  difference = b.createOrFold<arith::MaxSIOp>(loc, difference, index(b, loc, 0));
  return b.createOrFold<arith::MinSIOp>(loc, difference, index(b, loc, largest));
}

OpFoldResult attn::getTileRows(OpBuilder &b, Location loc, Value first, OpFoldResult numRows, int64_t tileRows) {
  std::optional<int64_t> all = getConstantIntValue(numRows);
  if (all && *all % tileRows == 0)
    return b.getIndexAttr(tileRows);
  return clampedDifference(b, loc, toValue(b, loc, numRows), first, tileRows);
}

Value attn::getSequenceStart(OpBuilder &b, Location loc, Value sequences, Value batch) {
  Value start = tensor::ExtractOp::create(b, loc, sequences, batch);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), start);
}

Value attn::getSequenceLength(OpBuilder &b, Location loc, Value sequences, Value batch) {
  Value start = getSequenceStart(b, loc, sequences, batch),
        end = getSequenceStart(b, loc, sequences, add(b, loc, batch, index(b, loc, 1)));
  return arith::SubIOp::create(b, loc, end, start);
}

OpFoldResult attn::getMostQueries(OpBuilder &b, const StepShape &s, Value sequences,
                                  function_ref<Value(Value)> getRows) {
  // A GPU's host cannot read where sequences begin: the longest possible sequence has all rows.
  if (!sequences || isGpu(s))
    return s.domainSizes[s.queryPos()];
  return createLoop(b, s.loc, index(b, s.loc, 0), toValue(b, s.loc, s.domainSizes[0]), 1, {index(b, s.loc, 0)},
                    [&](Value batch, TileState longest) {
                      return TileState{arith::MaxSIOp::create(b, s.loc, longest[0], getRows(batch))};
                    })
      .front();
}

/// The rows of a packed sequence that the step handles: none where they are too few.
static Value getSequenceRows(OpBuilder &b, const TileShape &s, Value sequences, Value batch) {
  Location loc = s.step.getLoc();
  Value length = getSequenceLength(b, loc, sequences, batch);
  std::optional<uint64_t> minimum = s.step.getMinQueries();
  if (!minimum)
    return length;
  Value isLong = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, length, index(b, loc, *minimum));
  return arith::SelectOp::create(b, loc, isLong, length, index(b, loc, 0));
}

/// The rows of the tile that starts at `first`: the last tile may be short.
static OpFoldResult getRows(OpBuilder &b, const TileShape &s, Value first, Value batch) {
  Location loc = s.step.getLoc();
  if (Value sequences = getPackedSequences(s.step))
    return clampedDifference(b, loc, getSequenceRows(b, s, sequences, batch), first, getQueryTile(s));
  std::optional<int64_t> numQueries = getConstantIntValue(s.domainSizes[s.queryPos()]);
  if (numQueries && *numQueries % getQueryTile(s) == 0)
    return b.getIndexAttr(getQueryTile(s));
  AffineExpr start, count;
  bindDims(b.getContext(), start);
  bindSymbols(b.getContext(), count);
  AffineMap map = AffineMap::get(1, 1, {b.getAffineConstantExpr(getQueryTile(s)), count - start}, b.getContext());
  return affine::makeComposedFoldedAffineMin(b, loc, map, {OpFoldResult(first), s.domainSizes[s.queryPos()]});
}

OpFoldResult attn::getNumQueryTiles(OpBuilder &b, const TileShape &s) {
  Value sequences = getPackedSequences(s.step);
  OpFoldResult numQueries =
      getMostQueries(b, s, sequences, [&](Value batch) { return getSequenceRows(b, s, sequences, batch); });
  return affine::makeComposedFoldedAffineApply(b, s.loc, b.getAffineDimExpr(0).ceilDiv(getQueryTile(s)), {numQueries});
}

TilePosition attn::getPrefillTile(OpBuilder &b, const TileShape &s, ValueRange batch, Value tile) {
  Location loc = s.step.getLoc();
  TilePosition at{{b, s.domainSizes, batch}, {}, {}, {}, {}, {}, {}};
  at.tile = tile;
  at.firstQuery =
      affine::makeComposedAffineApply(b, loc, b.getAffineDimExpr(0) * getQueryTile(s), {OpFoldResult(at.tile)});
  at.rows = getRows(b, s, at.firstQuery, batch.empty() ? Value() : batch[0]);
  at.endQuery = arith::AddIOp::create(b, loc, at.firstQuery, toValue(b, loc, at.rows));
  at.offsets[s.queryPos()] = at.firstQuery;
  at.sizes[s.queryPos()] = at.rows;
  if (s.step.getCuSeqlensQ()) {
    at.queryStart = getSequenceStart(b, loc, s.step.getCuSeqlensQ(), batch[0]);
    if (Value keys = s.step.getCuSeqlensK())
      at.keyStart = getSequenceStart(b, loc, keys, batch[0]);
  }
  return at;
}

TilePosition attn::getDecodeTile(OpBuilder &b, const TileShape &s, ValueRange batch, Value tile, Value split) {
  Location loc = s.step.getLoc();
  TilePosition at;
  OpFoldResult firstQuery = b.getIndexAttr(0);
  if (getConstantIntValue(s.domainSizes[s.queryPos()])) {
    at.rows = b.getIndexAttr(getQueryTile(s));
    at.firstQuery = index(b, loc, 0);
    at.endQuery = index(b, loc, getQueryTile(s));
  } else {
    at.firstQuery =
        affine::makeComposedAffineApply(b, loc, b.getAffineDimExpr(0) * getQueryTile(s), {OpFoldResult(tile)});
    at.rows = getRows(b, s, at.firstQuery, Value());
    at.endQuery = arith::AddIOp::create(b, loc, at.firstQuery, toValue(b, loc, at.rows));
    firstQuery = at.firstQuery;
  }
  at.offsets.assign(batch.begin(), batch.end());
  at.sizes.assign(s.numBatch, b.getIndexAttr(1));
  if (s.numBatch > 0) {
    at.offsets.back() = affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0) * getHeadsPerTile(s),
                                                              {OpFoldResult(batch.back())});
    at.sizes.back() = b.getIndexAttr(getHeadsPerTile(s));
  }
  at.offsets.push_back(firstQuery);
  at.offsets.append(3, b.getIndexAttr(0));
  at.sizes.append({at.rows, s.domainSizes[s.keyPos()], s.domainSizes[s.headPos()], s.domainSizes[s.valuePos()]});
  if (!split)
    return at;
  AffineExpr dim = b.getAffineDimExpr(0);
  at.lower = affine::makeComposedAffineApply(b, loc, dim * s.schedule.getSplitKeys(), {OpFoldResult(split)});
  at.upper = affine::makeComposedAffineApply(b, loc, (dim + 1) * s.schedule.getSplitKeys(), {OpFoldResult(split)});
  return at;
}

//===----------------------------------------------------------------------===//
// One key tile
//===----------------------------------------------------------------------===//

static TileState createStepOfSegments(OpBuilder &b, const TileShape &s, const TilePosition &at, ValueRange keys,
                                      ValueRange values, SmallVector<AffineMap> stepMaps, ValueRange query,
                                      bool isPartial, ValueRange state) {
  Location loc = s.step.getLoc();
  Value key = keys.front(), value = values.front();
  if (usesPairs(s)) {
    stepMaps[0] = getPairMap(s, s.domainSizes.size(), s.headPos(), s.queryPos());
    if (!s.packed.key)
      packKey(b, s, at, key, stepMaps[1]);
    if (!s.packed.value)
      packValue(b, s, at, value, stepMaps[2]);
  }
  unsigned next = 3;
  // Dense operands become lanes too; one without a query dimension is the same for all lanes.
  auto addDense = [&](Value operand) -> Value {
    if (!operand)
      return {};
    AffineMap map = s.maps[next++];
    if (isRowMajor(s) || !map.isFunctionOfDim(s.queryPos())) {
      stepMaps.push_back(map);
      return createSlice(b, loc, operand, getSlice(b, s, at, map));
    }
    // Bias and mask have (query, key) where Q has (query, head).
    stepMaps.push_back(getTileMap(s, {s.keyPos(), s.queryPos()}));
    Value tile = pack(b, s, at, operand, map, {s.queryPos(), s.keyPos()}, {s.keyPos(), s.queryPos()});
    return sliceQueries(b, s, at, tile, s.numBatch + 1);
  };
  Value bias = isDense(s) ? addDense(s.step.getBias()) : Value(),
        mask = isDense(s) ? addDense(s.step.getMask()) : Value();
  stepMaps.append({getTileMap(s, getAccDims(s)), getTileMap(s, {s.queryPos()}), getTileMap(s, {s.queryPos()})});
  auto tiled = OnlineStepOp::create(
      b, loc, state.getTypes(), query.front(), key, value, bias, mask, state[0], state[1], state[2],
      /*cu_seqlens_q=*/Value(), /*cu_seqlens_k=*/Value(), s.step.getScoreWeight(), s.step.getScaleValue(),
      keys.drop_front(), values.drop_front(), query.drop_front(), s.step.getScaleAttr(),
      b.getAffineMapArrayAttr(stepMaps), /*block_map=*/UnitAttr(), s.step.getExactMaxAttr(),
      /*min_queries=*/IntegerAttr(), s.schedule);
  if (isPartial)
    cloneRegion(b, s, at, s.step.getMaskMod(), tiled.getMaskMod(), tiled);
  cloneRegion(b, s, at, s.step.getScoreMod(), tiled.getScoreMod(), tiled);
  cloneRegion(b, s, at, s.step.getWeightMod(), tiled.getWeightMod(), tiled);
  return TileState(tiled->getResults());
}

/// The step of the heads that share a key head, over the keys of all segments.
static TileState createStepOfHeads(OpBuilder &b, const TileShape &s, TilePosition at, ArrayRef<Value> firstKeys,
                                   ValueRange query, bool isPartial, ValueRange state) {
  Location loc = s.step.getLoc();
  SmallVector<AffineMap> stepMaps = {isRowMajor(s) ? getTileMap(s, {s.queryPos(), s.headPos()})
                                                   : getTileMap(s, {s.headPos(), s.queryPos()}),
                                     s.maps[1], s.maps[2]};
  SmallVector<Value> keys, values;
  for (Value firstKey : firstKeys) {
    at.offsets[s.keyPos()] = firstKey;
    stepMaps[1] = s.maps[1];
    stepMaps[2] = s.maps[2];
    keys.push_back(s.packed.key ? loadPacked(b, s, at, s.packed.key, /*isKey=*/true, stepMaps[1])
                                : loadRows(b, s, at, s.step.getKey(), stepMaps[1], s.headPos()));
    values.push_back(s.packed.value ? loadPacked(b, s, at, s.packed.value, /*isKey=*/false, stepMaps[2])
                                    : loadRows(b, s, at, s.step.getValue(), stepMaps[2], s.valuePos()));
  }
  // A tile takes some rows of each page, then the next ones.
  int64_t numRows = getConstantIntValue(at.sizes[s.keyPos()]).value_or(0), tileRows = getSegmentRows(s);
  if (firstKeys.size() > 1 && tileRows < numRows)
    return createLoop(b, loc, index(b, loc, 0), index(b, loc, numRows), tileRows, TileState(state),
                      [&](Value row, TileState carried) {
                        auto slice = [&](AffineMap map) {
                          return [&, position = *map.getResultPosition(b.getAffineDimExpr(s.keyPos()))](
                                     Value segment) -> Value {
                            return createSlice(b, loc, segment,
                                               getDimSlice(b, loc, segment, position, row, b.getIndexAttr(tileRows)));
                          };
                        };
                        return createStepOfSegments(b, s, at, llvm::map_to_vector(keys, slice(stepMaps[1])),
                                                    llvm::map_to_vector(values, slice(stepMaps[2])), stepMaps, query,
                                                    isPartial, carried);
                      });
  return createStepOfSegments(b, s, at, keys, values, stepMaps, query, isPartial, state);
}

/// The step of the vectors of rows that a prefill tile has: Q and the state have room for those of a full one.
static TileState createStepOfVectors(OpBuilder &b, const TileShape &s, const TilePosition &at,
                                     ArrayRef<Value> firstKeys, Value query, bool isPartial, ValueRange state) {
  // In pairs, Q is (pair, query, 2).
  Value rows = sliceQueries(b, s, at, query, s.numBatch + 1);
  TileState parts, next;
  for (auto [tile, dim] : llvm::zip_equal(state, std::array{s.numBatch + 1, s.numBatch, s.numBatch}))
    parts.push_back(sliceQueries(b, s, at, tile, dim));
  TileState results = createStepOfHeads(b, s, at, firstKeys, rows, isPartial, parts);
  for (auto [result, part, tile] : llvm::zip_equal(results, parts, state)) {
    auto slice = part.getDefiningOp<tensor::ExtractSliceOp>();
    next.push_back(tensor::InsertSliceOp::create(b, s.step.getLoc(), result, tile, slice.getMixedOffsets(),
                                                 slice.getMixedSizes(), slice.getMixedStrides()));
  }
  return next;
}

TileState attn::createStep(OpBuilder &b, const TileShape &s, TilePosition at, ValueRange query,
                           ArrayRef<Value> firstKeys, OpFoldResult count, bool isPartial, ValueRange state) {
  Location loc = s.step.getLoc();
  at.offsets[s.keyPos()] = firstKeys.front();
  at.sizes[s.keyPos()] = count;
  if (!isDecode(s) && takesDynamicRows(s))
    return createStepOfVectors(b, s, at, firstKeys, query.front(), isPartial, state);
  if (getHeadsPerTile(s) == s.headsPerStep)
    return createStepOfHeads(b, s, at, firstKeys, query, isPartial, state);
  OpFoldResult firstHead = at.offsets[s.numBatch - 1];
  at.sizes[s.numBatch - 1] = b.getIndexAttr(s.headsPerStep);
  auto loop = scf::ForOp::create(
      b, loc, index(b, loc, 0), index(b, loc, s.schedule.getKvHeads()), index(b, loc, 1), state,
      [&](OpBuilder &nested, Location, Value kvHead, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(nested.getInsertionBlock());
        AffineExpr group = b.getAffineDimExpr(0) * s.headsPerStep, first = b.getAffineDimExpr(1);
        OpFoldResult inTile = affine::makeComposedFoldedAffineApply(b, loc, group, {OpFoldResult(kvHead)});
        at.offsets[s.numBatch - 1] =
            affine::makeComposedFoldedAffineApply(b, loc, first + group, {OpFoldResult(kvHead), firstHead});
        auto getPart = [&](Value whole) {
          return getDimSlice(b, loc, whole, s.numBatch - 1, inTile, b.getIndexAttr(s.headsPerStep));
        };
        auto slicePart = [&](Value whole) { return createSlice(b, loc, whole, getPart(whole)); };
        TileState parts = llvm::map_to_vector(carried, slicePart), next(carried);
        parts = createStepOfHeads(b, s, at, firstKeys, llvm::map_to_vector(query, slicePart), isPartial, parts);
        for (auto [part, whole] : llvm::zip_equal(parts, next)) {
          Slice slice = getPart(whole);
          whole = tensor::InsertSliceOp::create(b, loc, part, whole, slice.offsets, slice.sizes, slice.strides);
        }
        scf::YieldOp::create(b, loc, next);
      });
  return TileState(loop.getResults());
}
