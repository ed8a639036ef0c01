//===- TileBackward.cpp - attn-tile of the gradients ----------------------===//
//
// Before: a backward_step over all queries and keys, with a schedule. After: one
// scf.forall over batch dimensions, or packed sequences, and heads of K. A task
// goes through its key tiles, in them through the heads of Q that share the head of
// K, in them through the query tiles that query_ranges visit. The gradients of K
// and V of a tile stay in the cache as (column, key); that of Q is added to where
// it lies. A task owns all that it adds to, so sums have one order for every number
// of threads. Where tasks share a bias whose gradient is asked for, they take key
// tiles in turn. Where there are few heads, a task is a pair of a chunk of queries
// and one of keys.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardTile.h"
#include "CaptureSums.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

namespace {

/// The tensors that a task adds to: those of Q, K and V, the latter two of a key tile as (column, key), that of the
/// bias where there is one, and those of captured tensors.
struct Sums {
  Value query, key, value;
  SmallVector<Value> others;
  SmallVector<Value> getAll() const {
    SmallVector<Value> all = {query, key, value};
    llvm::append_range(all, others);
    return all;
  }
  static Sums of(ValueRange all) { return {all[0], all[1], all[2], SmallVector<Value>(all.drop_front(3))}; }
};

/// Positions [first, end) of queries or keys.
struct Range {
  Value first, end;
};

/// A batch index and a head of K, with all queries and keys where no part is given.
struct Task {
  SmallVector<Value> batch;
  std::optional<Range> queries, keys;
};

class BackwardTiles : BackwardOperands {
public:
  BackwardTiles(RewriterBase &b, BackwardStepOp step) : BackwardOperands(b, step), captures(b, step) {
    if (numBatch == 0)
      return;
    for (AffineExpr expr : maps["dkey"].getResults())
      if (expr.isFunctionOfDim(numBatch - 1)) {
        auto group = dyn_cast<AffineBinaryOpExpr>(expr);
        groupSize = group ? cast<AffineConstantExpr>(group.getRHS()).getValue() : 1;
      }
  }

