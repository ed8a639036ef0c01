//===- PrefillUnits.cpp - a prefill step by tiles, unit by unit -----------===//
//
// A unit is 32 query rows of a step (`overlap` of #attn.prefill). Its scores and weights
// stay in the L1 cache, in one of two buffers. In a phase, tiles multiply for two units
// while vectors compute the weights of the one between:
//
//   scores    0  1  2  3
//   weights      0  1  2  3
//   output          0  1  2  3
//
// A product of a block of 32 x 32 sums is a loop over its depth. Each iteration has four
// multiplications, each followed by a share of the weights, as long as both products have
// such shares; the rest is a separate loop.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PrefillStep.h"
#include "TileProducts.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Pairs of keys whose weights are made beside a round of products, at most: LLVM's time grows with them.
static constexpr int64_t kMaxPairs = 4;
/// Rows of scores or of O^T that vectors go over in a round of a loop.
static constexpr int64_t kRowsAtOnce = 4;
static constexpr int64_t kUnitRows = PrefillAttr::kUnitRows, kTileDepth = TargetInfo::kTileDepth;

namespace {
/// Weights of the current unit, or of none: pairs of keys from `next` on are missing. Loops and branches carry the
/// state.
struct Weights {
  Value unit, next;
  Values maxima, sums;

  void appendTo(Values &carried) const {
    if (unit)
      carried.push_back(next);
    llvm::append_range(carried, sums);
  }
  Weights with(ValueRange carried) const {
    return unit ? Weights{unit, carried.front(), maxima, Values(carried.drop_front())} : Weights();
  }
};

class UnitPipeline {
public:
  UnitPipeline(const PrefillTile &t, LaneCode &laneCode);
  void emit();

private:
  using BesideFn = function_ref<void(Weights &)>;
  void emitUnit(Value unit);
  void emitScores(Value unit, Weights &beside);
  void emitOutput(Value unit, Weights &beside);
  void emitBlock(const TileBlock &block, int64_t depth, int64_t pairs, Weights &beside);
  Values emitMaxima(Value unit, Value keyIndex, ValueRange max);
  void emitPairs(Weights &weights, int64_t pairs, int64_t part, int64_t parts);
  void rescale(Value unit, Value column, int64_t columns);
  Weights branch(const Weights &weights, Value condition, BesideFn then, BesideFn otherwise);
  PrefillTile getTile(Value unit) const;
  LaneBlock getBlock(Value unit) const { return {vb.multiply(unit, kUnitRows), kUnitRows / vb.lanes}; }

  const PrefillTile &t;
  VectorBuilder &vb;
  LaneCode &laneCode;
  Value units;
  int64_t scorePairs = 0, outputPairs = 0; ///< beside a round of either product
};
} // namespace

UnitPipeline::UnitPipeline(const PrefillTile &t, LaneCode &laneCode) : t(t), vb(t.vb), laneCode(laneCode) {
  units = vb.index(t.sizes.lanes / kUnitRows);
  if (hasDynamicRows(t)) { // also for no rows: the last output is multiplied in any case
    Value whole = vb.divide(vb.add(cast<Value>(t.endLane), kUnitRows - 1), kUnitRows);
    units = vb.b.createOrFold<arith::MaxSIOp>(vb.loc, whole, vb.index(1));
  }
  // Rounds of each product for a block of keys, and the pairs of that block.
  int64_t scoreRounds = t.sizes.head / kTileDepth, outputRounds = t.sizes.value / kTileDepth, pairs = kBlockRows / 2;
  auto getCost = [&](int64_t scores, int64_t output) {
    return std::pair(pairs - scores * scoreRounds - output * outputRounds, std::abs(scores - output));
  };
  for (int64_t scores = 0; scores <= kMaxPairs; ++scores)
    for (int64_t output = 0; output <= kMaxPairs; ++output)
      if (auto cost = getCost(scores, output); cost.first >= 0 && cost < getCost(scorePairs, outputPairs)) {
        scorePairs = scores;
        outputPairs = output;
      }
}

PrefillTile UnitPipeline::getTile(Value unit) const {
  PrefillTile tile = t;
  Value place = vb.remainder(unit, 2);
  tile.scratch = {vb.multiply(place, t.sizes.keys), vb.multiply(place, t.sizes.keys / 2)};
  return tile;
}

