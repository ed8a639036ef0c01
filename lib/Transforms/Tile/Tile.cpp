//===- Tile.cpp - attn-tile -----------------------------------------------===//
//
// Before: init_state, online_step over all keys, finalize, with a schedule. After: one scf.forall over batch dimensions
// and query tiles. Its body packs Q with rows as lanes, initialises the state of one tile, carries it through loops
// over key tiles, and finalizes it into the tile's slice of the outputs. TileBuilder builds the body; TileDecode.cpp
// builds the loops of few query rows.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {
#define GEN_PASS_DEF_TILEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Most query tiles that the remark counts one by one.
static constexpr int64_t kMaxCountedTiles = 1 << 14;

/// Most rows of K in a block of a tile of few query rows: padding a block is wasted work.
static constexpr int64_t kMaxBlockRows = 8;
/// A query tile with at most this share of its rows is split into vectors of rows.
static constexpr int64_t kFewRowsShare = 2;

/// Returns the state of a tile that has accumulated its keys.
using FoldFn = llvm::function_ref<TileState(const TileShape &, const TilePosition &)>;

/// Full, partial and skipped tiles of one head on the grid of query and key tiles, by the key ranges.
static std::string countTiles(OnlineStepOp step, int64_t numQueries, int64_t numKeys) {
  int64_t queryTile = step.getSchedule()->getQueryTile(), keyTile = step.getSchedule()->getKeyTile();
  if (step.getBlockMap())
    return "; a block map, made at run time, says which are visited";
  if (ShapedType::isDynamic(numQueries) || ShapedType::isDynamic(numKeys))
    return "; how many are visited depends on the sizes at run time";
  if (numQueries / queryTile >= kMaxCountedTiles || step.getKeyRanges().empty())
    return "";
  int64_t numKeyTiles = llvm::divideCeil(numKeys, keyTile), full = 0, partial = 0, skipped = 0;
  for (int64_t first = 0; first < numQueries; first += queryTile) {
    std::optional<RangeBounds> bounds =
        evaluateRanges(step.getKeyRanges(), first, std::min(first + queryTile, numQueries), numKeys);
    if (!bounds)
      return "; how many are visited depends on run-time values";
    // In key tiles, the last of which may be short: visited [lower, upper), of these full [fullLower, fullUpper).
    int64_t lower = bounds->visitedLower / keyTile, upper = llvm::divideCeil(bounds->visitedUpper, keyTile);
    int64_t fullLower = std::max<int64_t>(lower, llvm::divideCeil(bounds->fullLower, keyTile));
    int64_t fullUpper = std::min(upper, bounds->fullUpper >= numKeys ? numKeyTiles : bounds->fullUpper / keyTile);
    int64_t visited = bounds->visitedLower < bounds->visitedUpper ? upper - lower : 0;
    int64_t whole = std::min(visited, std::max<int64_t>(0, fullUpper - fullLower));
    full += whole;
    partial += visited - whole;
    skipped += numKeyTiles - visited;
  }
  return llvm::formatv(": {0} full, {1} partial, {2} skipped per head", full, partial, skipped).str();
}

/// True where the end of the visited keys depends on the query tile.
static bool visitsMoreKeysLater(OnlineStepOp step) {
  if (step.getKeyRanges().empty())
    return false;
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  Value upper = cast<YieldOp>(step.getKeyRanges().front().getTerminator()).getValues()[1];
  (void)getBackwardSlice(upper, &slice, options);
  return llvm::any_of(slice, [](Operation *op) {
    auto index = dyn_cast<IndexOp>(op);
    return index && (index.getKind() == IndexKind::FirstQuery || index.getKind() == IndexKind::EndQuery);
  });
}

