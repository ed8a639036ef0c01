//===- WarpGradients.cpp - the gradients of a block of warps --------------===//
//
// Weights and gradients of scores are where the scores are, in the registers of a
// thread, and go from there into the next product as A operands. Where keys are
// rows, lse and delta belong to columns: a thread reads those of its two columns
// of each block. Sums start at 0 and are rounded to their place once.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static const double kInfinity = std::numeric_limits<double>::infinity();

LogicalResult KernelLowering::lowerZeros(linalg::FillOp op) {
  APFloat value(0.0);
  if (!matchPattern(op.getInputs()[0], m_ConstantFloat(&value)) || !value.isPosZero())
    return op.emitOpError("expected zeros, the start of sums in registers");
  auto type = dyn_cast<RankedTensorType>(op.getOutputs()[0].getType());
  if (!type || !isInRegisters(type))
    return op.emitOpError("expected sums in registers; run attn-tiles-to-registers");
  TileState state = createSums(type.getShape().back());
  state.lse = RegisterArray(wb, kernel.getBody().front(), state.fragments * kThreadRows);
  lowered[op.getResult(0)] = state;
  for (int64_t i = 0; i < state.fragments * kThreadRows; ++i)
    state.lse.set(wb, i, wb.real(0));
  for (int64_t i = 0, e = state.fragments * state.valueBlocks * kFragmentElements; i < e; ++i)
    state.acc.set(wb, i, wb.real(0));
  return success();
}

namespace {
/// lse, log_sum and delta of the rows of a thread, or of its columns.
class RowNumbers {
public:
  RowNumbers(WarpBuilder &wb, ScoreGradientsOp op, const ScoreTile &tile, RowKind rowKind, bool mayBeEmpty)
      : wb(wb), rowKind(rowKind), mayBeEmpty(mayBeEmpty), columnCount(tile.keyCount) {
    SmallVector<AffineMap> maps = getMaps(op);
    queryDim = getNumBatchDims(op);
    lse = GlobalView(wb, op.getLse(), maps[1]);
    if (op.getDelta())
      delta = GlobalView(wb, op.getDelta(), maps[3]);
    if (op.getLogSum())
      logSum = GlobalView(wb, op.getLogSum(), maps[op.getDelta() ? 4 : 2]);
    if (rowKind == RowKind::Keys)
      return;
    Value last = wb.add(lse.getSize(wb, queryDim), -1);
    for (int64_t i = 0; i < tile.fragments * kThreadRows; ++i) {
      Value row = wb.add(wb.add(wb.firstRow, wb.quad), i / kThreadRows * kFragmentRows + i % kThreadRows * 8);
      rows.push_back(load(wb.minimum(row, last)));
    }
  }

  struct Numbers {
    Value lse, delta; ///< delta is null where no gradient is wanted
    Value logSum;     ///< -log_sum log2 e; null where there is none
    Value isEmpty;    ///< lse is -inf; null where it cannot be
  };

  /// Of the thread's row `row`, and a column.
  const Numbers &get(int64_t row, Value column, size_t columnNumber) {
    if (rowKind == RowKind::Queries)
      return rows[row];
    if (columns.size() <= columnNumber)
      columns.resize(columnNumber + 1);
    Numbers &numbers = columns[columnNumber];
    if (!numbers.lse)
      numbers = load(columnCount ? wb.minimum(column, wb.add(columnCount, -1)) : column);
    return numbers;
  }

  /// lse of the thread's rows, where they may be without keys.
  Values getLseOfRows() const {
    return mayBeEmpty ? llvm::map_to_vector(rows, [](const Numbers &row) { return row.lse; }) : Values();
  }

private:
  Numbers load(Value query) {
    auto read = [&](const GlobalView &view) {
      Value address = view.getAddress(wb, view.getOffset(wb, {{queryDim, query}}));
      return wb.convert(wb.load(view.getElementType(), address, view.getElementBytes()), wb.b.getF32Type());
    };
    Numbers numbers{read(lse), delta ? read(delta) : Value(), {}, {}};
    if (logSum)
      numbers.logSum = wb.mulf(read(logSum), wb.real(-std::numbers::log2e));
    if (mayBeEmpty)
      numbers.isEmpty = wb.isEqual(numbers.lse, -kInfinity);
    return numbers;
  }

