//===- PrefillStep.h - a prefill tile accumulates one key tile --*- C++ -*-===//
//
// PrefillStep.cpp goes over blocks of lanes, PrefillScores.cpp multiplies K by Q^T, PrefillSoftmax.cpp makes weights of
// scores, PrefillOutput.cpp multiplies V^T by them; PrefillUnits.cpp does all of it at once beside tiles.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_PREFILLSTEP_H
#define ATTN_LIB_CONVERSION_CPU_PREFILLSTEP_H

#include "StepPrefetch.h"
#include "VectorTile.h"
#include "attn/Schedule/Schedule.h"

namespace attn::cpu {

/// Query rows, which are lanes, and keys of a tile, at most; columns of K and of V.
struct PrefillSizes {
  int64_t lanes, keys, head, value;
};

struct PrefillState {
  Operand acc, rowMax, rowSum;
};

/// Operands of products of pairs of bf16, collapsed: pairs of Q along the head, of V and the weights along the keys.
struct PrefillPairs {
  mlir::Value query, value, weights;
};

/// The rows of a unit in the buffers of scores and of weights, which are as wide as it (PrefillUnits.cpp); null
/// elsewhere.
struct UnitScratch {
  mlir::Value scoreRow, pairRow;
};

/// Vectors of lanes whose products are accumulated in registers.
struct LaneBlock {
  mlir::Value first;
  int64_t vectors;
};

class PrefillProducts;

/// What an online_step of a prefill tile reads and writes. The functions below emit code for it at the builder's
/// position.
struct PrefillTile {
  PrefillTile(VectorBuilder &vb, OnlineStepOp step, const LaneCode &laneCode, PrefillProducts &products);

