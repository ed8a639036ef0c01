//===- PrefillQuads.cpp - products of a prefill tile by bfmmla ------------===//
//
// bfmmla multiplies two rows of four bf16 by two rows of four, and adds to 2 x 2 sums of f32
// (TargetInfo::hasBf16Matrices): twice the products of bfdot. Both operands hold quads along
// the summed dimension, (k floordiv 4, x, k mod 4), so that two neighbours x are a register.
// Rows of K and pairs (k floordiv 2, x, k mod 2) of Q, V and the weights become quads once a
// step. Sums of a row of four lanes are the halves of two registers.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ArmProducts.h"
#include "PrefillProducts.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// A row of an operand has kQuad elements of the summed dimension, and an operand kOperandRows rows.
static constexpr int64_t kQuad = 4, kOperandRows = 2, kOperand = kQuad * kOperandRows;
/// Quads of a step of a loop.
static constexpr int64_t kStepsAtOnce = 2;
/// Most keys past the last one in a block; the last key is read in their place.
static constexpr int64_t kKeysBehind = 8;

static VectorType getOperandType(VectorBuilder &vb, int64_t count = kOperand) {
  return VectorType::get({count}, vb.b.getBF16Type());
}

void QuadProducts::allocate(PrefillTile &t) {
  PairProducts::allocate(t);
  VectorBuilder &vb = t.vb;
  auto create = [&](int64_t depth, int64_t others) {
    return vb.stackBuffer({int64_t(llvm::divideCeil(depth, kQuad)), kQuad * int64_t(llvm::alignTo(others, kQuad))},
                          vb.b.getBF16Type());
  };
  int64_t behind = std::max(kKeysBehind, t.schedule.getBlockRows());
  query = create(t.sizes.head, t.sizes.lanes);
  key = create(t.sizes.head, t.sizes.keys + behind);
  value = create(t.sizes.keys, t.sizes.value + 1);
  weights = create(t.sizes.keys, t.sizes.lanes);
}

static Value load(VectorBuilder &vb, Value memref, ValueRange indices, int64_t count = kOperand) {
  return vector::LoadOp::create(vb.b, vb.loc, getOperandType(vb, count), memref, indices);
}

/// Rows x and x + 1 of eight elements as two operands, of the quads at `k` and the next ones.
static void storeRows(VectorBuilder &vb, Value first, Value second, Value quads, Value k, Value x) {
  for (int64_t half = 0; half < 2; ++half) {
    SmallVector<int64_t> order;
    for (int64_t row = 0; row < kOperandRows; ++row)
      for (int64_t i = 0; i < kQuad; ++i)
        order.push_back(row * kOperand + half * kQuad + i);
    vb.store(vector::ShuffleOp::create(vb.b, vb.loc, first, second, order), quads,
             {vb.add(k, half), vb.multiply(x, kQuad)});
  }
}

static void emitKeyQuads(const PrefillTile &t, Value quads) {
  VectorBuilder &vb = t.vb;
  Value last = vb.subtract(t.keyCount, vb.index(1)), end = t.keyCount;
  if (!getConstantIntValue(t.numKeys))
    end = vb.add(end, vb.multiply(vb.minimum(end, vb.index(1)), std::max(kKeysBehind, t.schedule.getBlockRows()) - 1));
  vb.loop(vb.index(0), end, kOperandRows, {}, [&](Value keyIndex, ValueRange) {
    Value rows[] = {vb.minimum(keyIndex, last), vb.minimum(vb.add(keyIndex, 1), last)};
    vb.loop(t.sizes.head, kOperand, {}, [&](Value d, ValueRange) {
      Value vectors[2];
      for (auto [vector, row] : llvm::zip(vectors, rows))
        vector = load(vb, t.key.memref, at(t, t.key, {}, row, d, {}));
      storeRows(vb, vectors[0], vectors[1], quads, vb.divide(d, kQuad), keyIndex);
      return Values();
    });
    return Values();
  });
}