  WarpBuilder &wb;
  RowKind rowKind;
  bool mayBeEmpty;
  Value columnCount;
  unsigned queryDim;
  GlobalView lse, delta, logSum;
  SmallVector<Numbers> rows, columns;
};

/// p, z p and g of one score.
class ScoreGradient {
public:
  ScoreGradient(WarpBuilder &wb, ScoreGradientsOp op, const ScoreTile &tile, RowKind rowKind)
      : wb(wb), op(op), functions(ScoreFunctions::of(op)), positions(wb, op, tile, functions, rowKind),
        mayRemove(functions.mayRemove() || tile.keyCount), numbers(wb, op, tile, rowKind, functions.mayRemove()) {
    isScaled = !functions.mayRemove() && !functions.scaleValue;
    columnCount = tile.keyCount;
  }

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
        gradient = positions.evaluate(op.getScoreGrad(), row, column, {scaled, gradient});
        gradient = whereKept(wb.convert(gradient, wb.b.getF32Type()), isZero);
      }
      gradient = multiplyByScale(gradient);
    }
    if (op.getWeights() && functions.weightMod)
      weight = positions.evaluateWeight(row, column, weight);
    return {op.getWeights() ? weight : Value(), gradient};
  }

  Values getLseOfRows() const { return numbers.getLseOfRows(); }

private:
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
  Value columnCount;
};
} // namespace

LogicalResult KernelLowering::lowerScoreGradients(ScoreGradientsOp op) {
  const auto *scores = find<ScoreTile>(op.getScores(), op),
             *products = op.getDweights() ? find<ScoreTile>(op.getDweights(), op) : scores;
  if (!scores || !products)
    return failure();
  unsigned numBatch = getNumBatchDims(op);
  AffineMap map = getMaps(op)[0];
  auto getPlace = [&](unsigned position) {
    return *map.getResultPosition(getAffineDimExpr(position, op.getContext()));
  };
  RowKind rowKind = getPlace(numBatch + 1) < getPlace(numBatch) ? RowKind::Keys : RowKind::Queries;
  ScoreTile weights = *scores, gradients = *products;
  ScoreGradient each(wb, op, weights, rowKind);
  weights.forEach(wb, [&](size_t i, int64_t row, Value column) {
    size_t columnNumber = i / kFragmentElements % weights.keyBlocks * 2 + i % 2;
    Value dweight = op.getGradients() ? gradients.values[i] : Value();
    auto [weight, gradient] = each.build(row, column, columnNumber, weights.values[i], dweight);
    if (weight)
      weights.values[i] = weight;
    if (gradient)
      gradients.values[i] = gradient;
  });
  weights.hasPadding = gradients.hasPadding = false;
  gradients.lse = each.getLseOfRows();
  if (op.getWeights())
    lowered[op.getResults().front()] = std::move(weights);
  if (op.getGradients())
    lowered[op.getResults().back()] = std::move(gradients);
  return success();
}

