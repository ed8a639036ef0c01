//===- BackwardProducts.cpp - the five products of a backward step --------===//
//
// All are one register kernel: rows of scalars, read from the tiles in place,
// times vectors of a panel. A kernel is emitted once for whole blocks of rows and
// once for the rest; rows past the last one are computed and unused.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardProducts.h"
#include "attn/IR/Decompose.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Enough rows to keep the units busy, and few enough to waste little.
static constexpr int64_t kTailRows = 4;

BackwardProducts::BackwardProducts(VectorBuilder &vb, BackwardStepOp step, Value numRows, Value keyCount)
    : vb(vb), step(step), schedule(cast<BackwardAttr>(*step.getSchedule())), vectors(schedule.getBlockVectors()),
      panelKeys(schedule.getPanelKeys()), blockRows(schedule.getBlockRows()),
      tailRows(std::min(kTailRows, schedule.getBlockRows())), depth(schedule.getInfo().getPairSize()), numRows(numRows),
      keyCount(keyCount) {}

std::unique_ptr<BackwardProducts> attn::cpu::createBackwardProducts(VectorBuilder &vb, BackwardStepOp step,
                                                                    Value numRows, Value keyCount) {
  switch (cast<BackwardAttr>(*step.getSchedule()).getInfo().instruction) {
  case Instruction::Pairs: return std::make_unique<BackwardPairs>(vb, step, numRows, keyCount);
  case Instruction::AMX: return std::make_unique<BackwardTiles>(vb, step, numRows, keyCount);
  default: return std::make_unique<BackwardProducts>(vb, step, numRows, keyCount);
  }
}

