//===- TileBackward.cpp - attn-tile of the gradients ----------------------===//
//
// Before: a backward_step over all queries and keys, with a schedule. After: one scf.forall over batch dimensions, or
// packed sequences, and key heads. A task loops over its key tiles, over the query heads that share the key head, and
// over the query tiles that query_ranges visit. The gradients of K and V of a tile stay in the cache as (column, key);
// that of Q accumulates in place. Gradients without uses are not computed.
//
// A task owns every element that it adds to, so sums have one order for every number of threads. Where tasks share a
// bias with a gradient, they take key tiles in turn. If heads are few, a task is a chunk of queries and one of keys.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardTile.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;

/// The `number`-th part, of `size` positions, of `count` positions.
static PositionRange getNthPart(OpBuilder &b, Location loc, Value number, Value size, Value count) {
  Value first = min(b, loc, multiply(b, loc, number, size), count);
  return {first, min(b, loc, add(b, loc, first, size), count)};
}

/// The task of batch index `batch`, whose last entry counts key heads: all queries and keys, or only `queries` and
/// `keys`.
static Task getTask(OpBuilder &b, const TaskShape &s, ValueRange batch, std::optional<PositionRange> queries = {},
                    std::optional<PositionRange> keys = {}) {
  Location loc = s.loc;
  Task task{{b, s.domainSizes, batch.take_front(s.numBatch)}, {}, {}, queries, keys};
  if (Value sequences = s.step.getCuSeqlensQ()) {
    task.queryStart = getSequenceStart(b, loc, sequences, batch[0]);
    task.sizes[s.queryPos()] = getSequenceLength(b, loc, sequences, batch[0]);
    if (Value others = s.step.getCuSeqlensK()) {
      task.keyStart = getSequenceStart(b, loc, others, batch[0]);
      task.sizes[s.keyPos()] = getSequenceLength(b, loc, others, batch[0]);
    }
  }
  task.numQueries = task.sizes[s.queryPos()];
  task.numKeys = task.sizes[s.keyPos()];
  if (s.numBatch > 0) {
    OpFoldResult &head = task.offsets[s.numBatch - 1];
    head = affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0) * s.groupSize, {head});
    task.sizes[s.numBatch - 1] =
        s.groupSize ? OpFoldResult(b.getIndexAttr(s.groupSize)) : s.domainSizes[s.numBatch - 1];
  }
  for (auto [position, part] : {std::pair(s.queryPos(), queries), {s.keyPos(), keys}})
    if (part) {
      task.offsets[position] = part->first;
      task.sizes[position] = subtract(b, loc, part->end, part->first);
    }
  return task;
}

/// Tasks that may run concurrently.
static SmallVector<Value> createTasks(OpBuilder &b, const TaskShape &s, ArrayRef<OpFoldResult> bounds, ValueRange inits,
                                      function_ref<Task(ValueRange)> createTask) {
  OpBuilder::InsertionGuard guard(b);
  auto forall = createParallelTiles(b, s.loc, bounds, inits, s.schedule);
  b.setInsertionPointToStart(forall.getBody());
  Task task = createTask(forall.getInductionVars());
  SmallVector<Slice> slices;
  SmallVector<Value> parts;
  for (auto [name, whole] : llvm::zip(s.gradients, forall.getRegionIterArgs())) {
    slices.push_back(getSlice(b, s.loc, task, s.getMap(name)));
    parts.push_back(createSlice(b, s.loc, whole, slices.back()));
  }
  s.captures.addSlices(forall, task.offsets, task.sizes, slices, parts);
  TileState results = accumulateTask(b, s, task, parts);
  for (auto [result, whole, slice] : llvm::zip(results, forall.getRegionIterArgs(), slices))
    insertInParallel(b, forall, result, whole, slice);
  b.setInsertionPointAfter(forall);
  return s.captures.sumParts(forall.getResults());
}

/// Sequential phases in which no two tasks have the same key tile: task i has tile (i + phase) mod N of N. So only one
/// task at a time adds to a tile of the bias gradient, in a fixed order. N tasks form a round.
static SmallVector<Value> createTurns(OpBuilder &b, const TaskShape &s, ArrayRef<OpFoldResult> bounds,
                                      ValueRange inits) {
  Location loc = s.loc;
  Value one = index(b, loc, 1), count = one, numKeys = toValue(b, loc, s.domainSizes[s.keyPos()]);
  SmallVector<Value> sides;
  for (OpFoldResult bound : bounds) {
    sides.push_back(toValue(b, loc, bound));
    count = multiply(b, loc, count, sides.back());
  }
  Value keyTile = index(b, loc, s.schedule.getKeyTile());
  Value tiles = max(b, loc, divideUp(b, loc, numKeys, keyTile), one);
  Value phases = multiply(b, loc, tiles, divideUp(b, loc, count, tiles));
  return createLoop(b, loc, index(b, loc, 0), phases, 1, TileState(inits), [&](Value phase, TileState carried) {
    Value first = multiply(b, loc, divide(b, loc, phase, tiles), tiles);
    OpFoldResult together = min(b, loc, tiles, subtract(b, loc, count, first));
    return createTasks(b, s, together, carried, [&](ValueRange ivs) {
      Value rest = add(b, loc, first, ivs[0]);
      PositionRange keys = getNthPart(b, loc, remainder(b, loc, add(b, loc, ivs[0], phase), tiles), keyTile, numKeys);
      SmallVector<Value> batch(sides.size());
      for (unsigned i = sides.size(); i-- > 0; rest = divide(b, loc, rest, sides[i]))
        batch[i] = remainder(b, loc, rest, sides[i]);
      return getTask(b, s, batch, /*queries=*/{}, keys);
    });
  });
}