/// A tile of one vector of rows. A query tile of few rows is split into these, so that little of it is padding. None
/// where the number of rows is static, there are always more keys than a key tile, or only a region knows the number of
/// keys of a sequence.
static std::optional<TileShape> getFewRows(const TileShape &s) {
  auto prefill = dyn_cast<PrefillAttr>(s.schedule);
  std::optional<int64_t> queries, keys; // of all rows, for packed sequences
  if (!getPackedSequences(s.step)) {
    queries = getConstantIntValue(s.domainSizes[s.queryPos()]);
    keys = getConstantIntValue(s.domainSizes[s.keyPos()]);
  }
  bool hasLengths = getPackedSequences(s.step) && !hasPackedKeys(s.step);
  if (!prefill || queries || hasLengths || keys.value_or(0) > getKeyTile(s) ||
      kFewRowsShare * prefill.getLanes() > getQueryTile(s))
    return std::nullopt;
  TileShape few = s;
  int64_t lanes = prefill.getLanes(), accumulators = prefill.getBlockRows() * prefill.getBlockVectors();
  // Rows further ahead would be prefetched too early: all heads of the sequences in between are visited before them.
  int64_t prefetch = s.step.getCuSeqlensK() ? std::min(prefill.getPrefetch(), lanes) : prefill.getPrefetch();
  // As many keys as rows: the prefetches of a step are spread over the keys of its tile.
  int64_t fewKeys = llvm::alignTo(lanes, prefill.getInfo().keyMultiple);
  int64_t keyTile = getKeyTile(s) % fewKeys == 0 ? fewKeys : getKeyTile(s);
  few.schedule = PrefillAttr::get(s.step.getContext(), lanes, keyTile, lanes, std::min(accumulators, kMaxBlockRows),
                                  /*blockVectors=*/1, prefill.getInstruction(), prefetch, /*overlap=*/false,
                                  prefill.getPackFirst(), prefill.getParts());
  few.hasFewKeys = true;
  return few;
}

/// Consecutive tiles of `few` rows of the tile at `at`; returns the new values of `outputs`, its slices.
static SmallVector<Value> createTilesOfFewRows(OpBuilder &b, const TileShape &few, const TilePosition &at,
                                               FinalizeOp finalize, ValueRange outputs, FoldFn fold) {
  Location loc = finalize.getLoc();
  Value rows = toValue(b, loc, at.rows);
  return createLoop(
      b, loc, index(b, loc, 0), rows, getQueryTile(few), TileState(outputs), [&](Value row, TileState carried) {
        TilePosition part = at;
        Value count =
            arith::MinSIOp::create(b, loc, index(b, loc, getQueryTile(few)), arith::SubIOp::create(b, loc, rows, row));
        part.firstQuery = add(b, loc, at.firstQuery, row);
        part.endQuery = add(b, loc, part.firstQuery, count);
        part.rows = part.sizes[few.queryPos()] = count;
        part.offsets[few.queryPos()] = part.firstQuery;
        TilePosition inTile = part;
        inTile.queryStart = Value();
        llvm::fill(inTile.offsets, OpFoldResult(b.getIndexAttr(0)));
        inTile.offsets[few.queryPos()] = row;
        OutputSlices sliced = sliceOutputs(b, few, inTile, finalize, carried);
        SmallVector<Value> results = finalizeTile(b, few, finalize, fold(few, part), sliced);
        for (auto [result, output, slice] : llvm::zip_equal(results, carried, sliced.slices))
          output = tensor::InsertSliceOp::create(b, loc, result, output, slice.offsets, slice.sizes, slice.strides);
        return carried;
      });
}

/// True where the tile has few rows, and its sequence few keys.
static Value isShort(OpBuilder &b, const TileShape &s, const TilePosition &at) {
  Location loc = s.step.getLoc();
  Value keys = toValue(b, loc, s.domainSizes[s.keyPos()]);
  if (Value sequences = s.step.getCuSeqlensK())
    keys = getSequenceLength(b, loc, sequences, toValue(b, loc, at.offsets[0]));
  auto isAtMost = [&](Value value, int64_t most) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, value, index(b, loc, most));
  };
  return arith::AndIOp::create(b, loc, isAtMost(toValue(b, loc, at.rows), getQueryTile(s) / kFewRowsShare),
                               isAtMost(keys, getKeyTile(s)));
}