/// A loop that LLVM does not unroll: its body already has the right length.
static Values emitRolled(VectorBuilder &vb, Value lower, Value upper, int64_t step, ValueRange init,
                         function_ref<Values(Value, ValueRange)> body) {
  Values results = vb.loop(lower, upper, step, init, body);
  attn::keepRolled(&*std::prev(vb.b.getInsertionPoint()));
  return results;
}

/// Part `part` of `parts` of the weights of the next `pairs` pairs.
void UnitPipeline::emitPairs(Weights &weights, int64_t pairs, int64_t part, int64_t parts) {
  PrefillTile tile = getTile(weights.unit);
  LaneBlock block = getBlock(weights.unit);
  int64_t all = pairs * block.vectors;
  for (int64_t i = all * part / parts; i < all * (part + 1) / parts; ++i) {
    int64_t v = i % block.vectors;
    Value first = vb.multiply(vb.add(weights.next, i / block.vectors), 2);
    emitWeights(tile, laneCode, first, 2, block, v, weights.maxima[v], weights.sums[v]);
  }
  if (part + 1 == parts)
    weights.next = vb.add(weights.next, pairs);
}

void UnitPipeline::emitBlock(const TileBlock &block, int64_t depth, int64_t pairs, Weights &beside) {
  Values carried = startTiles(vb, block);
  size_t tiles = carried.size();
  beside.appendTo(carried);
  carried = emitRolled(vb, vb.index(0), vb.index(depth), kTileDepth, carried, [&](Value k, ValueRange values) {
    Values next(values.take_front(tiles));
    Weights weights = beside.with(values.drop_front(tiles));
    multiplyTiles(vb, block, k, next, [&](int64_t product) {
      if (weights.unit)
        emitPairs(weights, pairs, product, tiles * getPartPairs(block.parts).size());
    });
    weights.appendTo(next);
    return next;
  });
  beside = beside.with(ArrayRef(carried).drop_front(tiles));
  storeTiles(vb, block, ArrayRef(carried).take_front(tiles));
}

/// After the products of a block of keys: the score functions and the maxima.
Values UnitPipeline::emitMaxima(Value unit, Value keyIndex, ValueRange max) {
  PrefillTile tile = getTile(unit);
  return emitRolled(vb, vb.index(0), vb.index(kBlockRows), kRowsAtOnce, max, [&](Value first, ValueRange partial) {
    Values keys;
    for (int64_t row = 0; row < kRowsAtOnce; ++row)
      keys.push_back(vb.add(vb.add(keyIndex, first), row));
    return emitScoresOf(tile, laneCode, keys, getBlock(unit), partial);
  });
}

void UnitPipeline::emitScores(Value unit, Weights &beside) {
  LaneBlock lanes = getBlock(unit);
  laneCode.prepare(getLanes(t, lanes));
  Value keys = getKeyMatrix(t);
  Corner queries = {getQueryMatrix(t), vb.index(0), vb.multiply(unit, 2 * kUnitRows)};
  Values oldMax = loadMaxima(t, lanes), carried = startMaxima(t, oldMax);
  size_t maxima = oldMax.size();
  beside.appendTo(carried);
  carried = emitRolled(vb, vb.index(0), vb.index(t.sizes.keys), kBlockRows, carried, [&](Value row, ValueRange values) {
    Corner scores = {t.scores, vb.add(getTile(unit).scratch.scoreRow, row), vb.index(0)};
    Weights weights = beside.with(values.drop_front(maxima));
    emitBlock(
        {{keys, row, vb.index(0)}, queries, scores, /*isAdded=*/false, kBlockTiles, kBlockTiles, t.schedule.getParts()},
        t.sizes.head, scorePairs, weights);
    Values next = emitMaxima(unit, row, values.take_front(maxima));
    weights.appendTo(next);
    return next;
  });
  beside = beside.with(ArrayRef(carried).drop_front(maxima));
  emitRescaleFactors(t, laneCode, lanes, oldMax, finishMaxima(t, ArrayRef(carried).take_front(maxima), oldMax));
}

