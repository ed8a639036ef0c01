//===- OnlineStep.cpp - one key tile folded into the state of a query tile ===//
//
// The transposed tile, for each block of lanes:
//   S^T = K Q^T, with the score functions applied as rows are stored
//   m' = max(m, rows), alpha = 2^((m - m') log2 e)
//   P^T = 2^((S^T - m') log2 e), l' = alpha l + sum of rows
// and then O^T = alpha O^T + V^T P^T. The maximum is subtracted before the
// factor log2 e: the difference is exact where it matters, and a score near the
// most negative finite number, an ordinary number, does not overflow.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeStep.h"
#include "attn/Schedule/Schedule.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/bit.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

namespace {

const double kMinusInf = -std::numeric_limits<double>::infinity();
/// Vectors of rows of a tile whose products of one key are too few to hide how long each takes.
constexpr int64_t kFewVectors = 2;
/// Rows of K or columns of V of a block of fewer vectors than the schedule's, at most: the last block may have few.
constexpr int64_t kMaxBlockRows = 8;

class OnlineStepLowering {
public:
  OnlineStepLowering(VectorBuilder &vb, OnlineStepOp step)
      : vb(vb), b(vb.b), loc(vb.loc), laneCode(vb, ScoreFunctions::of(step)), numBatch(getNumBatchDims(step)),
        schedule(cast<PrefillAttr>(*step.getSchedule())), prefetches(vb, step) {
    SmallVector<AffineMap> maps = getMaps(step);
    query = {step.getQuery(), maps[0]};
    key = {step.getKey(), maps[1]};
    value = {step.getValue(), maps[2]};
    acc = {step.getAcc(), maps[maps.size() - 3]};
    rowMax = {step.getRowMax(), maps[maps.size() - 2]};
    rowSum = {step.getRowSum(), maps[maps.size() - 1]};
    SmallVector<int64_t> domain = getStaticDomain(step);
    numLanes = ShapedType::isDynamic(domain[numBatch]) ? schedule.getQueryTile() : domain[numBatch];
    endLane = getDomainSizes(b, step)[numBatch];
    numKeys = getDomainSizes(b, step)[numBatch + 1];
    keyCount = getValueOrCreateConstantIndexOp(b, loc, numKeys);
    maxKeys = getMaxTileKeys(step);
    scoreWeight = step.getScoreWeight();
    headSize = domain[numBatch + 2];
    valueSize = domain[numBatch + 3];
    blockLanes = schedule.getBlockVectors() * vb.lanes;
    const InstructionInfo &info = schedule.getInstruction().getInfo();
    usesPairs = info.queryLayout == OperandLayout::Pairs;
    usesTiles = info.valueLayout == OperandLayout::Columns;
    weightType = cast<FloatType>(getElementTypeOrSelf(value.memref.getType()));
  }

  void emit() {
    // Blocks narrower than a tile walk down columns of S^T: rows a line further apart fall on all sets of the cache.
    int64_t padding = numLanes > blockLanes && !usesTiles ? kBufferAlignment / (vb.elementType.getWidth() / 8) : 0;
    scores = vb.stackBuffer({maxKeys, numLanes + padding});
    alpha = vb.stackBuffer({numLanes});
    if (usesPairs) {
      queryPairs = vb.collapsePairs(query.memref);
      if (!usesTiles)
        valuePairs = vb.collapsePairs(value.memref);
      weightPairs = vb.stackBuffer({int64_t(llvm::divideCeil(maxKeys, 2)), 2 * numLanes}, weightType);
    }
    if (usesTiles)
      emitTileProduct(vb, getMatrix(vb, key, numBatch + 1, numBatch + 2), getPairMatrix(vb, queryPairs), scores,
                      /*isAdded=*/false);
    forEachBlockSize([&](Value first, Value end) {
      forEachLaneBlock(first, end, [&](Value lane) {
        Values starts;
        for (int64_t v = 0; v < vectors; ++v)
          starts.push_back(vb.add(lane, v * vb.lanes));
        laneCode.prepare(starts);
        Values oldMax = loadRow(rowMax, lane);
        Values newMax = emitScores(lane, oldMax);
        emitSoftmax(lane, oldMax, newMax);
      });
    });
    forEachBlockSize([&](Value first, Value end) {
      forEachBlock(vb, b.getIndexAttr(valueSize), getBlockRows(), {}, [&](Value column, int64_t rows, ValueRange) {
        forEachLaneBlock(first, end, [&](Value lane) { emitOutput(column, rows, lane); });
        return Values();
      });
    });
    if (usesTiles)
      emitTileProduct(vb, getMatrix(vb, value, numBatch + 3, numBatch + 1), weightPairs,
                      getMatrix(vb, acc, numBatch + 3, numBatch), /*isAdded=*/true);
  }

private:
  bool hasDynamicRows() const { return !getConstantIntValue(endLane); }

