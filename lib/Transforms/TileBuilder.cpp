//===- TileBuilder.cpp - one tile of queries, and one step over it --------===//
//
// A prefill tile of a CPU has its query rows innermost, padded to whole vectors; a
// decode tile, and every tile of a GPU, has its rows as they are. The loops
// over key tiles are in KeyLoops.cpp, its operands in TileOperands.cpp.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using namespace attn;

using State = TileBuilder::State;

TileBuilder::TileBuilder(OpBuilder &builder, OnlineStepOp step)
    : b(builder), loc(step.getLoc()), step(step), schedule(*step.getSchedule()), maps(getMaps(step)),
      domainSizes(getDomainSizes(builder, step)), numBatch(getNumBatchDims(step)), queryPos(numBatch),
      keyPos(numBatch + 1), headPos(numBatch + 2), valuePos(numBatch + 3), queryTile(schedule.getQueryTile()),
      keyTile(schedule.getKeyTile()), isDecode(schedule.sharesKeys()), isGpu(isa<BlockAttr>(schedule)),
      isRowMajor(isDecode || isGpu), hasPredicate(!step.getMaskMod().empty()),
      isDense(step.getBias() || step.getMask()),
      usesPairs(isa<PrefillAttr>(schedule) && schedule.getInfo().queryLayout == OperandLayout::Pairs),
      stateType(cast<FloatType>(getElementTypeOrSelf(step.getAcc().getType()))),
      rowType(schedule.getInfo().takesNarrow ? cast<FloatType>(getElementTypeOrSelf(step.getQuery().getType()))
                                             : stateType) {
  if (isDecode && numBatch > 0)
    headsPerStep = getHeadsPerStep();
  headsPerTile = headsPerStep * schedule.getKvHeads();
}

/// Query heads that share a head of the operand of `map`; 0 where all of them do.
static int64_t getSharingHeads(AffineMap map, unsigned head) {
  for (AffineExpr expr : map.getResults())
    if (expr.isFunctionOfDim(head)) {
      auto group = dyn_cast<AffineBinaryOpExpr>(expr);
      return group ? cast<AffineConstantExpr>(group.getRHS()).getValue() : 1;
    }
  return 0;
}

/// The heads that share one of K and one of V, or 1 where they do not visit the same keys.
int64_t TileBuilder::getHeadsPerStep() {
  if (visitsKeysBy(step, {IndexKind::Head}))
    return 1;
  int64_t shared = std::gcd(getSharingHeads(maps[1], numBatch - 1), getSharingHeads(maps[2], numBatch - 1));
  return std::max<int64_t>(shared, 1);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value TileBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

Value TileBuilder::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }

/// min(max(upper - lower, 0), largest)
Value TileBuilder::clampedDifference(Value upper, Value lower, int64_t largest) {
  Value difference = b.createOrFold<arith::SubIOp>(loc, upper, lower);
  difference = b.createOrFold<arith::MaxSIOp>(loc, difference, index(0));
  return b.createOrFold<arith::MinSIOp>(loc, difference, index(largest));
}

Value TileBuilder::getSequenceStart(Value sequences, Value batch) {
  Value start = tensor::ExtractOp::create(b, loc, sequences, batch);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), start);
}

Value TileBuilder::getSequenceLength(Value sequences, Value batch) {
  Value start = getSequenceStart(sequences, batch), end = getSequenceStart(sequences, add(batch, index(1)));
  return arith::SubIOp::create(b, loc, end, start);
}

/// The rows of the tile that starts at `first`: the last tile may be short.
OpFoldResult TileBuilder::getRows(Value first, Value batch) {
  if (Value sequences = getPackedSequences(step))
    return clampedDifference(getSequenceLength(sequences, batch), first, queryTile);
  std::optional<int64_t> numQueries = getConstantIntValue(domainSizes[queryPos]);
  if (numQueries && *numQueries % queryTile == 0)
    return b.getIndexAttr(queryTile);
  AffineExpr start, count;
  bindDims(b.getContext(), start);
  bindSymbols(b.getContext(), count);
  AffineMap map = AffineMap::get(1, 1, {b.getAffineConstantExpr(queryTile), count - start}, b.getContext());
  return affine::makeComposedFoldedAffineMin(b, loc, map, {OpFoldResult(first), domainSizes[queryPos]});
}