  VectorBuilder &vb;
  const PrefillAttr schedule;
  const StepPrefetches prefetches;
  const PrefillSizes sizes;
  const PrefillProducts &products;
  Operand query, key, value;
  PrefillState state;
  mlir::OpFoldResult endLane, numKeys;
  mlir::Value keyCount;    ///< numKeys
  mlir::Value scoreWeight; ///< of additive scores; null for products
  mlir::Value scores;      ///< S^T, then P^T: (key, lane), on the stack
  mlir::Value alpha;       ///< (lane)
  PrefillPairs pairs;
  /// The scale of scores that stay products, as tiles have stored them; none if anything else changes them, or if the
  /// factor of a weight's exponent might overflow.
  std::optional<double> foldedScale;
  bool isByUnits; ///< PrefillUnits.cpp
  UnitScratch scratch;
};

inline bool hasDynamicRows(const PrefillTile &t) { return !mlir::getConstantIntValue(t.endLane); }
/// The type that a weight is rounded to.
mlir::FloatType getWeightType(const PrefillTile &t);

// Positions.
inline unsigned getNumBatch(const PrefillTile &t) { return t.query.map.getNumDims() - 4; }
inline int64_t getBlockLanes(const PrefillTile &t) { return t.schedule.getBlockVectors() * t.vb.lanes; }
inline mlir::Value getLane(const PrefillTile &t, const LaneBlock &block, int64_t vector) {
  return t.vb.add(block.first, vector * t.vb.lanes);
}
inline Values getLanes(const PrefillTile &t, const LaneBlock &block) {
  Values lanes;
  for (int64_t v = 0; v < block.vectors; ++v)
    lanes.push_back(getLane(t, block, v));
  return lanes;
}
/// The positions of the score of a key, and of the weights of a pair of keys.
inline Values getScoreIndices(const PrefillTile &t, mlir::Value keyIndex, const LaneBlock &block, int64_t v) {
  if (!t.scratch.scoreRow)
    return {keyIndex, getLane(t, block, v)};
  return {t.vb.add(t.scratch.scoreRow, keyIndex), t.vb.index(v * t.vb.lanes)};
}
inline Values getWeightIndices(const PrefillTile &t, mlir::Value pair, const LaneBlock &block, int64_t v,
                               int64_t part = 0) {
  int64_t rows = mlir::cast<mlir::MemRefType>(t.pairs.weights.getType()).getDimSize(0);
  pair = t.vb.add(pair, part * (rows / t.schedule.getParts()));
  if (!t.scratch.pairRow)
    return {pair, t.vb.multiply(getLane(t, block, v), 2)};
  return {t.vb.add(t.scratch.pairRow, pair), t.vb.index(2 * v * t.vb.lanes)};
}
/// Indices of a position in the domain (batch…, query, key, head, value).
Values at(const PrefillTile &t, const Operand &operand, mlir::Value lane, mlir::Value keyIndex, mlir::Value head,
          mlir::Value column);
/// The same for collapsed pairs: tiles have one batch index and head.
Values atPair(const PrefillTile &t, mlir::Value pairs, mlir::Value pair, mlir::Value other);

// What the parts share.
/// Rows of K or columns of V of a block: more of them if it has fewer vectors than the schedule, so that as many
/// products are in flight.
int64_t getBlockRows(const PrefillTile &t, int64_t vectors);
/// Emits the share of prefetches for `position` of `positions`, keys or columns, in a block of lanes.
void prefetch(const PrefillTile &t, Contraction product, const LaneBlock &block, mlir::Value position,
              int64_t positions);
// The operands of tile instructions: rows of K, pairs of Q, columns of V, of all parts.
mlir::Value getKeyMatrix(const PrefillTile &t);
mlir::Value getQueryMatrix(const PrefillTile &t);
mlir::Value getValueMatrix(const PrefillTile &t);

// The parts of a step.
Values loadMaxima(const PrefillTile &t, const LaneBlock &block);
/// S^T[j][lane] = score of key j; returns maxima that begin with startMaxima(m); finishMaxima makes max(m, max_j
/// S^T[j]) of them.
Values emitScores(const PrefillTile &t, LaneCode &laneCode, const LaneBlock &block, mlir::ValueRange max);
/// The same of some keys.
Values emitScoresOf(const PrefillTile &t, LaneCode &laneCode, mlir::ValueRange keys, const LaneBlock &block,
                    mlir::ValueRange max);
Values startMaxima(const PrefillTile &t, mlir::ValueRange oldMax);
Values finishMaxima(const PrefillTile &t, mlir::ValueRange max, mlir::ValueRange oldMax);
/// Replaces S^T by P^T; updates the maximum, sum and alpha of the lanes.
void emitSoftmax(const PrefillTile &t, LaneCode &laneCode, const LaneBlock &block, mlir::ValueRange oldMax,
                 mlir::ValueRange newMax);
/// The first part: stores the new maxima and alpha; returns the maxima that scores are relative to.
Values emitRescaleFactors(const PrefillTile &t, const LaneCode &laneCode, const LaneBlock &block,
                          mlir::ValueRange oldMax, mlir::ValueRange newMax);
/// m', or any finite value for a row that has kept no key yet: each of its p is 0.
mlir::Value getFiniteMaximum(const PrefillTile &t, const LaneCode &laneCode, mlir::Value max);
/// The weights of one or two keys from `first` on, stored, for vector `v` of the block; adds them to `sum`.
void emitWeights(const PrefillTile &t, LaneCode &laneCode, mlir::Value first, int64_t keys, const LaneBlock &block,
                 int64_t v, mlir::Value max, mlir::Value &sum);
/// l' = alpha l + sum
void addToRowSum(const PrefillTile &t, const LaneBlock &block, int64_t v, mlir::Value sum);
/// O^T[e][lane] = alpha O^T[e][lane] + sum_j V[j][e] P^T[j][lane] for `rows` columns e of V; tiles add the sum later.
void emitOutput(const PrefillTile &t, mlir::Value column, int64_t rows, const LaneBlock &block);

/// Emits a step whose products and weights are interleaved.
void emitUnits(const PrefillTile &t, LaneCode &laneCode);

mlir::LogicalResult lowerPrefillStep(mlir::RewriterBase &rewriter, OnlineStepOp step, const TargetInfo &target);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_PREFILLSTEP_H