/// Rescales some columns of O^T by alpha; tiles then add to them.
void UnitPipeline::rescale(Value unit, Value column, int64_t columns) {
  emitRolled(vb, vb.index(0), vb.index(columns), kRowsAtOnce, {}, [&](Value first, ValueRange) {
    attn::cpu::emitOutput(t, vb.add(column, first), kRowsAtOnce, getBlock(unit));
    return Values();
  });
}

void UnitPipeline::emitOutput(Value unit, Weights &beside) {
  unsigned query = getNumBatch(t);
  Value values = getValueMatrix(t), acc = getMatrix(vb, t.state.acc, query + 3, query);
  Corner pairs = {t.pairs.weights, getTile(unit).scratch.pairRow, vb.index(0)};
  Values carried;
  beside.appendTo(carried);
  carried =
      emitRolled(vb, vb.index(0), vb.index(t.sizes.value), kBlockRows, carried, [&](Value row, ValueRange before) {
        Corner sums = {acc, row, getBlock(unit).first};
        Weights weights = beside.with(before);
        emitBlock({{values, row, vb.index(0)},
                   pairs,
                   sums,
                   /*isAdded=*/true,
                   kBlockTiles,
                   kBlockTiles,
                   t.schedule.getParts()},
                  t.sizes.keys, outputPairs, weights);
        if (weights.unit)
          rescale(weights.unit, row, kBlockRows);
        Values next;
        weights.appendTo(next);
        return next;
      });
  beside = beside.with(carried);
}

static Value isLess(VectorBuilder &vb, Value lhs, Value rhs) {
  return arith::CmpIOp::create(vb.b, vb.loc, arith::CmpIPredicate::slt, lhs, rhs);
}

Weights UnitPipeline::branch(const Weights &weights, Value condition, BesideFn then, BesideFn otherwise) {
  Values before;
  weights.appendTo(before);
  auto branch = scf::IfOp::create(vb.b, vb.loc, ValueRange(before).getTypes(), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(vb.b);
  for (auto [block, emit] : {std::pair(branch.thenBlock(), then), {branch.elseBlock(), otherwise}}) {
    vb.b.setInsertionPointToStart(block);
    Weights changed = weights;
    emit(changed);
    Values after;
    changed.appendTo(after);
    scf::YieldOp::create(vb.b, vb.loc, after);
  }
  return weights.with(branch.getResults());
}

/// The weights of a unit, interleaved with the scores of the next unit and the output of the previous one, if any.
void UnitPipeline::emitUnit(Value unit) {
  Weights weights{unit, vb.index(0), {}, {}};
  for (Value max : loadMaxima(t, getBlock(unit)))
    weights.maxima.push_back(getFiniteMaximum(t, laneCode, max));
  weights.sums.assign(weights.maxima.size(), vb.splat(0));
  Value next = vb.add(unit, 1);
  weights =
      branch(weights, isLess(vb, next, units), [&](Weights &beside) { emitScores(next, beside); }, [](Weights &) {});
  weights = branch(
      weights, isLess(vb, vb.index(0), unit),
      [&](Weights &beside) { emitOutput(vb.subtract(unit, vb.index(1)), beside); },
      [&](Weights &) { rescale(unit, vb.index(0), t.sizes.value); });
  Values sums =
      emitRolled(vb, weights.next, vb.index(t.sizes.keys / 2), 1, weights.sums, [&](Value pair, ValueRange sums) {
        Weights rest{unit, pair, weights.maxima, Values(sums)};
        emitPairs(rest, 1, 0, 1);
        return rest.sums;
      });
  for (auto [v, sum] : llvm::enumerate(sums))
    addToRowSum(t, getBlock(unit), v, sum);
}

void UnitPipeline::emit() {
  Weights none;
  emitScores(vb.index(0), none);
  vb.loop(vb.index(0), units, 1, {}, [&](Value unit, ValueRange) {
    emitUnit(unit);
    return Values();
  });
  emitOutput(vb.subtract(units, vb.index(1)), none);
}

void attn::cpu::emitUnits(const PrefillTile &t, LaneCode &laneCode) { UnitPipeline(t, laneCode).emit(); }