  /// body(first, end) for the lanes that blocks of one size take: of a dynamic number of rows, smaller and smaller
  /// blocks take what is left.
  void forEachBlockSize(function_ref<void(Value, Value)> body) {
    if (!hasDynamicRows())
      return body({}, {});
    Value first = vb.index(0), end = cast<Value>(endLane);
    for (vectors = schedule.getBlockVectors(); vectors > 0; vectors = llvm::bit_floor(uint64_t(vectors - 1))) {
      Value rest = vectors == 1 ? vb.index(0) : vb.remainder(vb.subtract(end, first), vectors * vb.lanes);
      Value last = vb.subtract(end, rest);
      body(first, last);
      first = last;
    }
  }

  /// body(first lane) over blocks of `vectors` vectors of lanes; the last block of a static number may have fewer.
  void forEachLaneBlock(Value first, Value end, function_ref<void(Value)> body) {
    if (first) {
      vb.loop(first, end, vectors * vb.lanes, {}, [&](Value lane, ValueRange) {
        body(lane);
        return Values();
      });
      return;
    }
    forEachBlock(vb, b.getIndexAttr(numLanes), blockLanes, {}, [&](Value lane, int64_t lanes, ValueRange) {
      vectors = lanes / vb.lanes;
      body(lane);
      return Values();
    });
  }

  /// Rows of K or columns of V of a block: of fewer vectors, more of them, so that as many products are under way.
  int64_t getBlockRows() const {
    int64_t rows = schedule.getBlockRows();
    if (!hasDynamicRows() || vectors == schedule.getBlockVectors())
      return rows;
    return std::max(rows, std::min(kMaxBlockRows, rows * schedule.getBlockVectors() / vectors));
  }

  Values at(const Operand &operand, Value lane, Value keyIndex, Value head, Value column) {
    SmallVector<Value> domain(numBatch);
    domain.append({lane, keyIndex, head, column});
    return operand.getIndices(vb, domain);
  }

  Values loadRow(const Operand &row, Value lane) {
    Values result;
    for (int64_t v = 0; v < vectors; ++v)
      result.push_back(vb.load(row.memref, at(row, vb.add(lane, v * vb.lanes), {}, {}, {})));
    return result;
  }

  void storeRow(ValueRange vectorsOfRow, const Operand &row, Value lane) {
    for (auto [v, vector] : llvm::enumerate(vectorsOfRow))
      vb.store(vector, row.memref, at(row, vb.add(lane, v * vb.lanes), {}, {}, {}));
  }

  Value twice(Value i) { return vb.multiply(i, 2); }
  /// The part beside `position` of `positions`, keys or columns, in a block of lanes.
  void prefetch(Contraction product, Value block, Value position, int64_t positions) {
    // Of a dynamic number of blocks, each requests all lines.
    int64_t blocks = hasDynamicRows() ? 1 : llvm::divideCeil(numLanes, blockLanes);
    Value part = hasDynamicRows() ? position : vb.add(vb.multiply(block, positions), position);
    for (const PrefetchTile &tile : prefetches.get(product))
      emitPrefetchPart(vb, tile, part, positions * blocks);
  }
  Value getBlock(Value lane) { return vb.divide(lane, blockLanes); }

