//===- TileBackwardBlocks.cpp - attn-tile of the gradients for a GPU ------===//
//
// Before: a backward_step over all queries and keys, with a schedule of blocks. After: a scf.forall for each kernel.
// One sums dQ: its rows are queries, and it loops over keys. Another sums dK and dV: its rows are keys, and it loops
// over the queries of the heads that share them. A block has a tile of rows, keeps its sums and writes each once, so
// the order of blocks does not change a bit. If the two sums of a head exceed the registers, each has a kernel.
//
// With `fused` in the schedule, one kernel has all gradients: blocks of keys add their parts of dQ to memory, the tile
// of the lower keys first.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardBlocks.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;

/// Columns of dK and dV together that a thread's registers hold, with 16 rows per warp.
static constexpr int64_t kMaxSumColumns = 256;

/// True for an op that only converts elements.
static bool isRounding(linalg::GenericOp generic) {
  return generic.getNumReductionLoops() == 0 && generic.getInputs().size() == 1 &&
         llvm::all_of(generic.getBody()->without_terminator(), llvm::IsaPred<arith::TruncFOp, arith::ExtFOp>);
}

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

/// Start and length of packed rows: of sequence `batch`, or of the rows after the last one.
static std::pair<Value, Value> getSequence(OpBuilder &b, const KernelShape &s, Value sequences, Value batch,
                                           Value isRest, OpFoldResult numRows) {
  Value last = toValue(b, s.loc, s.domainSizes[0]), start = getSequenceStart(b, s.loc, sequences, batch);
  Value next = min(b, s.loc, add(b, s.loc, batch, index(b, s.loc, 1)), last);
  Value end = getSequenceStart(b, s.loc, sequences, next);
  end = arith::SelectOp::create(b, s.loc, isRest, toValue(b, s.loc, numRows), end);
  return {start, arith::SubIOp::create(b, s.loc, end, start)};
}

BlockTile attn::getBlockTile(OpBuilder &b, const KernelShape &s, ArrayRef<Value> batch, Value tile) {
  Location loc = s.loc;
  BlockTile at{{b, s.domainSizes, batch}, tile, {}, {}, {}};
  AffineExpr dim = b.getAffineDimExpr(0);
  if (s.numBatch > 0 && !s.hasQueryRows()) // the first of the heads that share a key head
    at.offsets[s.numBatch - 1] =
        affine::makeComposedFoldedAffineApply(b, loc, dim * s.groupSize, {at.offsets[s.numBatch - 1]});
  at.numQueries = toValue(b, loc, s.domainSizes[s.queryPos()]);
  at.numKeys = toValue(b, loc, s.domainSizes[s.keyPos()]);
  if (Value sequences = s.step.getCuSeqlensQ()) {
    Value last = toValue(b, loc, s.domainSizes[0]);
    at.isRest = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, batch[0], last);
    std::tie(at.queryStart, at.numQueries) =
        getSequence(b, s, sequences, batch[0], at.isRest, s.domainSizes[s.queryPos()]);
    std::tie(at.keyStart, at.numKeys) =
        getSequence(b, s, s.step.getCuSeqlensK(), batch[0], at.isRest, s.domainSizes[s.keyPos()]);
    // For the rest, a mask reads the values of the last sequence.
    at.offsets[0] = min(b, loc, batch[0], arith::SubIOp::create(b, loc, last, index(b, loc, 1)));
  }
  Value first = affine::makeComposedAffineApply(b, loc, dim * s.tileRows, {OpFoldResult(tile)});
  at.offsets[s.rowPos()] = first;
  at.sizes[s.rowPos()] = getTileRows(b, loc, first, s.hasQueryRows() ? at.numQueries : at.numKeys, s.tileRows);
  return at;
}

