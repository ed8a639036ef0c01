//===- WarpGradients.cpp - gradients of scores in a block of warps --------===//
//
// Weights and gradients of scores are in the same registers of a thread as the scores, and are the A operands of the
// next products. Where keys are rows, lse and delta belong to columns: a thread reads those of its two columns in each
// block.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpScores.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static const double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// lse, log_sum and delta of a thread's rows, or of its columns: from a tile of attn.copy_statistics if there is one,
/// otherwise from global memory.
class RowNumbers {
public:
  struct Numbers {
    Value lse, delta; ///< delta is null where no gradient is computed
    Value logSum;     ///< -log_sum log2 e; null where there is none
    Value isEmpty;    ///< lse is -inf; null where it cannot be
  };

  RowNumbers(WarpBuilder &wb, ScoreGradientsOp op, const ScoreTile &tile, bool mayBeEmpty,
             std::optional<SharedTile> statistics)
      : wb(wb), hasKeyRows(op.hasKeyRows()), mayBeEmpty(mayBeEmpty), hasDelta(op.getDelta()), hasLogSum(op.getLogSum()),
        columnCount(tile.keyCount), statistics(statistics) {
    if (statistics)
      return;
    SmallVector<AffineMap> maps = getMaps(op);
    queryDim = getNumBatchDims(op);
    lse = GlobalView(wb, op.getLse(), maps[1]);
    if (hasDelta)
      delta = GlobalView(wb, op.getDelta(), maps[3]);
    if (hasLogSum)
      logSum = GlobalView(wb, op.getLogSum(), maps[hasDelta ? 4 : 2]);
    if (hasKeyRows)
      return;
    Value last = wb.add(lse.getSize(wb, queryDim), -1);
    for (int64_t i = 0; i < tile.fragments * kThreadRows; ++i) {
      Value row = wb.add(wb.add(wb.firstRow, wb.quad), i / kThreadRows * kFragmentRows + i % kThreadRows * 8);
      known.push_back(load(wb.minimum(row, last)));
    }
  }

  /// The statistics of the thread's row `row`, or of a column.
  const Numbers &get(int64_t row, Value column, size_t columnNumber) {
    size_t i = hasKeyRows ? columnNumber : row;
    if (known.size() <= i)
      known.resize(i + 1);
    if (!known[i].lse)
      known[i] = statistics ? read(row, columnNumber)
                            : load(columnCount ? wb.minimum(column, wb.add(columnCount, -1)) : column);
    return known[i];
  }

  /// A statistic from the tile: of the thread's row `row`, or of its column.
  Value read(Statistic statistic, int64_t row, size_t columnNumber) const {
    if (!hasKeyRows)
      return wb.load(wb.b.getF32Type(),
                     statistics->atNumber(wb, int64_t(statistic), wb.add(wb.firstRow, wb.quad),
                                          row / kThreadRows * kFragmentRows + row % kThreadRows * 8),
                     sizeof(float));
    // A thread has adjacent pairs of columns.
    Value both = wb.load(
        VectorType::get({2}, wb.b.getF32Type()),
        statistics->atNumber(wb, int64_t(statistic), wb.multiply(wb.quadLane, 2), columnNumber / 2 * kBlockColumns),
        2 * sizeof(float));
    return vector::ExtractOp::create(wb.b, wb.loc, both, columnNumber % 2);
  }

  /// True in all lanes where the warp reads an exponent so large that its rounding matters (WarpRows.cpp).
  Value isAnyLarge(const ScoreTile &tile) const {
    Value any;
    auto add = [&](Value exponent) {
      Value magnitude = LLVM::FAbsOp::create(wb.b, wb.loc, exponent);
      magnitude = wb.select(wb.isEqual(magnitude, kInfinity), wb.real(0), magnitude);
      Value isLarge =
          arith::CmpFOp::create(wb.b, wb.loc, arith::CmpFPredicate::OGT, magnitude, wb.real(kLargestProduct));
      any = any ? arith::OrIOp::create(wb.b, wb.loc, any, isLarge).getResult() : isLarge;
    };
    int64_t columns = tile.keyBlocks * kBlockColumns;
    for (int64_t first = 0; hasKeyRows && first < columns; first += wb.lanes) {
      Value column = wb.add(wb.lane, first);
      if (first + wb.lanes > columns)
        column = wb.minimum(column, wb.constant(columns - 1));
      add(wb.load(wb.b.getF32Type(), statistics->atNumber(wb, int64_t(Statistic::Exponent), column), sizeof(float)));
    }
    for (int64_t row = 0; !hasKeyRows && row < tile.fragments * kThreadRows; ++row)
      add(read(Statistic::Exponent, row, 0));
    return wb.anyOfWarp(any);
  }

