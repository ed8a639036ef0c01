//===- TileBackward.cpp - attn-tile of the gradients ----------------------===//
//
// Before: a backward_step over all queries and keys, with a schedule. After: one
// scf.forall over batch dimensions, or packed sequences, and heads of K. A task
// goes through its key tiles, in them through the heads of Q that share the head of
// K, in them through the query tiles that query_ranges visit. The gradients of K
// and V of a tile stay in the cache as (column, key); that of Q is added to where
// it lies. One that nothing reads is not computed. A task owns all that it adds to, so sums have one order for every
// number of threads. Where tasks share a bias whose gradient is asked for, they take key tiles in turn. Where there are
// few heads, a task is a pair of a chunk of queries and one of keys.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardTask.h"
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

namespace {

/// A batch index and a head of K, with all queries and keys where no part is given.
struct Task {
  SmallVector<Value> batch;
  std::optional<PositionRange> queries, keys;
};

class BackwardTiles : BackwardTask {
public:
  using BackwardTask::BackwardTask;

  /// A value for each gradient, null for those that nothing reads.
  SmallVector<Value> build() {
    Position bounds(ArrayRef(sizes).take_front(numBatch));
    if (numBatch > 0) // without a head of its own, a task has all of them
      bounds.back() = groupSize ? affine::makeComposedFoldedAffineApply(
                                      b, loc, b.getAffineDimExpr(0).floorDiv(groupSize), {sizes[numBatch - 1]})
                                : OpFoldResult(b.getIndexAttr(1));
    else
      bounds.push_back(b.getIndexAttr(1));
    Value *sums[] = {&wanted.query, &wanted.key, &wanted.value},
          inits[] = {step.getDquery(), step.getDkey(), step.getDvalue()};
    for (auto [sum, result, init] : llvm::zip(sums, step->getResults(), inits))
      *sum = result.use_empty() ? Value() : init;
    if (step.getDbias())
      wanted.others.push_back(step.getDbias());
    Sums made = wanted.with(buildAll(bounds));
    SmallVector<Value> results = {made.query, made.key, made.value};
    llvm::append_range(results, made.others);
    return results;
  }

private:
  SmallVector<Value> buildAll(ArrayRef<OpFoldResult> bounds) {
    SmallVector<Value> inits = wanted.getAll();
    if (sharesBiasGradient(step))
      return buildTurns(bounds, inits);
    if (schedule.getChunks() > 1)
      return buildChunks(bounds, inits);
    captures.createParts(bounds, inits);
    return buildTasks(bounds, inits, [](ValueRange indices) { return Task{SmallVector<Value>(indices), {}, {}}; });
  }

  /// One after the other, phases in which no two tasks have the same key tile: task i has tile (i + phase) mod N of N.
  /// So a tile of the gradient of the bias is added to by one task at a time, and in one order. Rounds of N tasks.
  SmallVector<Value> buildTurns(ArrayRef<OpFoldResult> bounds, ValueRange inits) {
    Value one = index(b, loc, 1), count = one, numKeys = toIndex(sizes[numBatch + 1]);
    SmallVector<Value> sides;
    for (OpFoldResult bound : bounds) {
      sides.push_back(toIndex(bound));
      count = multiply(count, sides.back());
    }
    Value tiles = max(divideUp(numKeys, schedule.getKeyTile()), one);
    Value phases = multiply(tiles, b.createOrFold<arith::CeilDivSIOp>(loc, count, tiles));
    return createLoop(index(b, loc, 0), phases, 1, inits, [&](Value phase, ValueRange carried) {
      Value first = multiply(divide(phase, tiles), tiles);
      OpFoldResult together = min(tiles, subtract(count, first));
      return buildTasks(together, carried, [&](ValueRange indices) {
        Value rest = add(b, loc, first, indices[0]);
        Task task{SmallVector<Value>(sides.size()), {}, {}};
        task.keys =
            getPart(remainder(add(b, loc, indices[0], phase), tiles), index(b, loc, schedule.getKeyTile()), numKeys);
        for (unsigned i = sides.size(); i-- > 0; rest = divide(rest, sides[i]))
          task.batch[i] = remainder(rest, sides[i]);
        return task;
      });
    });
  }

  /// A Latin square of chunks: in phase f, chunk c of the keys meets chunk (f - c) mod N of the queries. So the tasks
  /// of a phase add to rows of their own, in an order that the phases fix. Under a causal mask, where half of the pairs
  /// are empty, all phases have equal work.
  SmallVector<Value> buildChunks(ArrayRef<OpFoldResult> bounds, ValueRange inits) {
    int64_t number = schedule.getChunks();
    auto getChunk = [&](unsigned position, int64_t tile) {
      return multiply(divideUp(divideUp(toIndex(sizes[position]), number), tile), tile);
    };
    Value queryChunk = getChunk(numBatch, schedule.getQueryTile()), all = index(b, loc, number),
          keyChunk = getChunk(numBatch + 1, schedule.getKeyTile());
    SmallVector<OpFoldResult> tasks(bounds);
    tasks.push_back(b.getIndexAttr(number));
    return createLoop(index(b, loc, 0), all, 1, inits, [&](Value phase, ValueRange carried) {
      return buildTasks(tasks, carried, [&](ValueRange indices) {
        Value chunk = indices.back(), other = remainder(subtract(add(b, loc, phase, all), chunk), all);
        Task task{SmallVector<Value>(indices.drop_back()), {}, {}};
        task.queries = getPart(other, queryChunk, toIndex(sizes[numBatch]));
        task.keys = getPart(chunk, keyChunk, toIndex(sizes[numBatch + 1]));
        return task;
      });
    });
  }