/// One forall over batch dimensions and query tiles; returns the replacements of the results of finalize.
static SmallVector<Value> createPrefillTiles(RewriterBase &rewriter, FinalizeOp finalize, OnlineStepOp step,
                                             InitStateOp init) {
  Location loc = finalize.getLoc();
  TileShape shape(rewriter, step);
  BlockMap blockMap = createBlockMap(rewriter, shape);
  shape.packed = packFirst(rewriter, shape);
  SmallVector<OpFoldResult> bounds(ArrayRef(shape.domainSizes).take_front(shape.numBatch));
  Value sequences = isGpu(shape) ? step.getCuSeqlensQ() : Value();
  if (sequences) {
    bounds.erase(bounds.begin());
    bounds.push_back(countPackedTiles(rewriter, loc, shape.domainSizes[shape.queryPos()], shape.domainSizes[0],
                                      getQueryTile(shape)));
  } else {
    bounds.push_back(getNumQueryTiles(rewriter, shape));
  }
  SmallVector<Value> inits(cast<DestinationStyleOpInterface>(finalize.getOperation()).getDpsInits());
  auto forall = createParallelTiles(rewriter, loc, bounds, inits, shape.schedule);
  rewriter.setInsertionPointToStart(forall.getBody());
  SmallVector<Value> ivs = forall.getInductionVars();
  // The tiles with the most keys come first, so that short ones at the end balance the threads.
  Value tileIndex = ivs.back();
  if (visitsMoreKeysLater(step)) {
    AffineExpr index, count;
    bindDims(rewriter.getContext(), index);
    bindSymbols(rewriter.getContext(), count);
    tileIndex = affine::makeComposedAffineApply(rewriter, loc, AffineMap::get(1, 1, count - 1 - index),
                                                {OpFoldResult(tileIndex), bounds.back()});
  }
  ivs.pop_back();
  if (sequences) {
    PackedTile found = findPackedTile(rewriter, loc, sequences, shape.domainSizes[0], tileIndex, getQueryTile(shape));
    ivs.insert(ivs.begin(), found.sequence);
    tileIndex = found.tile;
  }
  TilePosition at = getPrefillTile(rewriter, shape, ivs, tileIndex);
  auto fold = [&](const TileShape &s, const TilePosition &tile) {
    SmallVector<Value> query = packQuery(rewriter, s, tile);
    return foldKeys(rewriter, s, tile, blockMap, query, initState(rewriter, s, tile, init));
  };
  auto insert = [&](Value value, Value output, const Slice &slice) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(forall.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(rewriter, loc, value, output, slice.offsets, slice.sizes, slice.strides);
  };
  std::optional<TileShape> few = getFewRows(shape);
  if (!few) {
    createFinalize(rewriter, shape, at, finalize, fold(shape, at), forall.getRegionIterArgs(), insert);
    return SmallVector<Value>(forall.getResults());
  }
  OutputSlices outputs = sliceOutputs(rewriter, shape, at, finalize, forall.getRegionIterArgs());
  TileState results = createBranch(
      rewriter, loc, isShort(rewriter, shape, at),
      [&] { return createTilesOfFewRows(rewriter, *few, at, finalize, outputs.parts, fold); },
      [&] { return finalizeTile(rewriter, shape, finalize, fold(shape, at), outputs); });
  for (auto [value, output, slice] : llvm::zip_equal(results, forall.getRegionIterArgs(), outputs.slices))
    insert(value, output, slice);
  return SmallVector<Value>(forall.getResults());
}

