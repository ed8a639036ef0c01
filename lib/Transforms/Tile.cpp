//===- Tile.cpp - attn-tile -----------------------------------------------===//
//
// Before: init_state, online_step over all keys, finalize, with a schedule.
// After: one scf.forall over batch dimensions and query tiles; in it Q packed
// with rows as lanes, the state of one tile, loops over key tiles that carry
// it, and finalize into the tile's slice of the outputs. Which keys are
// visited, and where the predicate is needed, comes from #attn.key_ranges.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Analysis/KeyRanges.h"
#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"

namespace attn {
#define GEN_PASS_DEF_TILEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

using State = SmallVector<Value>;

/// Builds the body of the parallel loop for one online_step.
class TileBuilder {
public:
  TileBuilder(OpBuilder &builder, OnlineStepOp step)
      : b(builder), loc(step.getLoc()), step(step), schedule(*step.getSchedule()), maps(getMaps(step)),
        domain(getStaticDomain(step)), numBatch(getNumBatchDims(step)), queryPos(numBatch), keyPos(numBatch + 1),
        headPos(numBatch + 2), valuePos(numBatch + 3), hasPredicate(!step.getMaskMod().empty()),
        isDense(step.getBias() || step.getMask()) {}

  /// The tile of queries [first, first + rows) at the batch indices `batch`.
  void setTile(ValueRange batch, OpFoldResult first, OpFoldResult rows, Value end) {
    offsets.assign(batch.begin(), batch.end());
    sizes.assign(numBatch, b.getIndexAttr(1));
    offsets.append({first, b.getIndexAttr(0), b.getIndexAttr(0), b.getIndexAttr(0)});
    sizes.append(
        {rows, b.getIndexAttr(domain[keyPos]), b.getIndexAttr(domain[headPos]), b.getIndexAttr(domain[valuePos])});
    firstQuery = getValueOrCreateConstantIndexOp(b, loc, first);
    endQuery = end;
  }

  /// Q of the tile as (batch…, head, query), rows beyond the last one zero.
  void packQuery() { packedQuery = pack(step.getQuery(), maps[0], {queryPos, headPos}, {headPos, queryPos}); }

  /// The empty state of the tile: acc (batch…, value, query), max and sum (batch…, query).
  State initState() {
    Type type = getElementTypeOrSelf(step.getAcc().getType());
    Value acc = emptyTile({valuePos, queryPos}, type), max = emptyTile({queryPos}, type),
          sum = emptyTile({queryPos}, type);
    auto init = InitStateOp::create(b, loc, TypeRange{acc.getType(), max.getType(), sum.getType()}, acc, max, sum,
                                    b.getAffineMapArrayAttr(getTileStateMaps()));
    return State(init.getResults());
  }

  /// Folds every key that the tile visits into `state`.
  State foldKeys(State state) {
    int64_t numKeys = domain[keyPos], keyTile = schedule.getKeyTile(), wholeTiles = numKeys / keyTile * keyTile;
    KeyRangesAttr ranges = getRanges();
    bool startsPartial = ranges.getFullLower().getNumResults() > 0, isPartial = isDense || hasPredicate;
    bool neverFull = isNeverFull(ranges), endsPartial = isPartial && ranges.getFullUpper().getNumResults() > 0;

    // In multiples of the key tile: [visitedLower, fullLower) partial, [fullLower, fullUpper) full, [fullUpper,
    // visitedUpper) partial again, each bound clamped to the keys that fill whole tiles.
    AffineExpr tile = getAffineConstantExpr(keyTile, b.getContext());
    auto down = [&](AffineExpr expr) { return expr.floorDiv(tile) * tile; };
    auto up = [&](AffineExpr expr) { return expr.ceilDiv(tile) * tile; };
    Value visitedLower = max(0, ranges.getVisitedLower(), down);
    Value visitedUpper = min(wholeTiles, ranges.getVisitedUpper(), up);
    if (!isPartial) {
      state = createLoop(visitedLower, visitedUpper, keyTile, keyTile, /*isPartial=*/false, state);
    } else if (neverFull) {
      state = createLoop(visitedLower, visitedUpper, keyTile, keyTile, /*isPartial=*/true, state);
    } else {
      Value fullLower = visitedLower;
      if (startsPartial) {
        fullLower = arith::MaxSIOp::create(b, loc, visitedLower, max(0, ranges.getFullLower(), up));
        Value upper = arith::MinSIOp::create(b, loc, fullLower, visitedUpper);
        state = createLoop(visitedLower, upper, keyTile, keyTile, /*isPartial=*/true, state);
      }
      Value fullUpper = min(wholeTiles, ranges.getFullUpper(), down);
      state = createLoop(fullLower, fullUpper, keyTile, keyTile, /*isPartial=*/false, state);
      if (endsPartial) {
        Value lower = arith::MaxSIOp::create(b, loc, fullLower, fullUpper);
        state = createLoop(lower, visitedUpper, keyTile, keyTile, /*isPartial=*/true, state);
      }
    }
    // The keys that fill no tile: one step of a smaller size, if the tile of queries sees any of them.
    if (wholeTiles == numKeys)
      return state;
    Value lower = arith::ConstantIndexOp::create(b, loc, wholeTiles);
    Value upper = min(numKeys, ranges.getVisitedUpper(), [](AffineExpr expr) { return expr; });
    return createLoop(lower, upper, keyTile, numKeys - wholeTiles, isPartial, state);
  }

