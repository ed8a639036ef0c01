//===- BackwardTask.cpp - the gradients of one task -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardTask.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

BackwardTask::BackwardTask(RewriterBase &b, BackwardStepOp step)
    : BackwardOperands(b, step), captures(b, step), testsTiles(hasTestedConjuncts()) {
  if (numBatch == 0)
    return;
  for (AffineExpr expr : maps["dkey"].getResults())
    if (expr.isFunctionOfDim(numBatch - 1)) {
      auto group = dyn_cast<AffineBinaryOpExpr>(expr);
      groupSize = group ? cast<AffineConstantExpr>(group.getRHS()).getValue() : 1;
    }
}

/// True where the keys that a query keeps may depend on its head.
static bool readsHead(Region &maskMod, unsigned numBatch) {
  // The only batch dimension is that of the heads.
  return maskMod
      .walk([&](IndexOp op) {
        bool reads = op.getKind() == IndexKind::Head || (op.getKind() == IndexKind::Batch && numBatch == 1);
        return reads ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

PositionRange BackwardTask::getVisitedKeys(PositionRange queries) {
  Value lower = index(b, loc, 0), upper = toIndex(sizes[numBatch + 1]);
  if (step.getMaskMod().empty())
    return {lower, upper};
  Region ranges;
  {
    OpBuilder::InsertionGuard guard(b);
    buildRanges(b, loc, step.getMaskMod(), RangeAxis::Keys, getStaticSize(step, DimKind::Query),
                getStaticSize(step, DimKind::Key), /*isDense=*/false, ranges);
  }
  auto getRange = [&](const Position &at) -> PositionRange {
    SmallVector<Value> visited = inlineRegion(b, ranges, {}, [&](IndexOp op) -> Value {
      if (op.getKind() == IndexKind::FirstQuery)
        return queries.first;
      return op.getKind() == IndexKind::EndQuery ? queries.end : evaluateIndex(op, at);
    });
    Value first = max(visited[0], lower);
    return {first, max(first, min(visited[1], upper))};
  };
  if (groupSize == 1 || numBatch == 0 || !readsHead(ranges, numBatch))
    return getRange(task);
  // The hull of what the heads of the group visit; one that visits nothing adds nothing to it.
  SmallVector<Value> hull =
      createLoop(lower, toIndex(taskSizes[numBatch - 1]), 1, {upper, lower}, [&](Value inGroup, ValueRange carried) {
        Position at = task;
        at[numBatch - 1] = add(b, loc, toIndex(task[numBatch - 1]), inGroup);
        auto [first, end] = getRange(at);
        Value isEmpty = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, first, end);
        first = b.createOrFold<arith::SelectOp>(loc, isEmpty, upper, first);
        end = b.createOrFold<arith::SelectOp>(loc, isEmpty, lower, end);
        return SmallVector<Value>{min(carried[0], first), max(carried[1], end)};
      });
  return {hull[0], max(hull[0], hull[1])};
}

SmallVector<Value> BackwardTask::createLoop(Value lower, Value upper, int64_t by, ValueRange state,
                                            function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  return attn::createLoop(b, loc, lower, upper, by, TileState(state),
                          [&](Value at, TileState carried) { return TileState(body(at, carried)); });
}

Sums BackwardTask::buildKeyTiles(Sums sums) {
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
    PositionRange visited = getVisitedKeys(*queryPart);
    Value zero = index(b, loc, 0), size = index(b, loc, keyTile);
    Value end = add(b, loc, lower, multiply(divideUp(max(subtract(visited.end, lower), zero), keyTile), size));
    upper = min(upper, end);
    lower = add(b, loc, lower, multiply(divide(max(subtract(visited.first, lower), zero), size), size));
  }
  return sums.with(createLoop(lower, upper, keyTile, sums.getAll(), [&, upper = upper](Value key, ValueRange carried) {
    Sums whole = sums.with(carried);
    OpFoldResult count = b.getIndexAttr(keyTile);
    if (!isWhole)
      count = min(index(b, loc, keyTile), b.createOrFold<arith::SubIOp>(loc, upper, key));
    return buildKeyTile(key, count, whole).getAll();
  }));
}

Sums BackwardTask::buildKeyTile(Value firstKey, OpFoldResult count, Sums whole) {
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
  if (whole.key)
    sums.key = createSums(whole.key, "dkey", 2, headSize);
  if (whole.value)
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
    sums = sums.with(
        createLoop(zeroIndex, toIndex(taskSizes[numBatch - 1]), 1, sums.getAll(),
                   [&](Value inTask, ValueRange carried) { return buildHead(inTask, sums.with(carried)).getAll(); }));
  whole.query = sums.query;
  whole.others = sums.others;
  if (whole.key)
    whole.key = writeRows(sums.key, whole.key, "dkey", 2, inTask, tileSizes);
  if (whole.value)
    whole.value = writeRows(sums.value, whole.value, "dvalue", 3, inTask, tileSizes);
  return whole;
}

void BackwardTask::copyKeys(Part &rows, unsigned column, int64_t columns, OpFoldResult count) {
  rows.value =
      copyRows(rows, 1, column, createSpace(schedule.getKeyTile(), columns, count, b.getIndexAttr(columns), rowType));
  rows.map = AffineMap::get(4, 0, {b.getAffineDimExpr(1), b.getAffineDimExpr(column)}, b.getContext());
}

Sums BackwardTask::buildQueryTiles(Position at, Position tileSizes, OpFoldResult count, Sums sums) {
  PositionRange all{index(b, loc, 0), toIndex(sizes[numBatch])};
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

OpFoldResult BackwardTask::getInPart(const std::optional<PositionRange> &part, OpFoldResult position) {
  return part ? OpFoldResult(subtract(toIndex(position), part->first)) : position;
}

bool BackwardTask::hasTestedConjuncts() {
  if (step.getMaskMod().empty())
    return false;
  Region ranges;
  OpBuilder::InsertionGuard guard(b);
  return buildRanges(b, loc, step.getMaskMod(), RangeAxis::Queries, getStaticSize(step, DimKind::Query),
                     getStaticSize(step, DimKind::Key), /*isDense=*/false, ranges)
             .numTested > 0;
}

bool BackwardTask::hasFunctions() { return !step.getMaskMod().empty() || step.getBias() || step.getMask(); }

Sums BackwardTask::buildTiles(const Position &at, const Position &tileSizes, Value lower, Value upper, bool isPartial,
                              Sums sums) {
  int64_t queryTile = schedule.getQueryTile();
  return sums.with(createLoop(lower, upper, queryTile, sums.getAll(), [&](Value query, ValueRange carried) {
    Position tileAt = at, partSizes = tileSizes;
    tileAt[numBatch] = query;
    partSizes[numBatch] = min(index(b, loc, queryTile), b.createOrFold<arith::SubIOp>(loc, upper, query));
    return (isPartial && testsTiles ? buildTestedTile(tileAt, partSizes, sums.with(carried))
                                    : buildStep(tileAt, partSizes, isPartial, sums.with(carried)))
        .getAll();
  }));
}

Sums BackwardTask::buildTestedTile(const Position &at, const Position &tileSizes, Sums sums) {
  int64_t queryTile = schedule.getQueryTile();
  auto classify =
      ClassifyTileOp::create(b, loc, b.getI8Type(), toIndex(tileSizes[numBatch]), toIndex(tileSizes[numBatch + 1]),
                             queryTile, std::gcd(queryTile, schedule.getLanes()));
  cloneRegion(step.getMaskMod(), classify.getMaskMod(), at, classify);
  auto visit = [&](bool isPartial) { return buildStep(at, tileSizes, isPartial, sums).getAll(); };
  auto visitAny = [&] {
    if (step.getBias() || step.getMask())
      return visit(/*isPartial=*/true);
    return createBranch(
        b, loc, isOfKind(b, loc, classify, TileKind::Full), [&] { return visit(/*isPartial=*/false); },
        [&] { return visit(/*isPartial=*/true); });
  };
  return sums.with(
      createBranch(b, loc, isOfKind(b, loc, classify, TileKind::Empty), [&] { return sums.getAll(); }, visitAny));
}

Sums BackwardTask::buildStep(const Position &at, const Position &tileSizes, bool isPartial, Sums sums) {
  OpFoldResult rows = tileSizes[numBatch];
  int64_t queryTile = schedule.getQueryTile();
  Position rowAt = inRows(at);
  Part query = getPart(step.getQuery(), "query", rowAt, tileSizes),
       dout = getPart(step.getDout(), "dout", rowAt, tileSizes), lse = getPart(step.getLse(), "lse", rowAt, tileSizes),
       delta = getPart(step.getDelta(), "delta", rowAt, tileSizes), logSum;
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
  Part dquery, bias, mask, dbias;
  auto getMap = [&](std::initializer_list<unsigned> dims) {
    return AffineMap::get(4, 0, llvm::map_to_vector(dims, [&](unsigned d) { return b.getAffineDimExpr(d); }),
                          b.getContext());
  };
  SmallVector<AffineMap> stepMaps = {getMap({0, 2}), keyRows.map, valueRows.map, lse.map, getMap({0, 3}), delta.map};
  if (step.getLogSum()) {
    logSum = getPart(step.getLogSum(), "log_sum", rowAt, tileSizes);
    stepMaps.push_back(logSum.map);
  }
  if (step.getBias()) {
    bias = getPart(step.getBias(), "bias", at, tileSizes);
    stepMaps.push_back(bias.map);
  }
  if (step.getMask()) {
    mask = getPart(step.getMask(), "mask", at, tileSizes);
    stepMaps.push_back(mask.map);
  }
  SmallVector<Value> inits;
  auto addGradient = [&](Value init, AffineMap map) {
    inits.push_back(init);
    stepMaps.push_back(map);
  };
  if (sums.query) {
    dquery = getPart(sums.query, "dquery", inTask, tileSizes);
    addGradient(dquery.value, dquery.map);
  }
  if (sums.key)
    addGradient(sums.key, getMap({2, 1}));
  if (sums.value)
    addGradient(sums.value, getMap({3, 1}));
  ValueRange dcaptures = ValueRange(sums.others).drop_front(step.getDbias() ? 1 : 0);
  if (step.getDbias()) {
    dbias = getPart(sums.others.front(), "dbias", inTask, tileSizes);
    addGradient(dbias.value, dbias.map);
  }
  llvm::append_range(inits, dcaptures);
  auto tiled =
      BackwardStepOp::create(b, loc, llvm::to_vector(ValueRange(inits).getTypes()), queryRows, keyRows.value,
                             valueRows.value, lse.value, doutRows, delta.value, logSum.value, bias.value, mask.value,
                             dquery.value, sums.key, sums.value, dbias.value, dcaptures,
                             /*cu_seqlens_q=*/Value(), /*cu_seqlens_k=*/Value(), step.getScaleValue(), transposed,
                             step.getScaleAttr(), b.getAffineMapArrayAttr(stepMaps), step.getScheduleAttr());
  if (isPartial) {
    cloneRegion(step.getMaskMod(), tiled.getMaskMod(), at, tiled);
    buildPanelRanges(tiled, at);
  }
  cloneRegion(step.getScoreMod(), tiled.getScoreMod(), at, tiled);
  cloneRegion(step.getScoreGrad(), tiled.getScoreGrad(), at, tiled);
  captures.redirect(tiled, head);
  cloneRegion(step.getWeightMod(), tiled.getWeightMod(), at, tiled);
  sums = sums.with(tiled->getResults());
  if (sums.query)
    sums.query = insert(dquery, sums.query);
  if (step.getDbias())
    sums.others.front() = insert(dbias, sums.others.front());
  return sums;
}

void BackwardTask::buildPanelRanges(BackwardStepOp tiled, const Position &at) {
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
