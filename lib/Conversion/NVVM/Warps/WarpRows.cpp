//===- WarpRows.cpp - row_max, rescale and weights of a block of warps ----===//
//
// Where scores are only scaled, the scale is part of the exponent: 2^(s c - m log2 e), c = scale log2 e, is one
// multiply-add. m is a scaled score; P and alpha use the same rounded product m log2 e. Its rounding error is a common
// factor of a row, which overflows where m is 10^9 (f16: 10^7). So a large m is subtracted before the product, in a
// branch that is uniform in a warp.
//
// The maximum that is subtracted may lag behind: acc and l are rescaled only where it would grow by more than 8 in
// units of log2 (FlashAttention-4). Until then p is at most 2^8. The division by l, and lse, use the same m, so the
// result does not change. After a few tiles, no row of a warp is rescaled.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RegisterTiles.h"
#include "WarpScores.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static constexpr double kLog2e = std::numbers::log2e;
static const double kMinusInf = -std::numeric_limits<double>::infinity();
/// How far scores may be above the maximum that is subtracted from them: p up to 2^8.
static constexpr double kLargestGrowth = 8 / kLog2e;

static Value compare(WarpBuilder &wb, arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(wb.b, wb.loc, predicate, x, y);
}

/// True in all lanes where the flag of any row of the warp is set.
static Value anyRow(WarpBuilder &wb, ArrayRef<Value> flags) {
  Value any = flags.front();
  for (Value flag : flags.drop_front())
    any = arith::OrIOp::create(wb.b, wb.loc, any, flag);
  return wb.anyOfWarp(any);
}

static Value multiplyByScale(WarpBuilder &wb, Value score, std::optional<double> scale) {
  return scale && *scale != 1 ? wb.mulf(score, wb.real(*scale)) : score;
}

/// n = max(m, scale max_j s_j) for one row; m where n is little more and need not be exact.
static RowTile::Row updateMaximum(WarpBuilder &wb, const ScoreTile &tile, const RowTile &rows, Value oldMax, int64_t i,
                                  bool isPartial, bool isExact) {
  Value largest;
  for (int64_t block = 0; block < tile.keyBlocks; ++block)
    for (int64_t column = 0; column < 2; ++column) {
      Value score = tile.values[tile.at(i / kThreadRows, block, 2 * (i % kThreadRows) + column)];
      largest = largest ? wb.maxf(largest, score) : score;
    }
  RowTile::Row row;
  row.oldMax = oldMax;
  Value maximum = wb.maxf(oldMax, multiplyByScale(wb, wb.quadMax(largest), rows.scale));
  // False for two -inf, true for the first finite maximum.
  Value grows = compare(wb, arith::CmpFPredicate::OGT, wb.subf(maximum, oldMax), wb.real(kLargestGrowth));
  row.newMax = row.subtracted = isExact ? maximum : wb.select(grows, maximum, oldMax);
  // The row has kept no key yet: any finite maximum will do, as all its p are 0.
  if (isPartial)
    row.subtracted = wb.select(wb.isEqual(row.newMax, kMinusInf), wb.real(0), row.newMax);
  if (!rows.scale)
    return row;
  row.product = row.shift = wb.mulf(row.subtracted, wb.real(kLog2e));
  Value magnitude = LLVM::FAbsOp::create(wb.b, wb.loc, row.product);
  row.isLarge = compare(wb, arith::CmpFPredicate::OGT, magnitude, wb.real(kLargestProduct));
  return row;
}