FailureOr<SmallVector<Value>> attn::tileOnlineForm(RewriterBase &rewriter, FinalizeOp finalize) {
  auto step = finalize.getAcc().getDefiningOp<OnlineStepOp>();
  if (!step)
    return finalize.emitOpError("expected the state of an attn.online_step; run attn-convert-to-online, or leave the "
                                "schedule out of steps whose states are merged by hand");
  if (!step.getSchedule())
    return step.emitOpError("expected a schedule; run attn-select-schedule or write schedule = #attn.prefill<…>");
  auto init = step.getAcc().getDefiningOp<InitStateOp>();
  if (!init)
    return step.emitOpError("expected the state of attn.init_state, found another one: it cannot be tiled by query "
                            "rows alone; leave the schedule out");
  if (failed(step.getSchedule()->verifyFor(step, /*target=*/nullptr)))
    return failure();
  SmallVector<int64_t> domain = getStaticDomain(step);
  unsigned numBatch = getNumBatchDims(step);
  rewriter.setInsertionPoint(finalize);
  emitRemark(step, RemarkOutcome::Passed, "tiled")
      << llvm::formatv("flash loop over tiles of {0} queries and {1} keys{2}", step.getSchedule()->getQueryTile(),
                       step.getSchedule()->getKeyTile(), countTiles(step, domain[numBatch], domain[numBatch + 1]))
             .str();
  bool isDecode = step.getSchedule()->sharesKeys();
  SmallVector<Value> results =
      isDecode ? createDecodeTiles(rewriter, finalize, step, init) : createPrefillTiles(rewriter, finalize, step, init);
  rewriter.replaceOp(finalize, results);
  SmallVector<Operation *> producers = {step, init, step.getKey().getDefiningOp(), step.getValue().getDefiningOp()};
  for (Operation *producer : producers)
    if (producer && isa<OnlineStepOp, InitStateOp, GatherPagesOp>(producer) && producer->use_empty())
      rewriter.eraseOp(producer);
  return results;
}

/// True for the query rows of a tile, or some of its heads.
static bool isPacked(Value query) {
  while (auto slice = query.getDefiningOp<tensor::ExtractSliceOp>())
    query = slice.getSource();
  return query.getDefiningOp<PackOp>();
}

/// True for results of this pass: queries are packed, or keys are accumulated in a loop inside a parallel one. A user's
/// parallel loop contains whole attention. A tile without keys has no queries; its function has an attribute instead.
static bool isTiled(FinalizeOp finalize) {
  Value state = finalize.getAcc();
  while (true) {
    unsigned result = isa<OpResult>(state) ? cast<OpResult>(state).getResultNumber() : 0;
    if (auto loop = state.getDefiningOp<scf::ForOp>())
      state = loop.getYieldedValues()[result];
    else if (auto branch = state.getDefiningOp<scf::IfOp>())
      state = branch.elseYield()->getOperand(result);
    else
      break;
  }
  bool isInParallel = finalize->getParentOfType<scf::ForallOp>() != nullptr;
  if (auto step = state.getDefiningOp<OnlineStepOp>())
    return isPacked(step.getQuery()) || (isInParallel && !step.getAcc().getDefiningOp<InitStateOp>());
  if (isInParallel)
    return true;
  return isa_and_present<MergeStatesOp, InitStateOp>(state.getDefiningOp()) &&
         finalize->getParentOfType<FunctionOpInterface>()->hasAttr(kPathAttr);
}

namespace {
struct TilePass : public attn::impl::TilePassBase<TilePass> {
  void runOnOperation() override {
    SmallVector<FinalizeOp> ops;
    getOperation().walk([&](FinalizeOp op) {
      if (op->getNumResults() > 0 && !isTiled(op))
        ops.push_back(op);
    });
    SmallVector<BackwardStepOp> gradients;
    getOperation().walk([&](BackwardStepOp op) {
      bool isWhole = op.getDquery() && op.getDkey() && op.getDvalue() && op.getTransposed().empty();
      if (op->getNumResults() > 0 && isWhole)
        gradients.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (FinalizeOp op : ops)
      if (failed(tileOnlineForm(rewriter, op)))
        return signalPassFailure();
    for (BackwardStepOp op : gradients)
      if (failed(tileBackwardStep(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
