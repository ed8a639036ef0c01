//===- TileBuilder.cpp - operands of a tile, and one step over it ---------===//
//
// A prefill tile of a CPU has its query rows innermost, padded to whole vectors; a
// decode tile, and every tile of a GPU, has its rows as they are. The loops
// over key tiles are in KeyLoops.cpp.
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

using namespace mlir;
using namespace attn;

using State = TileBuilder::State;

TileBuilder::TileBuilder(OpBuilder &builder, OnlineStepOp step)
    : b(builder), loc(step.getLoc()), step(step), schedule(*step.getSchedule()), maps(getMaps(step)),
      domainSizes(getDomainSizes(builder, step)), numBatch(getNumBatchDims(step)), queryPos(numBatch),
      keyPos(numBatch + 1), headPos(numBatch + 2), valuePos(numBatch + 3), keyTile(schedule.getKeyTile()),
      isDecode(schedule.getKernel() == KernelKind::Decode), isRowMajor(isDecode || schedule.isGpu()),
      hasPredicate(!step.getMaskMod().empty()), isDense(step.getBias() || step.getMask()),
      usesPairs(schedule.usesPairs()), stateType(cast<FloatType>(getElementTypeOrSelf(step.getAcc().getType()))),
      rowType(((schedule.getProduct() == ProductKind::Dot || usesPairs) && canUseDotProducts(step)) || schedule.isGpu()
                  ? cast<FloatType>(getElementTypeOrSelf(step.getQuery().getType()))
                  : stateType) {
  if (isDecode && numBatch > 0)
    headsPerTile = getHeadsPerTile();
}

/// The heads that share a head of K, or 1 where they do not visit the same keys.
int64_t TileBuilder::getHeadsPerTile() {
  bool asksForHead = false;
  Region &ranges = step.getKeyRanges().empty() ? step.getMaskMod() : step.getKeyRanges();
  ranges.walk([&](IndexOp op) { asksForHead |= op.getKind() == IndexKind::Head; });
  return asksForHead ? 1 : getGroupSize(step);
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
  int64_t queryTile = schedule.getQueryTile();
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
  if (Value sequences = schedule.isGpu() ? Value() : getPackedSequences(step)) {
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
  return affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0).ceilDiv(schedule.getQueryTile()),
                                               {numQueries});
}

