//===- TileBuilder.cpp - the body of the flash loop -----------------------===//
//
// Which keys a tile visits comes from key_ranges alone: partial tiles, which
// evaluate the predicate, up to the first key that all rows keep; full tiles,
// which do not; partial ones again. No key outside of the visited range is read.
// Where ranges cannot say it, a block map asked for each tile does.
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
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

using State = TileBuilder::State;

/// Kinds of attn.classify_tile.
static constexpr int64_t kEmptyTile = 0, kFullTile = 2;

bool attn::canUseDotProducts(Operation *op) {
  for (Value operand : op->getOperands().take_front(3))
    if (!getElementTypeOrSelf(operand.getType()).isBF16())
      return false;
  bool hasScoreWeight = llvm::TypeSwitch<Operation *, bool>(op).Case<SdpaOp, OnlineStepOp>(
      [](auto attention) { return attention.getScoreWeight() != nullptr; });
  int64_t headSize = getStaticSize(op, DimKind::HeadSize);
  if (hasScoreWeight || ShapedType::isDynamic(headSize) || headSize % 2 != 0)
    return false;
  AffineExpr head = getAffineDimExpr(getDomainPosition(op, DimKind::HeadSize), op->getContext());
  return llvm::all_of(ArrayRef(getMaps(op)).take_front(2),
                      [&](AffineMap map) { return map.getResults().back() == head; });
}