  /// Of a memref of pairs, collapsed: tiles have one batch index and head.
  Values atPair(Value pairs, Value pair, Value other) {
    Values indices(cast<MemRefType>(pairs.getType()).getRank() - 2, vb.index(0));
    indices.append({pair, twice(other)});
    return indices;
  }

  Combine getCombine() { return usesPairs ? Combine(addPairs) : Combine(); }

  /// S^T[j][lane] = k_j q_lane of `keys`; tiles have left it in the place of the scores.
  Values getProducts(ValueRange keys, Value lane) {
    int64_t rows = keys.size();
    if (usesTiles) {
      Values products;
      for (Value keyIndex : keys)
        for (int64_t v = 0; v < vectors; ++v)
          products.push_back(vb.load(scores, {keyIndex, vb.add(lane, v * vb.lanes)}));
      return products;
    }
    // Additive scoring: w_d tanh(q_d + k_d) where the product has q_d k_d.
    auto addScore = [&](Value d, Value k, Value q, Value sum) -> Value {
      Value weight = memref::LoadOp::create(b, loc, scoreWeight, d);
      Value tanh = math::TanhOp::create(b, loc, arith::AddFOp::create(b, loc, q, k));
      return vb.multiplyAdd(vb.broadcast(vb.convert(weight, vb.elementType)), tanh, sum);
    };
    return emitRegisterKernel(
        vb, rows, vectors, vb.index(usesPairs ? headSize / 2 : headSize), Values(rows * vectors, vb.splat(0)),
        [&](int64_t row, Value d) -> Value {
          if (usesPairs)
            return vb.loadPair(key.memref, at(key, {}, keys[row], twice(d), {}));
          return memref::LoadOp::create(b, loc, key.memref, at(key, {}, keys[row], d, {}));
        },
        [&](Value d, int64_t v) {
          Value vectorLane = vb.add(lane, v * vb.lanes);
          return usesPairs ? vb.loadPairs(queryPairs, atPair(queryPairs, d, vectorLane))
                           : vb.load(query.memref, at(query, vectorLane, {}, d, {}));
        },
        scoreWeight ? Combine(addScore) : getCombine());
  }

  /// S^T[j][lane] = score of key j; returns max(m, max_j S^T[j]).
  Values emitScores(Value lane, ValueRange oldMax) {
    int64_t block = getBlockRows();
    auto emitBlock = [&](Value first, int64_t rows, ValueRange max, Value last) {
      Values keys;
      for (int64_t row = 0; row < rows; ++row) {
        keys.push_back(vb.add(first, row));
        if (last)
          keys.back() = vb.minimum(keys.back(), last);
      }
      return emitScoresOf(keys, lane, max);
    };
    // In a tile of few rows, a product of one key would wait for the one before it. The last block is a whole one
    // instead, in which the last key stands for those beyond it: its score is the same each time.
    int64_t atOnce = hasDynamicRows() ? vectors * vb.lanes : numLanes;
    if (!getConstantIntValue(numKeys) && atOnce <= kFewVectors * vb.lanes)
      return vb.loop(vb.index(0), keyCount, block, oldMax, [&](Value first, ValueRange max) {
        return emitBlock(first, block, max, vb.subtract(keyCount, vb.index(1)));
      });
    return forEachBlock(vb, numKeys, block, oldMax, [&](Value first, int64_t rows, ValueRange max) {
      return emitBlock(first, rows, max, /*last=*/Value());
    });
  }

