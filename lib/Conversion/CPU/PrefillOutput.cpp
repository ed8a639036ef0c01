//===- PrefillOutput.cpp - the weights of a prefill tile times V ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PrefillStep.h"
#include <numeric>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Keys of a round of a loop by lanes, at most: little beside the products is left of it.
static constexpr int64_t kStepsAtOnce = 4;

void attn::cpu::emitOutput(const PrefillTile &t, Value column, int64_t rows, const LaneBlock &block) {
  VectorBuilder &vb = t.vb;
  Values columns, lanes;
  for (int64_t row = 0; row < rows; ++row)
    columns.push_back(vb.add(column, row));
  for (Value c : columns)
    prefetch(t, Contraction::Values, block, c, t.sizes.value);
  for (int64_t v = 0; v < block.vectors; ++v)
    lanes.push_back(getLane(t, block, v));
  // The sum of a tile starts at 0: added one by one to that of all keys, each product would be rounded as much as it.
  // Of tiles of unknown length LLVM makes a version for no keys, which is shorter where only alpha is left of them.
  bool startsAtZero = usesMatrices(t) || (getConstantIntValue(t.numKeys).has_value() && !usesTiles(t));
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
  auto storeOutput = [&](ValueRange sums) {
    forEachSum([&](int64_t i, ArrayRef<Value> position, Value factor) {
      Value sum = sums[i];
      if (startsAtZero)
        sum = vb.multiplyAdd(vb.load(acc, position), factor, sum);
      vb.store(sum, acc, position);
    });
  };
  if (usesTiles(t))
    return storeOutput(init);
  if (usesMatrices(t))
    return storeOutput(emitMatrixOutput(t, column, rows, block));
  Value depth = t.keyCount;
  if (usesPairs(t))
    depth = vb.divide(vb.add(t.keyCount, 1), 2);
  if (takesLanes(t, t.value, getNumBatch(t) + 3) && rows % kQuadLanes == 0) {
    return storeOutput(emitLaneKernel(
        vb, rows, block.vectors, depth, init, /*isAlongDepth=*/false,
        [&](int64_t row, Value keyIndex) {
          return vb.load(t.value.memref, at(t, t.value, {}, keyIndex, {}, columns[row]));
        },
        [&](Value keyIndex, int64_t v) { return vb.load(t.scores, {keyIndex, lanes[v]}); },
        std::gcd(getConstantIntValue(t.numKeys).value_or(1), kStepsAtOnce)));
  }
  storeOutput(emitProducts(
      t, rows, block, depth, init,
      [&](int64_t row, Value keyIndex) -> Value {
        if (usesPairs(t))
          return vb.loadPair(t.pairs.value, atPair(t, t.pairs.value, keyIndex, columns[row]));
        return memref::LoadOp::create(vb.b, vb.loc, t.value.memref, at(t, t.value, {}, keyIndex, {}, columns[row]));
      },
      [&](Value keyIndex, int64_t v) {
        return usesPairs(t) ? vb.loadPairs(t.pairs.weights, {keyIndex, vb.multiply(lanes[v], 2)})
                            : vb.load(t.scores, {keyIndex, lanes[v]});
      }));
}