TileBuilder::TileBuilder(OpBuilder &builder, OnlineStepOp step)
    : b(builder), loc(step.getLoc()), step(step), schedule(*step.getSchedule()), maps(getMaps(step)),
      domainSizes(getDomainSizes(builder, step)), numBatch(getNumBatchDims(step)), queryPos(numBatch),
      keyPos(numBatch + 1), headPos(numBatch + 2), valuePos(numBatch + 3), keyTile(schedule.getKeyTile()),
      hasPredicate(!step.getMaskMod().empty()), isDense(step.getBias() || step.getMask()),
      usesPairs(schedule.getProduct() == ProductKind::Dot),
      stateType(cast<FloatType>(getElementTypeOrSelf(step.getAcc().getType()))),
      rowType(usesPairs ? cast<FloatType>(getElementTypeOrSelf(step.getQuery().getType())) : stateType) {}

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
  if (Value sequences = getPackedSequences(step)) {
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

SmallVector<AffineMap> TileBuilder::getTileStateMaps() {
  SmallVector<unsigned> kept = getPositions({queryPos, valuePos});
  AffineMap row = restrictDomain(getTileMap({queryPos}), kept);
  return {restrictDomain(getTileMap({valuePos, queryPos}), kept), row, row};
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

/// A tile-sized tensor: 1 for each batch dimension, the schedule's query and key tile, whole heads.
Value TileBuilder::emptyTile(ArrayRef<unsigned> dims, Type type) {
  SmallVector<int64_t> shape(numBatch, 1);
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
  // A boolean becomes a byte: vectors of i1 have no memory form. Q is widened to what is calculated in.
  if (type.isInteger(1))
    type = b.getI8Type();
  else if (operand == step.getQuery())
    type = stateType;
  Value target = emptyTile(to, type);
  if (llvm::is_contained(to, keyPos))
    target = sliceKeys(target, numBatch + (llvm::find(to, keyPos) - to.begin()));
  SmallVector<unsigned> kept = getPositions(from);
  auto packed =
      PackOp::create(b, loc, target.getType(), slice, target,
                     b.getAffineMapArrayAttr({restrictDomain(map, kept), restrictDomain(getTileMap(to), kept)}));
  return packed->getResult(0);
}

/// A map of `numDims` dimensions that holds `paired` in pairs around `other`.
AffineMap TileBuilder::getPairMap(unsigned numDims, unsigned paired, unsigned other) {
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < numBatch; ++i)
    exprs.push_back(b.getAffineDimExpr(i));
  AffineExpr pair = b.getAffineDimExpr(paired);
  exprs.append({pair.floorDiv(2), b.getAffineDimExpr(other), pair % 2});
  return AffineMap::get(numDims, 0, exprs, b.getContext());
}

/// `rows`, which `map` finds under (batch…, row, column), with the dimension `paired` in pairs: (pair, other, 2).
Value TileBuilder::packPairs(Value rows, AffineMap map, unsigned paired, unsigned other) {
  auto getTileSize = [&](unsigned dim) {
    return dim == queryPos ? schedule.getQueryTile() : dim == keyPos ? keyTile : *getConstantIntValue(domainSizes[dim]);
  };
  SmallVector<int64_t> shape(numBatch, 1);
  shape.append({int64_t(llvm::divideCeil(getTileSize(paired), 2)), getTileSize(other), 2});
  Value target = tensor::EmptyOp::create(b, loc, shape, rowType);
  bool pairsRows = paired == keyPos;
  if (pairsRows)
    target = sliceKeys(target, numBatch, /*perIndex=*/2);
  AffineMap tileMap = getPairMap(numBatch + 2, numBatch + !pairsRows, numBatch + pairsRows);
  return PackOp::create(b, loc, target.getType(), rows, target, b.getAffineMapArrayAttr({map, tileMap}))->getResult(0);
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
  if (!gather && type == rowType)
    return createSlice(b, loc, operand, slice);
  Value target = sliceKeys(emptyTile({keyPos, column}, rowType), numBatch);
  AffineMap tileMap = getTileMap({keyPos, column});
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

void TileBuilder::packQuery() {
  if (usesPairs) {
    Value slice = createSlice(b, loc, step.getQuery(), getSlice(maps[0]));
    packedQuery = packPairs(slice, restrictDomain(maps[0], getPositions({queryPos, headPos})), headPos, queryPos);
    return;
  }
  packedQuery = pack(step.getQuery(), maps[0], {queryPos, headPos}, {headPos, queryPos});
}

State TileBuilder::initState(InitStateOp init) {
  Value acc = emptyTile({valuePos, queryPos}, stateType), max = emptyTile({queryPos}, stateType),
        sum = emptyTile({queryPos}, stateType);
  auto tiled = InitStateOp::create(b, loc, TypeRange{acc.getType(), max.getType(), sum.getType()}, acc, max, sum,
                                   b.getAffineMapArrayAttr(getTileStateMaps()));
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
// Loops over key tiles
//===----------------------------------------------------------------------===//

Value TileBuilder::evaluateIndex(IndexOp op) {
  switch (op.getKind()) {
  case IndexKind::FirstQuery: return firstQuery;
  case IndexKind::EndQuery: return endQuery;
  case IndexKind::Batch: return toValue(offsets[0]);
  case IndexKind::Head: return toValue(offsets[numBatch - 1]);
  case IndexKind::KvHead: return affine::makeComposedAffineApply(b, loc, getKvHeadMap(step), {offsets[numBatch - 1]});
  case IndexKind::Query:
  case IndexKind::Key: break;
  }
  llvm_unreachable("refused by the verifier");
}

/// visited lower and upper, full lower and upper, as the region of the ranges has them.
SmallVector<Value> TileBuilder::getKeyBounds(Region &ranges) {
  return inlineRegion(b, ranges, {}, [&](IndexOp op) { return evaluateIndex(op); });
}

State TileBuilder::foldKeys(State state) {
  Region built;
  Region &known = step.getKeyRanges();
  if (known.empty())
    buildKeyRanges(b, loc, step.getMaskMod(), getConstantIntValue(domainSizes[queryPos]).value_or(ShapedType::kDynamic),
                   getConstantIntValue(domainSizes[keyPos]).value_or(ShapedType::kDynamic), isDense, built);
  SmallVector<Value> bounds = getKeyBounds(known.empty() ? built : known);
  auto max = [&](Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(loc, x, y); };
  auto min = [&](Value x, Value y) { return b.createOrFold<arith::MinSIOp>(loc, x, y); };
  auto isConstant = [](Value value, int64_t constant) { return getConstantIntValue(value) == constant; };
  auto [visitedLower, visitedUpper, fullLower, fullUpper] = std::tuple(bounds[0], bounds[1], bounds[2], bounds[3]);
  bool startsPartial = !isConstant(fullLower, 0), endsPartial = !isConstant(fullUpper, kNoBound);
  bool neverFull = isConstant(fullUpper, 0);

  Value numKeys = toValue(domainSizes[keyPos]);
  Value lower = isConstant(visitedLower, 0) ? visitedLower : max(visitedLower, index(0));
  Value upper = isConstant(visitedUpper, kNoBound) ? numKeys : min(visitedUpper, numKeys);
  if (blockMap)
    return createMappedTiles(lower, upper, state);
  if (neverFull)
    return createTiles(lower, upper, /*isPartial=*/true, state);
  if (startsPartial) {
    fullLower = min(max(fullLower, lower), max(lower, upper));
    state = createTiles(lower, fullLower, /*isPartial=*/true, state);
    lower = fullLower;
  }
  Value end;
  state = createFullTiles(lower, endsPartial ? min(fullUpper, upper) : upper, state, end);
  return createTiles(end, upper, endsPartial, state);
}

State TileBuilder::createLoop(Value lower, Value upper, State state, function_ref<State(Value, State)> body) {
  auto loop = scf::ForOp::create(b, loc, lower, upper, index(keyTile), state,
                                 [&](OpBuilder &nested, Location at, Value key, ValueRange carried) {
                                   OpBuilder::InsertionGuard guard(b);
                                   b.setInsertionPointToEnd(nested.getInsertionBlock());
                                   State next = body(key, State(carried));
                                   scf::YieldOp::create(b, at, next);
                                 });
  return State(loop.getResults());
}

/// Whole tiles that every row keeps, from `lower` on; `end` is where they end.
State TileBuilder::createFullTiles(Value lower, Value upper, State state, Value &end) {
  std::optional<int64_t> first = getConstantIntValue(lower), last = getConstantIntValue(upper);
  if (first && last) {
    end = index(*first + std::max<int64_t>(*last - *first, 0) / keyTile * keyTile);
    if (getConstantIntValue(end) == *first)
      return state;
  } else {
    Value length = b.createOrFold<arith::MaxSIOp>(loc, b.createOrFold<arith::SubIOp>(loc, upper, lower), index(0));
    AffineExpr count = b.getAffineDimExpr(0);
    Value whole = affine::makeComposedAffineApply(b, loc, count.floorDiv(keyTile) * keyTile, {OpFoldResult(length)});
    end = add(lower, whole);
  }
  return createLoop(lower, end, state, [&](Value key, State carried) {
    return createStep(key, b.getIndexAttr(keyTile), /*isPartial=*/false, carried);
  });
}

/// Tiles from `lower` to `upper`, the last one as short as need be.
State TileBuilder::createTiles(Value lower, Value upper, bool isPartial, State state) {
  std::optional<int64_t> first = getConstantIntValue(lower), last = getConstantIntValue(upper);
  if (!first || !last)
    return createLoop(lower, upper, state, [&](Value key, State carried) {
      Value count = arith::MinSIOp::create(b, loc, index(keyTile), arith::SubIOp::create(b, loc, upper, key));
      return createStep(key, count, isPartial, carried);
    });
  int64_t length = std::max<int64_t>(*last - *first, 0), whole = length / keyTile * keyTile;
  if (whole > 0)
    state = createLoop(lower, index(*first + whole), state, [&](Value key, State carried) {
      return createStep(key, b.getIndexAttr(keyTile), isPartial, carried);
    });
  if (length > whole)
    state = createStep(index(*first + whole), b.getIndexAttr(length - whole), isPartial, state);
  return state;
}

/// Tiles at multiples of the key tile, each as the block map says: skipped, full or partial.
State TileBuilder::createMappedTiles(Value lower, Value upper, State state) {
  AffineExpr dim = b.getAffineDimExpr(0);
  lower = affine::makeComposedAffineApply(b, loc, dim.floorDiv(keyTile) * keyTile, {OpFoldResult(lower)});
  TypeRange types = ValueRange(state).getTypes();
  auto choose = [&](Value condition, function_ref<State()> then, function_ref<State()> otherwise) {
    auto branch = scf::IfOp::create(b, loc, types, condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, then());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, otherwise());
    return State(branch.getResults());
  };
  auto isEqual = [&](Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y).getResult();
  };
  return createLoop(lower, upper, state, [&](Value key, State carried) {
    Value batch = mapsBatch ? toValue(offsets[0]) : index(0),
          head = mapsHead ? toValue(offsets[numBatch - 1]) : index(0);
    Value keyTileIndex = affine::makeComposedAffineApply(b, loc, dim.floorDiv(keyTile), {OpFoldResult(key)});
    Value kind = tensor::ExtractOp::create(b, loc, blockMap, ValueRange{batch, head, tile, keyTileIndex});
    auto constant = [&](int64_t value) {
      return arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(value)).getResult();
    };
    Value count = arith::MinSIOp::create(b, loc, index(keyTile), arith::SubIOp::create(b, loc, upper, key));
    auto partial = [&] { return createStep(key, count, /*isPartial=*/true, carried); };
    auto visit = [&] {
      if (isDense)
        return partial();
      Value isFull = arith::AndIOp::create(b, loc, isEqual(kind, constant(kFullTile)), isEqual(count, index(keyTile)));
      return choose(
          isFull, [&] { return createStep(key, b.getIndexAttr(keyTile), /*isPartial=*/false, carried); }, partial);
    };
    return choose(isEqual(kind, constant(kEmptyTile)), [&] { return carried; }, visit);
  });
}