  Values emitScoresOf(ValueRange keys, Value lane, ValueRange max) {
    for (Value keyIndex : keys)
      prefetch(Contraction::Scores, getBlock(lane), keyIndex, maxKeys);
    Values raw = getProducts(keys, lane), newMax(max), natural;
    for (size_t row = 0; row < keys.size(); ++row)
      for (int64_t v = 0; v < vectors; ++v)
        natural.push_back(laneCode.modify(raw[row * vectors + v], keys[row], v));
    natural = laneCode.cap(natural);
    for (size_t row = 0; row < keys.size(); ++row)
      for (int64_t v = 0; v < vectors; ++v) {
        Value vectorLane = vb.add(lane, v * vb.lanes);
        Value score = laneCode.remove(natural[row * vectors + v], keys[row], v);
        vb.store(score, scores, {keys[row], vectorLane});
        newMax[v] = vb.max(score, newMax[v]);
      }
    return newMax;
  }

  /// P^T over S^T in place; the new maximum, sum and alpha of the lanes.
  void emitSoftmax(Value lane, ValueRange oldMax, ValueRange newMax) {
    Values maxima, factors; // m', and alpha
    for (auto [before, after] : llvm::zip(oldMax, newMax)) {
      // A row that has kept nothing yet: any finite maximum will do, as every p of it is 0.
      Value max = after;
      if (laneCode.isPartial())
        max = vb.select(vb.isEqual(after, kMinusInf), vb.splat(0), after);
      // alpha = 2^((m - m') log2 e); for m = -inf it scales a state of zeros.
      factors.push_back(vb.expDifference(before, max));
      maxima.push_back(max);
    }
    // p = 2^((s - m') log2 e), 0 for a removed key, a score of -inf; adds it to the sum, returns what multiplies V.
    auto emitWeight = [&](Value keyIndex, int64_t v, Value &sum) {
      Value score = vb.load(scores, {keyIndex, vb.add(lane, v * vb.lanes)});
      Value weight = vb.expDifference(score, maxima[v], weightType);
      sum = arith::AddFOp::create(b, loc, sum, weight);
      return laneCode.modifyWeight(weight, keyIndex, v);
    };
    // The polynomial's coefficients fill a small register file: there, one vector of lanes at a time.
    int64_t together = vb.target.vectorRegisters < kManyRegisters ? 1 : vectors;
    storeRow(newMax, rowMax, lane);
    for (auto [v, factor] : llvm::enumerate(factors))
      vb.store(factor, alpha, {vb.add(lane, v * vb.lanes)});
    for (int64_t firstVector = 0; firstVector < vectors; firstVector += together) {
      Values zeros(together, vb.splat(0));
      Values sums =
          forEachBlock(vb, numKeys, usesPairs ? 2 : 1, zeros, [&](Value first, int64_t rows, ValueRange partial) {
            Values next(partial);
            for (int64_t i = 0; i < together; ++i) {
              int64_t v = firstVector + i;
              Value vectorLane = vb.add(lane, v * vb.lanes);
              Value weight = emitWeight(first, v, next[i]);
              if (!usesPairs) {
                vb.store(weight, scores, {first, vectorLane});
                continue;
              }
              // The last of an odd number of keys has 0 beside it.
              Value odd = rows == 2 ? emitWeight(vb.add(first, 1), v, next[i]) : vb.splat(0);
              Value pair = vb.divide(first, 2);
              vb.store(vb.makePairs(weight, odd), weightPairs, {pair, twice(vectorLane)});
            }
            return next;
          });
      if (auto loop = sums.back().getDefiningOp<scf::ForOp>(); loop && together == 1)
        attn::keepRolled(loop);
      for (auto [i, sum] : llvm::enumerate(sums)) {
        Value vectorLane = vb.add(lane, (firstVector + i) * vb.lanes);
        SmallVector<Value> position = at(rowSum, vectorLane, {}, {}, {});
        Value old = vb.load(rowSum.memref, position);
        vb.store(vb.multiplyAdd(old, vb.load(alpha, vectorLane), sum), rowSum.memref, position);
      }
    }
  }