/// The destination of a gradient: that of the zeros that the step adds to, or of the op that rounds its result.
static std::pair<Value, Value> getDestinationAndResult(OpBuilder &b, const KernelShape &s, StringRef name) {
  unsigned number = name == "dquery" ? 0 : name == "dkey" ? 1 : 2;
  Value result = s.step->getResult(number);
  if (s.isOfAllBlocks(name)) { // accumulated, and rounded after the kernel
    Value init = s.getOperand(name);
    if (init.getDefiningOp<linalg::FillOp>())
      init = createZeros(b, s.loc, tensor::getMixedSizes(b, s.loc, init), getElementTypeOrSelf(init.getType()));
    return {init, result};
  }
  if (result.hasOneUse())
    if (auto round = dyn_cast<linalg::GenericOp>(*result.user_begin()); round && isRounding(round))
      return {round.getDpsInits()[0], round.getResult(0)};
  Value init = s.getOperand(name);
  if (auto zeros = init.getDefiningOp<linalg::FillOp>())
    return {zeros.getOutputs()[0], result};
  // Existing values are added after the kernel.
  Value own =
      tensor::EmptyOp::create(b, s.loc, tensor::getMixedSizes(b, s.loc, init), getElementTypeOrSelf(init.getType()));
  return {own, result};
}

/// The sums of a kernel, plus the previous contents of the destination where the step adds to it.
static Value addToDestination(OpBuilder &b, const KernelShape &s, StringRef name, Value sums) {
  Value init = s.getOperand(name);
  if (init.getDefiningOp<linalg::FillOp>())
    return sums;
  auto type = cast<RankedTensorType>(init.getType());
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, s.loc, type, sums, init, maps, parallel,
                                   [](OpBuilder &nested, Location at, ValueRange x) {
                                     Value sum = arith::AddFOp::create(nested, at, x[1], x[0]);
                                     linalg::YieldOp::create(nested, at, sum);
                                   })
      .getResult(0);
}

/// Builds a kernel whose results replace those of the step, or of the ops that round them.
static void createKernel(RewriterBase &b, const BackwardShape &shape, RangeAxis columns,
                         ArrayRef<StringRef> gradients) {
  KernelShape s(shape, columns, gradients);
  b.setInsertionPoint(s.step);
  SmallVector<Value> destinations, replaced;
  for (StringRef name : gradients) {
    auto [destination, result] = getDestinationAndResult(b, s, name);
    destinations.push_back(destination);
    replaced.push_back(result);
  }
  // Before any use of a result.
  bool areInFront = succeeded(moveValueDefinitions(b, destinations, s.step));
  assert(areInFront && "destinations do not depend on gradients");
  (void)areInFront;
  b.setInsertionPoint(s.step);
  AffineExpr dim = b.getAffineDimExpr(0);
  SmallVector<OpFoldResult> bounds(ArrayRef(s.domainSizes).take_front(s.numBatch));
  if (!s.hasQueryRows())
    bounds = getBatchOfKeys(b, s);
  OpFoldResult rows = s.domainSizes[s.rowPos()], numSequences, tiles;
  Value sequences = s.hasQueryRows() ? s.step.getCuSeqlensQ() : s.step.getCuSeqlensK();
  if (sequences) { // and the rows after the last sequence
    numSequences = affine::makeComposedFoldedAffineApply(b, s.loc, dim + 1, {bounds.front()});
    bounds.erase(bounds.begin());
    tiles = countPackedTiles(b, s.loc, rows, numSequences, s.tileRows);
  } else {
    tiles = affine::makeComposedFoldedAffineApply(b, s.loc, dim.ceilDiv(s.tileRows), {rows});
  }
  // Blocks start in order: those that wait for each other have the same head and are far apart.
  bool isFused = s.isOfAllBlocks(gradients.front());
  bounds.insert(isFused ? bounds.begin() : bounds.end(), tiles);
  if (isFused) {
    s.turns = createTurns(b, s);
    s.whole.sizes = tensor::getMixedSizes(b, s.loc, destinations.front());
    s.whole.offsets.assign(s.whole.sizes.size(), b.getIndexAttr(0));
    s.whole.strides.assign(s.whole.sizes.size(), b.getIndexAttr(1));
  }
  auto forall = createParallelTiles(b, s.loc, bounds, destinations, s.schedule);
  b.setInsertionPointToStart(forall.getBody());
  SmallVector<Value> ivs = forall.getInductionVars();
  Value tile = isFused ? ivs.front() : ivs.back();
  ivs.erase(isFused ? ivs.begin() : ivs.end() - 1);
  // With masks, later queries tend to keep more keys, so their tiles come first.
  if (s.hasQueryRows() && !s.step.getMaskMod().empty())
    tile = affine::makeComposedAffineApply(b, s.loc, AffineMap::get(1, 1, b.getAffineSymbolExpr(0) - 1 - dim),
                                           {OpFoldResult(tile), tiles});
  if (sequences) {
    PackedTile found = findPackedTile(b, s.loc, sequences, numSequences, tile, s.tileRows);
    ivs.insert(ivs.begin(), found.sequence);
    tile = found.tile;
  }
  BlockTile at = getBlockTile(b, s, ivs, tile);
  ValueRange outputs = forall.getRegionIterArgs();
  for (auto [name, sum, whole] : llvm::zip(gradients, createBlock(b, s, at, outputs), outputs))
    storeRows(b, s, at, name, sum, whole, forall);
  b.setInsertionPointAfter(forall);
  for (auto [name, result, value] : llvm::zip(gradients, replaced, forall.getResults())) {
    if (result.getDefiningOp() == s.step)
      b.replaceAllUsesWith(result, s.isOfAllBlocks(name) ? value : addToDestination(b, s, name, value));
    else
      b.replaceOp(result.getDefiningOp(), value);
  }
}