void TileBuilder::createBlockMap() {
  // Without keys there is nothing to map.
  if (!step.getBlockMap() || !hasPredicate || isConstantIntValue(domainSizes[keyPos], 0))
    return;
  step.getMaskMod().walk([&](IndexOp op) {
    mapsBatch |= op.getKind() == IndexKind::Batch && numBatch > 1;
    mapsHead |= op.getKind() == IndexKind::Head || op.getKind() == IndexKind::KvHead ||
                (op.getKind() == IndexKind::Batch && numBatch == 1);
  });
  AffineExpr dim = b.getAffineDimExpr(0);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  OpFoldResult keyTiles = affine::makeComposedFoldedAffineApply(b, loc, dim.ceilDiv(keyTile), {domainSizes[keyPos]});
  SmallVector<OpFoldResult> shape = {mapsBatch ? domainSizes[0] : one, mapsHead ? domainSizes[numBatch - 1] : one,
                                     getNumQueryTiles(), keyTiles};
  Value init = tensor::EmptyOp::create(b, loc, shape, b.getI8Type());
  auto forall = scf::ForallOp::create(b, loc, ArrayRef(shape).drop_back(), init, std::nullopt);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forall.getBody());
    SmallVector<Value> ivs = forall.getInductionVars();
    // The map knows (batch, head); the domain may have further batch dimensions, which no predicate knows.
    SmallVector<Value> batch(numBatch, index(0));
    if (mapsBatch)
      batch.front() = ivs[0];
    if (mapsHead)
      batch.back() = ivs[1];
    setTile(batch, ivs[2]);
    SmallVector<OpFoldResult> origin = {ivs[0], ivs[1], ivs[2], zero}, extent = {one, one, one, keyTiles};
    SmallVector<OpFoldResult> unit(4, one);
    Value row = tensor::ExtractSliceOp::create(b, loc, forall.getRegionIterArgs()[0], origin, extent, unit);
    Value numKeys = toValue(domainSizes[keyPos]), kept = row;
    auto loop = scf::ForOp::create(
        b, loc, index(0), toValue(keyTiles), index(1), kept,
        [&](OpBuilder &nested, Location at, Value keyTileIndex, ValueRange carried) {
          OpBuilder::InsertionGuard inside(b);
          b.setInsertionPointToEnd(nested.getInsertionBlock());
          Value key = affine::makeComposedAffineApply(b, at, dim * keyTile, {OpFoldResult(keyTileIndex)});
          Value count = clampedDifference(numKeys, key, keyTile);
          offsets[keyPos] = key;
          auto classify = ClassifyTileOp::create(b, at, b.getI8Type(), toValue(rows), count, schedule.getQueryTile(),
                                                 schedule.getLanes());
          cloneRegion(step.getMaskMod(), classify.getMaskMod(), classify);
          Value next = tensor::InsertOp::create(b, at, classify, carried[0],
                                                ValueRange{index(0), index(0), index(0), keyTileIndex});
          scf::YieldOp::create(b, at, next);
        });
    b.setInsertionPointToStart(forall.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(b, loc, loop.getResult(0), forall.getRegionIterArgs()[0], origin, extent,
                                          unit);
  }
  blockMap = forall.getResult(0);
}