void TileBuilder::setTile(ValueRange batch, Value tileIndex) {
  tile = tileIndex;
  firstQuery =
      affine::makeComposedAffineApply(b, loc, b.getAffineDimExpr(0) * schedule.getQueryTile(), {OpFoldResult(tile)});
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
  rows = b.getIndexAttr(schedule.getQueryTile());
  firstQuery = index(0);
  endQuery = index(schedule.getQueryTile());
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
// Operands of a tile
//===----------------------------------------------------------------------===//

/// Positions of the batch dimensions, then of `named`.
SmallVector<unsigned> TileBuilder::getPositions(ArrayRef<unsigned> named) {
  SmallVector<unsigned> positions = llvm::to_vector(llvm::seq<unsigned>(0, numBatch));
  positions.append(named.begin(), named.end());
  return positions;
}

AffineMap TileBuilder::getTileMap(ArrayRef<unsigned> named) {
  return AffineMap::getMultiDimMapWithTargets(domainSizes.size(), getPositions(named), b.getContext());
}

void TileBuilder::createFinalize(FinalizeOp finalize, const State &state, ValueRange outputs, Insert insert) {
  SmallVector<AffineMap> outputMaps(llvm::drop_begin(getMaps(finalize), 3)), tileMaps = getTileStateMaps();
  SmallVector<Slice> slices;
  SmallVector<Value> parts;
  for (auto [map, output] : llvm::zip(outputMaps, outputs)) {
    tileMaps.push_back(map);
    slices.push_back(getOutputSlice(map));
    parts.push_back(createSlice(b, loc, output, slices.back()));
  }
  auto tiled = FinalizeOp::create(b, loc, ValueRange(parts).getTypes(), state[0], state[1], state[2], parts[0],
                                  parts.size() > 1 ? parts[1] : Value(), /*cu_seqlens_q=*/Value(),
                                  b.getAffineMapArrayAttr(tileMaps));
  for (auto [value, output, slice] : llvm::zip(tiled->getResults(), outputs, slices))
    insert(value, output, slice);
}

SmallVector<AffineMap> TileBuilder::getTileStateMaps() {
  SmallVector<unsigned> kept = getPositions({queryPos, valuePos});
  AffineMap row = restrictDomain(getTileMap({queryPos}), kept);
  return {restrictDomain(getTileMap(getAccDims()), kept), row, row};
}

Slice TileBuilder::getSlice(AffineMap map) {
  Slice slice = getOperandSlice(b, loc, map, offsets, sizes);
  if (!queryStart)
    return slice;
  for (auto [expr, offset] : llvm::zip_equal(map.getResults(), slice.offsets)) {
    Value start = expr == b.getAffineDimExpr(queryPos) ? queryStart
                  : expr == b.getAffineDimExpr(keyPos) ? keyStart
                                                       : Value();
    if (start)
      offset = add(start, toValue(offset));
  }
  return slice;
}

Slice TileBuilder::getOutputSlice(AffineMap map) {
  // From the domain (batch…, query, value) to that of the step.
  SmallVector<AffineExpr> dims;
  for (unsigned position = 0; position <= numBatch; ++position)
    dims.push_back(b.getAffineDimExpr(position));
  dims.push_back(b.getAffineDimExpr(valuePos));
  return getSlice(map.replaceDimsAndSymbols(dims, {}, domainSizes.size(), 0));
}

/// A tile-sized tensor: 1 for each batch dimension but the heads of the tile, the schedule's query and key tile, whole
/// heads.
Value TileBuilder::emptyTile(ArrayRef<unsigned> dims, Type type) {
  SmallVector<int64_t> shape(numBatch, 1);
  if (numBatch > 0 && llvm::is_contained(dims, queryPos))
    shape.back() = headsPerTile;
  for (unsigned dim : dims)
    shape.push_back(dim == queryPos ? schedule.getQueryTile()
                    : dim == keyPos ? keyTile
                                    : *getConstantIntValue(domainSizes[dim]));
  return tensor::EmptyOp::create(b, loc, shape, type);
}

/// The first keys of a tile, as many as the current step has; `perIndex` of them lie under an index of `keyDim`.
Value TileBuilder::sliceKeys(Value tileTensor, unsigned keyDim, int64_t perIndex) {
  auto type = cast<RankedTensorType>(tileTensor.getType());
  OpFoldResult size =
      affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0).ceilDiv(perIndex), {sizes[keyPos]});
  if (isConstantIntValue(size, type.getDimSize(keyDim)))
    return tileTensor;
  SmallVector<OpFoldResult> extent = tensor::getMixedSizes(b, loc, tileTensor);
  SmallVector<OpFoldResult> origin(extent.size(), b.getIndexAttr(0)), unit(extent.size(), b.getIndexAttr(1));
  extent[keyDim] = size;
  return tensor::ExtractSliceOp::create(b, loc, tileTensor, origin, extent, unit);
}

/// The slice of `operand` under the current tile, transposed from the dimensions `from` to `to` with padded rows.
Value TileBuilder::pack(Value operand, AffineMap map, ArrayRef<unsigned> from, ArrayRef<unsigned> to) {
  Value slice = createSlice(b, loc, operand, getSlice(map));
  Type type = getElementTypeOrSelf(operand.getType());
  // A boolean becomes a byte: vectors of i1 have no memory form. Q becomes what is multiplied.
  if (type.isInteger(1))
    type = b.getI8Type();
  else if (operand == step.getQuery())
    type = rowType;
  Value target = emptyTile(to, type);
  if (llvm::is_contained(to, keyPos))
    target = sliceKeys(target, numBatch + (llvm::find(to, keyPos) - to.begin()));
  SmallVector<unsigned> kept = getPositions(from);
  auto packed =
      PackOp::create(b, loc, target.getType(), slice, target,
                     b.getAffineMapArrayAttr({restrictDomain(map, kept), restrictDomain(getTileMap(to), kept)}));
  return packed->getResult(0);
}

