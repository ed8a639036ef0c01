//===- KeyLoops.cpp - which keys a tile of queries visits -----------------===//
//
// It comes from key_ranges alone: partial tiles, which evaluate the predicate,
// up to the first key that all rows keep; full tiles, which do not; partial ones
// again. No key outside of the visited range is read. Where ranges cannot say
// it, a block map asked for each tile does.
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

using State = TileBuilder::State;

/// Kinds of attn.classify_tile.
static constexpr int64_t kEmptyTile = 0, kFullTile = 2;

Value TileBuilder::evaluateIndex(IndexOp op) {
  switch (op.getKind()) {
  case IndexKind::FirstQuery: return firstQuery;
  case IndexKind::EndQuery: return endQuery;
  case IndexKind::Batch: return toValue(offsets[0]);
  case IndexKind::Head: return toValue(offsets[numBatch - 1]);
  case IndexKind::KvHead: return affine::makeComposedAffineApply(b, loc, getKvHeadMap(step), {offsets[numBatch - 1]});
  case IndexKind::Query:
  case IndexKind::Key:
  case IndexKind::FirstKey:
  case IndexKind::EndKey: break;
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
    buildRanges(b, loc, step.getMaskMod(), RangeAxis::Keys,
                getConstantIntValue(domainSizes[queryPos]).value_or(ShapedType::kDynamic),
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
  if (isGpu && getPackedSequences(step))
    upper = arith::SelectOp::create(
        b, loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, firstQuery, endQuery), upper, lower);
  if (splitLower) {
    lower = max(lower, splitLower);
    upper = min(upper, splitUpper);
  }
  if (blockMap)
    return createMappedTiles(lower, upper, state);
  // A tile of a page lies in that page alone.
  bool isAligned = needsAlignedTiles();
  AffineExpr dim = b.getAffineDimExpr(0);
  if (isAligned && !isConstant(lower, 0))
    lower = affine::makeComposedAffineApply(b, loc, dim.floorDiv(keyTile) * keyTile, {OpFoldResult(lower)});
  if (neverFull)
    return createTiles(lower, upper, /*isPartial=*/true, state);
  if (startsPartial) {
    if (isAligned)
      fullLower = affine::makeComposedAffineApply(b, loc, dim.ceilDiv(keyTile) * keyTile, {OpFoldResult(fullLower)});
    fullLower = min(max(fullLower, lower), max(lower, upper));
    state = createTiles(lower, fullLower, /*isPartial=*/true, state);
    lower = fullLower;
  }
  Value end;
  if (!endsPartial && foldsManyTiles()) {
    std::optional<int64_t> first = getConstantIntValue(lower), last = getConstantIntValue(upper);
    if (!first || !last)
      return createStep(lower, getLength(lower, upper), /*isPartial=*/false, state);
    return *last > *first ? createStep(lower, b.getIndexAttr(*last - *first), /*isPartial=*/false, state) : state;
  }
  state = createWholeTiles(lower, endsPartial ? min(fullUpper, upper) : upper, /*isPartial=*/false, state, end);
  return createTiles(end, upper, endsPartial, state);
}

/// Decode kernels of a CPU take rows of K and V that lie one behind the other tile by tile themselves.
bool TileBuilder::foldsManyTiles() {
  auto isInRows = [](Value operand) { return !operand.getDefiningOp<GatherPagesOp>(); };
  return isDecode && !isGpu && schedule.getKvHeads() == 1 && !isDense && isInRows(step.getKey()) &&
         isInRows(step.getValue()) && !asksForKeys(step);
}

bool TileBuilder::needsAlignedTiles() {
  return liesInPages(step.getKey(), maps[1]) || liesInPages(step.getValue(), maps[2]);
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

Value TileBuilder::getLength(Value lower, Value upper) {
  return b.createOrFold<arith::MaxSIOp>(loc, b.createOrFold<arith::SubIOp>(loc, upper, lower), index(0));
}

/// Whole tiles from `lower` on; `end` is where they end.
State TileBuilder::createWholeTiles(Value lower, Value upper, bool isPartial, State state, Value &end) {
  std::optional<int64_t> first = getConstantIntValue(lower), last = getConstantIntValue(upper);
  OpFoldResult whole;
  if (first && last) {
    int64_t length = std::max<int64_t>(*last - *first, 0) / keyTile * keyTile;
    end = index(*first + length);
    if (length == 0)
      return state;
    whole = b.getIndexAttr(length);
  } else {
    Value length = getLength(lower, upper);
    AffineExpr count = b.getAffineDimExpr(0);
    whole =
        affine::makeComposedAffineApply(b, loc, count.floorDiv(keyTile) * keyTile, {OpFoldResult(length)}).getResult();
    end = add(lower, toValue(whole));
  }
  if (foldsManyTiles())
    return createStep(lower, whole, isPartial, state);
  return createLoop(lower, end, state, [&](Value key, State carried) {
    return createStep(key, b.getIndexAttr(keyTile), isPartial, carried);
  });
}

/// Tiles from `lower` to `upper`, the last one as short as need be.
State TileBuilder::createTiles(Value lower, Value upper, bool isPartial, State state) {
  std::optional<int64_t> first = getConstantIntValue(lower), last = getConstantIntValue(upper);
  if ((!first || !last) && isPartial && schedule.getInfo().keyMultiple > 1) {
    Value end; // the instruction multiplies whole key tiles
    state = createWholeTiles(lower, upper, isPartial, state, end);
    lower = end;
  }
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
  // Without keys there is nothing to map; the few rows of a decode tile evaluate their predicate once anyway.
  if (isDecode || !step.getBlockMap() || !hasPredicate || isConstantIntValue(domainSizes[keyPos], 0))
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
          auto classify =
              ClassifyTileOp::create(b, at, b.getI8Type(), toValue(rows), count, queryTile, schedule.getLanes());
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
