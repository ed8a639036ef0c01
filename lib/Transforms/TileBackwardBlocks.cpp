//===- TileBackwardBlocks.cpp - attn-tile of the gradients for a GPU ------===//
//
// Before: a backward_step over all queries and keys, with a schedule of blocks.
// After: a scf.forall for each kernel. One adds up dQ, whose rows are queries, and
// goes through the keys; another one dK and dV, whose rows are keys, and goes
// through the queries of the heads that share them. A block has a tile of rows,
// keeps their sums and writes each once: no order of blocks changes a bit. Heads
// whose two sums do not fit the registers have a kernel for each.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardBlockTile.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

/// Columns of dK and dV together that a thread's registers hold, of 16 rows a warp.
static constexpr int64_t kMaxSumColumns = 256;

/// True for one that converts elements and does nothing else.
static bool isRounding(linalg::GenericOp generic) {
  return generic.getNumReductionLoops() == 0 && generic.getInputs().size() == 1 &&
         llvm::all_of(generic.getBody()->without_terminator(), llvm::IsaPred<arith::TruncFOp, arith::ExtFOp>);
}

namespace {

class BackwardBlocks : BackwardBlockOperands {
public:
  using BackwardBlockOperands::BackwardBlockOperands;

  SmallVector<Value> build() {
    SmallVector<Value> results = createKernel(Rows::Queries, {"dquery"});
    bool fits =
        *getConstantIntValue(domainSizes[headPos()]) + *getConstantIntValue(domainSizes[valuePos()]) <= kMaxSumColumns;
    if (fits)
      return llvm::append_range(results, createKernel(Rows::Keys, {"dkey", "dvalue"})), results;
    for (StringRef name : {"dkey", "dvalue"})
      llvm::append_range(results, createKernel(Rows::Keys, {name}));
    return results;
  }

private:
  //===--------------------------------------------------------------------===//
  // The grid
  //===--------------------------------------------------------------------===//

  /// What a gradient is written to: the destination of the zeros that the step adds to, or of what rounds its result.
  std::pair<Value, Value> getDestinationAndResult(StringRef name) {
    unsigned number = name == "dquery" ? 0 : name == "dkey" ? 1 : 2;
    Value result = step->getResult(number);
    if (result.hasOneUse())
      if (auto round = dyn_cast<linalg::GenericOp>(*result.user_begin()); round && isRounding(round))
        return {round.getDpsInits()[0], round.getResult(0)};
    Value init = name == "dquery" ? step.getDquery() : name == "dkey" ? step.getDkey() : step.getDvalue();
    if (auto zeros = init.getDefiningOp<linalg::FillOp>())
      init = zeros.getOutputs()[0];
    return {init, result};
  }

  /// Rows of a tile: those of the schedule, or all where there are fewer.
  int64_t getTileRows() {
    std::optional<int64_t> all = getConstantIntValue(domainSizes[rowPos()]);
    return all && !step.getCuSeqlensQ() ? std::min(schedule.getBlockRows(), std::max<int64_t>(1, *all))
                                        : schedule.getBlockRows();
  }