/// Sums in registers to global memory: two neighbours of a row at once. A row without keys is 0, whatever K holds.
LogicalResult KernelLowering::lowerPack(PackOp op) {
  const auto *found = find<TileState>(op.getInput(), op);
  if (!found)
    return failure();
  const TileState &state = *found;
  SmallVector<AffineMap> maps = attn::getMaps(op);
  GlobalView output(wb, op.getOutput(), maps[1]);
  unsigned rowDim = getNumBatchDims(op), columnDim = rowDim + 1;
  Type type = output.getElementType();
  int64_t columns = cast<ShapedType>(op.getInput().getType()).getShape().back(), bytes = output.getElementBytes();
  bool isPair =
      output.isContiguous(columnDim) && columns % 2 == 0 && output.getRowAlignment(columnDim) % (2 * bytes) == 0;
  Value count = output.getSize(wb, rowDim);
  for (int64_t fragment = 0; fragment < state.fragments; ++fragment)
    for (int64_t half = 0; half < kThreadRows; ++half) {
      Value row = getRow(fragment, half);
      Value isEmpty = wb.isEqual(state.lse.get(wb, TileState::rowIndex(fragment, half)), -kInfinity);
      wb.when(wb.isLess(row, count), [&] {
        Value start = output.getOffset(wb, {{rowDim, row}});
        for (int64_t block = 0; block * kBlockColumns < columns; ++block) {
          auto getSum = [&](int64_t e) {
            Value sum = state.acc.get(wb, state.accIndex(fragment, block, 2 * half + e));
            return wb.convert(wb.select(isEmpty, wb.real(0), sum), type);
          };
          Value column = wb.add(wb.multiply(wb.quadLane, 2), block * kBlockColumns);
          bool isWhole = (block + 1) * kBlockColumns <= columns;
          wb.when(isWhole ? Value() : wb.isLess(column, wb.constant(columns)), [&] {
            auto getAddress = [&](int64_t e) {
              return output.getAddress(wb, wb.add(start, output.getOffset(wb, {{columnDim, wb.add(column, e)}})));
            };
            if (isPair) {
              Value both = vector::FromElementsOp::create(wb.b, wb.loc, VectorType::get({2}, type),
                                                          ValueRange{getSum(0), getSum(1)});
              wb.store(both, getAddress(0), 2 * bytes);
              return;
            }
            for (int64_t e = 0; e < 2; ++e)
              wb.store(getSum(e), getAddress(e), bytes);
          });
        }
      });
    }
  return success();
}

/// delta = sum_e dout output - dlse: the lanes of a warp take the columns of a row in turn.
LogicalResult KernelLowering::lowerRowDelta(RowDeltaOp op) {
  SmallVector<AffineMap> maps = attn::getMaps(op);
  GlobalView output(wb, op.getOutput(), maps[0]), dout(wb, op.getDout(), maps[1]), lse(wb, op.getLse(), maps[2]),
      delta(wb, op.getDelta(), maps.back()), dlse;
  if (op.getDlse())
    dlse = GlobalView(wb, op.getDlse(), maps[3]);
  unsigned rowDim = getNumBatchDims(op), columnDim = rowDim + 1;
  int64_t columns = getStaticSize(op, DimKind::ValueSize);
  Value count = delta.getSize(wb, rowDim);
  auto loop = scf::ForOp::create(wb.b, wb.loc, wb.constant(0), wb.constant(wb.warpRows), wb.constant(1));
  OpBuilder::InsertionGuard guard(wb.b);
  wb.b.setInsertionPointToStart(loop.getBody());
  Value row = wb.add(wb.firstRow, loop.getInductionVar());
  wb.when(wb.isLess(row, count), [&] {
    auto read = [&](const GlobalView &view, Value column) {
      Value offset = view.getOffset(wb, {{rowDim, row}});
      if (column)
        offset = wb.add(offset, view.getOffset(wb, {{columnDim, column}}));
      return wb.convert(wb.load(view.getElementType(), view.getAddress(wb, offset), view.getElementBytes()),
                        wb.b.getF32Type());
    };
    Value sum = wb.real(0);
    for (int64_t first = 0; first < columns; first += wb.lanes) {
      Value column = wb.add(wb.lane, first);
      // The lanes that have no column left read the last one.
      bool isWhole = first + wb.lanes <= columns;
      Value last = isWhole ? column : wb.minimum(column, wb.constant(columns - 1));
      Value next = wb.fma(read(dout, last), read(output, last), sum);
      sum = isWhole ? next : wb.select(wb.isLess(column, wb.constant(columns)), next, sum);
    }
    for (int64_t distance = wb.lanes / 2; distance > 0; distance /= 2)
      sum = wb.addf(sum, wb.shuffleXor(sum, distance));
    if (dlse)
      sum = wb.subf(sum, read(dlse, {}));
    sum = wb.select(wb.isEqual(read(lse, {}), -kInfinity), wb.real(0), sum);
    Value isFirst = arith::CmpIOp::create(wb.b, wb.loc, arith::CmpIPredicate::eq, wb.lane, wb.constant(0));
    wb.when(isFirst, [&] {
      wb.store(wb.convert(sum, delta.getElementType()), delta.getAddress(wb, delta.getOffset(wb, {{rowDim, row}})),
               delta.getElementBytes());
    });
  });
  return success();
}