  /// O^T[e][lane] = alpha O^T[e][lane] + sum_j V[j][e] P^T[j][lane] for `rows` columns e of V; tiles add the sum later.
  void emitOutput(Value column, int64_t rows, Value lane) {
    Values columns, lanes;
    for (int64_t row = 0; row < rows; ++row)
      columns.push_back(vb.add(column, row));
    for (Value c : columns)
      prefetch(Contraction::Values, getBlock(lane), c, valueSize);
    for (int64_t v = 0; v < vectors; ++v)
      lanes.push_back(vb.add(lane, v * vb.lanes));
    // The sum of a tile starts at 0: added one by one to that of all keys, each product would be rounded as much as it.
    // Of tiles of unknown length LLVM makes a version for no keys, which is shorter where only alpha is left of them.
    bool startsAtZero = getConstantIntValue(numKeys).has_value() && !usesTiles;
    auto forEachSum = [&](function_ref<void(int64_t, ArrayRef<Value>, Value)> body) {
      Values factors = llvm::map_to_vector(lanes, [&](Value first) { return vb.load(alpha, first); });
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t v = 0; v < vectors; ++v)
          body(row * vectors + v, at(acc, lanes[v], {}, {}, columns[row]), factors[v]);
    };
    Values init(rows * vectors, vb.splat(0));
    if (!startsAtZero)
      forEachSum([&](int64_t i, ArrayRef<Value> position, Value factor) {
        init[i] = arith::MulFOp::create(b, loc, vb.load(acc.memref, position), factor);
      });
    auto storeOutput = [&](ValueRange sums) {
      forEachSum([&](int64_t i, ArrayRef<Value> position, Value factor) {
        Value sum = sums[i];
        if (startsAtZero)
          sum = vb.multiplyAdd(vb.load(acc.memref, position), factor, sum);
        vb.store(sum, acc.memref, position);
      });
    };
    if (usesTiles)
      return storeOutput(init);
    Value depth = keyCount;
    if (usesPairs)
      depth = vb.divide(vb.add(keyCount, 1), 2);
    storeOutput(emitRegisterKernel(
        vb, rows, vectors, depth, init,
        [&](int64_t row, Value keyIndex) -> Value {
          if (usesPairs)
            return vb.loadPair(valuePairs, atPair(valuePairs, keyIndex, columns[row]));
          return memref::LoadOp::create(b, loc, value.memref, at(value, {}, keyIndex, {}, columns[row]));
        },
        [&](Value keyIndex, int64_t v) {
          return usesPairs ? vb.loadPairs(weightPairs, {keyIndex, twice(lanes[v])})
                           : vb.load(scores, {keyIndex, lanes[v]});
        },
        getCombine()));
  }

  VectorBuilder &vb;
  OpBuilder &b;
  Location loc;
  LaneCode laneCode;
  unsigned numBatch;
  PrefillAttr schedule;
  StepPrefetches prefetches;
  Operand query, key, value, acc, rowMax, rowSum;
  OpFoldResult endLane, numKeys;
  Value keyCount;
  int64_t numLanes, maxKeys, headSize, valueSize, blockLanes;
  int64_t vectors; ///< of the block of lanes under way
  Value scores, alpha, scoreWeight;
  /// Products of pairs: Q's along the head, V's and those of the weights along the keys.
  bool usesPairs;
  /// In tiles, where V lies as (e, j).
  bool usesTiles;
  FloatType weightType; ///< what a weight is rounded to
  Value queryPairs, valuePairs, weightPairs;
  std::function<Value(Value, Value, Value, Value)> addPairs = [this](Value, Value pair, Value pairs, Value sum) {
    return vb.multiplyAddPairs(pair, pairs, sum);
  };
};

} // namespace

/// True for (…, paired floordiv 2, other, paired mod 2).
static bool isPairMap(AffineMap map, unsigned paired, unsigned other) {
  AffineExpr dim = getAffineDimExpr(paired, map.getContext());
  return map.getNumResults() >= 3 &&
         map.getResults().take_back(3) ==
             ArrayRef<AffineExpr>({dim.floorDiv(2), getAffineDimExpr(other, map.getContext()), dim % 2});
}