  /// The tile's results replace those of the step, or of what rounds them; a value for each gradient that is not
  /// replaced yet.
  SmallVector<Value> createKernel(Rows which, ArrayRef<StringRef> names) {
    rows = which;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(step);
    SmallVector<Value> destinations, replaced;
    for (StringRef name : names) {
      auto [destination, result] = getDestinationAndResult(name);
      destinations.push_back(destination);
      replaced.push_back(result);
      if (Operation *round = result.getDefiningOp(); round != step)
        b.setInsertionPoint(round); // behind its destination
    }
    int64_t tileRows = getTileRows();
    SmallVector<OpFoldResult> bounds(ArrayRef(domainSizes).take_front(numBatch));
    if (numBatch > 0 && rows == Rows::Keys)
      bounds.back() = groupSize == 0 ? OpFoldResult(b.getIndexAttr(1))
                                     : affine::makeComposedFoldedAffineApply(
                                           b, loc, b.getAffineDimExpr(0).floorDiv(groupSize), {bounds.back()});
    if (step.getCuSeqlensQ()) // and the rows behind the last sequence
      bounds.front() = affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0) + 1, {bounds.front()});
    bounds.push_back(affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0).ceilDiv(tileRows),
                                                           {domainSizes[rowPos()]}));
    auto forall = scf::ForallOp::create(b, loc, bounds, destinations, std::nullopt);
    b.setInsertionPointToStart(forall.getBody());
    SmallVector<Value> ivs = forall.getInductionVars();
    Value tile = ivs.back();
    // Of a mask, later queries tend to keep more keys: the tiles with the most keys first.
    if (rows == Rows::Queries && !step.getMaskMod().empty()) {
      AffineExpr index = b.getAffineDimExpr(0), count = b.getAffineSymbolExpr(0);
      tile = affine::makeComposedAffineApply(b, loc, AffineMap::get(1, 1, count - 1 - index),
                                             {OpFoldResult(tile), bounds.back()});
    }
    BlockTile at = getTile(ArrayRef(ivs).drop_back(), tile, tileRows);
    SmallVector<Value> sums = buildBody(at, names, tileRows);
    for (auto [name, sum, whole] : llvm::zip(names, sums, forall.getRegionIterArgs()))
      store(at, name, sum, whole, forall);
    SmallVector<Value> unreplaced;
    for (auto [result, value] : llvm::zip(replaced, forall.getResults())) {
      if (result.getDefiningOp() == step) {
        unreplaced.push_back(value);
        continue;
      }
      unreplaced.push_back(Value());
      b.replaceOp(result.getDefiningOp(), value);
    }
    return unreplaced;
  }

  /// start and length of packed rows: of sequence `batch`, or of the rows behind the last one.
  std::pair<Value, Value> getSequence(Value sequences, Value batch, Value isRest, OpFoldResult numRows) {
    auto load = [&](Value i) {
      return arith::IndexCastOp::create(b, loc, b.getIndexType(), tensor::ExtractOp::create(b, loc, sequences, i))
          .getResult();
    };
    Value last = toIndex(domainSizes[0]), start = load(batch);
    Value end = load(min(add(b, loc, batch, index(b, loc, 1)), last));
    end = arith::SelectOp::create(b, loc, isRest, toIndex(numRows), end);
    return {start, arith::SubIOp::create(b, loc, end, start)};
  }

  BlockTile getTile(ArrayRef<Value> batch, Value tile, int64_t tileRows) {
    BlockTile at;
    at.offsets.assign(domainSizes.size(), b.getIndexAttr(0));
    at.sizes = domainSizes;
    for (unsigned i = 0; i < numBatch; ++i) {
      at.offsets[i] = batch[i];
      at.sizes[i] = b.getIndexAttr(1);
    }
    if (numBatch > 0 && rows == Rows::Keys) // the first of the heads that share a head of K
      at.offsets[numBatch - 1] =
          affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0) * groupSize, {at.offsets[numBatch - 1]});
    at.numQueries = toIndex(domainSizes[queryPos()]);
    at.numKeys = toIndex(domainSizes[keyPos()]);
    if (Value sequences = step.getCuSeqlensQ()) {
      Value last = toIndex(domainSizes[0]);
      at.isRest = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, batch[0], last);
      std::tie(at.queryStart, at.numQueries) = getSequence(sequences, batch[0], at.isRest, domainSizes[queryPos()]);
      std::tie(at.keyStart, at.numKeys) = getSequence(step.getCuSeqlensK(), batch[0], at.isRest, domainSizes[keyPos()]);
      // What a mask reads of the rest is that of the last sequence.
      at.offsets[0] = min(batch[0], arith::SubIOp::create(b, loc, last, index(b, loc, 1)));
    }
    Value first = affine::makeComposedAffineApply(b, loc, b.getAffineDimExpr(0) * tileRows, {OpFoldResult(tile)});
    at.offsets[rowPos()] = first;
    at.sizes[rowPos()] = getCount(first, rows == Rows::Queries ? at.numQueries : at.numKeys, tileRows);
    return at;
  }

  /// min(tile, size - first), at least 0
  OpFoldResult getCount(Value first, Value size, int64_t tile) {
    std::optional<int64_t> constant = getConstantIntValue(size);
    if (constant && *constant % tile == 0)
      return b.getIndexAttr(tile);
    return clampedDifference(b, loc, size, first, tile);
  }

  /// Rounds the rows of `sum` that there are to their place.
  void store(const BlockTile &at, StringRef name, Value sum, Value whole, scf::ForallOp forall) {
    Slice where;
    Value part = slice(at, whole, name, &where);
    Value stored =
        PackOp::create(b, loc, part.getType(), sliceRows(sum, at.sizes[rowPos()]), part,
                       b.getAffineMapArrayAttr({b.getMultiDimIdentityMap(numBatch + 2), getRowMap(name, rowPos())}))
            ->getResult(0);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(forall.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(b, loc, stored, whole, where.offsets, where.sizes, where.strides);
  }

  //===--------------------------------------------------------------------===//
  // A block
  //===--------------------------------------------------------------------===//

  using Sums = SmallVector<Value>;

  Sums buildBody(const BlockTile &at, ArrayRef<StringRef> names, int64_t tileRows) {
    SmallVector<StringRef> rowNames =
        rows == Rows::Queries ? SmallVector<StringRef>{"query", "dout"} : SmallVector<StringRef>{"key", "value"};
    if (names == ArrayRef<StringRef>{"dvalue"})
      rowNames.pop_back(); // P alone
    llvm::StringMap<Value> tiles;
    for (StringRef name : rowNames)
      tiles[name] = packRows(at, name, rowPos(), tileRows, /*asFew=*/false);
    Sums sums;
    for (StringRef name : names) {
      Value space = createSpace(tileRows, getWidth(name), type);
      sums.push_back(linalg::FillOp::create(b, loc, createFloatConstant(b, loc, type, 0), space).getResult(0));
    }
    if (numBatch == 0 || rows == Rows::Queries || groupSize == 1)
      return foldColumns(at, tiles, names, sums);
    Value first = toIndex(at.offsets[numBatch - 1]);
    Value heads = groupSize == 0 ? toIndex(domainSizes[numBatch - 1]) : index(b, loc, groupSize);
    return Sums(createLoop(b, loc, index(b, loc, 0), heads, 1, sums, [&](Value head, TileState carried) {
      BlockTile inGroup = at;
      inGroup.offsets[numBatch - 1] = add(b, loc, first, head);
      return TileState(foldColumns(inGroup, tiles, names, Sums(carried)));
    }));
  }

  /// Adds what the columns that the tile visits contribute: partial tiles, which evaluate the predicate, then full
  /// ones, then partial ones again.
  Sums foldColumns(const BlockTile &at, const llvm::StringMap<Value> &tiles, ArrayRef<StringRef> names, Sums sums) {
    Region built, *ranges = &step.getQueryRanges();
    if (rows == Rows::Queries || ranges->empty()) {
      ranges = &built;
      buildRanges(b, loc, step.getMaskMod(), rows == Rows::Queries ? RangeAxis::Keys : RangeAxis::Queries,
                  getStaticSize(step, DimKind::Query), getStaticSize(step, DimKind::Key),
                  /*isDense=*/step.getBias() || step.getMask(), built);
    }
    SmallVector<Value> bounds = inlineRegion(b, *ranges, {}, [&](IndexOp op) { return evaluate(op, at); });
    Value size = rows == Rows::Queries ? at.numKeys : at.numQueries, zero = index(b, loc, 0);
    auto isConstant = [](Value value, int64_t constant) { return getConstantIntValue(value) == constant; };
    Value lower = max(bounds[0], zero), upper = isConstant(bounds[1], kNoBound) ? size : min(bounds[1], size);
    if (at.queryStart) { // no rows, no columns: the bounds of a mask are those of a tile with rows
      Value isEmpty = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, toIndex(at.sizes[rowPos()]), zero);
      isEmpty = arith::OrIOp::create(b, loc, isEmpty, at.isRest);
      upper = arith::SelectOp::create(b, loc, isEmpty, lower, upper);
    }
    auto fold = [&](Value from, Value to, bool isPartial) {
      sums = foldRange(at, tiles, names, from, to, isPartial, sums);
    };
    if (isConstant(bounds[3], 0)) {
      fold(lower, upper, /*isPartial=*/true);
      return sums;
    }
    if (!isConstant(bounds[2], 0)) {
      Value full = min(max(bounds[2], lower), max(lower, upper));
      fold(lower, full, /*isPartial=*/true);
      lower = full;
    }
    if (isConstant(bounds[3], kNoBound)) {
      fold(lower, upper, /*isPartial=*/false);
      return sums;
    }
    // Whole tiles of the full range.
    Value full = clampedDifference(b, loc, min(bounds[3], upper), lower, kNoBound);
    AffineExpr length = b.getAffineDimExpr(0), start = b.getAffineDimExpr(1);
    int64_t tile = schedule.getKeyTile();
    Value end = toIndex(affine::makeComposedFoldedAffineApply(b, loc, start + length.floorDiv(tile) * tile,
                                                              {OpFoldResult(full), OpFoldResult(lower)}));
    fold(lower, end, /*isPartial=*/false);
    fold(end, upper, /*isPartial=*/true);
    return sums;
  }

  /// Tiles from `lower` to `upper`; the last one may be short.
  Sums foldRange(const BlockTile &at, const llvm::StringMap<Value> &tiles, ArrayRef<StringRef> names, Value lower,
                 Value upper, bool isPartial, Sums sums) {
    int64_t tile = schedule.getKeyTile();
    std::optional<int64_t> first = getConstantIntValue(lower), last = getConstantIntValue(upper);
    auto loop = [&](Value from, Value to, function_ref<OpFoldResult(Value)> getCount) {
      return Sums(createLoop(b, loc, from, to, tile, sums, [&](Value column, TileState carried) {
        return TileState(createStep(at, tiles, names, column, getCount(column), isPartial, Sums(carried)));
      }));
    };
    if (!first || !last)
      return loop(lower, upper, [&](Value column) -> OpFoldResult {
        return arith::MinSIOp::create(b, loc, index(b, loc, tile), arith::SubIOp::create(b, loc, upper, column))
            .getResult();
      });
    int64_t length = std::max<int64_t>(*last - *first, 0), whole = length / tile * tile;
    if (whole > 0)
      sums = loop(lower, index(b, loc, *first + whole), [&](Value) -> OpFoldResult { return b.getIndexAttr(tile); });
    if (length > whole)
      sums =
          createStep(at, tiles, names, index(b, loc, *first + whole), b.getIndexAttr(length - whole), isPartial, sums);
    return sums;
  }

  Sums createStep(BlockTile at, const llvm::StringMap<Value> &rowTiles, ArrayRef<StringRef> names, Value column,
                  OpFoldResult count, bool isPartial, Sums sums) {
    at.offsets[columnPos()] = column;
    at.sizes[columnPos()] = count;
    llvm::StringMap<Value> tiles = rowTiles;
    for (StringRef name : {"query", "key", "value", "dout"})
      if (!tiles.contains(name))
        tiles[name] = name == "value" && rows == Rows::Keys
                          ? slice(at, step.getValue(), "value") // of P alone, which does not read it
                          : packRows(at, name, columnPos(), schedule.getKeyTile(), /*asFew=*/true);
    auto getTileMap = [&](unsigned row, unsigned width) {
      SmallVector<unsigned> positions = llvm::to_vector(llvm::seq<unsigned>(0, numBatch));
      positions.append({row, width});
      return AffineMap::getMultiDimMapWithTargets(domainSizes.size(), positions, b.getContext());
    };
    auto getOperandMap = [&](StringRef name) {
      bool isSlice = name == "value" && rows == Rows::Keys && !rowTiles.contains(name);
      unsigned row = name == "query" || name == "dout" || name == "dquery" ? queryPos() : keyPos();
      return isSlice ? maps[name] : getTileMap(row, getWidth(name));
    };
    SmallVector<AffineMap> stepMaps = {getOperandMap("query"), getOperandMap("key"),
                                       getOperandMap("value"), maps["lse"],
                                       getOperandMap("dout"),  maps["delta"]};
    Value lse = slice(at, step.getLse(), "lse"), delta = slice(at, step.getDelta(), "delta"), logSum, bias, mask;
    if (step.getLogSum()) {
      logSum = slice(at, step.getLogSum(), "log_sum");
      stepMaps.push_back(maps["log_sum"]);
    }
    if (step.getBias()) {
      bias = slice(at, step.getBias(), "bias");
      stepMaps.push_back(maps["bias"]);
    }
    if (step.getMask()) {
      mask = slice(at, step.getMask(), "mask");
      stepMaps.push_back(maps["mask"]);
    }
    llvm::StringMap<Value> outputs;
    for (auto [name, sum] : llvm::zip(names, sums)) {
      outputs[name] = sum;
      stepMaps.push_back(getOperandMap(name));
    }
    auto tiled = BackwardStepOp::create(
        b, loc, ValueRange(sums).getTypes(), tiles["query"], tiles["key"], tiles["value"], lse, tiles["dout"], delta,
        logSum, bias, mask, outputs["dquery"], outputs["dkey"], outputs["dvalue"], /*dbias=*/Value(),
        /*dcaptures=*/ValueRange(), /*cu_seqlens_q=*/Value(), /*cu_seqlens_k=*/Value(), step.getScaleValue(),
        /*transposed=*/ValueRange(), step.getScaleAttr(), b.getAffineMapArrayAttr(stepMaps), step.getScheduleAttr());
    if (isPartial)
      cloneRegion(at, step.getMaskMod(), tiled.getMaskMod(), tiled);
    cloneRegion(at, step.getScoreMod(), tiled.getScoreMod(), tiled);
    cloneRegion(at, step.getScoreGrad(), tiled.getScoreGrad(), tiled);
    cloneRegion(at, step.getWeightMod(), tiled.getWeightMod(), tiled);
    return Sums(tiled->getResults());
  }
};

} // namespace

void attn::tileBackwardBlocks(RewriterBase &rewriter, BackwardStepOp step) {
  auto schedule = cast<BlockAttr>(*step.getSchedule());
  int64_t blockRows = schedule.getBlockRows();
  emitRemark(step, RemarkOutcome::Passed, "tiled")
      << llvm::formatv(
             "gradients of queries in blocks of {0} by tiles of {1} keys, of keys in blocks of {0} by tiles of "
             "{1} queries",
             blockRows, schedule.getKeyTile())
             .str();
  if (auto row = step.getDelta().getDefiningOp<RowDeltaOp>())
    tileRowDelta(rewriter, row, blockRows);
  rewriter.setInsertionPoint(step);
  SmallVector<Value> results = BackwardBlocks(rewriter, step).build();
  for (auto [old, result] : llvm::zip(step->getResults(), results))
    if (result)
      rewriter.replaceAllUsesWith(old, result);
  rewriter.eraseOp(step);
}