  Value getQueryCount() const { return lse.getSize(wb, queryDim); }

  /// lse of the thread's rows, if they may have no keys.
  Values getLseOfRows(const ScoreTile &tile) {
    Values all;
    for (int64_t row = 0; mayBeEmpty && !hasKeyRows && row < tile.fragments * kThreadRows; ++row)
      all.push_back(statistics ? read(Statistic::Lse, row, 0) : get(row, Value(), 0).lse);
    return all;
  }

private:
  Numbers derive(Numbers numbers) const {
    if (numbers.logSum)
      numbers.logSum = wb.mulf(numbers.logSum, wb.real(-std::numbers::log2e));
    if (mayBeEmpty)
      numbers.isEmpty = wb.isEqual(numbers.lse, -kInfinity);
    return numbers;
  }

  Numbers read(int64_t row, size_t columnNumber) const {
    Numbers numbers{read(Statistic::Lse, row, columnNumber), {}, {}, {}};
    if (hasDelta) // negated in the tile
      numbers.delta = arith::NegFOp::create(wb.b, wb.loc, read(Statistic::Delta, row, columnNumber));
    if (hasLogSum)
      numbers.logSum = read(Statistic::LogSum, row, columnNumber);
    return derive(numbers);
  }

  Numbers load(Value query) const {
    auto get = [&](const GlobalView &view) -> Value {
      if (!view)
        return {};
      Value address = view.getAddress(wb, view.getOffset(wb, {{queryDim, query}}));
      return wb.convert(wb.load(view.getElementType(), address, view.getElementBytes()), wb.b.getF32Type());
    };
    return derive({get(lse), get(delta), get(logSum), {}});
  }

  WarpBuilder &wb;
  bool hasKeyRows, mayBeEmpty, hasDelta, hasLogSum;
  Value columnCount;
  std::optional<SharedTile> statistics;
  unsigned queryDim = 0;
  GlobalView lse, delta, logSum;
  SmallVector<Numbers> known;
};

/// p, z p and g of scores.
class ScoreGradient {
public:
  ScoreGradient(WarpBuilder &wb, ScoreGradientsOp op, const ScoreTile &tile, std::optional<SharedTile> statistics)
      : wb(wb), op(op), functions(ScoreFunctions::of(op)),
        positions(wb, op, tile, functions, op.hasKeyRows() ? RowKind::Keys : RowKind::Queries),
        mayRemove(functions.mayRemove() || tile.keyCount), numbers(wb, op, tile, functions.mayRemove(), statistics) {
    isScaled = functions.hasOnlyScaleAndMasks() && !functions.mayRemove();
    columnCount = tile.keyCount;
    if (!op.getScoreGrad().empty() && !op.getScoreGrad().getOps<AccumulateOp>().empty())
      queryCount = numbers.getQueryCount();
  }

  /// {weight, gradient} of the score `i` of a tile, each null where the op does not have it.
  std::pair<Value, Value> build(const ScoreTile &tile, size_t i, int64_t row, Value column, Value dweight) {
    const RowNumbers::Numbers &of = numbers.get(row, column, getColumnNumber(tile, i));
    Value score = tile.values[i], zero = wb.real(0), weight = buildWeight(i, row, column, score, of);
    auto whereKept = [&](Value x, Value isZero) { return isZero ? wb.select(isZero, zero, x) : x; };
    Value isZero = mayRemove ? wb.isEqual(weight, 0) : Value(), gradient;
    if (dweight) {
      // ds = p (z dw - delta)
      if (functions.weightMod)
        dweight = positions.evaluateWeight(i, row, column, dweight);
      gradient = whereKept(wb.mulf(weight, wb.subf(dweight, of.delta)), isZero);
      if (!op.getScoreGrad().empty()) {
        Value scaled = multiplyByScale(score);
        OpBuilder::InsertPoint here = wb.b.saveInsertionPoint();
        Operation *before = here.getPoint() == here.getBlock()->begin() ? nullptr : &*std::prev(here.getPoint());
        gradient = positions.evaluate(op.getScoreGrad(), i, row, column, {scaled, gradient});
        lowerAccumulations(wb, before, [&] { return isKept(row, column, weight); });
        gradient = whereKept(wb.convert(gradient, wb.b.getF32Type()), isZero);
      }
      gradient = multiplyByScale(gradient);
    }
    if (op.getWeights() && functions.weightMod)
      weight = positions.evaluateWeight(i, row, column, weight);
    return {op.getWeights() ? weight : Value(), gradient};
  }