bool BackwardProducts::hasTail() const {
  std::optional<int64_t> constant = getConstantIntValue(keyCount);
  return !constant || *constant % panelKeys != 0;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

int64_t BackwardProducts::getPaddedRows(int64_t rows) const { return llvm::alignTo(rows + tailRows, 2); }

Value BackwardProducts::getRows(Value panel) {
  auto type = cast<MemRefType>(scores.getType());
  SmallVector<int64_t> shape(type.getShape().drop_front());
  auto layout = StridedLayoutAttr::get(vb.b.getContext(), ShapedType::kDynamic, {panelKeys, 1});
  auto rows = MemRefType::get(shape, type.getElementType(), layout);
  OpFoldResult zero = vb.b.getIndexAttr(0), one = vb.b.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes = {one, vb.b.getIndexAttr(shape[0]), vb.b.getIndexAttr(shape[1])};
  return memref::SubViewOp::create(vb.b, vb.loc, rows, scores, ArrayRef<OpFoldResult>{panel, zero, zero}, sizes,
                                   ArrayRef<OpFoldResult>{one, one, one});
}

void BackwardProducts::allocate(int64_t numPanels) {
  // P is a panel after those of G, so that products of both have one form.
  scores = vb.stackBuffer({numPanels + 1, getPaddedRows(schedule.getQueryTile()), panelKeys});
  weights = weightFactors = getRows(vb.index(numPanels));
  queryFactors = scores;
  keyColumns = step.getTransposed()[0];
  valueColumns = step.getTransposed()[1];
  query = step.getQuery();
  dout = step.getDout();
  keys = step.getKey();
}

void BackwardProducts::beginPanel(const Panel &panel) { gradients = gradientFactors = getRows(panel.index); }

void BackwardProducts::storeRows(const Panel &panel, GetRow getRow) {
  vb.loop(panel.lower, panel.upper, 1, {}, [&](Value row, ValueRange) {
    auto [p, g] = getRow(row);
    for (auto [factors, target] : {std::pair(p, weights), std::pair(g, gradients)})
      for (auto [v, vector] : llvm::enumerate(factors))
        vb.store(vector, target, {row, vb.index(v * vb.lanes)});
    return Values();
  });
}

void BackwardProducts::clearRows(const Panel &panel) {
  Value end = vb.minimum(vb.multiply(vb.divide(vb.add(panel.upper, blockRows - 1), blockRows), blockRows), numRows);
  vb.loop(panel.upper, end, 1, {}, [&](Value row, ValueRange) {
    auto type = VectorType::get({vb.lanes}, getElementTypeOrSelf(queryFactors.getType()));
    for (int64_t v = 0; v < vectors; ++v)
      vb.store(vb.zero(type), queryFactors, {panel.index, row, vb.index(v * vb.lanes)});
    return Values();
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void BackwardProducts::multiplyRows(const Panel &panel, bool hasGradients) {
  beginPanel(panel);
  emitRowProduct(panel, step.getQuery(), keyColumns, weights, getStaticSize(step, DimKind::HeadSize));
  if (hasGradients)
    emitRowProduct(panel, step.getDout(), valueColumns, gradients, getStaticSize(step, DimKind::ValueSize));
}

void BackwardProducts::multiplyKeys(const Panel &panel) {
  if (step.getDvalue())
    emitKeyProduct(panel, dout, weightFactors, step.getDvalue(), getStaticSize(step, DimKind::ValueSize));
  if (step.getDkey())
    emitKeyProduct(panel, query, gradientFactors, step.getDkey(), getStaticSize(step, DimKind::HeadSize));
}

void BackwardProducts::multiplyQueries(const PanelBounds &panels) {
  emitQueryProduct(panels, getStaticSize(step, DimKind::HeadSize));
}

Values BackwardProducts::multiply(int64_t rows, int64_t count, Value size, ValueRange init,
                                  function_ref<Value(int64_t, Value)> scalarAt,
                                  function_ref<Value(Value, int64_t)> vectorAt) {
  return emitRegisterKernel(vb, rows, count, size, init, scalarAt, vectorAt);
}

Value BackwardProducts::loadVector(Value memref, Values indices, int64_t count) {
  return vb.loadMasked(memref, indices, vb.getMask(count));
}

void BackwardProducts::outline(function_ref<void()> body) {
  auto region = scf::ExecuteRegionOp::create(vb.b, vb.loc, TypeRange(), /*no_inline=*/true);
  OpBuilder::InsertionGuard guard(vb.b);
  vb.b.createBlock(&region.getRegion());
  body();
  scf::YieldOp::create(vb.b, vb.loc);
}

void BackwardProducts::emitIf(Value condition, function_ref<void()> body, function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(vb.b, vb.loc, TypeRange(), condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(vb.b);
  vb.b.setInsertionPointToStart(branch.thenBlock());
  body();
  if (!otherwise)
    return;
  vb.b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

void BackwardProducts::forEachRows(Value lower, Value upper, function_ref<void(Value, int64_t, bool)> body) {
  auto emitBlocks = [&](Value from, Value to, int64_t rows, bool isWhole) {
    vb.loop(from, to, rows, {}, [&](Value first, ValueRange) {
      body(first, rows, isWhole);
      return Values();
    });
  };
  Value count = vb.subtract(upper, lower), end = vb.subtract(upper, vb.remainder(count, blockRows));
  emitBlocks(lower, end, blockRows, /*isWhole=*/true);
  if (blockRows > 1)
    emitBlocks(end, upper, tailRows, /*isWhole=*/false);
}

void BackwardProducts::emitRowProduct(const Panel &panel, Value rows, Value columns, Value target, int64_t size) {
  outline([&] {
    Value last = vb.subtract(numRows, vb.index(1));
    forEachRows(panel.lower, panel.upper, [&](Value first, int64_t count, bool isWhole) {
      Values at;
      for (int64_t row = 0; row < count; ++row) // rows past the last one must not be read
        at.push_back(isWhole ? vb.add(first, row) : vb.minimum(vb.add(first, row), last));
      Values sums = multiply(
          count, vectors, vb.index(size / depth), getZeros(count * vectors),
          [&](int64_t row, Value d) { return loadScalar(rows, {at[row], d}); },
          [&](Value d, int64_t v) { return loadVector(columns, {d, vb.add(panel.firstKey, v * vb.lanes)}); });
      for (int64_t row = 0; row < count; ++row)
        for (int64_t v = 0; v < vectors; ++v)
          vb.store(sums[row * vectors + v], target, {vb.add(first, row), vb.index(v * vb.lanes)});
    });
  });
}

void BackwardProducts::emitKeyProduct(const Panel &panel, Value rows, Value factors, Value sums, int64_t columns) {
  outline([&] {
    Value lower = vb.divide(panel.lower, depth), size = countSteps(vb.subtract(panel.upper, panel.lower));
    forEachBlock(vb, vb.b.getIndexAttr(columns), blockRows, {}, [&](Value first, int64_t count, ValueRange) {
      Values products = multiply(
          count, vectors, size, getZeros(count * vectors),
          [&](int64_t column, Value i) { return loadScalar(rows, {vb.add(lower, i), vb.add(first, column)}); },
          [&](Value i, int64_t v) { return loadVector(factors, {vb.add(lower, i), vb.index(v * vb.lanes)}); });
      auto addAll = [&](ArrayRef<Value> masks) {
        for (int64_t column = 0; column < count; ++column)
          for (int64_t v = 0; v < vectors; ++v) {
            Values position = {vb.add(first, column), vb.add(panel.firstKey, v * vb.lanes)};
            Value old = vb.loadMasked(sums, position, masks[v]);
            vb.storeMasked(addTo(old, products[column * vectors + v]), sums, position, masks[v]);
          }
      };
      if (!panel.keys) {
        addAll(Values(vectors));
        return Values();
      }
      Value isWhole = compare(arith::CmpIPredicate::sge, panel.keys, vb.index(panelKeys));
      emitIf(
          isWhole, [&] { addAll(Values(vectors)); },
          [&] {
            Values masks;
            for (int64_t v = 0; v < vectors; ++v)
              masks.push_back(vb.createMask(vb.subtract(panel.keys, vb.index(v * vb.lanes))));
            addAll(masks);
          });
      return Values();
    });
  });
}

Value BackwardProducts::isEmptyRow(Value lse) {
  FloatAttr none = vb.b.getFloatAttr(vb.elementType, -std::numeric_limits<double>::infinity());
  return arith::CmpFOp::create(vb.b, vb.loc, arith::CmpFPredicate::OEQ, lse,
                               arith::ConstantOp::create(vb.b, vb.loc, none));
}

void BackwardProducts::emitQueryProduct(const PanelBounds &panels, int64_t columns) {
  Value sums = step.getDquery();
  // The outer loop is over panels of columns: they stay in the L1 cache.
  auto emitBlock = [&](Value firstRow, int64_t rows, bool isWhole, Value column, int64_t width) {
    int64_t count = llvm::divideCeil(width, vb.lanes);
    auto addPanel = [&](Value panel, ValueRange init) -> Values {
      Value lower = load(panels.bounds, {panel, vb.index(0)}), upper = load(panels.bounds, {panel, vb.index(1)});
      Value isVisited = arith::AndIOp::create(vb.b, vb.loc, compare(arith::CmpIPredicate::sle, lower, firstRow),
                                              compare(arith::CmpIPredicate::slt, firstRow, upper));
      auto branch = scf::IfOp::create(vb.b, vb.loc, init.getTypes(), isVisited, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(vb.b);
      vb.b.setInsertionPointToStart(branch.thenBlock());
      Value firstKey = vb.multiply(panel, panelKeys), size = vb.index(panelKeys);
      if (hasTail())
        size = vb.minimum(size, vb.subtract(keyCount, firstKey));
      Values products = multiply(
          rows, count, countSteps(size), init,
          [&](int64_t row, Value k) { return loadScalar(queryFactors, {panel, vb.add(firstRow, row), k}); },
          [&](Value k, int64_t v) {
            Values at = {vb.add(vb.divide(firstKey, depth), k), vb.add(column, v * vb.lanes)};
            return loadVector(keys, at, width - v * vb.lanes);
          });
      scf::YieldOp::create(vb.b, vb.loc, products);
      vb.b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(vb.b, vb.loc, init);
      return Values(branch.getResults());
    };
    Values products = vb.loop(vb.index(0), panels.numPanels, 1, getZeros(rows * count),
                              [&](Value panel, ValueRange carried) { return addPanel(panel, carried); });
    for (int64_t row = 0; row < rows; ++row) {
      auto addRow = [&] {
        Value isEmpty = isEmptyRow(load(step.getLse(), vb.add(firstRow, row)));
        for (int64_t v = 0; v < count; ++v) {
          Values position = {vb.add(firstRow, row), vb.add(column, v * vb.lanes)};
          Value mask = vb.getMask(width - v * vb.lanes), old = vb.loadMasked(sums, position, mask);
          Value sum = vb.select(isEmpty, vb.splat(0), products[row * count + v]);
          vb.storeMasked(addTo(old, sum), sums, position, mask);
        }
      };
      if (isWhole || row == 0)
        addRow();
      else
        emitIf(compare(arith::CmpIPredicate::slt, vb.add(firstRow, row), numRows), addRow);
    }
  };
  outline([&] {
    int64_t whole = columns / panelKeys * panelKeys, rest = columns - whole;
    auto emitColumns = [&](Value column, int64_t width) {
      forEachRows(vb.index(0), numRows,
                  [&](Value row, int64_t rows, bool isWhole) { emitBlock(row, rows, isWhole, column, width); });
    };
    vb.loop(whole, panelKeys, {}, [&](Value column, ValueRange) {
      emitColumns(column, panelKeys);
      return Values();
    });
    if (rest > 0)
      emitColumns(vb.index(whole), rest);
  });
}