  SmallVector<AffineMap> getTileStateMaps() {
    SmallVector<unsigned> kept = getPositions({queryPos, valuePos});
    AffineMap acc =
        AffineMap::getMultiDimMapWithTargets(domain.size(), getPositions({valuePos, queryPos}), b.getContext());
    AffineMap row = AffineMap::getMultiDimMapWithTargets(domain.size(), getPositions({queryPos}), b.getContext());
    return {restrictDomain(acc, kept), restrictDomain(row, kept), restrictDomain(row, kept)};
  }

private:
  KeyRangesAttr getRanges() {
    if (auto ranges = step.getKeyRanges())
      return *ranges;
    SmallVector<Conjunct> conjuncts = analyzePredicate(step.getMaskMod(), domain[queryPos], domain[keyPos]);
    return ::getKeyRanges(b.getContext(), conjuncts, isDense);
  }

  static bool isNeverFull(KeyRangesAttr ranges) {
    AffineMap upper = ranges.getFullUpper();
    return upper.isSingleConstant() && upper.getSingleConstantResult() == 0;
  }

  /// Positions of the batch dimensions, then of `named`.
  SmallVector<unsigned> getPositions(ArrayRef<unsigned> named) {
    SmallVector<unsigned> positions = llvm::to_vector(llvm::seq<unsigned>(0, numBatch));
    positions.append(named.begin(), named.end());
    return positions;
  }

  /// A tile-sized tensor: 1 for each batch dimension, the schedule's query tile, `keyCount` keys, whole heads.
  Value emptyTile(ArrayRef<unsigned> dims, Type type, int64_t keyCount = 0) {
    SmallVector<int64_t> shape(numBatch, 1);
    for (unsigned dim : dims)
      shape.push_back(dim == queryPos ? schedule.getQueryTile() : dim == keyPos ? keyCount : domain[dim]);
    return tensor::EmptyOp::create(b, loc, shape, type);
  }

  /// The slice of `operand` under the current tile, transposed from the dimensions `from` to `to` with padded rows.
  Value pack(Value operand, AffineMap map, ArrayRef<unsigned> from, ArrayRef<unsigned> to, int64_t keyCount = 0) {
    Value slice = createSlice(b, loc, operand, getOperandSlice(b, loc, map, offsets, sizes));
    Type type = getElementTypeOrSelf(operand.getType());
    // A boolean becomes a byte: vectors of i1 have no memory form.
    if (type.isInteger(1))
      type = b.getI8Type();
    Value tile = emptyTile(to, type, keyCount);
    SmallVector<unsigned> kept = getPositions(from);
    AffineMap toMap = AffineMap::getMultiDimMapWithTargets(domain.size(), getPositions(to), b.getContext());
    auto packed = PackOp::create(b, loc, tile.getType(), slice, tile,
                                 b.getAffineMapArrayAttr({restrictDomain(map, kept), restrictDomain(toMap, kept)}));
    return packed->getResult(0);
  }

