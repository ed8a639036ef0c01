//===- TileDecode.cpp - attn-tile for few query rows ----------------------===//
//
// A tile has all rows of the heads that share a key head, so each byte of K and V is read once. If batch indices and
// heads are too few for many cores, key splits of split_keys keys have running states of their own (Flash-Decoding, Dao
// et al. 2023), which are merged:
//
//   forall (batch…, kv head, split) { state of the split → states[split] }
//   forall (batch…, kv head) { merge of states[0 …], finalize }
//
// A merge handles one split after the other, and on a GPU its block is one warp. So on a GPU, the columns of V are
// another dimension of its loop: each iteration has max and sum of its rows, and the first one writes their row
// results.
//
// A dynamic number of queries is split into tiles of at most query_tile rows, another dimension of both loops.
//
// The splits depend only on sizes, never on the number of threads.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

namespace {

/// Columns of V in a block that merges states on a GPU: a thread then has about two splits' loads in flight (an
/// estimate).
static constexpr int64_t kMergedColumns = 32;

class DecodeTiler {
public:
  DecodeTiler(RewriterBase &rewriter, FinalizeOp finalize, OnlineStepOp step, InitStateOp init)
      : b(rewriter), loc(finalize.getLoc()), finalize(finalize), init(init), shape(rewriter, step) {}

  /// Returns the replacements of the results of finalize.
  SmallVector<Value> create() {
    SmallVector<OpFoldResult> bounds(shape.domainSizes.begin(), shape.domainSizes.begin() + shape.numBatch);
    AffineExpr dim = b.getAffineDimExpr(0);
    if (shape.numBatch > 0)
      bounds.back() =
          affine::makeComposedFoldedAffineApply(b, loc, dim.floorDiv(getHeadsPerTile(shape)), {bounds.back()});
    numSplits = b.getIndexAttr(1);
    if (int64_t keys = shape.schedule.getSplitKeys())
      numSplits =
          affine::makeComposedFoldedAffineApply(b, loc, dim.ceilDiv(keys), {shape.domainSizes[shape.numBatch + 1]});
    bounds.push_back(getNumQueryTiles(b, shape));
    bool isSplit = !isConstantIntValue(numSplits, 1) && !isConstantIntValue(numSplits, 0);
    if (isSplit) {
      bounds.push_back(numSplits);
      createRanges(bounds);
      bounds.pop_back();
    }
    if (isSplit)
      return createMerge(bounds);
    return createForall(bounds, finalize.getDpsInits(), [&](ValueRange ivs, ValueRange outputs, auto insert) {
      TilePosition at = getDecodeTile(b, shape, ivs.drop_back(), ivs.back(), /*split=*/Value());
      TileState state = initState(b, shape, at, init);
      state = foldKeys(b, shape, at, BlockMap(), packQuery(b, shape, at), state);
      createFinalize(b, shape, at, finalize, state, outputs, insert);
    });
  }

private:
  SmallVector<Value> createMerge(SmallVector<OpFoldResult> bounds) {
    OpFoldResult &columns = shape.domainSizes[shape.valuePos()];
    std::optional<int64_t> all = getConstantIntValue(columns);
    bool takesColumns = isGpu(shape) && all && *all > kMergedColumns && *all % kMergedColumns == 0;
    if (takesColumns) {
      bounds.push_back(b.getIndexAttr(*all / kMergedColumns));
      columns = b.getIndexAttr(kMergedColumns);
    }
    return createForall(bounds, finalize.getDpsInits(), [&](ValueRange ivs, ValueRange outputs, auto insert) {
      ValueRange tile = takesColumns ? ivs.drop_back() : ivs;
      TilePosition at = getDecodeTile(b, shape, tile.drop_back(), tile.back(), /*split=*/Value());
      if (takesColumns)
        at.offsets[shape.valuePos()] = affine::makeComposedFoldedAffineApply(
            b, loc, b.getAffineDimExpr(0) * kMergedColumns, {OpFoldResult(ivs.back())});
      TileState state = mergeRanges(at, tile.drop_back(), initState(b, shape, at, init));
      OutputSlices sliced = sliceOutputs(b, shape, at, finalize, outputs);
      if (takesColumns)
        keepRowResults(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, ivs.back(),
                                             arith::ConstantIndexOp::create(b, loc, 0)),
                       outputs, sliced);
      createFinalize(b, shape, finalize, state, outputs, sliced, insert);
    });
  }

  /// Makes the slices of row results, which have no columns, empty unless `isFirst`.
  void keepRowResults(Value isFirst, ValueRange outputs, OutputSlices &sliced) {
    AffineExpr query = b.getAffineDimExpr(shape.queryPos()), value = b.getAffineDimExpr(shape.numBatch + 1);
    Value none = arith::ConstantIndexOp::create(b, loc, 0);
    for (auto [map, output, slice, part] : llvm::zip_equal(sliced.maps, outputs, sliced.slices, sliced.parts)) {
      if (map.getResultPosition(value))
        continue;
      OpFoldResult &size = slice.sizes[*map.getResultPosition(query)];
      size = arith::SelectOp::create(b, loc, isFirst, getValueOrCreateConstantIndexOp(b, loc, size), none).getResult();
      part = createSlice(b, loc, output, slice);
    }
  }