  SmallVector<Value> build() {
    Position bounds(ArrayRef(sizes).take_front(numBatch));
    if (numBatch > 0) // without a head of its own, a task has all of them
      bounds.back() = groupSize ? affine::makeComposedFoldedAffineApply(
                                      b, loc, b.getAffineDimExpr(0).floorDiv(groupSize), {sizes[numBatch - 1]})
                                : OpFoldResult(b.getIndexAttr(1));
    else
      bounds.push_back(b.getIndexAttr(1));
    SmallVector<Value> inits = {step.getDquery(), step.getDkey(), step.getDvalue()};
    if (step.getDbias())
      inits.push_back(step.getDbias());
    if (sharesBiasGradient(step))
      return buildTurns(bounds, inits);
    if (schedule.getChunks() > 1)
      return buildChunks(bounds, inits);
    captures.createParts(bounds, inits);
    return buildTasks(bounds, inits, [](ValueRange indices) { return Task{SmallVector<Value>(indices), {}, {}}; });
  }

private:
  Value max(Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(loc, x, y); }
  Value min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(loc, x, y); }
  Value subtract(Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); }
  Value multiply(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }
  Value multiply(Value x, int64_t y) { return multiply(x, index(b, loc, y)); }
  Value divide(Value x, Value y) { return b.createOrFold<arith::DivSIOp>(loc, x, y); }
  Value remainder(Value x, Value y) { return b.createOrFold<arith::RemSIOp>(loc, x, y); }
  Value divideUp(Value x, int64_t y) { return b.createOrFold<arith::CeilDivSIOp>(loc, x, index(b, loc, y)); }

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
  Range getPart(Value number, Value size, Value count) {
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
    static constexpr StringLiteral kNames[] = {"dquery", "dkey", "dvalue", "dbias"};
    for (auto [name, whole] : llvm::zip(kNames, forall.getRegionIterArgs().drop_back(step.getDcaptures().size()))) {
      slices.push_back(getOperandSlice(b, loc, maps[name], inRows(task), taskSizes));
      parts.push_back(createSlice(b, loc, whole, slices.back()));
    }
    captures.addSlices(forall, task, taskSizes, slices, parts);
    SmallVector<Value> results = buildKeyTiles(Sums::of(parts)).getAll();
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

  /// The keys that a query of `queries` visits: no others are read.
  Range getVisitedKeys(Range queries) {
    Value lower = index(b, loc, 0), upper = toIndex(sizes[numBatch + 1]);
    bool isByHead = false;
    step.getMaskMod().walk(
        [&](IndexOp op) { isByHead |= op.getKind() == IndexKind::Head || op.getKind() == IndexKind::KvHead; });
    if (step.getMaskMod().empty() || (isByHead && groupSize != 1))
      return {lower, upper};
    Region ranges;
    {
      OpBuilder::InsertionGuard guard(b);
      buildRanges(b, loc, step.getMaskMod(), RangeAxis::Keys, getStaticSize(step, DimKind::Query),
                  getStaticSize(step, DimKind::Key), /*isDense=*/false, ranges);
    }
    SmallVector<Value> visited = inlineRegion(b, ranges, {}, [&](IndexOp op) -> Value {
      if (op.getKind() == IndexKind::FirstQuery)
        return queries.first;
      return op.getKind() == IndexKind::EndQuery ? queries.end : evaluateIndex(op, task);
    });
    lower = max(visited[0], lower);
    return {lower, max(lower, min(visited[1], upper))};
  }

  SmallVector<Value> createLoop(Value lower, Value upper, int64_t by, ValueRange state,
                                function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    return attn::createLoop(b, loc, lower, upper, by, TileState(state),
                            [&](Value at, TileState carried) { return TileState(body(at, carried)); });
  }

  Sums buildKeyTiles(Sums sums) {
    auto [lower, upper] = getVisitedKeys({index(b, loc, 0), toIndex(sizes[numBatch])});
    int64_t keyTile = schedule.getKeyTile();
    std::optional<int64_t> first = getConstantIntValue(lower), last = getConstantIntValue(upper);
    bool isWhole = first && last && (*last - *first) % keyTile == 0 && (!keyPart || *first % keyTile == 0);
    if (keyPart) {
      lower = max(lower, keyPart->first);
      upper = min(upper, keyPart->end);
    }
    if (queryPart && !step.getMaskMod().empty()) {
      // Of the tiles, those that the task's queries visit.
      Range visited = getVisitedKeys(*queryPart);
      Value zero = index(b, loc, 0), size = index(b, loc, keyTile);
      Value end = add(b, loc, lower, multiply(divideUp(max(subtract(visited.end, lower), zero), keyTile), size));
      upper = min(upper, end);
      lower = add(b, loc, lower, multiply(divide(max(subtract(visited.first, lower), zero), size), size));
    }
    return Sums::of(createLoop(lower, upper, keyTile, sums.getAll(), [&, upper = upper](Value key, ValueRange carried) {
      Sums whole = Sums::of(carried);
      OpFoldResult count = b.getIndexAttr(keyTile);
      if (!isWhole)
        count = min(index(b, loc, keyTile), b.createOrFold<arith::SubIOp>(loc, upper, key));
      return buildKeyTile(key, count, whole).getAll();
    }));
  }

  Sums buildKeyTile(Value firstKey, OpFoldResult count, Sums whole) {
    Position at = task, tileSizes(sizes.size(), b.getIndexAttr(1));
    std::copy(sizes.begin() + numBatch, sizes.end(), tileSizes.begin() + numBatch);
    at[numBatch + 1] = firstKey;
    tileSizes[numBatch + 1] = count;
    headSize = *getConstantIntValue(sizes[numBatch + 2]);
    valueSize = *getConstantIntValue(sizes[numBatch + 3]);
    int64_t keyTile = schedule.getKeyTile();
    Position keyAt = inRows(at);
    Part key = getPart(step.getKey(), "key", keyAt, tileSizes),
         value = getPart(step.getValue(), "value", keyAt, tileSizes);
    keyRows = key;
    valueRows = value;
    if (usesPairs()) {
      transposed = {transposePairs(key, 2, headSize), transposePairs(value, 3, valueSize),
                    pairRows(key, 2, headSize, count)};
    } else {
      copyKeys(keyRows, 2, headSize, count);
      if (getElementTypeOrSelf(value.value.getType()) != type) // as K: they have one type
        copyKeys(valueRows, 3, valueSize, count);
      transposed = {transposeRows(key, 2, headSize), transposeRows(value, 3, valueSize)};
    }
    // In the task's part of the gradients: one head of K.
    Position inTask(sizes.size(), b.getIndexAttr(0));
    inTask[numBatch + 1] = getInPart(keyPart, firstKey);
    // From 0, or from what other chunks of queries have added.
    auto createSums = [&](Value gradient, StringRef name, unsigned column, int64_t columns) -> Value {
      if (queryPart)
        return readRows(gradient, name, column, columns, inTask, tileSizes);
      return linalg::FillOp::create(b, loc, createFloatConstant(b, loc, type, 0),
                                    createSpace(columns, keyTile, b.getIndexAttr(columns), count))
          .getResult(0);
    };
    Sums sums = whole;
    sums.key = createSums(whole.key, "dkey", 2, headSize);
    sums.value = createSums(whole.value, "dvalue", 3, valueSize);
    auto buildHead = [&](Value inTask, Sums carried) {
      head = inTask;
      if (numBatch > 0)
        at[numBatch - 1] = affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0) + b.getAffineDimExpr(1),
                                                                 {task[numBatch - 1], OpFoldResult(inTask)});
      return buildQueryTiles(at, tileSizes, count, carried);
    };
    Value zeroIndex = index(b, loc, 0);
    if (numBatch == 0 || groupSize == 1)
      sums = buildHead(zeroIndex, sums);
    else
      sums = Sums::of(
          createLoop(zeroIndex, toIndex(taskSizes[numBatch - 1]), 1, sums.getAll(),
                     [&](Value inTask, ValueRange carried) { return buildHead(inTask, Sums::of(carried)).getAll(); }));
    whole.query = sums.query;
    whole.others = sums.others;
    whole.key = writeRows(sums.key, whole.key, "dkey", 2, inTask, tileSizes);
    whole.value = writeRows(sums.value, whole.value, "dvalue", 3, inTask, tileSizes);
    return whole;
  }

  /// The rows of a key tile become a copy of them, one after the other.
  void copyKeys(Part &rows, unsigned column, int64_t columns, OpFoldResult count) {
    rows.value =
        copyRows(rows, 1, column, createSpace(schedule.getKeyTile(), columns, count, b.getIndexAttr(columns), rowType));
    rows.map = AffineMap::get(4, 0, {b.getAffineDimExpr(1), b.getAffineDimExpr(column)}, b.getContext());
  }

  /// Partial tiles, which evaluate the predicate, up to the first query that keeps all keys; full ones; partial ones.
  Sums buildQueryTiles(Position at, Position tileSizes, OpFoldResult count, Sums sums) {
    Range all{index(b, loc, 0), toIndex(sizes[numBatch])};
    if (queryPart)
      all = *queryPart;
    if (step.getQueryRanges().empty())
      return buildTiles(at, tileSizes, all.first, all.end, hasFunctions(), sums);
    Value firstKey = toIndex(at[numBatch + 1]), endKey = add(b, loc, firstKey, toIndex(count));
    SmallVector<Value> bounds = inlineRegion(b, step.getQueryRanges(), {}, [&](IndexOp op) -> Value {
      if (op.getKind() == IndexKind::FirstKey)
        return firstKey;
      return op.getKind() == IndexKind::EndKey ? endKey : evaluateIndex(op, at);
    });
    auto isConstant = [](Value value, int64_t constant) { return getConstantIntValue(value) == constant; };
    Value lower = isConstant(bounds[0], 0) ? all.first : max(bounds[0], all.first);
    Value upper = isConstant(bounds[1], kNoBound) ? all.end : min(bounds[1], all.end);
    if (isConstant(bounds[3], 0))
      return buildTiles(at, tileSizes, lower, upper, /*isPartial=*/true, sums);
    if (!isConstant(bounds[2], 0)) {
      Value full = min(max(bounds[2], lower), max(lower, upper));
      sums = buildTiles(at, tileSizes, lower, full, /*isPartial=*/true, sums);
      lower = full;
    }
    if (isConstant(bounds[3], kNoBound))
      return buildTiles(at, tileSizes, lower, upper, /*isPartial=*/false, sums);
    Value end = max(lower, min(bounds[3], upper));
    sums = buildTiles(at, tileSizes, lower, end, /*isPartial=*/false, sums);
    return buildTiles(at, tileSizes, end, upper, /*isPartial=*/true, sums);
  }

  /// A position in the task's part of queries or keys.
  OpFoldResult getInPart(const std::optional<Range> &part, OpFoldResult position) {
    return part ? OpFoldResult(subtract(toIndex(position), part->first)) : position;
  }

  bool hasFunctions() { return !step.getMaskMod().empty() || step.getBias() || step.getMask(); }

  Sums buildTiles(const Position &at, const Position &tileSizes, Value lower, Value upper, bool isPartial, Sums sums) {
    int64_t queryTile = schedule.getQueryTile();
    return Sums::of(createLoop(lower, upper, queryTile, sums.getAll(), [&](Value query, ValueRange carried) {
      Position tileAt = at, partSizes = tileSizes;
      tileAt[numBatch] = query;
      partSizes[numBatch] = min(index(b, loc, queryTile), b.createOrFold<arith::SubIOp>(loc, upper, query));
      return buildStep(tileAt, partSizes, isPartial, Sums::of(carried)).getAll();
    }));
  }

  Sums buildStep(const Position &at, const Position &tileSizes, bool isPartial, Sums sums) {
    OpFoldResult rows = tileSizes[numBatch];
    int64_t queryTile = schedule.getQueryTile();
    Position rowAt = inRows(at);
    Part query = getPart(step.getQuery(), "query", rowAt, tileSizes),
         dout = getPart(step.getDout(), "dout", rowAt, tileSizes),
         lse = getPart(step.getLse(), "lse", rowAt, tileSizes),
         delta = getPart(step.getDelta(), "delta", rowAt, tileSizes);
    auto createRows = [&](const Part &part, unsigned column, int64_t columns) {
      return copyRows(part, 0, column, createSpace(queryTile, columns, rows, b.getIndexAttr(columns), rowType),
                      lse.value);
    };
    Value queryRows = createRows(query, 2, headSize), doutRows = createRows(dout, 3, valueSize);
    // In the task's part of the gradients.
    Position inTask(sizes.size(), b.getIndexAttr(0));
    inTask[numBatch] = getInPart(queryPart, at[numBatch]);
    inTask[numBatch + 1] = getInPart(keyPart, at[numBatch + 1]);
    if (numBatch > 0)
      inTask[numBatch - 1] = head;
    Part dquery = getPart(sums.query, "dquery", inTask, tileSizes), bias, mask, dbias;
    auto getMap = [&](std::initializer_list<unsigned> dims) {
      return AffineMap::get(4, 0, llvm::map_to_vector(dims, [&](unsigned d) { return b.getAffineDimExpr(d); }),
                            b.getContext());
    };
    SmallVector<AffineMap> stepMaps = {getMap({0, 2}), keyRows.map, valueRows.map, lse.map, getMap({0, 3}), delta.map};
    if (step.getBias()) {
      bias = getPart(step.getBias(), "bias", at, tileSizes);
      stepMaps.push_back(bias.map);
    }
    if (step.getMask()) {
      mask = getPart(step.getMask(), "mask", at, tileSizes);
      stepMaps.push_back(mask.map);
    }
    stepMaps.append({dquery.map, getMap({2, 1}), getMap({3, 1})});
    SmallVector<Value> inits = {dquery.value, sums.key, sums.value};
    ValueRange dcaptures = ValueRange(sums.others).drop_front(step.getDbias() ? 1 : 0);
    if (step.getDbias()) {
      dbias = getPart(sums.others.front(), "dbias", inTask, tileSizes);
      stepMaps.push_back(dbias.map);
      inits.push_back(dbias.value);
    }
    llvm::append_range(inits, dcaptures);
    auto tiled = BackwardStepOp::create(
        b, loc, llvm::to_vector(ValueRange(inits).getTypes()), queryRows, keyRows.value, valueRows.value, lse.value,
        doutRows, delta.value, bias.value, mask.value, dquery.value, sums.key, sums.value, dbias.value, dcaptures,
        /*cu_seqlens_q=*/Value(), /*cu_seqlens_k=*/Value(), step.getScaleValue(), transposed, step.getScaleAttr(),
        b.getAffineMapArrayAttr(stepMaps), step.getScheduleAttr());
    if (isPartial) {
      cloneRegion(step.getMaskMod(), tiled.getMaskMod(), at, tiled);
      buildPanelRanges(tiled, at);
    }
    cloneRegion(step.getScoreMod(), tiled.getScoreMod(), at, tiled);
    cloneRegion(step.getScoreGrad(), tiled.getScoreGrad(), at, tiled);
    captures.redirect(tiled, head);
    cloneRegion(step.getWeightMod(), tiled.getWeightMod(), at, tiled);
    sums.query = insert(dquery, tiled->getResult(0));
    sums.key = tiled->getResult(1);
    sums.value = tiled->getResult(2);
    sums.others.assign(tiled->result_begin() + 3, tiled->result_end());
    if (step.getDbias())
      sums.others.front() = insert(dbias, sums.others.front());
    return sums;
  }

  /// The ranges in rows of the tile, for its panels of keys; none where every row visits every key.
  void buildPanelRanges(BackwardStepOp tiled, const Position &at) {
    Region &ranges = step.getQueryRanges();
    if (ranges.empty())
      return;
    auto yielded = cast<YieldOp>(ranges.front().getTerminator()).getValues();
    if (getConstantIntValue(yielded[0]) == 0 && getConstantIntValue(yielded[1]) == kNoBound)
      return;
    cloneRegion(ranges, tiled.getQueryRanges(), at, tiled);
    OpBuilder::InsertionGuard guard(b);
    Value firstQuery = toIndex(at[numBatch]);
    Operation *yield = tiled.getQueryRanges().front().getTerminator();
    b.setInsertionPoint(yield);
    for (OpOperand &bound : yield->getOpOperands())
      bound.set(arith::SubIOp::create(b, loc, bound.get(), firstQuery));
  }

  CaptureSums captures;
  int64_t groupSize = 0; ///< heads of Q that share one of K; 0 for all of them
  Position task, taskSizes;
  std::optional<Range> queryPart, keyPart; ///< the task's
  // Of the key tile and head under way.
  int64_t headSize = 0, valueSize = 0;
  Value head;
  Part keyRows, valueRows;
  SmallVector<Value> transposed;
};

} // namespace

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
  // Nothing is added to.
  bool isEmpty = llvm::is_contained(ArrayRef(getStaticDomain(step)), 0);
  SmallVector<Value> results = isEmpty ? SmallVector<Value>(cast<DestinationStyleOpInterface>(*step).getDpsInits())
                                       : BackwardTiles(rewriter, step).build();
  rewriter.replaceOp(step, results);
  return success();
}