  /// max(start, results of the map …) at the current tile, each result rounded by `round`; min likewise.
  Value max(int64_t start, AffineMap map, function_ref<AffineExpr(AffineExpr)> round) {
    return b.createOrFold<affine::AffineMaxOp>(loc, clamp(start, map, round), ValueRange{firstQuery, endQuery});
  }
  Value min(int64_t start, AffineMap map, function_ref<AffineExpr(AffineExpr)> round) {
    return b.createOrFold<affine::AffineMinOp>(loc, clamp(start, map, round), ValueRange{firstQuery, endQuery});
  }
  AffineMap clamp(int64_t start, AffineMap map, function_ref<AffineExpr(AffineExpr)> round) {
    SmallVector<AffineExpr> exprs = {getAffineConstantExpr(start, b.getContext())};
    for (AffineExpr expr : map.getResults())
      exprs.push_back(round(expr));
    return AffineMap::get(2, 0, exprs, b.getContext());
  }

  /// for j = lower to upper step `stride`: state = online_step on keys [j, j + count).
  State createLoop(Value lower, Value upper, int64_t stride, int64_t count, bool isPartial, State state) {
    if (count == 0)
      return state;
    Value strideValue = arith::ConstantIndexOp::create(b, loc, stride);
    auto loop = scf::ForOp::create(b, loc, lower, upper, strideValue, state,
                                   [&](OpBuilder &, Location, Value key, ValueRange carried) {
                                     State next = createStep(key, count, isPartial, carried);
                                     scf::YieldOp::create(b, loc, next);
                                   });
    return State(loop.getResults());
  }

  State createStep(Value firstKey, int64_t count, bool isPartial, ValueRange state) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(firstKey.getParentBlock());
    offsets[keyPos] = firstKey;
    sizes[keyPos] = b.getIndexAttr(count);
    auto slice = [&](Value operand, AffineMap map) {
      return createSlice(b, loc, operand, getOperandSlice(b, loc, map, offsets, sizes));
    };
    SmallVector<AffineMap> stepMaps = {
        AffineMap::getMultiDimMapWithTargets(domain.size(), getPositions({headPos, queryPos}), b.getContext()), maps[1],
        maps[2]};
    unsigned next = 3;
    // Dense operands become lanes as well; one without a query dimension is the same for all lanes.
    auto addDense = [&](Value operand) -> Value {
      if (!operand)
        return {};
      AffineMap map = maps[next++];
      if (!map.isFunctionOfDim(queryPos)) {
        stepMaps.push_back(map);
        return slice(operand, map);
      }
      // Bias and mask have (query, key) where Q has (query, head).
      SmallVector<unsigned> to = getPositions({keyPos, queryPos});
      stepMaps.push_back(AffineMap::getMultiDimMapWithTargets(domain.size(), to, b.getContext()));
      return pack(operand, map, {queryPos, keyPos}, {keyPos, queryPos}, count);
    };
    Value key = slice(step.getKey(), maps[1]), value = slice(step.getValue(), maps[2]);
    Value bias = isPartial ? addDense(step.getBias()) : Value(), mask = isPartial ? addDense(step.getMask()) : Value();
    SmallVector<unsigned> accDims = getPositions({valuePos, queryPos}), rowDims = getPositions({queryPos});
    stepMaps.push_back(AffineMap::getMultiDimMapWithTargets(domain.size(), accDims, b.getContext()));
    for (int i = 0; i < 2; ++i)
      stepMaps.push_back(AffineMap::getMultiDimMapWithTargets(domain.size(), rowDims, b.getContext()));
    auto tiled = OnlineStepOp::create(b, loc, state.getTypes(), packedQuery, key, value, bias, mask, state[0], state[1],
                                      state[2], step.getScaleValue(), step.getScaleAttr(), step.getSoftcapAttr(),
                                      b.getAffineMapArrayAttr(stepMaps), KeyRangesAttr(), schedule);
    if (isPartial && hasPredicate) {
      IRMapping mapping;
      step.getMaskMod().cloneInto(&tiled.getMaskMod(), mapping);
      shiftIndex(b, tiled.getMaskMod(), offsets, numBatch);
    }
    return State(tiled->getResults());
  }