/// A Latin square of chunks: in phase f, chunk c of the keys meets chunk (f - c) mod N of the queries. So the tasks of
/// a phase add to disjoint rows, in an order that the phases fix. With a causal mask, where half of the pairs are
/// empty, all phases have equal work.
static SmallVector<Value> createChunks(OpBuilder &b, const TaskShape &s, ArrayRef<OpFoldResult> bounds,
                                       ValueRange inits) {
  Location loc = s.loc;
  int64_t number = cast<BackwardAttr>(s.schedule).getChunks();
  Value numQueries = toValue(b, loc, s.domainSizes[s.queryPos()]), all = index(b, loc, number);
  auto getChunk = [&](Value count, int64_t tile) {
    Value chunk = divideUp(b, loc, count, all), size = index(b, loc, tile);
    return multiply(b, loc, divideUp(b, loc, chunk, size), size);
  };
  Value queryChunk = getChunk(numQueries, s.schedule.getQueryTile());
  Value numKeys = toValue(b, loc, s.domainSizes[s.keyPos()]), keyChunk = getChunk(numKeys, s.schedule.getKeyTile());
  SmallVector<OpFoldResult> tasks(bounds);
  tasks.push_back(b.getIndexAttr(number));
  return createLoop(b, loc, index(b, loc, 0), all, 1, TileState(inits), [&](Value phase, TileState carried) {
    return createTasks(b, s, tasks, carried, [&](ValueRange ivs) {
      Value chunk = ivs.back(), other = remainder(b, loc, subtract(b, loc, add(b, loc, phase, all), chunk), all);
      PositionRange queries = getNthPart(b, loc, other, queryChunk, numQueries),
                    keys = getNthPart(b, loc, chunk, keyChunk, numKeys);
      return getTask(b, s, ivs.drop_back(), queries, keys);
    });
  });
}

/// The sums of s.gradients and of captures.
static SmallVector<Value> createAllTasks(OpBuilder &b, const TaskShape &s) {
  SmallVector<OpFoldResult> bounds = getBatchOfKeys(b, s);
  if (bounds.empty())
    bounds.push_back(b.getIndexAttr(1));
  SmallVector<Value> inits;
  for (StringRef name : s.gradients)
    inits.push_back(s.getOperand(name));
  if (sharesBiasGradient(s.step))
    return createTurns(b, s, bounds, inits);
  if (cast<BackwardAttr>(s.schedule).getChunks() > 1)
    return createChunks(b, s, bounds, inits);
  s.captures.createParts(bounds, inits);
  return createTasks(b, s, bounds, inits, [&](ValueRange ivs) { return getTask(b, s, ivs); });
}

/// Erases ops that round a gradient without uses.
static void eraseDeadUsers(RewriterBase &rewriter, BackwardStepOp step) {
  llvm::SmallSetVector<Operation *, 4> users(step->user_begin(), step->user_end());
  for (Operation *user : users)
    if (isOpTriviallyDead(user))
      rewriter.eraseOp(user);
}

/// Decomposes the row sums into linalg, before the tiles.
static LogicalResult decomposeDelta(RewriterBase &rewriter, Value delta) {
  auto row = delta.getDefiningOp<RowDeltaOp>();
  if (!row)
    return success();
  rewriter.setInsertionPoint(row);
  FailureOr<SmallVector<Value>> values = decompose(rewriter, row, /*computeType=*/Type());
  if (failed(values))
    return row.emitOpError("has no form in linalg");
  rewriter.replaceOp(row, *values);
  return success();
}

LogicalResult attn::tileBackwardStep(RewriterBase &rewriter, BackwardStepOp step) {
  if (!step.getSchedule())
    return step.emitOpError("expected a schedule; run attn-select-schedule or write schedule = #attn.backward<…>");
  if (failed(step.getSchedule()->verifyFor(step, /*target=*/nullptr)))
    return failure();
  if (auto schedule = dyn_cast<BlockAttr>(*step.getSchedule());
      schedule && schedule.getFused() && !addsInOrder(step, schedule))
    return step.emitOpError("schedule: expected a mask with fused of which each tile of queries meets the first key "
                            "tiles, known without the call, and no packed sequences; write fused = false");
  eraseDeadUsers(rewriter, step);
  if (isa<BlockAttr>(*step.getSchedule()) && !step->use_empty()) { // otherwise delta is only used by sinks
    tileBackwardBlocks(rewriter, step);
    return success();
  }
  if (failed(decomposeDelta(rewriter, step.getDelta())))
    return failure();
  rewriter.setInsertionPoint(step);
  emitRemark(step, RemarkOutcome::Passed, "tiled")
      << llvm::formatv("gradients in tiles of {0} queries and {1} keys{2}", step.getSchedule()->getQueryTile(),
                       step.getSchedule()->getKeyTile(),
                       asksForBlockMap(step) ? "; a block map, made at run time, says which are visited" : "")
             .str();
  if (step->use_empty() || llvm::is_contained(ArrayRef(getStaticDomain(step)), 0)) { // there are no contributions
    rewriter.replaceOp(step, cast<DestinationStyleOpInterface>(*step).getDpsInits());
    return success();
  }
  TaskShape s(rewriter, step);
  SmallVector<Value> sums = createAllTasks(rewriter, s);
  SmallVector<OpResult> results = llvm::filter_to_vector(
      step->getResults(), [&](OpResult result) { return result.getResultNumber() > 2 || !result.use_empty(); });
  for (auto [result, sum] : llvm::zip_equal(results, sums))
    rewriter.replaceAllUsesWith(result, sum);
  rewriter.eraseOp(step);
  return success();
}