OpFoldResult TileBuilder::getNumQueryTiles() {
  OpFoldResult numQueries = domainSizes[queryPos];
  // A GPU's host cannot read where sequences begin: there are tiles for the longest that all rows could make, and those
  // without rows have nothing to do.
  if (Value sequences = isGpu ? Value() : getPackedSequences(step)) {
    // The longest sequence.
    auto loop = scf::ForOp::create(b, loc, index(0), toValue(domainSizes[0]), index(1), index(0),
                                   [&](OpBuilder &nested, Location at, Value batch, ValueRange longest) {
                                     OpBuilder::InsertionGuard guard(b);
                                     b.setInsertionPointToEnd(nested.getInsertionBlock());
                                     Value length = getSequenceLength(sequences, batch);
                                     Value next = arith::MaxSIOp::create(b, at, longest[0], length);
                                     scf::YieldOp::create(b, at, next);
                                   });
    numQueries = loop.getResult(0);
  }
  return affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0).ceilDiv(queryTile), {numQueries});
}

void TileBuilder::setTile(ValueRange batch, Value tileIndex) {
  tile = tileIndex;
  firstQuery = affine::makeComposedAffineApply(b, loc, b.getAffineDimExpr(0) * queryTile, {OpFoldResult(tile)});
  rows = getRows(firstQuery, batch.empty() ? Value() : batch[0]);
  endQuery = arith::AddIOp::create(b, loc, firstQuery, toValue(rows));
  offsets.assign(batch.begin(), batch.end());
  sizes.assign(numBatch, b.getIndexAttr(1));
  offsets.append({OpFoldResult(firstQuery), b.getIndexAttr(0), b.getIndexAttr(0), b.getIndexAttr(0)});
  sizes.append({rows, domainSizes[keyPos], domainSizes[headPos], domainSizes[valuePos]});
  if (step.getCuSeqlensQ()) {
    queryStart = getSequenceStart(step.getCuSeqlensQ(), batch[0]);
    keyStart = getSequenceStart(step.getCuSeqlensK(), batch[0]);
  }
}

void TileBuilder::setDecodeTile(ValueRange batch, Value split) {
  rows = b.getIndexAttr(queryTile);
  firstQuery = index(0);
  endQuery = index(queryTile);
  offsets.assign(batch.begin(), batch.end());
  sizes.assign(numBatch, b.getIndexAttr(1));
  if (numBatch > 0) {
    offsets.back() = affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0) * headsPerTile,
                                                           {OpFoldResult(batch.back())});
    sizes.back() = b.getIndexAttr(headsPerTile);
  }
  offsets.append(4, b.getIndexAttr(0));
  sizes.append({rows, domainSizes[keyPos], domainSizes[headPos], domainSizes[valuePos]});
  if (!split)
    return;
  AffineExpr dim = b.getAffineDimExpr(0);
  splitLower = affine::makeComposedAffineApply(b, loc, dim * schedule.getSplitKeys(), {OpFoldResult(split)});
  splitUpper = affine::makeComposedAffineApply(b, loc, (dim + 1) * schedule.getSplitKeys(), {OpFoldResult(split)});
}

//===----------------------------------------------------------------------===//
// One key tile
//===----------------------------------------------------------------------===//

