//===- WarpStep.cpp - one key tile folded into the state of a block -------===//
//
//   S = Q K^T, in fragments of the accumulator
//   m' = max(m, rows), alpha = 2^((m - m') log2 e)
//   P = 2^((S - m') log2 e), l' = alpha l + sum of the thread's columns
//   O = alpha O + P V
//
// The accumulator's layout is that of the A operand of the next mma, so P goes
// from one to the other in registers (FlashAttention-2, Dao, arXiv:2307.08691).
// Where nothing but the scale happens to a score, it is part of the exponent:
// 2^(s c - m log2 e), c = scale log2 e, one multiply-add. m is a score with its
// scale; the same rounded product m log2 e stands in P and in alpha.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static constexpr double kLog2e = std::numbers::log2e;
static const double kMinusInf = -std::numeric_limits<double>::infinity();

namespace {

class OnlineStep {
public:
  OnlineStep(WarpBuilder &wb, OnlineStepOp op, const TileState &state, Value keyCount, int64_t keyBlocks)
      : wb(wb), state(state), scores(wb, op, keyCount), keyBlocks(keyBlocks) {}

  void emit(Products &products, function_ref<void()> waitForKeys, function_ref<void()> waitForValues) {
    waitForKeys();
    Values weights = products.multiplyKeys(keyBlocks);
    waitForValues();
    modifyScores(weights);
    updateRows(weights);
    products.multiplyValues(weights, keyBlocks, state);
  }

private:
  size_t at(int64_t fragment, int64_t block, int64_t element) const {
    return (fragment * keyBlocks + block) * kFragmentElements + element;
  }
  Value getKey(int64_t block, int64_t element) {
    return wb.add(wb.multiply(wb.quadLane, 2), block * kBlockColumns + element % 2);
  }

  template <typename Body> void forEachScore(Body body) {
    for (int64_t fragment = 0; fragment < state.fragments; ++fragment)
      for (int64_t block = 0; block < keyBlocks; ++block)
        for (int64_t element = 0; element < kFragmentElements; ++element)
          body(at(fragment, block, element), TileState::rowIndex(fragment, element / 2), getKey(block, element));
  }

  void modifyScores(Values &values) {
    for (int64_t fragment = 0; fragment < state.fragments; ++fragment)
      for (int64_t half = 0; half < kThreadRows; ++half) {
        Value row = wb.add(wb.add(wb.firstRow, wb.quad), fragment * kFragmentRows + half * 8);
        scores.prepareRow(TileState::rowIndex(fragment, half), row);
      }
    forEachScore([&](size_t i, int64_t row, Value key) { values[i] = scores.apply(values[i], row, key); });
  }

  /// acc = alpha acc
  void scaleRows(ArrayRef<Value> alphas) {
    for (int64_t fragment = 0; fragment < state.fragments; ++fragment)
      for (int64_t block = 0; block < state.valueBlocks; ++block)
        for (int64_t element = 0; element < kFragmentElements; ++element) {
          int64_t i = state.accIndex(fragment, block, element);
          Value alpha = alphas[TileState::rowIndex(fragment, element / 2)];
          state.acc.set(wb, i, wb.mulf(state.acc.get(wb, i), alpha));
        }
  }

  /// Scores become weights; the maximum, the sum and acc are those of the new maximum.
  void updateRows(Values &values) {
    SmallVector<Value> maxima, exponents, sums, alphas; // by row: m', m' log2 e
    Value anyMoves;
    for (int64_t fragment = 0; fragment < state.fragments; ++fragment)
      for (int64_t half = 0; half < kThreadRows; ++half) {
        int64_t row = TileState::rowIndex(fragment, half);
        Value largest;
        for (int64_t block = 0; block < keyBlocks; ++block)
          for (int64_t column = 0; column < 2; ++column) {
            Value score = values[at(fragment, block, 2 * half + column)];
            largest = largest ? wb.maxf(largest, score) : score;
          }
        largest = wb.quadMax(largest);
        if (scores.isRaw() && scores.getScale() != 1)
          largest = wb.mulf(largest, wb.real(scores.getScale()));
        Value oldMax = state.max.get(wb, row), newMax = wb.maxf(oldMax, largest);
        state.max.set(wb, row, newMax);
        // A row that has kept nothing yet: any finite maximum will do, as every p of it is 0.
        if (scores.isPartial())
          newMax = wb.select(wb.isEqual(newMax, kMinusInf), wb.real(0), newMax);
        Value exponent = wb.mulf(newMax, wb.real(kLog2e));
        Value alpha = wb.exp2(scores.isRaw() ? wb.subf(wb.mulf(oldMax, wb.real(kLog2e)), exponent)
                                             : wb.mulf(wb.subf(oldMax, newMax), wb.real(kLog2e)));
        maxima.push_back(newMax);
        exponents.push_back(wb.subf(wb.real(0), exponent));
        sums.push_back(wb.mulf(state.sum.get(wb, row), alpha));
        alphas.push_back(alpha);
        Value moves = arith::CmpFOp::create(wb.b, wb.loc, arith::CmpFPredicate::ONE, alpha, wb.real(1));
        anyMoves = anyMoves ? arith::OrIOp::create(wb.b, wb.loc, anyMoves, moves).getResult() : moves;
      }
    // After a few tiles the maximum of no row moves, and acc, most of a thread's numbers, stays as it is.
    wb.when(wb.anyOfWarp(anyMoves), [&] { scaleRows(alphas); });
    forEachScore([&](size_t i, int64_t row, Value key) {
      Value exponent = scores.isRaw() ? wb.fma(values[i], wb.real(scores.getScale() * kLog2e), exponents[row])
                                      : wb.mulf(wb.subf(values[i], maxima[row]), wb.real(kLog2e));
      Value weight = wb.exp2(exponent);
      sums[row] = wb.addf(sums[row], weight);
      values[i] = scores.modifyWeight(weight, row, key);
    });
    for (auto [row, sum] : llvm::enumerate(sums))
      state.sum.set(wb, row, sum);
  }

  WarpBuilder &wb;
  const TileState &state;
  ScoreCode scores;
  int64_t keyBlocks;
};

} // namespace

void attn::nvvm::emitOnlineStep(WarpBuilder &wb, OnlineStepOp op, const TileState &state, const SharedTile &query,
                                const SharedTile &key, const SharedTile &value, function_ref<void()> waitForKeys,
                                function_ref<void()> waitForValues) {
  OpFoldResult count = getDomainSizes(wb.b, op)[getNumBatchDims(op) + 1];
  // Of a known number of keys, no more than the depths of the second product that they reach into.
  int64_t depth = kFragmentRows, keys = getConstantIntValue(count).value_or(wb.schedule.getKeyTile());
  int64_t keyBlocks = llvm::alignTo(keys, depth) / kBlockColumns;
  bool isWhole = getConstantIntValue(count) && keys % depth == 0;
  Value keyCount = isWhole ? Value() : wb.fromIndex(count);
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getQuery().getType()));
  std::unique_ptr<Products> products = Products::create(wb, type, query, key, value);
  OnlineStep(wb, op, state, keyCount, keyBlocks).emit(*products, waitForKeys, waitForValues);
}