/// Rows of K or V under the domain (batch…, row, column) of attn.pack: they have one batch index and head here.
AffineMap TileBuilder::getRowMap(AffineMap map, unsigned column) {
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : map.getResults()) {
    AffineExpr position = b.getAffineConstantExpr(0);
    if (expr == b.getAffineDimExpr(keyPos))
      position = b.getAffineDimExpr(numBatch);
    else if (expr == b.getAffineDimExpr(column))
      position = b.getAffineDimExpr(numBatch + 1);
    exprs.push_back(position);
  }
  return AffineMap::get(numBatch + 2, 0, exprs, b.getContext());
}

/// The rows of K or V under the current keys: a view where they can be used as they lie, otherwise a tile that holds
/// them widened, or gathered from pages. Updates `map`.
Value TileBuilder::loadRows(Value operand, AffineMap &map, unsigned column) {
  auto gather = operand.getDefiningOp<GatherPagesOp>();
  Type type = getElementTypeOrSelf(operand.getType());
  Slice slice = getSlice(map);
  // A decode kernel of a CPU widens in registers.
  if (!gather && (type == rowType || (isDecode && !schedule.isGpu())))
    return createSlice(b, loc, operand, slice);
  if (gather && readsPages(step, gather))
    return loadPage(gather, slice, map, column);
  Value target = sliceKeys(emptyTile({keyPos, column}, rowType), numBatch);
  AffineMap tileMap = getTileMap({keyPos, column});
  if (headsPerTile > 1) // they share one head of the tile
    tileMap = tileMap.replace(b.getAffineDimExpr(numBatch - 1), b.getAffineConstantExpr(0), domainSizes.size(), 0);
  if (gather) {
    // The view is (batch, kv head, key, column), whatever the map makes of it.
    auto tiled = GatherPagesOp::create(b, loc, target.getType(), gather.getCache(), gather.getBlockTable(),
                                       gather.getLengths(), toValue(slice.offsets[0]), toValue(slice.offsets[1]),
                                       toValue(slice.offsets[2]), target, gather.getPageLayoutAttr());
    map = tileMap;
    return tiled->getResult(0);
  }
  auto packed =
      PackOp::create(b, loc, target.getType(), createSlice(b, loc, operand, slice), target,
                     b.getAffineMapArrayAttr({getRowMap(map, column), b.getMultiDimIdentityMap(numBatch + 2)}));
  map = tileMap;
  return packed->getResult(0);
}

bool TileBuilder::readsPages(OnlineStepOp step, GatherPagesOp gather) {
  int64_t page = gather.getPageSize();
  ScheduleAttr schedule = *step.getSchedule();
  return (schedule.getKernel() == KernelKind::Decode || schedule.isGpu()) && page % schedule.getKeyTile() == 0;
}

/// The rows of a key tile that lies in one page, where they are in the cache.
Value TileBuilder::loadPage(GatherPagesOp gather, const Slice &slice, AffineMap &map, unsigned column) {
  Value cache = gather.getCache();
  int64_t page = gather.getPageSize();
  CacheDims dims = gather.getCacheDims();
  // (batch, kv head, key, column) of the view that the operand is
  AffineExpr dim = b.getAffineDimExpr(0);
  Value entry = affine::makeComposedAffineApply(b, loc, dim.floorDiv(page), {slice.offsets[2]});
  OpFoldResult row = affine::makeComposedFoldedAffineApply(b, loc, dim % page, {slice.offsets[2]});
  Value number =
      tensor::ExtractOp::create(b, loc, gather.getBlockTable(), ValueRange{toValue(slice.offsets[0]), entry});
  number = arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  AffineExpr first = b.getAffineConstantExpr(0);
  Slice inPage{dims.getPosition<OpFoldResult>(number, row, slice.offsets[1], zero),
               dims.getPosition<OpFoldResult>(one, slice.sizes[2], one, slice.sizes[3]),
               {one, one, one, one}};
  auto exprs = dims.getPosition(first, b.getAffineDimExpr(keyPos), first, b.getAffineDimExpr(column));
  map = AffineMap::get(domainSizes.size(), 0, exprs, b.getContext());
  return createSlice(b, loc, cache, inPage);
}