  OpBuilder &b;
  Location loc;
  OnlineStepOp step;
  ScheduleAttr schedule;
  SmallVector<AffineMap> maps;
  SmallVector<int64_t> domain;
  unsigned numBatch, queryPos, keyPos, headPos, valuePos;
  bool hasPredicate, isDense;
  SmallVector<OpFoldResult> offsets, sizes;
  Value firstQuery, endQuery, packedQuery;
};

/// Query tiles that the remark counts one by one, at most.
constexpr int64_t kMaxCountedTiles = 1 << 20;

/// full, partial and skipped tiles of one head, for the remark.
void emitTileCounts(OnlineStepOp step, KeyRangesAttr ranges, int64_t numQueries, int64_t numKeys) {
  int64_t queryTile = step.getSchedule()->getQueryTile(), keyTile = step.getSchedule()->getKeyTile();
  int64_t numKeyTiles = llvm::divideCeil(numKeys, keyTile), full = 0, partial = 0, skipped = 0;
  std::string counts;
  if (numQueries / queryTile < kMaxCountedTiles) {
    for (int64_t first = 0; first < numQueries; first += queryTile) {
      KeyBounds bounds = evaluateKeyRanges(ranges, first, std::min(first + queryTile, numQueries), numKeys);
      // In key tiles, the last of which may be short: visited [lower, upper), of these full [fullLower, fullUpper).
      int64_t lower = bounds.visitedLower / keyTile, upper = llvm::divideCeil(bounds.visitedUpper, keyTile);
      int64_t fullLower = std::max<int64_t>(lower, llvm::divideCeil(bounds.fullLower, keyTile));
      int64_t fullUpper = std::min(upper, bounds.fullUpper >= numKeys ? numKeyTiles : bounds.fullUpper / keyTile);
      int64_t visited = bounds.visitedLower < bounds.visitedUpper ? upper - lower : 0;
      int64_t whole = std::min(visited, std::max<int64_t>(0, fullUpper - fullLower));
      full += whole;
      partial += visited - whole;
      skipped += numKeyTiles - visited;
    }
    counts = llvm::formatv(": {0} full, {1} partial, {2} skipped a head", full, partial, skipped).str();
  }
  emitRemark(step, RemarkOutcome::Passed, "tiled")
      << llvm::formatv("flash loop over tiles of {0} queries and {1} keys{2}", queryTile, keyTile, counts).str();
}

} // namespace

