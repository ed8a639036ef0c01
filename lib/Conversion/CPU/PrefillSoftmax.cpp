//===- PrefillSoftmax.cpp - the weights of a prefill tile -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PrefillProducts.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Most vectors of weights at once if each multiply-add copies a coefficient.
static constexpr int64_t kCopiedVectors = 2;
static constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

/// 2^(s scale log2 e - m' log2 e) of a score that is still a product, in one multiply-add. m' log2 e is rounded as the
/// scores themselves are. Without a bias, no score is near the most negative finite number.
static Value emitFoldedWeight(const PrefillTile &t, Value product, Value max) {
  VectorBuilder &vb = t.vb;
  Value subtracted = arith::MulFOp::create(vb.b, vb.loc, max, vb.splat(-std::numbers::log2e));
  return vb.exp2(vb.multiplyAdd(product, vb.splat(*t.foldedScale * std::numbers::log2e), subtracted), getWeightType(t));
}

Value attn::cpu::getFiniteMaximum(const PrefillTile &t, const LaneCode &laneCode, Value max) {
  return laneCode.isPartial() ? t.vb.select(t.vb.isEqual(max, kMinusInf), t.vb.splat(0), max) : max;
}

Values attn::cpu::emitRescaleFactors(const PrefillTile &t, const LaneCode &laneCode, const LaneBlock &block,
                                     ValueRange oldMax, ValueRange newMax) {
  VectorBuilder &vb = t.vb;
  Values maxima, factors; // m', and alpha
  for (auto [before, after] : llvm::zip(oldMax, newMax)) {
    Value max = getFiniteMaximum(t, laneCode, after);
    // alpha = 2^((m - m') log2 e); for m = -inf it scales a state of zeros.
    factors.push_back(vb.expDifference(before, max));
    maxima.push_back(max);
  }
  for (auto [v, max] : llvm::enumerate(newMax))
    vb.store(max, t.state.rowMax.memref, at(t, t.state.rowMax, getLane(t, block, v), {}, {}, {}));
  for (auto [v, factor] : llvm::enumerate(factors))
    vb.store(factor, t.alpha, {getLane(t, block, v)});
  return maxima;
}

void attn::cpu::emitWeights(const PrefillTile &t, LaneCode &laneCode, Value first, int64_t keys, const LaneBlock &block,
                            int64_t v, Value max, Value &sum) {
  VectorBuilder &vb = t.vb;
  // p = 2^((s - m') log2 e), 0 for a removed key, a score of -inf; adds it to the sum, returns what multiplies V.
  auto emitWeight = [&](Value keyIndex) {
    Value score = vb.load(t.scores, getScoreIndices(t, keyIndex, block, v));
    Value weight = t.foldedScale ? emitFoldedWeight(t, score, max) : vb.expDifference(score, max, getWeightType(t));
    sum = arith::AddFOp::create(vb.b, vb.loc, sum, weight);
    return laneCode.modifyWeight(weight, {v, keyIndex});
  };
  // A row with a NaN weight has a NaN sum, whatever happens to that weight; but the sum does not show a weight that is
  // NaN only after weight_mod. The last of an odd number of keys is paired with 0.
  Values weights;
  for (int64_t i = 0; i < t.products.getKeysAtOnce(); ++i)
    weights.push_back(i < keys ? emitWeight(i == 0 ? first : vb.add(first, i)) : vb.splat(0));
  t.products.storeWeights(t, first, weights, block, v, /*mayHideNaN=*/laneCode.modifiesWeights());
}

void attn::cpu::addToRowSum(const PrefillTile &t, const LaneBlock &block, int64_t v, Value sum) {
  VectorBuilder &vb = t.vb;
  Value lane = getLane(t, block, v);
  Values position = at(t, t.state.rowSum, lane, {}, {}, {});
  Value old = vb.load(t.state.rowSum.memref, position);
  vb.store(vb.multiplyAdd(old, vb.load(t.alpha, lane), sum), t.state.rowSum.memref, position);
}

void attn::cpu::emitSoftmax(const PrefillTile &t, LaneCode &laneCode, const LaneBlock &block, ValueRange oldMax,
                            ValueRange newMax) {
  VectorBuilder &vb = t.vb;
  // The polynomial's coefficients fill a small register file: there, one vector of lanes at a time.
  int64_t atOnce = vb.target.vectorRegisters < kManyRegisters ? 1 : block.vectors;
  // Copies of the coefficients do so, too.
  if (vb.target.overwritesAddend && !vb.target.hasPowerTable)
    atOnce = std::min(atOnce, kCopiedVectors);
  Values maxima = emitRescaleFactors(t, laneCode, block, oldMax, newMax);
  t.products.beginWeights(t, block);
  for (int64_t firstVector = 0; firstVector < block.vectors; firstVector += atOnce) {
    int64_t together = std::min(atOnce, block.vectors - firstVector);
    Values zeros(together, vb.splat(0));
    Values sums = forEachBlock(
        vb, t.numKeys, t.products.getKeysAtOnce(), zeros, [&](Value first, int64_t keys, ValueRange partial) {
          Values next(partial);
          for (int64_t i = 0; i < together; ++i)
            emitWeights(t, laneCode, first, keys, block, firstVector + i, maxima[firstVector + i], next[i]);
          return next;
        });
    if (auto loop = sums.back().getDefiningOp<scf::ForOp>(); loop && together == 1)
      attn::keepRolled(loop);
    for (auto [i, sum] : llvm::enumerate(sums))
      addToRowSum(t, block, firstVector + i, sum);
  }
}