  /// Scores become weights: p = 2^(s scale log2 e - (lse + log_sum) log2 e), unless that is too large.
  void buildWeights(ScoreTile &tile) {
    if (!functions.hasOnlyScaleAndMasks() || functions.mask.value) {
      tile.values = buildExactWeights(tile);
      return;
    }
    auto branch = scf::IfOp::create(wb.b, wb.loc, TypeRange(ValueRange(tile.values)), numbers.isAnyLarge(tile),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(wb.b);
    wb.b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(wb.b, wb.loc, buildExactWeights(tile));
    wb.b.setInsertionPointToStart(branch.elseBlock());
    Value factor = wb.real(functions.scale.value_or(1) * std::numbers::log2e), zero = wb.real(0);
    Values weights = tile.values;
    forEachWith(tile, Statistic::Exponent, [&](size_t i, int64_t row, Value column, Value exponent) {
      Value weight = wb.exp2(wb.fma(weights[i], factor, exponent));
      if (columnCount && !op.hasKeyRows()) // columns that are queries get 0 from the exponent
        weight = wb.select(wb.isLess(column, columnCount), weight, zero);
      if (functions.maskMod)
        weight = wb.select(positions.evaluate(*functions.maskMod, i, row, column, {}), weight, zero);
      weights[i] = weight;
    });
    scf::YieldOp::create(wb.b, wb.loc, weights);
    tile.values.assign(branch.getResults().begin(), branch.getResults().end());
  }

  /// Gradients of weights become those of scores: g = p (scale dw - scale delta), and 0 for a removed key, whose dw may
  /// be NaN.
  void buildGradients(const ScoreTile &weights, ScoreTile &tile) {
    Value factor = wb.real(functions.scale.value_or(1));
    forEachWith(tile, Statistic::Delta, [&](size_t i, int64_t, Value, Value delta) {
      Value weight = weights.values[i], gradient = wb.mulf(weight, wb.fma(tile.values[i], factor, delta));
      tile.values[i] = functions.mayRemove() ? wb.select(wb.isEqual(weight, 0), wb.real(0), gradient) : gradient;
    });
  }

  Values getLseOfRows(const ScoreTile &tile) { return numbers.getLseOfRows(tile); }

private:
  /// Index of a column among those of a thread.
  static size_t getColumnNumber(const ScoreTile &tile, size_t i) {
    return i / kFragmentElements % tile.keyBlocks * 2 + i % 2;
  }
  /// Calls the function for each score with its index, row, column, and the statistic of its query.
  void forEachWith(const ScoreTile &tile, Statistic statistic, function_ref<void(size_t, int64_t, Value, Value)> body) {
    Values read(std::max<size_t>(2 * tile.keyBlocks, tile.fragments * kThreadRows));
    tile.forEach(wb, [&](size_t i, int64_t row, Value column) {
      size_t columnNumber = getColumnNumber(tile, i);
      Value &number = read[op.hasKeyRows() ? columnNumber : row];
      if (!number)
        number = numbers.read(statistic, row, columnNumber);
      body(i, row, column, number);
    });
  }

  Values buildExactWeights(const ScoreTile &tile) {
    Values weights = tile.values;
    tile.forEach(wb, [&](size_t i, int64_t row, Value column) {
      weights[i] = buildWeight(i, row, column, weights[i], numbers.get(row, column, getColumnNumber(tile, i)));
    });
    return weights;
  }

  /// True for a score whose query and key are in range, and whose key is not removed.
  Value isKept(int64_t row, Value column, Value weight) {
    Value place = wb.add(wb.add(wb.firstRow, wb.quad), row / kThreadRows * kFragmentRows + row % kThreadRows * 8);
    Value isThere = wb.isLess(place, queryCount);
    if (columnCount)
      isThere = wb.both(isThere, wb.isLess(column, columnCount));
    Value isZero = wb.isEqual(weight, 0), all = arith::ConstantIntOp::create(wb.b, wb.loc, 1, 1);
    return wb.both(isThere, arith::XOrIOp::create(wb.b, wb.loc, isZero, all));
  }

  Value multiplyByScale(Value x) {
    if (functions.scaleValue)
      return wb.mulf(x, wb.convert(functions.scaleValue, wb.b.getF32Type()));
    return functions.scale && *functions.scale != 1 ? wb.mulf(x, wb.real(*functions.scale)) : x;
  }

  /// p = 2^((min(s - lse, 0) - log_sum) log2 e), and 0 for removed keys, rows without keys and columns out of range.
  Value buildWeight(size_t i, int64_t row, Value column, Value score, const RowNumbers::Numbers &of) {
    Value difference, isRemoved = of.isEmpty;
    if (isScaled && of.logSum) {
      // The row maximum is that of rounded scores, so the product is rounded before the difference: no fused
      // multiply-add.
      difference = wb.subf(multiplyByScale(score), of.lse);
    } else if (isScaled) {
      Value minusLse = wb.subf(wb.real(0), of.lse);
      difference = wb.fma(score, wb.real(functions.scale.value_or(1)), minusLse);
    } else {
      Value modified = positions.evaluateScore(i, row, column, score);
      difference = wb.subf(modified, of.lse);
      // Another key may make lse NaN, and then -inf - lse is NaN.
      if (functions.mayRemove())
        isRemoved = arith::OrIOp::create(wb.b, wb.loc, wb.isEqual(modified, -kInfinity), of.isEmpty);
    }
    Value log2e = wb.real(std::numbers::log2e), zero = wb.real(0);
    difference = wb.minf(difference, zero); // the forward pass may round scores differently
    Value weight = wb.exp2(of.logSum ? wb.fma(difference, log2e, of.logSum) : wb.mulf(difference, log2e));
    if (isRemoved)
      weight = wb.select(isRemoved, zero, weight);
    return columnCount ? wb.select(wb.isLess(column, columnCount), weight, zero) : weight;
  }

  WarpBuilder &wb;
  ScoreGradientsOp op;
  ScoreFunctions functions;
  ScorePositions positions;
  bool mayRemove, isScaled;
  RowNumbers numbers;
  Value columnCount, queryCount;
};
} // namespace