/// Pairs of `count` and the columns [first, end) as quads; an odd last pair is followed by zeros.
static void emitQuads(const PrefillTile &t, Value pairs, Value count, Value first, Value end, Value quads) {
  VectorBuilder &vb = t.vb;
  auto copy = [&](Value k, Value x, bool hasBoth, int64_t columns) {
    Value pair = vb.multiply(k, 2);
    Value lower = load(vb, pairs, atPair(t, pairs, pair, x), 2 * columns);
    Value upper =
        hasBoth ? load(vb, pairs, atPair(t, pairs, vb.add(pair, 1), x), 2 * columns) : vb.zero(lower.getType());
    for (int64_t from = 0; from < columns; from += kOperandRows) {
      SmallVector<int64_t> order;
      for (int64_t column = from; column < std::min(columns, from + kOperandRows); ++column)
        order.append({2 * column, 2 * column + 1, 2 * columns + 2 * column, 2 * columns + 2 * column + 1});
      vb.store(vector::ShuffleOp::create(vb.b, vb.loc, lower, upper, order), quads,
               {k, vb.multiply(vb.add(x, from), kQuad)});
    }
  };
  auto copyRow = [&](Value k, bool hasBoth) {
    Value whole = vb.subtract(end, vb.remainder(vb.subtract(end, first), kQuad));
    vb.loop(first, whole, kQuad, {}, [&](Value x, ValueRange) {
      copy(k, x, hasBoth, kQuad);
      return Values();
    });
    if (getConstantIntValue(whole) && getConstantIntValue(whole) == getConstantIntValue(end))
      return;
    vb.loop(whole, end, 1, {}, [&](Value x, ValueRange) {
      copy(k, x, hasBoth, 1);
      return Values();
    });
  };
  Value whole = vb.divide(count, 2), all = vb.divide(vb.add(count, 1), 2);
  for (bool hasBoth : {true, false})
    vb.loop(hasBoth ? vb.index(0) : whole, hasBoth ? whole : all, 1, {}, [&](Value k, ValueRange) {
      copyRow(k, hasBoth);
      return Values();
    });
}

static Value getPairCount(const PrefillTile &t) { return t.vb.divide(t.vb.add(t.keyCount, 1), 2); }

void QuadProducts::begin(const PrefillTile &t) const {
  VectorBuilder &vb = t.vb;
  Value end = hasDynamicRows(t) ? cast<Value>(t.endLane) : vb.index(t.sizes.lanes);
  emitQuads(t, t.pairs.query, vb.index(t.sizes.head / 2), vb.index(0), end, query);
  emitKeyQuads(t, key);
  emitQuads(t, t.pairs.value, getPairCount(t), vb.index(0), vb.index(t.sizes.value), value);
}

void QuadProducts::endWeights(const PrefillTile &t, const LaneBlock &block) const {
  emitQuads(t, t.pairs.weights, getPairCount(t), block.first, t.vb.add(block.first, block.vectors * t.vb.lanes),
            weights);
}

/// rows x block.vectors sums of `left`, from row `first` on, and the lanes of `right`.
static Values emitMatrixKernel(const PrefillTile &t, Value left, Value first, int64_t rows, Value right,
                               const LaneBlock &block, Value depth) {
  VectorBuilder &vb = t.vb;
  int64_t operands = llvm::divideCeil(rows, kOperandRows), halves = vb.lanes / kOperandRows;
  auto multiply = [&](Value k, Values &sums) {
    Values lefts;
    for (int64_t i = 0; i < operands; ++i)
      lefts.push_back(load(vb, left, {k, vb.multiply(vb.add(first, kOperandRows * i), kQuad)}));
    for (int64_t lane = 0; lane < block.vectors * halves; ++lane) {
      Value lanes = load(vb, right, {k, vb.multiply(vb.add(block.first, kOperandRows * lane), kQuad)});
      for (int64_t i = 0; i < operands; ++i) {
        Value &sum = sums[i * block.vectors * halves + lane];
        sum = emitBf16Matrix(vb, sum, lefts[i], lanes);
      }
    }
  };
  Values init(operands * block.vectors * halves, vb.splat(0));
  // Quads per iteration, if they divide the depth: the loop overhead is then small beside the products.
  int64_t unroll = std::gcd(getConstantIntValue(depth).value_or(1), kStepsAtOnce);
  Values sums = vb.loop(vb.index(0), depth, unroll, init, [&](Value firstStep, ValueRange carried) {
    Values next(carried);
    for (int64_t step = 0; step < unroll; ++step)
      multiply(vb.add(firstStep, step), next);
    return next;
  });
  Values result;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t v = 0; v < block.vectors; ++v) {
      size_t at = (row / kOperandRows * block.vectors + v) * halves;
      int64_t from = row % kOperandRows * kOperandRows;
      result.push_back(
          vector::ShuffleOp::create(vb.b, vb.loc, sums[at], sums[at + 1],
                                    ArrayRef<int64_t>{from, from + 1, from + vb.lanes, from + vb.lanes + 1}));
    }
  return result;
}

Values QuadProducts::getScores(const PrefillTile &t, ValueRange keys, const LaneBlock &block) const {
  return emitMatrixKernel(t, key, keys.front(), keys.size(), query, block, t.vb.index(t.sizes.head / kQuad));
}

Values QuadProducts::multiply(const PrefillTile &t, ValueRange columns, const LaneBlock &block, ValueRange) const {
  Value depth = t.vb.divide(t.vb.add(t.keyCount, kQuad - 1), kQuad);
  return emitMatrixKernel(t, value, columns.front(), columns.size(), weights, block, depth);
}