void attn::tileBackwardBlocks(RewriterBase &rewriter, BackwardStepOp step) {
  auto schedule = cast<BlockAttr>(*step.getSchedule());
  int64_t blockRows = schedule.getBlockRows();
  const char *text = schedule.getFused()
                         ? "gradients in blocks of {0} keys by tiles of {1} queries, to which the blocks add in order"
                         : "gradients of queries in blocks of {0} by tiles of {1} keys, of keys in blocks of {0} by "
                           "tiles of {1} queries";
  emitRemark(step, RemarkOutcome::Passed, "tiled") << llvm::formatv(text, blockRows, schedule.getKeyTile()).str();
  if (auto row = step.getDelta().getDefiningOp<RowDeltaOp>())
    tileRowDelta(rewriter, row, schedule);
  rewriter.setInsertionPoint(step);
  BackwardShape s(rewriter, step);
  s.blockMap = createBlockMap(rewriter, s);
  // Gradients without uses are not computed.
  SmallVector<StringRef> ofKeys;
  for (auto [name, result] : llvm::zip(ArrayRef<StringRef>{"dkey", "dvalue"}, step->getResults().slice(1, 2)))
    if (!result.use_empty())
      ofKeys.push_back(name);
  bool hasQueries = getStaticSize(step, DimKind::Query) != 0;
  if (schedule.getFused() && !step->getResult(0).use_empty() && ofKeys.size() == 2 && hasQueries) {
    createKernel(rewriter, s, RangeAxis::Queries, {"dquery", "dkey", "dvalue"});
    return createScoreSums(rewriter, step);
  }
  if (!step->getResult(0).use_empty())
    createKernel(rewriter, s, RangeAxis::Keys, {"dquery"});
  if (s.getColumns(s.headPos()) + s.getColumns(s.valuePos()) <= kMaxSumColumns && !ofKeys.empty())
    createKernel(rewriter, s, RangeAxis::Queries, ofKeys);
  else
    for (StringRef name : ofKeys)
      createKernel(rewriter, s, RangeAxis::Queries, name);
  createScoreSums(rewriter, step);
}
