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
// scale; the same rounded product m log2 e stands in P and in alpha. Its rounding
// error is a factor of all of a row, which overflows where m is 10^9 (f16: 10^7):
// a large m is subtracted before the product, in a branch of the whole warp.
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
/// Of |m log2 e|: up to here its rounding error is at most 2^-8, no more than that of a score of this size.
static constexpr double kLargestProduct = 65536;

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

  /// Of a row, when its new scores are there.
  struct RowMaximum {
    Value oldMax, newMax; ///< with the scale; -inf where no key is kept
    Value subtracted;     ///< newMax, or 0 where that is -inf and may be
    Value product;        ///< of raw scores: subtracted * log2 e
    Value isLarge;        ///< of raw scores: the product is rounded too much to stand in an exponent
  };

  Value withScale(Value score) {
    return scores.isRaw() && scores.getScale() != 1 ? wb.mulf(score, wb.real(scores.getScale())) : score;
  }

  RowMaximum updateMaximum(const Values &values, int64_t fragment, int64_t half) {
    Value largest;
    for (int64_t block = 0; block < keyBlocks; ++block)
      for (int64_t column = 0; column < 2; ++column) {
        Value score = values[at(fragment, block, 2 * half + column)];
        largest = largest ? wb.maxf(largest, score) : score;
      }
    int64_t index = TileState::rowIndex(fragment, half);
    RowMaximum row;
    row.oldMax = state.max.get(wb, index);
    row.newMax = row.subtracted = wb.maxf(row.oldMax, withScale(wb.quadMax(largest)));
    state.max.set(wb, index, row.newMax);
    // A row that has kept nothing yet: any finite maximum will do, as every p of it is 0.
    if (scores.isPartial())
      row.subtracted = wb.select(wb.isEqual(row.newMax, kMinusInf), wb.real(0), row.newMax);
    if (!scores.isRaw())
      return row;
    row.product = wb.mulf(row.subtracted, wb.real(kLog2e));
    Value magnitude = LLVM::FAbsOp::create(wb.b, wb.loc, row.product);
    row.isLarge = compare(arith::CmpFPredicate::OGT, magnitude, wb.real(kLargestProduct));
    return row;
  }

  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(wb.b, wb.loc, predicate, x, y);
  }

  /// True in all lanes where a flag of a row of the warp is.
  Value anyRow(ArrayRef<Value> flags) {
    Value any = flags.front();
    for (Value flag : flags.drop_front())
      any = arith::OrIOp::create(wb.b, wb.loc, any, flag);
    return wb.anyOfWarp(any);
  }

  /// Of rows with a large maximum, raw scores become (s scale - m) / scale, and what is subtracted from their products
  /// 0: the multiply-adds that follow are the same.
  void shiftLargeRows(Values &values, MutableArrayRef<RowMaximum> rows) {
    Values kept = values;
    for (const RowMaximum &row : rows)
      kept.push_back(row.product);
    Value condition = anyRow(llvm::map_to_vector(rows, [](const RowMaximum &row) { return row.isLarge; }));
    auto branch = scf::IfOp::create(wb.b, wb.loc, TypeRange(ValueRange(kept)), condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(wb.b);
    wb.b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(wb.b, wb.loc, kept);
    wb.b.setInsertionPointToStart(branch.thenBlock());
    forEachScore([&](size_t i, int64_t row, Value) {
      Value shifted = wb.subf(withScale(values[i]), rows[row].subtracted);
      if (scores.getScale() != 1)
        shifted = wb.mulf(shifted, wb.real(1 / scores.getScale()));
      kept[i] = wb.select(rows[row].isLarge, shifted, values[i]);
    });
    for (auto [i, row] : llvm::enumerate(rows))
      kept[values.size() + i] = wb.select(row.isLarge, wb.real(0), row.product);
    scf::YieldOp::create(wb.b, wb.loc, kept);
    for (auto [i, result] : llvm::enumerate(branch.getResults()))
      (i < values.size() ? values[i] : rows[i - values.size()].product) = result;
  }

  /// l = alpha l
  Values scaleSums(ArrayRef<RowMaximum> rows) {
    Values alphas;
    for (auto [i, row] : llvm::enumerate(rows)) {
      Value exponent = wb.mulf(wb.subf(row.oldMax, row.subtracted), wb.real(kLog2e));
      if (scores.isRaw())
        exponent = wb.select(row.isLarge, exponent, wb.subf(wb.mulf(row.oldMax, wb.real(kLog2e)), row.product));
      alphas.push_back(wb.exp2(exponent));
      state.sum.set(wb, i, wb.mulf(state.sum.get(wb, i), alphas.back()));
    }
    return alphas;
  }

  /// acc = alpha acc
  void scaleAcc(ArrayRef<Value> alphas) {
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
    SmallVector<RowMaximum> rows;
    for (int64_t fragment = 0; fragment < state.fragments; ++fragment)
      for (int64_t half = 0; half < kThreadRows; ++half)
        rows.push_back(updateMaximum(values, fragment, half));
    // By ptxas, fewer registers: raw scores of mma have alpha where it is needed alone, others in front.
    bool isLate = scores.isRaw() && wb.instruction.takesNarrow;
    Values alphas = isLate ? Values() : scaleSums(rows);
    SmallVector<RowMaximum> unshifted = rows;
    if (scores.isRaw())
      shiftLargeRows(values, rows);
    // After a few tiles the maximum of no row moves, and acc, most of a thread's numbers, stays as it is.
    Values moves;
    for (auto [i, row] : llvm::enumerate(rows))
      moves.push_back(isLate ? compare(arith::CmpFPredicate::ONE, row.newMax, row.oldMax)
                             : compare(arith::CmpFPredicate::ONE, alphas[i], wb.real(1)));
    wb.when(anyRow(moves), [&] { scaleAcc(isLate ? scaleSums(unshifted) : alphas); });
    addWeights(values, rows);
  }

  /// values = P, l = l + P
  void addWeights(Values &values, ArrayRef<RowMaximum> rows) {
    Values sums, subtracted;
    for (auto [i, row] : llvm::enumerate(rows)) {
      sums.push_back(state.sum.get(wb, i));
      subtracted.push_back(scores.isRaw() ? wb.subf(wb.real(0), row.product) : row.subtracted);
    }
    forEachScore([&](size_t i, int64_t row, Value key) {
      Value exponent = scores.isRaw() ? wb.fma(values[i], wb.real(scores.getScale() * kLog2e), subtracted[row])
                                      : wb.mulf(wb.subf(values[i], subtracted[row]), wb.real(kLog2e));
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
  int64_t depth = kFragmentRows, keys = getConstantIntValue(count).value_or(wb.keyTile);
  int64_t keyBlocks = llvm::alignTo(keys, depth) / kBlockColumns;
  bool isWhole = getConstantIntValue(count) && keys % depth == 0;
  Value keyCount = isWhole ? Value() : wb.fromIndex(count);
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getQuery().getType()));
  std::unique_ptr<Products> products = Products::create(wb, type, query, key, value);
  OnlineStep(wb, op, state, keyCount, keyBlocks).emit(*products, waitForKeys, waitForValues);
}