LogicalResult attn::tileOnlineForm(RewriterBase &rewriter, FinalizeOp finalize) {
  auto step = finalize.getAcc().getDefiningOp<OnlineStepOp>();
  if (!step)
    return finalize.emitOpError("expected the state of an attn.online_step; run attn-convert-to-online");
  if (!step.getSchedule())
    return step.emitOpError("expected a schedule; run attn-select-schedule or write schedule = #attn.schedule<…>");
  if (!step.getAcc().getDefiningOp<InitStateOp>())
    return step.emitOpError("expected the state of attn.init_state, found another one: it cannot be tiled by query "
                            "rows alone");
  SmallVector<int64_t> domain = getStaticDomain(step);
  if (llvm::any_of(domain, ShapedType::isDynamic))
    return step.emitOpError("expected static sizes, found dynamic ones");

  Location loc = finalize.getLoc();
  rewriter.setInsertionPoint(finalize);
  unsigned numBatch = getNumBatchDims(step);
  int64_t numQueries = domain[numBatch], queryTile = step.getSchedule()->getQueryTile();
  SmallVector<OpFoldResult> bounds;
  for (unsigned i = 0; i < numBatch; ++i)
    bounds.push_back(rewriter.getIndexAttr(domain[i]));
  bounds.push_back(rewriter.getIndexAttr(llvm::divideCeil(numQueries, queryTile)));

  SmallVector<Value> inits(cast<DestinationStyleOpInterface>(finalize.getOperation()).getDpsInits());
  if (step.getKeyRanges())
    emitTileCounts(step, *step.getKeyRanges(), numQueries, domain[numBatch + 1]);

  auto forall = scf::ForallOp::create(rewriter, loc, bounds, inits, std::nullopt);
  rewriter.setInsertionPointToStart(forall.getBody());
  SmallVector<Value> ivVector = forall.getInductionVars();
  ValueRange ivs = ivVector;
  AffineExpr tileIndex = rewriter.getAffineDimExpr(0);
  Value first = affine::makeComposedAffineApply(rewriter, loc, tileIndex * queryTile, {OpFoldResult(ivs.back())});
  OpFoldResult rows = rewriter.getIndexAttr(queryTile);
  if (numQueries % queryTile != 0)
    rows = affine::makeComposedFoldedAffineMin(
        rewriter, loc,
        AffineMap::get(1, 0, {rewriter.getAffineConstantExpr(queryTile), -tileIndex + numQueries},
                       rewriter.getContext()),
        {first});
  Value end = arith::AddIOp::create(rewriter, loc, first, getValueOrCreateConstantIndexOp(rewriter, loc, rows));

  TileBuilder tile(rewriter, step);
  tile.setTile(ivs.drop_back(), first, rows, end);
  tile.packQuery();
  State state = tile.foldKeys(tile.initState());

  // finalize into the tile's slices of the outputs, and those back into the whole.
  SmallVector<OpFoldResult> offsets(ivs.drop_back().begin(), ivs.drop_back().end());
  SmallVector<OpFoldResult> sizes(numBatch, rewriter.getIndexAttr(1));
  offsets.append({first, rewriter.getIndexAttr(0)});
  sizes.append({rows, rewriter.getIndexAttr(domain[numBatch + 3])});
  SmallVector<AffineMap> maps = getMaps(finalize), tileMaps = tile.getTileStateMaps();
  SmallVector<Slice> slices;
  SmallVector<Value> outputs;
  for (auto [i, argument] : llvm::enumerate(forall.getRegionIterArgs())) {
    tileMaps.push_back(maps[3 + i]);
    slices.push_back(getOperandSlice(rewriter, loc, maps[3 + i], offsets, sizes));
    outputs.push_back(createSlice(rewriter, loc, argument, slices.back()));
  }
  auto tiled =
      FinalizeOp::create(rewriter, loc, ValueRange(outputs).getTypes(), state[0], state[1], state[2], outputs[0],
                         outputs.size() > 1 ? outputs[1] : Value(), rewriter.getAffineMapArrayAttr(tileMaps));
  rewriter.setInsertionPointToStart(forall.getTerminator().getBody());
  for (auto [result, argument, slice] : llvm::zip(tiled->getResults(), forall.getRegionIterArgs(), slices))
    tensor::ParallelInsertSliceOp::create(rewriter, loc, result, argument, slice.offsets, slice.sizes, slice.strides);

  rewriter.replaceOp(finalize, forall.getResults());
  auto init = step.getAcc().getDefiningOp<InitStateOp>();
  if (step->use_empty())
    rewriter.eraseOp(step);
  if (init->use_empty())
    rewriter.eraseOp(init);
  return success();
}

/// True for what this pass has made already: it lies in a parallel loop, or, where one tile is all and the loops have
/// folded away, its queries are packed. A tile without keys has no queries; that its function was here is noted on it.
static bool isTiled(FinalizeOp finalize) {
  if (finalize->getParentOfType<scf::ForallOp>())
    return true;
  Value state = finalize.getAcc();
  while (auto loop = state.getDefiningOp<scf::ForOp>())
    state = loop.getYieldedValues()[cast<OpResult>(state).getResultNumber()];
  if (auto step = state.getDefiningOp<OnlineStepOp>())
    return step.getQuery().getDefiningOp<PackOp>();
  return state.getDefiningOp<InitStateOp>() && finalize->getParentOfType<FunctionOpInterface>()->hasAttr(kPathAttr);
}

namespace {
struct TilePass : public attn::impl::TilePassBase<TilePass> {
  void runOnOperation() override {
    SmallVector<FinalizeOp> ops;
    getOperation().walk([&](FinalizeOp op) {
      if (op->getNumResults() > 0 && !isTiled(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (FinalizeOp op : ops)
      if (failed(tileOnlineForm(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
