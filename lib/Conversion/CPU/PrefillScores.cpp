//===- PrefillScores.cpp - the scores of a prefill tile -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PrefillProducts.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// With at most this many vectors of rows, the products of one key are too few to hide their latency.
static constexpr int64_t kFewVectors = 2;

// Products that stay in place are not stored again.
Values attn::cpu::emitScoresOf(const PrefillTile &t, LaneCode &laneCode, ValueRange keys, const LaneBlock &block,
                               ValueRange max) {
  VectorBuilder &vb = t.vb;
  for (Value keyIndex : keys)
    prefetch(t, Contraction::Scores, block, keyIndex, t.sizes.keys);
  Values raw = t.products.getScores(t, keys, block), newMax(max);
  if (t.foldedScale) {
    for (auto [i, product] : llvm::enumerate(raw))
      newMax[i % block.vectors] = vb.max(product, newMax[i % block.vectors]);
    return newMax;
  }
  // All of a block at once, so that one test of all its scores does for a cap.
  SmallVector<LanePosition> at;
  for (Value key : keys)
    for (int64_t v = 0; v < block.vectors; ++v)
      at.push_back({v, key});
  for (auto [score, position] : llvm::zip_equal(laneCode.modify(raw, at), at)) {
    Value kept = laneCode.remove(score, position);
    vb.store(kept, t.scores, getScoreIndices(t, position.key, block, position.v));
    newMax[position.v] = vb.max(kept, newMax[position.v]);
  }
  return newMax;
}

Values attn::cpu::startMaxima(const PrefillTile &t, ValueRange oldMax) {
  if (!t.foldedScale)
    return Values(oldMax);
  return Values(oldMax.size(), t.vb.splat(-std::numeric_limits<double>::infinity()));
}

Values attn::cpu::finishMaxima(const PrefillTile &t, ValueRange max, ValueRange oldMax) {
  VectorBuilder &vb = t.vb;
  Values newMax(max);
  // max(m, scale max_j S^T[j]): rounding keeps the order.
  for (auto [next, old] : llvm::zip(newMax, oldMax))
    if (t.foldedScale)
      next = vb.max(arith::MulFOp::create(vb.b, vb.loc, next, vb.splat(*t.foldedScale)), old);
  return newMax;
}

Values attn::cpu::emitScores(const PrefillTile &t, LaneCode &laneCode, const LaneBlock &block, ValueRange init) {
  VectorBuilder &vb = t.vb;
  int64_t blockRows = getBlockRows(t, block.vectors);
  auto emitBlock = [&](Value first, int64_t rows, ValueRange max, Value last) {
    Values keys;
    for (int64_t row = 0; row < rows; ++row) {
      keys.push_back(vb.add(first, row));
      if (last)
        keys.back() = vb.minimum(keys.back(), last);
    }
    return emitScoresOf(t, laneCode, keys, block, max);
  };
  // In a tile of few rows, a product of one key would wait for the previous one. So the last block is a whole one, in
  // which the last key is read in place of keys past it: its score is the same each time.
  int64_t atOnce = hasDynamicRows(t) ? block.vectors * vb.lanes : t.sizes.lanes;
  if (!getConstantIntValue(t.numKeys) && atOnce <= kFewVectors * vb.lanes)
    return vb.loop(vb.index(0), t.keyCount, blockRows, init, [&](Value first, ValueRange max) {
      return emitBlock(first, blockRows, max, vb.subtract(t.keyCount, vb.index(1)));
    });
  return forEachBlock(vb, t.numKeys, blockRows, init, [&](Value first, int64_t rows, ValueRange max) {
    return emitBlock(first, rows, max, /*last=*/Value());
  });
}
