//===- WarpGradients.cpp - the gradients of a block of warps --------------===//
//
// Weights and gradients of scores are where the scores are, in the registers of a
// thread, and go from there into the next product as A operands. Where keys are
// rows, lse and delta belong to columns: a thread reads those of its two columns
// of each block.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static const double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// lse, log_sum and delta of the rows of a thread, or of its columns. By wgmma, whose tiles have many columns, a lane
/// loads those of every 32nd one, and the lanes give them to each other where they are needed: registers do not hold
/// all.
class RowNumbers {
public:
  struct Numbers {
    Value lse, delta; ///< delta is null where no gradient is wanted
    Value logSum;     ///< -log_sum log2 e; null where there is none
    Value isEmpty;    ///< lse is -inf; null where it cannot be
  };

  RowNumbers(WarpBuilder &wb, ScoreGradientsOp op, const ScoreTile &tile, RowKind rowKind, bool mayBeEmpty)
      : wb(wb), rowKind(rowKind), mayBeEmpty(mayBeEmpty), columnCount(tile.keyCount) {
    SmallVector<AffineMap> maps = getMaps(op);
    queryDim = getNumBatchDims(op);
    lse = GlobalView(wb, op.getLse(), maps[1]);
    if (op.getDelta())
      delta = GlobalView(wb, op.getDelta(), maps[3]);
    if (op.getLogSum())
      logSum = GlobalView(wb, op.getLogSum(), maps[op.getDelta() ? 4 : 2]);
    if (isShared()) {
      int64_t count = tile.keyBlocks * kBlockColumns;
      for (int64_t first = 0; first < count; first += wb.lanes) {
        Value column = getHeldColumn(held.size());
        held.push_back(
            read(first + wb.lanes > count ? clamp(wb.minimum(column, wb.constant(count - 1))) : clamp(column)));
      }
      return;
    }
    if (rowKind == RowKind::Keys)
      return;
    Value last = wb.add(lse.getSize(wb, queryDim), -1);
    for (int64_t i = 0; i < tile.fragments * kThreadRows; ++i) {
      Value row = wb.add(wb.add(wb.firstRow, wb.quad), i / kThreadRows * kFragmentRows + i % kThreadRows * 8);
      held.push_back(wb.instruction.readsPanels() ? read(wb.minimum(row, last)) : load(wb.minimum(row, last)));
    }
  }

  /// By wgmma, what has been read is used from here on: products run in between.
  void use() {
    for (Numbers &numbers : held)
      numbers = derive(numbers);
  }

  /// Of the thread's row `row`, and a column.
  const Numbers &get(int64_t row, Value column, size_t columnNumber) {
    if (rowKind == RowKind::Queries)
      return held[row];
    if (columns.size() <= columnNumber)
      columns.resize(columnNumber + 1);
    Numbers &numbers = columns[columnNumber];
    if (!numbers.lse)
      numbers = isShared() ? shareAll(columnNumber) : load(clamp(column));
    return numbers;
  }

  /// What the thread holds: of its rows, or of the columns that it has loaded.
  ArrayRef<Numbers> getHeld() const { return held; }
  /// True where a thread has loaded columns for others.
  bool isShared() const { return rowKind == RowKind::Keys && wb.instruction.readsPanels(); }
  /// The `i`-th column that the lane has loaded.
  Value getHeldColumn(size_t i) const { return wb.add(wb.lane, i * wb.lanes); }
  /// Of numbers made from those that are held, that of a column.
  Value share(ArrayRef<Value> made, size_t columnNumber) const {
    int64_t first = columnNumber / 2 * kBlockColumns + columnNumber % 2;
    return wb.shuffleFrom(made[first / wb.lanes], wb.add(wb.multiply(wb.quadLane, 2), first % wb.lanes));
  }

  Value getQueryCount() const { return lse.getSize(wb, queryDim); }

  /// lse of the thread's rows, where they may be without keys.
  Values getLseOfRows() const {
    return mayBeEmpty && rowKind == RowKind::Queries
               ? llvm::map_to_vector(held, [](const Numbers &row) { return row.lse; })
               : Values();
  }

private:
  Value clamp(Value column) { return columnCount ? wb.minimum(column, wb.add(columnCount, -1)) : column; }