  /// An scf.forall whose body calls `insert` for each part of its outputs.
  SmallVector<Value> createForall(ArrayRef<OpFoldResult> bounds, ValueRange inits,
                                  function_ref<void(ValueRange, ValueRange, InsertFn)> body) {
    OpBuilder::InsertionGuard guard(b);
    auto forall = createParallelTiles(b, loc, bounds, inits, shape.schedule);
    b.setInsertionPointToStart(forall.getBody());
    auto insert = [&](Value value, Value output, const Slice &slice) {
      OpBuilder::InsertionGuard inside(b);
      b.setInsertionPointToEnd(forall.getTerminator().getBody());
      tensor::ParallelInsertSliceOp::create(b, loc, value, output, slice.offsets, slice.sizes, slice.strides);
    };
    body(forall.getInductionVars(), forall.getRegionIterArgs(), insert);
    return SmallVector<Value>(forall.getResults());
  }

  /// The dimensions of acc or of a row statistic after those of the batch: query rows, and value columns.
  SmallVector<OpFoldResult> getTail(unsigned part, OpFoldResult rows) {
    SmallVector<OpFoldResult> tail = {rows};
    if (part == 0)
      tail.push_back(shape.domainSizes[shape.numBatch + 3]);
    return tail;
  }

  /// The state of split `range` of the current tile in (split, batch…, query, value).
  Slice getRangeSlice(unsigned part, Value range, ValueRange batch, const TilePosition &at) {
    Slice slice;
    slice.offsets.push_back(range);
    slice.offsets.append(batch.begin(), batch.end());
    slice.sizes.assign(shape.numBatch + 1, b.getIndexAttr(1));
    if (shape.numBatch > 0) {
      slice.offsets.back() = affine::makeComposedFoldedAffineApply(
          b, loc, b.getAffineDimExpr(0) * getHeadsPerTile(shape), {OpFoldResult(batch.back())});
      slice.sizes.back() = b.getIndexAttr(getHeadsPerTile(shape));
    }
    SmallVector<OpFoldResult> tail = getTail(part, at.rows);
    slice.offsets.push_back(at.offsets[shape.queryPos()]);
    if (part == 0)
      slice.offsets.push_back(at.offsets[shape.valuePos()]);
    slice.sizes.append(tail);
    slice.strides.assign(slice.sizes.size(), b.getIndexAttr(1));
    return slice;
  }

  void createRanges(ArrayRef<OpFoldResult> bounds) {
    SmallVector<Value> inits;
    for (unsigned part = 0; part < 3; ++part) {
      SmallVector<OpFoldResult> extents = {numSplits};
      extents.append(shape.domainSizes.begin(), shape.domainSizes.begin() + shape.numBatch);
      extents.append(getTail(part, shape.domainSizes[shape.queryPos()]));
      inits.push_back(tensor::EmptyOp::create(b, loc, extents, shape.stateType));
    }
    states = createForall(bounds, inits, [&](ValueRange ivs, ValueRange outputs, InsertFn insert) {
      ValueRange batch = ivs.drop_back(2);
      TilePosition at = getDecodeTile(b, shape, batch, ivs.drop_back().back(), /*split=*/ivs.back());
      SmallVector<Value> query = packQuery(b, shape, at);
      // The start values of rows count only once, in the merge.
      TileState state = foldKeys(b, shape, at, BlockMap(), query, initState(b, shape, at, init, /*withStart=*/false));
      for (unsigned part = 0; part < 3; ++part)
        insert(state[part], outputs[part], getRangeSlice(part, ivs.back(), batch, at));
    });
  }

  TileState mergeRanges(const TilePosition &at, ValueRange batch, TileState state) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0), one = arith::ConstantIndexOp::create(b, loc, 1);
    SmallVector<AffineMap> maps = getTileStateMaps(shape), both(maps);
    both.append(maps);
    auto loop = scf::ForOp::create(b, loc, zero, getValueOrCreateConstantIndexOp(b, loc, numSplits), one, state,
                                   [&](OpBuilder &nested, Location, Value range, ValueRange carried) {
                                     OpBuilder::InsertionGuard guard(b);
                                     b.setInsertionPointToEnd(nested.getInsertionBlock());
                                     SmallVector<Value> other;
                                     for (unsigned part = 0; part < 3; ++part) {
                                       Slice slice = getRangeSlice(part, range, batch, at);
                                       auto type = cast<RankedTensorType>(carried[part].getType());
                                       other.push_back(tensor::ExtractSliceOp::create(
                                           b, loc, type, states[part], slice.offsets, slice.sizes, slice.strides));
                                     }
                                     auto merged = MergeStatesOp::create(b, loc, carried.getTypes(), other[0], other[1],
                                                                         other[2], carried[0], carried[1], carried[2],
                                                                         b.getAffineMapArrayAttr(both));
                                     scf::YieldOp::create(b, loc, merged->getResults());
                                   });
    return TileState(loop.getResults());
  }

  RewriterBase &b;
  Location loc;
  FinalizeOp finalize;
  InitStateOp init;
  TileShape shape;
  OpFoldResult numSplits;
  SmallVector<Value> states;
};

} // namespace

SmallVector<Value> attn::createDecodeTiles(RewriterBase &rewriter, FinalizeOp finalize, OnlineStepOp step,
                                           InitStateOp init) {
  return DecodeTiler(rewriter, finalize, step, init).create();
}
