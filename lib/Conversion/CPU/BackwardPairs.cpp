//===- BackwardPairs.cpp - the five products of a backward step by pairs --===//
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

void BackwardPairs::allocate(int64_t numPanels) {
  Type bf16 = vb.b.getBF16Type();
  int64_t rows = getPaddedRows(schedule.getQueryTile());
  scores = vb.stackBuffer({2, rows, panelKeys});
  weights = getRows(vb.index(1));
  queryFactors = vb.stackBuffer({numPanels, rows, panelKeys}, bf16);
  if (step.getDvalue()) {
    weightFactors = vb.stackBuffer({rows / 2, 2 * panelKeys}, bf16);
    dout = getPairsOfRows(1);
  }
  if (step.getDkey()) {
    gradientFactors = vb.stackBuffer({rows / 2, 2 * panelKeys}, bf16);
    query = getPairsOfRows(0);
  }
  keyColumns = vb.collapsePairs(step.getTransposed()[0]);
  valueColumns = vb.collapsePairs(step.getTransposed()[1]);
  keys = vb.collapsePairs(step.getTransposed()[2]);
}

Value BackwardPairs::getPairsOfRows(unsigned number) {
  Value rows = number == 0 ? step.getQuery() : step.getDout();
  int64_t columns = getStaticSize(step, number == 0 ? DimKind::HeadSize : DimKind::ValueSize);
  Value pairs = vb.stackBuffer({int64_t(llvm::divideCeil(schedule.getQueryTile(), 2)), columns, 2}, vb.b.getBF16Type());
  TransposeSide side{{rows, vb.b.getMultiDimIdentityMap(2)},
                     [](Value row, Value column) { return Values{row, column}; }};
  side.columnsContiguous = true;
  emitPairRows(vb, side, numRows, pairs, columns);
  return vb.collapsePairs(pairs);
}

void BackwardPairs::beginPanel(const Panel &panel) { gradients = getRows(vb.index(0)); }

void BackwardPairs::storeRows(const Panel &panel, GetRow getRow) {
  Value even = vb.subtract(panel.upper, vb.remainder(vb.subtract(panel.upper, panel.lower), 2));
  vb.loop(panel.lower, even, 2, {}, [&](Value row, ValueRange) {
    storeRowPair(panel, row, /*hasOdd=*/true, getRow);
    return Values();
  });
  vb.loop(even, panel.upper, 2, {}, [&](Value row, ValueRange) {
    storeRowPair(panel, row, /*hasOdd=*/false, getRow);
    return Values();
  });
}

void BackwardPairs::storeRowPair(const Panel &panel, Value row, bool hasOdd, GetRow getRow) {
  auto [p, g] = getRow(row);
  Values oddP(vectors, vb.splat(0)), oddG = oddP;
  if (hasOdd)
    std::tie(oddP, oddG) = getRow(vb.add(row, 1));
  Value pair = vb.divide(row, 2);
  for (int64_t v = 0; v < vectors; ++v) {
    Values at = {pair, vb.index(2 * v * vb.lanes)};
    if (step.getDvalue())
      vb.store(makePairs(p[v], oddP[v]), weightFactors, at);
    if (step.getDkey())
      vb.store(makePairs(g[v], oddG[v]), gradientFactors, at);
    if (!step.getDquery())
      continue;
    vb.store(vb.narrow(g[v]), queryFactors, {panel.index, row, vb.index(v * vb.lanes)});
    if (hasOdd)
      vb.store(vb.narrow(oddG[v]), queryFactors, {panel.index, vb.add(row, 1), vb.index(v * vb.lanes)});
  }
}

Value BackwardPairs::loadScalar(Value memref, Values indices) {
  indices.back() = vb.multiply(indices.back(), 2);
  return vb.loadPair(memref, indices);
}

Value BackwardPairs::loadVector(Value memref, Values indices, int64_t count) {
  indices.back() = vb.multiply(indices.back(), 2);
  return count < vb.lanes ? vb.loadFirstPairs(memref, indices, count) : vb.loadPairs(memref, indices);
}

Values BackwardPairs::multiply(int64_t rows, int64_t count, Value size, ValueRange init,
                               function_ref<Value(int64_t, Value)> scalarAt,
                               function_ref<Value(Value, int64_t)> vectorAt) {
  return emitRegisterKernel(
      vb, rows, count, size, init, scalarAt, vectorAt,
      [&](Value, Value pair, Value pairs, Value sum) { return vb.multiplyAddPairs(pair, pairs, sum); });
}