State TileBuilder::createStep(Value firstKey, OpFoldResult count, bool isPartial, ValueRange state) {
  offsets[keyPos] = firstKey;
  sizes[keyPos] = count;
  if (headsPerTile == headsPerStep)
    return createStepOfHeads(packedQuery, isPartial, state);
  OpFoldResult firstHead = offsets[numBatch - 1];
  sizes[numBatch - 1] = b.getIndexAttr(headsPerStep);
  auto loop = scf::ForOp::create(
      b, loc, index(0), index(schedule.getKvHeads()), index(1), state,
      [&](OpBuilder &nested, Location at, Value kvHead, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(nested.getInsertionBlock());
        AffineExpr group = b.getAffineDimExpr(0) * headsPerStep, first = b.getAffineDimExpr(1);
        OpFoldResult inTile = affine::makeComposedFoldedAffineApply(b, at, group, {OpFoldResult(kvHead)});
        offsets[numBatch - 1] =
            affine::makeComposedFoldedAffineApply(b, at, first + group, {OpFoldResult(kvHead), firstHead});
        auto getPart = [&](Value whole) {
          Slice slice;
          slice.sizes = tensor::getMixedSizes(b, at, whole);
          slice.offsets.assign(slice.sizes.size(), b.getIndexAttr(0));
          slice.strides.assign(slice.sizes.size(), b.getIndexAttr(1));
          slice.offsets[numBatch - 1] = inTile;
          slice.sizes[numBatch - 1] = b.getIndexAttr(headsPerStep);
          return slice;
        };
        State parts, next(carried);
        for (Value whole : carried)
          parts.push_back(createSlice(b, at, whole, getPart(whole)));
        parts = createStepOfHeads(createSlice(b, at, packedQuery, getPart(packedQuery)), isPartial, parts);
        for (auto [part, whole] : llvm::zip_equal(parts, next)) {
          Slice slice = getPart(whole);
          whole = tensor::InsertSliceOp::create(b, at, part, whole, slice.offsets, slice.sizes, slice.strides);
        }
        scf::YieldOp::create(b, at, next);
      });
  offsets[numBatch - 1] = firstHead;
  sizes[numBatch - 1] = b.getIndexAttr(headsPerTile);
  return State(loop.getResults());
}

/// The step of the heads that share one of K, over the current keys.
State TileBuilder::createStepOfHeads(Value query, bool isPartial, ValueRange state) {
  SmallVector<AffineMap> stepMaps = {isRowMajor ? getTileMap({queryPos, headPos}) : getTileMap({headPos, queryPos}),
                                     maps[1], maps[2]};
  Value key = loadRows(step.getKey(), stepMaps[1], headPos), value = loadRows(step.getValue(), stepMaps[2], valuePos);
  ScheduleAttr stepSchedule = schedule;
  if (usesPairs) {
    stepMaps[0] = getPairMap(domainSizes.size(), headPos, queryPos);
    stepSchedule = packValue(value, stepMaps[2], sizes[keyPos]);
  }
  unsigned next = 3;
  // Dense operands become lanes as well; one without a query dimension is the same for all lanes.
  auto addDense = [&](Value operand) -> Value {
    if (!operand)
      return {};
    AffineMap map = maps[next++];
    if (isRowMajor || !map.isFunctionOfDim(queryPos)) {
      stepMaps.push_back(map);
      return createSlice(b, loc, operand, getSlice(map));
    }
    // Bias and mask have (query, key) where Q has (query, head).
    stepMaps.push_back(getTileMap({keyPos, queryPos}));
    return pack(operand, map, {queryPos, keyPos}, {keyPos, queryPos});
  };
  Value bias = isDense ? addDense(step.getBias()) : Value(), mask = isDense ? addDense(step.getMask()) : Value();
  stepMaps.append({getTileMap(getAccDims()), getTileMap({queryPos}), getTileMap({queryPos})});
  auto tiled = OnlineStepOp::create(b, loc, state.getTypes(), query, key, value, bias, mask, state[0], state[1],
                                    state[2], /*cu_seqlens_q=*/Value(), /*cu_seqlens_k=*/Value(), step.getScoreWeight(),
                                    step.getScaleValue(), step.getScaleAttr(), step.getSoftcapAttr(),
                                    b.getAffineMapArrayAttr(stepMaps), /*block_map=*/UnitAttr(),
                                    liesInPages(step.getKey(), maps[1]) ? b.getUnitAttr() : UnitAttr(), stepSchedule);
  if (isPartial)
    cloneRegion(step.getMaskMod(), tiled.getMaskMod(), tiled);
  cloneRegion(step.getScoreMod(), tiled.getScoreMod(), tiled);
  cloneRegion(step.getWeightMod(), tiled.getWeightMod(), tiled);
  return State(tiled->getResults());
}