State TileBuilder::createStep(Value firstKey, OpFoldResult count, bool isPartial, ValueRange state) {
  offsets[keyPos] = firstKey;
  sizes[keyPos] = count;
  SmallVector<AffineMap> stepMaps = {getTileMap({headPos, queryPos}), maps[1], maps[2]};
  Value key = loadRows(step.getKey(), stepMaps[1], headPos), value = loadRows(step.getValue(), stepMaps[2], valuePos);
  if (usesPairs) {
    value = packPairs(value, getRowMap(stepMaps[2], valuePos), keyPos, valuePos);
    stepMaps[0] = getPairMap(domainSizes.size(), headPos, queryPos);
    stepMaps[2] = getPairMap(domainSizes.size(), keyPos, valuePos);
  }
  unsigned next = 3;
  // Dense operands become lanes as well; one without a query dimension is the same for all lanes.
  auto addDense = [&](Value operand) -> Value {
    if (!operand)
      return {};
    AffineMap map = maps[next++];
    if (!map.isFunctionOfDim(queryPos)) {
      stepMaps.push_back(map);
      return createSlice(b, loc, operand, getSlice(map));
    }
    // Bias and mask have (query, key) where Q has (query, head).
    stepMaps.push_back(getTileMap({keyPos, queryPos}));
    return pack(operand, map, {queryPos, keyPos}, {keyPos, queryPos});
  };
  Value bias = isDense ? addDense(step.getBias()) : Value(), mask = isDense ? addDense(step.getMask()) : Value();
  stepMaps.append({getTileMap({valuePos, queryPos}), getTileMap({queryPos}), getTileMap({queryPos})});
  auto tiled = OnlineStepOp::create(b, loc, state.getTypes(), packedQuery, key, value, bias, mask, state[0], state[1],
                                    state[2], /*cu_seqlens_q=*/Value(), /*cu_seqlens_k=*/Value(), step.getScoreWeight(),
                                    step.getScaleValue(), step.getScaleAttr(), step.getSoftcapAttr(),
                                    b.getAffineMapArrayAttr(stepMaps), /*block_map=*/UnitAttr(), schedule);
  if (isPartial)
    cloneRegion(step.getMaskMod(), tiled.getMaskMod(), tiled);
  cloneRegion(step.getScoreMod(), tiled.getScoreMod(), tiled);
  cloneRegion(step.getWeightMod(), tiled.getWeightMod(), tiled);
  return State(tiled->getResults());
}