/// In rows with a large maximum, raw scores become (s scale - m) / scale, and the subtracted product becomes 0, so the
/// multiply-adds that follow stay the same.
static void shiftLargeRows(WarpBuilder &wb, const ScoreTile &tile, RowTile &tileRows) {
  auto &rows = tileRows.rows;
  Values &values = tileRows.exponents, kept = values;
  for (const RowTile::Row &row : rows)
    kept.push_back(row.product);
  Value condition = anyRow(wb, llvm::map_to_vector(rows, [](const RowTile::Row &row) { return row.isLarge; }));
  auto branch = scf::IfOp::create(wb.b, wb.loc, TypeRange(ValueRange(kept)), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(wb.b);
  wb.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(wb.b, wb.loc, kept);
  wb.b.setInsertionPointToStart(branch.thenBlock());
  tile.forEach(wb, [&](size_t i, int64_t row, Value) {
    Value shifted = wb.subf(multiplyByScale(wb, values[i], tileRows.scale), rows[row].subtracted);
    if (*tileRows.scale != 1)
      shifted = wb.mulf(shifted, wb.real(1 / *tileRows.scale));
    kept[i] = wb.select(rows[row].isLarge, shifted, values[i]);
  });
  for (auto [i, row] : llvm::enumerate(rows))
    kept[values.size() + i] = wb.select(row.isLarge, wb.real(0), row.product);
  scf::YieldOp::create(wb.b, wb.loc, kept);
  for (auto [i, result] : llvm::enumerate(branch.getResults()))
    (i < values.size() ? values[i] : rows[i - values.size()].shift) = result;
}

LogicalResult KernelLowering::lowerRowMax(RowMaxOp op) {
  const auto *scores = find<ScoreTile>(op.getScores(), op);
  const auto *oldMax = find<RegisterArray>(op.getRowMax(), op);
  if (!scores || !oldMax)
    return failure();
  ScoreTile tile = *scores;
  bool isPartial = op.getPartial() || tile.keyCount;
  if (tile.hasPadding)
    tile.forEach(wb, [&](size_t i, int64_t, Value key) {
      tile.values[i] = wb.select(wb.isLess(key, tile.keyCount), tile.values[i], wb.real(kMinusInf));
    });
  RowTile rows;
  rows.exponents = tile.values;
  if (op.getScale())
    rows.scale = op.getScale()->convertToDouble();
  for (int64_t i = 0; i < tile.fragments * kThreadRows; ++i)
    rows.rows.push_back(updateMaximum(wb, tile, rows, oldMax->get(wb, i), i, isPartial, op.getExactMax()));
  // Scores of mma are shifted here, others where the weights are computed: ptxas then needs fewer registers.
  if (rows.scale && wb.instruction.takesNarrow)
    shiftLargeRows(wb, tile, rows);
  lowered[op.getResults().front()] = std::move(rows);
  return success();
}

/// alpha = exp(m - n), l = alpha l
static Values scaleSums(WarpBuilder &wb, const RegisterArray &sums, const RowTile &tile) {
  Values alphas;
  for (auto [i, row] : llvm::enumerate(tile.rows)) {
    Value exponent = wb.mulf(wb.subf(row.oldMax, row.subtracted), wb.real(kLog2e));
    if (tile.scale)
      exponent = wb.select(row.isLarge, exponent, wb.subf(wb.mulf(row.oldMax, wb.real(kLog2e)), row.product));
    alphas.push_back(wb.exp2(exponent));
    sums.set(wb, i, wb.mulf(sums.get(wb, i), alphas.back()));
  }
  return alphas;
}

void attn::nvvm::scaleAcc(WarpBuilder &wb, const TileState &state, ArrayRef<Value> alphas) {
  for (int64_t fragment = 0; fragment < state.fragments; ++fragment)
    for (int64_t block = 0; block < state.valueBlocks; ++block)
      for (int64_t element = 0; element < kFragmentElements; ++element) {
        int64_t i = state.accIndex(fragment, block, element);
        Value alpha = alphas[TileState::rowIndex(fragment, element / 2)];
        state.acc.set(wb, i, wb.mulf(state.acc.get(wb, i), alpha));
      }
}

LogicalResult KernelLowering::lowerRescale(RescaleOp op) {
  FailureOr<TileState> state = findState(op.getAcc(), op.getRowMax(), op.getRowSum(), op);
  const auto *tile = find<RowTile>(op.getNewMax(), op);
  if (!tile || failed(state))
    return failure();
  for (auto [i, row] : llvm::enumerate(tile->rows))
    state->max.set(wb, i, row.newMax);
  // Raw scores of mma compute alpha only where it is needed, others up front: ptxas then needs fewer registers.
  bool isLate = tile->scale && wb.instruction.takesNarrow;
  Values alphas = isLate ? Values() : scaleSums(wb, state->sum, *tile);
  // After a few tiles no row is rescaled, and acc, most of a thread's registers, does not change.
  Values moves;
  for (auto [i, row] : llvm::enumerate(tile->rows))
    moves.push_back(isLate ? compare(wb, arith::CmpFPredicate::ONE, row.newMax, row.oldMax)
                           : compare(wb, arith::CmpFPredicate::ONE, alphas[i], wb.real(1)));
  wb.when(anyRow(wb, moves), [&] { scaleAcc(wb, *state, isLate ? scaleSums(wb, state->sum, *tile) : alphas); });
  return success();
}

LogicalResult KernelLowering::lowerRescaleRows(RescaleRowsOp op) {
  const auto *tile = find<RowTile>(op.getNewMax(), op);
  const auto *max = find<RegisterArray>(op.getRowMax(), op), *sum = find<RegisterArray>(op.getRowSum(), op);
  if (!tile || !max || !sum || failed(verifyLastUse(op.getRowMaxMutable())) ||
      failed(verifyLastUse(op.getRowSumMutable())))
    return failure();
  for (auto [i, row] : llvm::enumerate(tile->rows))
    max->set(wb, i, row.newMax);
  RescaleFactors factors;
  factors.alphas = scaleSums(wb, *sum, *tile);
  factors.any = anyRow(wb, llvm::map_to_vector(factors.alphas, [&](Value alpha) {
                         return compare(wb, arith::CmpFPredicate::ONE, alpha, wb.real(1));
                       }));
  RegisterArray newMax = *max, newSum = *sum;
  lowered[op.getFactors()] = std::move(factors);
  lowered[op.getResultMax()] = newMax;
  lowered[op.getResultSum()] = newSum;
  return success();
}

LogicalResult KernelLowering::lowerWeights(WeightsOp op) {
  const auto *scores = find<ScoreTile>(op.getScores(), op);
  const auto *maxima = find<RowTile>(op.getRowMax(), op);
  const auto *rowSums = find<RegisterArray>(op.getRowSum(), op);
  if (!scores || !maxima || !rowSums)
    return failure();
  RowTile rows = *maxima;
  std::optional<double> scale;
  if (op.getScale())
    scale = op.getScale()->convertToDouble();
  if (scale != rows.scale || scores->values.size() != rows.exponents.size())
    return op.emitOpError("expected the scale and the scores that the attn.row_max of its maximum has");
  ScoreTile tile = *scores;
  if (scale && !wb.instruction.takesNarrow)
    shiftLargeRows(wb, tile, rows);
  ScorePositions positions(wb, op, tile, ScoreFunctions::of(op));
  Values sums, subtracted;
  for (auto [i, row] : llvm::enumerate(rows.rows)) {
    sums.push_back(rowSums->get(wb, i));
    subtracted.push_back(scale ? arith::NegFOp::create(wb.b, wb.loc, row.shift).getResult() : row.subtracted);
  }
  // p = exp(scale s - n), l = l + p
  tile.forEach(wb, [&](size_t i, int64_t row, Value key) {
    Value s = rows.exponents[i];
    Value exponent = scale ? wb.fma(s, wb.real(*scale * kLog2e), subtracted[row])
                           : wb.mulf(wb.subf(s, subtracted[row]), wb.real(kLog2e));
    Value weight = wb.exp2(exponent);
    sums[row] = wb.addf(sums[row], weight);
    tile.values[i] = positions.evaluateWeight(i, row, key, weight);
  });
  for (auto [row, sum] : llvm::enumerate(sums))
    rowSums->set(wb, row, sum);
  lowered[op.getResults().front()] = std::move(tile);
  return success();
}