void TileBuilder::packQuery() {
  if (usesPairs) {
    Value slice = createSlice(b, loc, step.getQuery(), getSlice(maps[0]));
    packedQuery = packPairs(slice, restrictDomain(maps[0], getPositions({queryPos, headPos})), headPos, queryPos);
    return;
  }
  SmallVector<unsigned> rowMajor = {queryPos, headPos}, lanesInnermost = {headPos, queryPos};
  packedQuery = pack(step.getQuery(), maps[0], rowMajor, isRowMajor ? rowMajor : lanesInnermost);
}

State TileBuilder::initState(InitStateOp init, bool withStart) {
  Value acc = emptyTile(getAccDims(), stateType), max = emptyTile({queryPos}, stateType),
        sum = emptyTile({queryPos}, stateType);
  auto tiled = InitStateOp::create(b, loc, TypeRange{acc.getType(), max.getType(), sum.getType()}, acc, max, sum,
                                   b.getAffineMapArrayAttr(getTileStateMaps()));
  if (withStart)
    cloneRegion(init.getStart(), tiled.getStart(), tiled);
  return State(tiled.getResults());
}

/// A region in the positions of the current tile.
void TileBuilder::cloneRegion(Region &from, Region &to, Operation *before) {
  if (from.empty())
    return;
  IRMapping mapping;
  from.cloneInto(&to, mapping);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(before);
  // Lanes beyond the last row read what the last row reads: a captured tensor ends there.
  bool readsRows = false;
  to.walk([&](tensor::ExtractOp) { readsRows = true; });
  if (readsRows && !isConstantIntValue(rows, schedule.getQueryTile())) {
    Value lastRow = b.createOrFold<arith::SubIOp>(loc, endQuery, index(1));
    lastRow = b.createOrFold<arith::MaxSIOp>(loc, lastRow, index(0));
    SmallVector<IndexOp> queries;
    to.walk([&](IndexOp op) {
      if (op.getKind() == IndexKind::Query)
        queries.push_back(op);
    });
    for (IndexOp op : queries) {
      OpBuilder::InsertionGuard inside(b);
      b.setInsertionPointAfter(op);
      auto clamped = arith::MinSIOp::create(b, loc, op, lastRow);
      op.getResult().replaceAllUsesExcept(clamped, clamped);
    }
  }
  shiftIndex(b, to, offsets, step);
}

//===----------------------------------------------------------------------===//
// One key tile
//===----------------------------------------------------------------------===//

State TileBuilder::createStep(Value firstKey, OpFoldResult count, bool isPartial, ValueRange state) {
  offsets[keyPos] = firstKey;
  sizes[keyPos] = count;
  SmallVector<AffineMap> stepMaps = {isRowMajor ? getTileMap({queryPos, headPos}) : getTileMap({headPos, queryPos}),
                                     maps[1], maps[2]};
  Value key = loadRows(step.getKey(), stepMaps[1], headPos), value = loadRows(step.getValue(), stepMaps[2], valuePos);
  ScheduleAttr stepSchedule = schedule;
  if (usesPairs) {
    stepMaps[0] = getPairMap(domainSizes.size(), headPos, queryPos);
    stepSchedule = packValue(value, stepMaps[2], count);
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
  auto tiled = OnlineStepOp::create(b, loc, state.getTypes(), packedQuery, key, value, bias, mask, state[0], state[1],
                                    state[2], /*cu_seqlens_q=*/Value(), /*cu_seqlens_k=*/Value(), step.getScoreWeight(),
                                    step.getScaleValue(), step.getScaleAttr(), step.getSoftcapAttr(),
                                    b.getAffineMapArrayAttr(stepMaps), /*block_map=*/UnitAttr(), stepSchedule);
  if (isPartial)
    cloneRegion(step.getMaskMod(), tiled.getMaskMod(), tiled);
  cloneRegion(step.getScoreMod(), tiled.getScoreMod(), tiled);
  cloneRegion(step.getWeightMod(), tiled.getWeightMod(), tiled);
  return State(tiled->getResults());
}