  Numbers shareAll(size_t columnNumber) const {
    auto get = [&](Value Numbers::*part) {
      Values all = llvm::map_to_vector(held, [&](const Numbers &of) { return of.*part; });
      return all.front() ? share(all, columnNumber) : Value();
    };
    Numbers numbers{get(&Numbers::lse), get(&Numbers::delta), get(&Numbers::logSum), {}};
    if (mayBeEmpty)
      numbers.isEmpty = wb.isEqual(numbers.lse, -kInfinity);
    return numbers;
  }

  Numbers read(Value query) {
    auto get = [&](const GlobalView &view) -> Value {
      if (!view)
        return {};
      Value address = view.getAddress(wb, view.getOffset(wb, {{queryDim, query}}));
      return wb.convert(wb.load(view.getElementType(), address, view.getElementBytes()), wb.b.getF32Type());
    };
    return {get(lse), get(delta), get(logSum), {}};
  }

  Numbers derive(Numbers numbers) const {
    if (numbers.logSum)
      numbers.logSum = wb.mulf(numbers.logSum, wb.real(-std::numbers::log2e));
    if (mayBeEmpty)
      numbers.isEmpty = wb.isEqual(numbers.lse, -kInfinity);
    return numbers;
  }

  Numbers load(Value query) { return derive(read(query)); }

  WarpBuilder &wb;
  RowKind rowKind;
  bool mayBeEmpty;
  Value columnCount;
  unsigned queryDim;
  GlobalView lse, delta, logSum;
  SmallVector<Numbers> held, columns;
};

/// p, z p and g of scores.
class ScoreGradient {
public:
  ScoreGradient(WarpBuilder &wb, ScoreGradientsOp op, const ScoreTile &tile, RowKind rowKind)
      : wb(wb), op(op), functions(ScoreFunctions::of(op)), positions(wb, op, tile, functions, rowKind),
        mayRemove(functions.mayRemove() || tile.keyCount), numbers(wb, op, tile, rowKind, functions.mayRemove()) {
    isScaled = !functions.mayRemove() && !functions.scaleValue;
    columnCount = tile.keyCount;
    if (!op.getScoreGrad().empty() && !op.getScoreGrad().getOps<AccumulateOp>().empty())
      queryCount = numbers.getQueryCount();
  }

  /// True where g = p (scale dw - scale delta), so that weights need not wait for dw.
  bool isLinear() {
    return wb.instruction.readsPanels() && !functions.weightMod && op.getScoreGrad().empty() && !functions.scaleValue;
  }

  void useNumbers() { numbers.use(); }

  /// {weight, gradient}, each null where the op does not have it.
  std::pair<Value, Value> build(int64_t row, Value column, size_t columnNumber, Value score, Value dweight) {
    const RowNumbers::Numbers &of = numbers.get(row, column, columnNumber);
    Value zero = wb.real(0), weight = buildWeight(row, column, score, of);
    auto whereKept = [&](Value x, Value isZero) { return isZero ? wb.select(isZero, zero, x) : x; };
    Value isZero = mayRemove ? wb.isEqual(weight, 0) : Value(), gradient;
    if (dweight) {
      // ds = p (z dw - delta)
      if (functions.weightMod)
        dweight = positions.evaluateWeight(row, column, dweight);
      gradient = whereKept(wb.mulf(weight, wb.subf(dweight, of.delta)), isZero);
      if (!op.getScoreGrad().empty()) {
        Value scaled = multiplyByScale(score);
        OpBuilder::InsertPoint here = wb.b.saveInsertionPoint();
        Operation *before = here.getPoint() == here.getBlock()->begin() ? nullptr : &*std::prev(here.getPoint());
        gradient = positions.evaluate(op.getScoreGrad(), row, column, {scaled, gradient});
        lowerAccumulations(wb, before, [&] { return isKept(row, column, weight); });
        gradient = whereKept(wb.convert(gradient, wb.b.getF32Type()), isZero);
      }
      gradient = multiplyByScale(gradient);
    }
    if (op.getWeights() && functions.weightMod)
      weight = positions.evaluateWeight(row, column, weight);
    return {op.getWeights() ? weight : Value(), gradient};
  }