  /// Part `number` of `count` positions.
  PositionRange getPart(Value number, Value size, Value count) {
    Value first = min(multiply(number, size), count);
    return {first, min(add(b, loc, first, size), count)};
  }
  using BackwardOperands::getPart;

  /// Tasks that may run at the same time.
  SmallVector<Value> buildTasks(ArrayRef<OpFoldResult> bounds, ValueRange inits,
                                function_ref<Task(ValueRange)> getTask) {
    OpBuilder::InsertionGuard guard(b);
    auto forall = scf::ForallOp::create(b, loc, bounds, inits, std::nullopt);
    b.setInsertionPointToStart(forall.getBody());
    Task one = getTask(forall.getInductionVars());
    task.assign(sizes.size(), b.getIndexAttr(0));
    if (step.getCuSeqlensQ())
      enterSequence(forall.getInductionVars()[0]);
    taskSizes = sizes;
    for (unsigned i = 0; i < numBatch; ++i) {
      task[i] = one.batch[i];
      taskSizes[i] = b.getIndexAttr(1);
    }
    if (numBatch > 0) {
      task[numBatch - 1] =
          affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0) * groupSize, {task[numBatch - 1]});
      taskSizes[numBatch - 1] = groupSize ? OpFoldResult(b.getIndexAttr(groupSize)) : sizes[numBatch - 1];
    }
    queryPart = one.queries;
    keyPart = one.keys;
    for (auto [position, part] : {std::pair(numBatch, queryPart), std::pair(numBatch + 1, keyPart)})
      if (part) {
        task[position] = part->first;
        taskSizes[position] = subtract(part->end, part->first);
      }
    SmallVector<Slice> slices;
    SmallVector<Value> parts;
    SmallVector<StringRef> names;
    for (auto [name, sum] : {std::pair("dquery", wanted.query), {"dkey", wanted.key}, {"dvalue", wanted.value}})
      if (sum)
        names.push_back(name);
    if (step.getDbias())
      names.push_back("dbias");
    for (auto [name, whole] :
         llvm::zip_equal(names, forall.getRegionIterArgs().drop_back(step.getDcaptures().size()))) {
      slices.push_back(getOperandSlice(b, loc, maps[name], inRows(task), taskSizes));
      parts.push_back(createSlice(b, loc, whole, slices.back()));
    }
    captures.addSlices(forall, task, taskSizes, slices, parts);
    SmallVector<Value> results = buildKeyTiles(wanted.with(parts)).getAll();
    b.setInsertionPointToEnd(forall.getTerminator().getBody());
    for (auto [result, whole, slice] : llvm::zip(results, forall.getRegionIterArgs(), slices))
      tensor::ParallelInsertSliceOp::create(b, loc, result, whole, slice.offsets, slice.sizes, slice.strides);
    b.setInsertionPointAfter(forall);
    return captures.sumParts(forall.getResults());
  }

  /// The rows of the task are those of sequence `batch`.
  void enterSequence(Value batch) {
    queryStart = getSequenceStart(b, loc, step.getCuSeqlensQ(), batch);
    keyStart = getSequenceStart(b, loc, step.getCuSeqlensK(), batch);
    sizes[numBatch] = getSequenceLength(b, loc, step.getCuSeqlensQ(), batch);
    sizes[numBatch + 1] = getSequenceLength(b, loc, step.getCuSeqlensK(), batch);
  }

  Sums wanted; ///< the destinations of the step, of those that something reads
};

} // namespace

/// What rounds a gradient that nothing reads.
static void eraseDeadUsers(RewriterBase &rewriter, BackwardStepOp step) {
  llvm::SmallSetVector<Operation *, 4> users(step->user_begin(), step->user_end());
  for (Operation *user : users)
    if (isOpTriviallyDead(user))
      rewriter.eraseOp(user);
}

/// The rows' sums are linalg, in front of the tiles.
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
  if (isa<BlockAttr>(*step.getSchedule())) {
    tileBackwardBlocks(rewriter, step);
    return success();
  }
  if (failed(decomposeDelta(rewriter, step.getDelta())))
    return failure();
  rewriter.setInsertionPoint(step);
  emitRemark(step, RemarkOutcome::Passed, "tiled")
      << llvm::formatv("gradients in tiles of {0} queries and {1} keys", step.getSchedule()->getQueryTile(),
                       step.getSchedule()->getKeyTile())
             .str();
  eraseDeadUsers(rewriter, step);
  // Nothing is added to.
  bool isEmpty = llvm::is_contained(ArrayRef(getStaticDomain(step)), 0) || step->use_empty();
  SmallVector<Value> results = isEmpty ? SmallVector<Value>(cast<DestinationStyleOpInterface>(*step).getDpsInits())
                                       : BackwardTiles(rewriter, step).build();
  for (auto [old, result] : llvm::zip_equal(step->getResults(), results))
    if (result)
      rewriter.replaceAllUsesWith(old, result);
  rewriter.eraseOp(step);
  return success();
}