LogicalResult attn::cpu::lowerOnlineStep(RewriterBase &rewriter, OnlineStepOp op, const TargetInfo &target) {
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getAcc().getType()));
  if (!op.getSchedule())
    return op.emitOpError("expected a schedule on a tile; run attn-tile");
  ScheduleAttr schedule = *op.getSchedule();
  if (failed(schedule.verifyTarget(op, type, target)))
    return failure();
  if (isa<DecodeAttr>(schedule))
    return lowerDecodeStep(rewriter, op, target);
  const InstructionInfo &info = schedule.getInfo();
  bool usesPairs = info.queryLayout == OperandLayout::Pairs, usesTiles = info.valueLayout == OperandLayout::Columns;
  Type rowType = usesPairs ? rewriter.getBF16Type() : Type(type);
  if (getElementTypeOrSelf(op.getQuery().getType()) != rowType)
    return op.emitOpError("no CPU kernel for inputs of type ")
           << getElementTypeOrSelf(op.getQuery().getType()) << " with a state of type " << type;
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  for (auto [position, size] : llvm::enumerate(domain))
    if (ShapedType::isDynamic(size) && position != numBatch + 1 && position != numBatch)
      return op.emitOpError("expected a tile of static size but for its keys and queries; run attn-tile");
  if (!op.getMoreKeys().empty())
    return op.emitOpError("expected keys of one segment in a prefill tile, found ") << op.getMoreKeys().size() + 1;
  if (failed(verifyTileKeys(op)))
    return failure();
  for (int64_t size : ArrayRef(domain).take_front(numBatch))
    if (size != 1)
      return op.emitOpError("expected a tile of one batch index and head, found ") << size << "; run attn-tile";
  SmallVector<AffineMap> maps = getMaps(op);
  for (Value rows : {op.getKey(), op.getValue()})
    if (getElementTypeOrSelf(rows.getType()) != rowType)
      return op.emitOpError("expected keys and values of type ") << rowType << "; run attn-tile";
  bool isValuePacked = usesTiles ? Operand{op.getValue(), maps[2]}.isInnermost(numBatch + 1)
                                 : isPairMap(maps[2], numBatch + 1, numBatch + 3);
  if (usesPairs && (!isPairMap(maps[0], numBatch + 2, numBatch) || !isValuePacked ||
                    !(Operand{op.getKey(), maps[1]}.isInnermost(numBatch + 2))))
    return op.emitOpError("expected pairs of Q as (d floordiv 2, i, d mod 2), rows of K, and V as ")
           << (usesTiles ? "(e, j)" : "pairs (j floordiv 2, e, j mod 2)") << "; run attn-tile";
  auto isWhole = [&](unsigned position) { return domain[position] % info.depth == 0; };
  if (usesTiles && (!isWhole(numBatch + 2) || !isWhole(numBatch + 3)))
    return op.emitOpError("expected head sizes that are multiples of ") << info.depth << " for its instruction";
  for (unsigned i : {0u, unsigned(maps.size() - 3), unsigned(maps.size() - 2), unsigned(maps.size() - 1)})
    if (!(usesPairs && i == 0) && !(Operand{op->getOperand(i), maps[i]}.isInnermost(numBatch)))
      return op.emitOpError("expected query rows to be the innermost dimension of Q and the state; run attn-tile");
  int64_t lanes = schedule.getLanes();
  if (!ShapedType::isDynamic(domain[numBatch]) && domain[numBatch] % lanes != 0)
    return op.emitOpError("expected query rows to be a multiple of ") << lanes << ", found " << domain[numBatch];

  rewriter.setInsertionPoint(op);
  VectorBuilder vb(rewriter, op.getLoc(), target, type);
  OnlineStepLowering(vb, op).emit();
  rewriter.eraseOp(op);
  return success();
}
