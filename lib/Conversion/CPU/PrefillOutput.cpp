//===- PrefillOutput.cpp - the weights of a prefill tile times V ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PrefillProducts.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

void attn::cpu::emitOutput(const PrefillTile &t, Value column, int64_t rows, const LaneBlock &block) {
  VectorBuilder &vb = t.vb;
  Values columns, lanes;
  for (int64_t row = 0; row < rows; ++row)
    columns.push_back(vb.add(column, row));
  for (Value c : columns)
    prefetch(t, Contraction::Values, block, c, t.sizes.value);
  for (int64_t v = 0; v < block.vectors; ++v)
    lanes.push_back(getLane(t, block, v));
  bool startsAtZero = t.products.startsAtZero(t);
  Value acc = t.state.acc.memref;
  auto forEachSum = [&](function_ref<void(int64_t, ArrayRef<Value>, Value)> body) {
    Values factors = llvm::map_to_vector(lanes, [&](Value first) { return vb.load(t.alpha, first); });
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < block.vectors; ++v)
        body(row * block.vectors + v, at(t, t.state.acc, lanes[v], {}, {}, columns[row]), factors[v]);
  };
  Values init(rows * block.vectors, vb.splat(0));
  if (!startsAtZero)
    forEachSum([&](int64_t i, ArrayRef<Value> position, Value factor) {
      init[i] = arith::MulFOp::create(vb.b, vb.loc, vb.load(acc, position), factor);
    });
  Values sums = t.products.multiply(t, columns, block, init);
  forEachSum([&](int64_t i, ArrayRef<Value> position, Value factor) {
    Value sum = sums[i];
    if (startsAtZero)
      sum = vb.multiplyAdd(vb.load(acc, position), factor, sum);
    vb.store(sum, acc, position);
  });
}