LogicalResult KernelLowering::lowerScoreGradients(ScoreGradientsOp op) {
  const auto *scores = find<ScoreTile>(op.getScores(), op);
  if (!scores)
    return failure();
  ScoreTile weights = *scores, gradients = weights;
  std::optional<StartedProduct> started;
  if (Value dweights = op.getDweights()) {
    if (auto *product = std::get_if<StartedProduct>(&lowered[dweights]))
      started = *product;
    else if (const auto *products = find<ScoreTile>(dweights, op))
      gradients = *products;
    else
      return failure();
  }
  std::optional<SharedTile> statistics;
  if (op.getStatistics()) {
    const TileRing *ring = findRing(op.getStatistics());
    statistics = ring ? ring->getTile(wb) : findTile(op.getStatistics());
  }
  ScoreGradient each(wb, op, weights, statistics);
  auto finishProducts = [&] {
    if (started)
      gradients.values = finishStarted(wb, *started, op.getDweights(), op);
  };
  if (statistics && isLinear(op)) {
    each.buildWeights(weights);
    finishProducts();
    if (op.getGradients())
      each.buildGradients(weights, gradients);
  } else {
    finishProducts();
    weights.forEach(wb, [&](size_t i, int64_t row, Value column) {
      Value dweight = op.getGradients() ? gradients.values[i] : Value();
      auto [weight, gradient] = each.build(weights, i, row, column, dweight);
      if (weight)
        weights.values[i] = weight;
      if (gradient)
        gradients.values[i] = gradient;
    });
  }
  weights.hasPadding = gradients.hasPadding = false;
  gradients.lse = each.getLseOfRows(weights);
  if (op.getWeights())
    lowered[op.getResults().front()] = std::move(weights);
  if (op.getGradients())
    lowered[op.getResults().back()] = std::move(gradients);
  return success();
}