  /// Scores become weights.
  void buildWeights(ScoreTile &tile) {
    bool isMaskedAtMost =
        !functions.scaleValue && !functions.scoreMod && !functions.bias.value && !functions.mask.value;
    if (!isMaskedAtMost) {
      tile.values = buildExactWeights(tile);
      return;
    }
    auto [shifts, isLarge] = buildShifts();
    auto branch = scf::IfOp::create(wb.b, wb.loc, TypeRange(ValueRange(tile.values)), isLarge, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(wb.b);
    wb.b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(wb.b, wb.loc, buildExactWeights(tile));
    wb.b.setInsertionPointToStart(branch.elseBlock());
    // p = 2^(s scale log2 e - (lse + log_sum) log2 e)
    Value factor = wb.real(functions.scale.value_or(1) * std::numbers::log2e), zero = wb.real(0);
    Values weights = tile.values;
    forEachWith(tile, shifts, [&](size_t i, int64_t row, Value column, Value shift) {
      Value weight = wb.exp2(wb.fma(weights[i], factor, shift));
      if (columnCount && !numbers.isShared())
        weight = wb.select(wb.isLess(column, columnCount), weight, zero);
      if (functions.maskMod)
        weight = wb.select(positions.evaluate(*functions.maskMod, row, column, {}), weight, zero);
      weights[i] = weight;
    });
    scf::YieldOp::create(wb.b, wb.loc, weights);
    tile.values.assign(branch.getResults().begin(), branch.getResults().end());
  }

  /// Gradients of weights become those of scores: g = p (scale dw - scale delta), 0 for a removed key, whose dw may be
  /// NaN.
  void buildGradients(const ScoreTile &weights, ScoreTile &tile) {
    double scale = functions.scale.value_or(1);
    Value factor = wb.real(scale);
    Values deltas = llvm::map_to_vector(
        numbers.getHeld(), [&](const RowNumbers::Numbers &of) { return wb.mulf(of.delta, wb.real(-scale)); });
    forEachWith(tile, deltas, [&](size_t i, int64_t, Value, Value delta) {
      Value weight = weights.values[i], gradient = wb.mulf(weight, wb.fma(tile.values[i], factor, delta));
      tile.values[i] = functions.mayRemove() ? wb.select(wb.isEqual(weight, 0), wb.real(0), gradient) : gradient;
    });
  }

  Values getLseOfRows() const { return numbers.getLseOfRows(); }

  /// The number of a column among those of a thread.
  static size_t getColumnNumber(const ScoreTile &tile, size_t i) {
    return i / kFragmentElements % tile.keyBlocks * 2 + i % 2;
  }

private:
  /// For each score: its place, row and column, and the one of `held`, made from the numbers that the thread holds,
  /// that is of its row or column.
  void forEachWith(const ScoreTile &tile, ArrayRef<Value> held,
                   function_ref<void(size_t, int64_t, Value, Value)> body) const {
    Values ofColumns(2 * tile.keyBlocks);
    tile.forEach(wb, [&](size_t i, int64_t row, Value column) {
      Value &number = ofColumns[getColumnNumber(tile, i)];
      if (numbers.isShared() && !number)
        number = numbers.share(held, getColumnNumber(tile, i));
      body(i, row, column, numbers.isShared() ? number : held[row]);
    });
  }

  Values buildExactWeights(const ScoreTile &tile) {
    Values weights = tile.values;
    tile.forEach(wb, [&](size_t i, int64_t row, Value column) {
      weights[i] = buildWeight(row, column, weights[i], numbers.get(row, column, getColumnNumber(tile, i)));
    });
    return weights;
  }

  /// -(lse + log_sum) log2 e, -inf where nothing is kept; and whether one in the warp is so large that its rounding
  /// matters in an exponent (WarpRows.cpp).
  std::pair<Values, Value> buildShifts() const {
    Values shifts;
    Value anyLarge, none = wb.real(-kInfinity), log2e = wb.real(-std::numbers::log2e);
    for (auto [i, of] : llvm::enumerate(numbers.getHeld())) {
      Value shift = of.logSum ? wb.fma(of.lse, log2e, of.logSum) : wb.mulf(of.lse, log2e);
      Value magnitude = LLVM::FAbsOp::create(wb.b, wb.loc, shift);
      if (of.isEmpty) {
        magnitude = wb.select(of.isEmpty, wb.real(0), magnitude);
        shift = wb.select(of.isEmpty, none, shift);
      }
      Value isLarge =
          arith::CmpFOp::create(wb.b, wb.loc, arith::CmpFPredicate::OGT, magnitude, wb.real(kLargestProduct));
      anyLarge = anyLarge ? arith::OrIOp::create(wb.b, wb.loc, anyLarge, isLarge).getResult() : isLarge;
      if (columnCount && numbers.isShared()) // columns that are not there
        shift = wb.select(wb.isLess(numbers.getHeldColumn(i), columnCount), shift, none);
      shifts.push_back(shift);
    }
    return {shifts, wb.anyOfWarp(anyLarge)};
  }

  /// True for a score whose query and key are there, and whose key is not removed.
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

  /// p = 2^((min(s - lse, 0) - log_sum) log2 e), 0 for removed keys, rows without keys and columns that are not there.
  Value buildWeight(int64_t row, Value column, Value score, const RowNumbers::Numbers &of) {
    Value difference, isRemoved = of.isEmpty;
    if (isScaled && of.logSum) {
      // The maximum is that of rounded scores: one rounding of the difference would be of another number.
      difference = wb.subf(multiplyByScale(score), of.lse);
    } else if (isScaled) {
      Value minusLse = wb.subf(wb.real(0), of.lse);
      difference = wb.fma(score, wb.real(functions.scale.value_or(1)), minusLse);
    } else {
      Value modified = positions.evaluateScore(row, column, score);
      difference = wb.subf(modified, of.lse);
      // lse may be NaN by another key: -inf less that is no number.
      if (functions.mayRemove())
        isRemoved = arith::OrIOp::create(wb.b, wb.loc, wb.isEqual(modified, -kInfinity), of.isEmpty);
    }
    Value log2e = wb.real(std::numbers::log2e), zero = wb.real(0);
    difference = wb.minf(difference, zero); // the forward pass may round scores in another way
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
  unsigned numBatch = getNumBatchDims(op);
  AffineMap map = getMaps(op)[0];
  auto getPlace = [&](unsigned position) {
    return *map.getResultPosition(getAffineDimExpr(position, op.getContext()));
  };
  RowKind rowKind = getPlace(numBatch + 1) < getPlace(numBatch) ? RowKind::Keys : RowKind::Queries;
  OpBuilder::InsertPoint here = wb.b.saveInsertionPoint();
  if (auto wait = op.getScores().getDefiningOp<WaitProductOp>()) // numbers arrive while products run
    wb.b.setInsertionPoint(wait.getProduct().getDefiningOp());
  ScoreGradient each(wb, op, weights, rowKind);
  wb.b.restoreInsertionPoint(here);
  if (wb.instruction.readsPanels())
    each.useNumbers();
  auto finishProducts = [&] {
    if (started)
      gradients.values = finishStarted(wb, *started, op.getDweights(), op);
  };
  if (each.isLinear()) {
    each.buildWeights(weights);
    finishProducts();
    if (op.getGradients())
      each.buildGradients(weights, gradients);
  } else {
    finishProducts();
    weights.forEach(wb, [&](size_t i, int64_t row, Value column) {
      Value dweight = op.getGradients() ? gradients.values[i] : Value();
      auto [weight, gradient] = each.build(row, column, each.getColumnNumber(weights, i), weights.values[i], dweight);
      if (weight)
        weights.values[i] = weight;
      if (gradient)
        gradients.values[i] = gradient;
    });
  }
  weights.hasPadding = gradients.hasPadding = false;
  gradients.lse = each.getLseOfRows();
  if (op.getWeights())
    lowered[op.getResults().front()] = std::move(weights);
  if (op.getGradients())
    lowered[op.getResults().back()] = std::move(gradients);
  return success();
}
