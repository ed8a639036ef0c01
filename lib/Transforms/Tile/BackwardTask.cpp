//===- BackwardTask.cpp - the gradients of one task -----------------------===//
//
// Loops over key tiles, over the query heads that share the key head, and over query tiles. Each iteration is a
// backward_step on operands without batch dimensions. The sums of K and V of a key tile are (column, key) from its
// first step to its last one.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardTile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

namespace {

/// A key tile of a task, and the operands that its steps read. Its sums of K and V are (column, key).
struct KeyTile : DomainTile {
  KeyTile(const Task &task) : DomainTile(task), task(task) {}
  const Task &task;
  Value head; ///< in the task; null for the key head
  Operand key, value;
  SmallVector<Value> transposed;
};

} // namespace

/// One of `sums`; null where nothing reads it.
static Value *find(const TaskShape &s, TileState &sums, StringRef name) {
  auto found = llvm::find(s.gradients, name);
  return found == s.gradients.end() ? nullptr : &sums[found - s.gradients.begin()];
}

/// True where the keys that a query keeps may depend on its head.
static bool readsHead(Region &maskMod, unsigned numBatch) {
  // A single batch dimension is that of the heads.
  return maskMod
      .walk([&](IndexOp op) {
        bool reads = op.getKind() == IndexKind::Head || (op.getKind() == IndexKind::Batch && numBatch == 1);
        return reads ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

TaskShape::TaskShape(OpBuilder &b, BackwardStepOp step) : BackwardShape(b, step), captures(b, step) {
  for (auto [name, result] : llvm::zip(ArrayRef<StringRef>{"dquery", "dkey", "dvalue"}, step->getResults()))
    if (!result.use_empty())
      gradients.push_back(name);
  if (step.getDbias())
    gradients.push_back("dbias");
  blockMap = createBlockMap(b, *this);
}

bool attn::asksForBlockMap(BackwardStepOp step) {
  Region ranges;
  OpBuilder b(step);
  return !step.getMaskMod().empty() &&
         buildMaskRanges(b, step, step.getMaskMod(), RangeAxis::Queries, /*isDense=*/false, ranges).numTested > 0;
}

/// The keys that the queries `queries` visit: no others are read.
static PositionRange getVisitedKeys(OpBuilder &b, const TaskShape &s, const Task &task, PositionRange queries) {
  Location loc = s.loc;
  Value lower = index(b, loc, 0), upper = toValue(b, loc, task.numKeys);
  if (s.step.getMaskMod().empty())
    return {lower, upper};
  Region ranges;
  buildMaskRanges(b, s.step, s.step.getMaskMod(), RangeAxis::Keys, /*isDense=*/false, ranges);
  auto getRange = [&](const DomainTile &at) -> PositionRange {
    SmallVector<Value> visited = inlineRegion(b, ranges, {}, [&](IndexOp op) -> Value {
      if (op.getKind() == IndexKind::FirstQuery)
        return queries.first;
      return op.getKind() == IndexKind::EndQuery ? queries.end : evaluateIndex(b, s.step, at, op);
    });
    Value first = max(b, loc, visited[0], lower);
    return {first, max(b, loc, first, min(b, loc, visited[1], upper))};
  };
  if (s.groupSize == 1 || s.numBatch == 0 || !readsHead(ranges, s.numBatch))
    return getRange(task);
  // The hull of the keys that the heads of the group visit; a head that visits none does not extend it.
  Value heads = toValue(b, loc, task.sizes[s.numBatch - 1]);
  TileState hull = createLoop(b, loc, lower, heads, 1, {upper, lower}, [&](Value inGroup, TileState carried) {
    DomainTile at = task;
    at.offsets[s.numBatch - 1] = add(b, loc, toValue(b, loc, task.offsets[s.numBatch - 1]), inGroup);
    auto [first, end] = getRange(at);
    Value isEmpty = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, first, end);
    first = b.createOrFold<arith::SelectOp>(loc, isEmpty, upper, first);
    end = b.createOrFold<arith::SelectOp>(loc, isEmpty, lower, end);
    return TileState{min(b, loc, carried[0], first), max(b, loc, carried[1], end)};
  });
  return {hull[0], max(b, loc, hull[0], hull[1])};
}

//===----------------------------------------------------------------------===//
// Query tiles
//===----------------------------------------------------------------------===//

/// The position of a tile's gradients in the task's part of them.
static DomainTile getInTask(OpBuilder &b, const TaskShape &s, const KeyTile &at) {
  DomainTile inTask;
  inTask.sizes = at.sizes;
  inTask.offsets.assign(at.offsets.size(), b.getIndexAttr(0));
  auto set = [&](unsigned position, const std::optional<PositionRange> &part) {
    OpFoldResult offset = at.offsets[position];
    inTask.offsets[position] = part ? OpFoldResult(subtract(b, s.loc, toValue(b, s.loc, offset), part->first)) : offset;
  };
  set(s.queryPos(), at.task.queries);
  set(s.keyPos(), at.task.keys);
  if (at.head && s.numBatch > 0)
    inTask.offsets[s.numBatch - 1] = at.head;
  return inTask;
}

/// The query ranges in rows of the tile, for its panels of keys; none where every row visits every key.
static void buildPanelRanges(OpBuilder &b, const TaskShape &s, const DomainTile &at, BackwardStepOp tiled) {
  Region &ranges = s.step.getQueryRanges();
  if (ranges.empty())
    return;
  auto yielded = cast<YieldOp>(ranges.front().getTerminator()).getValues();
  if (getConstantIntValue(yielded[0]) == 0 && getConstantIntValue(yielded[1]) == kNoBound)
    return;
  cloneRegion(b, s, at, ranges, tiled.getQueryRanges(), tiled);
  OpBuilder::InsertionGuard guard(b);
  Value firstKey = toValue(b, s.loc, at.offsets[s.keyPos()]), firstQuery = toValue(b, s.loc, at.offsets[s.queryPos()]);
  for (IndexOp op : tiled.getQueryRanges().getOps<IndexOp>()) { // first_key and end_key, of a panel in the tile
    b.setInsertionPointAfter(op);
    auto shifted = arith::AddIOp::create(b, s.loc, op, firstKey);
    op.getResult().replaceAllUsesExcept(shifted, shifted);
  }
  Operation *yield = tiled.getQueryRanges().front().getTerminator();
  b.setInsertionPoint(yield);
  for (OpOperand &bound : yield->getOpOperands())
    bound.set(arith::SubIOp::create(b, s.loc, bound.get(), firstQuery));
}

static TileState createStep(OpBuilder &b, const TaskShape &s, const KeyTile &at, bool isPartial, TileState sums) {
  Operands tiles;
  tiles["key"] = at.key;
  tiles["value"] = at.value;
  auto getOwn = [&](StringRef name) { return getPart(b, s, at, s.getOperand(name), name); };
  Part query = getOwn("query"), dout = getOwn("dout");
  for (StringRef name : {"lse", "delta"})
    tiles[name] = getOwn(name);
  auto addRows = [&](StringRef name, const Part &rows) {
    tiles[name] = copyRows(b, s, rows, 0, s.getWidth(name) - s.numBatch, s.schedule.getQueryTile(),
                           at.sizes[s.queryPos()], tiles["lse"].value);
  };
  addRows("query", query);
  addRows("dout", dout);
  SmallVector<Value> transposed = at.transposed;
  for (StringRef name : {"query", "dout"})
    if (transposed.size() < s.schedule.getInfo().numTransposed)
      transposed.push_back(transposeCopy(b, s, tiles[name], s.schedule.getQueryTile()));
  DomainTile inTask = getInTask(b, s, at);
  for (StringRef name : {"log_sum", "bias", "mask"})
    if (s.getOperand(name))
      tiles[name] = getOwn(name);
  SmallVector<std::pair<Value *, Part>> written;
  AffineExpr key = b.getAffineDimExpr(1);
  for (auto [name, sum] : llvm::zip(s.gradients, sums)) {
    if (name == "dkey" || name == "dvalue") {
      AffineExpr column = b.getAffineDimExpr(s.getWidth(name) - s.numBatch);
      tiles[name] = {sum, AffineMap::get(4, 0, {column, key}, b.getContext())};
      continue;
    }
    written.push_back({&sum, getPart(b, s, inTask, sum, name)});
    tiles[name] = written.back().second;
  }
  BackwardStepOp tiled = createBackwardTile(b, s, tiles, ArrayRef(sums).drop_front(s.gradients.size()), transposed);
  if (isPartial) {
    cloneRegion(b, s, at, s.step.getMaskMod(), tiled.getMaskMod(), tiled);
    if (s.blockMap.kinds)
      buildMappedRanges(b, s, at, tiled);
    else
      buildPanelRanges(b, s, at, tiled);
  }
  cloneRegion(b, s, at, s.step.getScoreMod(), tiled.getScoreMod(), tiled);
  cloneRegion(b, s, at, s.step.getScoreGrad(), tiled.getScoreGrad(), tiled);
  s.captures.redirect(tiled, at.head);
  cloneRegion(b, s, at, s.step.getWeightMod(), tiled.getWeightMod(), tiled);
  llvm::copy(tiled->getResults(), sums.begin());
  for (auto &[sum, part] : written)
    *sum = insert(b, s.loc, part, *sum);
  return sums;
}

/// The step of a tile of the map: none if it is empty, without the predicate if it is full.
static TileState createMappedStep(OpBuilder &b, const TaskShape &s, const KeyTile &at, TileState sums) {
  Value kind = getKindOfTile(b, s, at);
  return createStepOfKind(b, s.loc, kind, /*isDense=*/s.step.getBias() || s.step.getMask(), sums,
                          [&](bool isPartial) { return createStep(b, s, at, isPartial, sums); });
}

/// The start of the map's tile that contains `first`; `first` without a map.
static Value alignToMap(OpBuilder &b, const TaskShape &s, Value first, int64_t size) {
  return s.blockMap.kinds ? roundDown(b, s.loc, first, size) : first;
}

/// Accumulates the query tiles that the key tile visits.
static TileState accumulateQueries(OpBuilder &b, const TaskShape &s, const KeyTile &at, TileState sums) {
  Location loc = s.loc;
  auto tiles = [&](Value lower, Value upper, bool isPartial, TileState state) {
    return createLoopOfTiles(b, loc, s.schedule.getQueryTile(), lower, upper, state,
                             [&](Value query, OpFoldResult count, TileState carried) {
                               KeyTile tile = at;
                               tile.offsets[s.queryPos()] = query;
                               tile.sizes[s.queryPos()] = count;
                               return isPartial && s.blockMap.kinds ? createMappedStep(b, s, tile, carried)
                                                                    : createStep(b, s, tile, isPartial, carried);
                             });
  };
  PositionRange all{index(b, loc, 0), toValue(b, loc, at.task.numQueries)};
  if (at.task.queries)
    all = *at.task.queries;
  if (s.step.getQueryRanges().empty())
    return tiles(all.first, all.end, !s.step.getMaskMod().empty() || s.step.getBias() || s.step.getMask(), sums);
  Value firstKey = toValue(b, loc, at.offsets[s.keyPos()]),
        endKey = add(b, loc, firstKey, toValue(b, loc, at.sizes[s.keyPos()]));
  SmallVector<Value> bounds = inlineRegion(b, s.step.getQueryRanges(), {}, [&](IndexOp op) {
    return op.getKind() == IndexKind::EndKey ? endKey : evaluateIndex(b, s.step, at, op);
  });
  ColumnRanges ranges(b, loc, bounds, all.first, all.end);
  ranges.inRounds = true;
  ranges.lower = alignToMap(b, s, ranges.lower, s.schedule.getQueryTile());
  return createColumnTiles(b, loc, ranges, sums, tiles, [&](Value lower, Value upper, TileState state, Value &end) {
    end = ranges.endsPartial ? max(b, loc, lower, upper) : upper;
    return tiles(lower, end, /*isPartial=*/false, state);
  });
}

//===----------------------------------------------------------------------===//
// Key tiles
//===----------------------------------------------------------------------===//

/// Shape of the (column, key) of a whole key tile, with `pair` columns together: (column floordiv pair, key, column mod
/// pair).
static SmallVector<int64_t> getTransposedShape(const TaskShape &s, int64_t columns, int64_t pair) {
  SmallVector<int64_t> shape = {columns / pair, s.schedule.getKeyTile()};
  if (pair > 1)
    shape.push_back(pair);
  return shape;
}

/// Rows of K or V in this shape.
static Value transposeRows(OpBuilder &b, const TaskShape &s, const Part &rows, unsigned column, int64_t pair,
                           FloatType type) {
  SmallVector<int64_t> shape = getTransposedShape(s, s.getColumns(s.numBatch + column), pair);
  AffineExpr at = b.getAffineDimExpr(1), exprs[] = {at.floorDiv(pair), b.getAffineDimExpr(0), at % pair};
  return packRows(b, s, rows, column, shape, ArrayRef(exprs).take_front(shape.size()), type);
}

/// True where V is a constant and its elements are not needed: sums of weights per key compute only the gradient of V.
static bool isUnreadValue(const TaskShape &s) {
  Value value = s.step.getValue();
  return s.gradients == ArrayRef<StringRef>{"dvalue"} && s.step.getDcaptures().empty() &&
         (value.getDefiningOp<linalg::FillOp>() || matchPattern(value, m_Constant()));
}

/// Allocates V and its transposed rows without filling them.
static void spareValue(OpBuilder &b, const TaskShape &s, KeyTile &at, int64_t pair) {
  int64_t columns = s.getColumns(s.valuePos()), keys = s.schedule.getKeyTile();
  OpFoldResult width = b.getIndexAttr(columns);
  AffineExpr exprs[] = {b.getAffineDimExpr(1), b.getAffineDimExpr(3)};
  at.value = {createSpace(b, s.loc, {keys, columns}, {at.sizes[s.keyPos()], width}, s.rowType),
              AffineMap::get(4, 0, exprs, b.getContext())};
  SmallVector<int64_t> shape = getTransposedShape(s, columns, pair);
  at.transposed.push_back(createSpace(b, s.loc, shape, getAsIndexOpFoldResult(b.getContext(), shape), s.rowType));
}

/// Packs the tile's operands of K and V as the products read them.
static void packKeys(OpBuilder &b, const TaskShape &s, KeyTile &at) {
  auto gather = s.step.getKey().getDefiningOp<GatherPagesOp>();
  Part key = gather ? gatherPart(b, s, at, gather, "key") : getPart(b, s, at, s.step.getKey(), "key");
  OpFoldResult count = at.sizes[s.keyPos()];
  int64_t keys = s.schedule.getKeyTile();
  const InstructionInfo &info = s.schedule.getInfo();
  int64_t pair = info.getPairSize();
  at.key = info.takesNarrow || gather ? key : copyRows(b, s, key, 1, 2, keys, count);
  if (isUnreadValue(s)) {
    at.transposed = {transposeRows(b, s, key, 2, pair, s.rowType)};
    spareValue(b, s, at, pair);
  } else {
    Part value = getPart(b, s, at, s.step.getValue(), "value");
    bool isCopied =
        !info.takesNarrow && getElementTypeOrSelf(value.value.getType()) != s.stateType; // like K, of the same type
    at.value = isCopied ? copyRows(b, s, value, 1, 3, keys, count) : value;
    at.transposed = {transposeRows(b, s, key, 2, pair, s.rowType), transposeRows(b, s, value, 3, pair, s.rowType)};
  }
  if (info.numTransposed < 3)
    return;
  // In pairs of keys, (key floordiv 2, column, key mod 2).
  AffineExpr paired = b.getAffineDimExpr(0), column = b.getAffineDimExpr(1);
  OpFoldResult pairs = affine::makeComposedFoldedAffineApply(b, s.loc, paired.ceilDiv(2), {count});
  at.transposed.push_back(packRows(b, s, key, 2, {int64_t(llvm::divideCeil(keys, 2)), s.getColumns(s.headPos()), 2},
                                   {paired.floorDiv(2), column, paired % 2}, s.rowType,
                                   info.keyMultiple > 1 ? OpFoldResult() : pairs));
}

static TileState accumulateKeyTile(OpBuilder &b, const TaskShape &s, KeyTile at, TileState whole) {
  Location loc = s.loc;
  packKeys(b, s, at);
  DomainTile inTask = getInTask(b, s, at);
  TileState sums = whole;
  OpFoldResult count = at.sizes[s.keyPos()];
  for (StringRef name : {"dkey", "dvalue"}) {
    Value *sum = find(s, sums, name);
    if (!sum)
      continue;
    unsigned width = s.getWidth(name);
    // Starts at 0, or at the sum of other chunks of queries, or at the existing contents.
    if (at.task.queries || !s.getOperand(name).getDefiningOp<linalg::FillOp>()) {
      Value read = transposeRows(b, s, getPart(b, s, inTask, *sum, name), width - s.numBatch, /*pair=*/1, s.stateType);
      *sum = createSlice(b, loc, read, getDimSlice(b, loc, read, 1, b.getIndexAttr(0), count));
    } else {
      OpFoldResult columns = b.getIndexAttr(s.getColumns(width));
      Value space = createSpace(b, loc, {s.getColumns(width), s.schedule.getKeyTile()}, {columns, count}, s.stateType);
      *sum = linalg::FillOp::create(b, loc, createFloatConstant(b, loc, s.stateType, 0), space).getResult(0);
    }
  }
  auto accumulateHead = [&](Value head, TileState carried) {
    at.head = head;
    if (s.numBatch > 0)
      at.offsets[s.numBatch - 1] = affine::makeComposedFoldedAffineApply(
          b, loc, b.getAffineDimExpr(0) + b.getAffineDimExpr(1), {at.task.offsets[s.numBatch - 1], OpFoldResult(head)});
    return accumulateQueries(b, s, at, carried);
  };
  Value zero = index(b, loc, 0);
  if (s.numBatch == 0 || s.groupSize == 1)
    sums = accumulateHead(zero, sums);
  else
    sums = createLoop(b, loc, zero, toValue(b, loc, at.task.sizes[s.numBatch - 1]), 1, sums, accumulateHead);
  for (StringRef name : {"dkey", "dvalue"})
    if (Value *sum = find(s, sums, name))
      *sum = writeRows(b, s, *sum, getPart(b, s, inTask, *find(s, whole, name), name), s.getWidth(name) - s.numBatch);
  return sums;
}

TileState attn::accumulateTask(OpBuilder &b, const TaskShape &s, const Task &task, TileState sums) {
  Location loc = s.loc;
  auto [lower, upper] = getVisitedKeys(b, s, task, {index(b, loc, 0), toValue(b, loc, task.numQueries)});
  int64_t keyTile = s.schedule.getKeyTile();
  lower = alignToMap(b, s, lower, keyTile);
  std::optional<int64_t> first = getConstantIntValue(lower), last = getConstantIntValue(upper);
  bool isWhole = first && last && (*last - *first) % keyTile == 0 && (!task.keys || *first % keyTile == 0);
  if (task.keys) {
    lower = max(b, loc, lower, task.keys->first);
    upper = min(b, loc, upper, task.keys->end);
  }
  if (task.queries && !s.step.getMaskMod().empty()) {
    // Only the tiles that the task's queries visit.
    PositionRange visited = getVisitedKeys(b, s, task, *task.queries);
    Value zero = index(b, loc, 0), size = index(b, loc, keyTile);
    auto getLength = [&](Value end) { return max(b, loc, subtract(b, loc, end, lower), zero); };
    Value end = add(b, loc, lower, multiply(b, loc, divideUp(b, loc, getLength(visited.end), size), size));
    upper = min(b, loc, upper, end);
    lower = add(b, loc, lower, multiply(b, loc, divide(b, loc, getLength(visited.first), size), size));
  }
  auto accumulate = [&](Value key, OpFoldResult count, TileState carried) {
    KeyTile at(task);
    std::fill_n(at.sizes.begin(), s.numBatch, OpFoldResult(b.getIndexAttr(1)));
    at.offsets[s.keyPos()] = key;
    at.sizes[s.keyPos()] = count;
    return accumulateKeyTile(b, s, at, carried);
  };
  if (!isWhole)
    return createLoopOfTiles(b, loc, keyTile, lower, upper, sums, accumulate);
  return createLoop(b, loc, lower, upper, keyTile, sums,
                    [&](Value key, TileState carried) { return accumulate(key, b.getIndexAttr(keyTile), carried); });
}
