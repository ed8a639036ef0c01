//===- PrefillProducts.h - the two products of a prefill tile ---*- C++ -*-===//
//
// S^T = K Q^T and O^T += V^T P^T, by the instruction of the schedule. Each
// instruction has a class, which knows the layout of its operands.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_PREFILLPRODUCTS_H
#define ATTN_LIB_CONVERSION_CPU_PREFILLPRODUCTS_H

#include "PrefillStep.h"

namespace attn::cpu {

class PrefillProducts {
public:
  virtual ~PrefillProducts() = default;

  /// True where begin and end multiply for all blocks, and blocks of lanes do the rest.
  virtual bool multipliesWholeTiles() const { return false; }
  /// The operands beside Q, K, V and scores.
  virtual void allocate(PrefillTile &t) {}
  /// Called before and after all blocks of lanes.
  virtual void begin(const PrefillTile &t) const {}
  virtual void end(const PrefillTile &t) const {}

  /// S^T[j][lane] = k_j q_lane of `keys`, row by row.
  virtual Values getScores(const PrefillTile &t, mlir::ValueRange keys, const LaneBlock &block) const = 0;

  /// Keys whose weights are stored together.
  virtual int64_t getKeysAtOnce() const { return 1; }
  /// Stores the weights of the keys from `first` on, for vector `v` of the block. `mayHideNaN`: a weight may be NaN
  /// where the row sum is not.
  virtual void storeWeights(const PrefillTile &t, mlir::Value first, mlir::ValueRange weights, const LaneBlock &block,
                            int64_t v, bool mayHideNaN) const = 0;
  /// Called before and after the weights of a block of lanes.
  virtual void beginWeights(const PrefillTile &t, const LaneBlock &block) const {}
  virtual void endWeights(const PrefillTile &t, const LaneBlock &block) const {}

  /// True if the sums of a tile start at 0 and are added to the totals: added one by one, each product would be rounded
  /// like the totals. For tiles of dynamic length, LLVM makes a version for no keys, which is shorter if only alpha is
  /// left there.
  virtual bool startsAtZero(const PrefillTile &t) const { return mlir::getConstantIntValue(t.numKeys).has_value(); }
  /// init + sum_j V[j][e] P^T[j][lane] for `columns` e of V, row by row.
  virtual Values multiply(const PrefillTile &t, mlir::ValueRange columns, const LaneBlock &block,
                          mlir::ValueRange init) const = 0;
};

/// Multiply-adds of an element, which is broadcast, and lanes; also the sums of additive scores.
class FMAProducts : public PrefillProducts {
public:
  Values getScores(const PrefillTile &t, mlir::ValueRange keys, const LaneBlock &block) const override;
  void storeWeights(const PrefillTile &t, mlir::Value first, mlir::ValueRange weights, const LaneBlock &block,
                    int64_t v, bool mayHideNaN) const override;
  Values multiply(const PrefillTile &t, mlir::ValueRange columns, const LaneBlock &block,
                  mlir::ValueRange init) const override;
};

/// The same with a lane of a vector as the element (fmla by element).
class FMALaneProducts final : public FMAProducts {
public:
  Values getScores(const PrefillTile &t, mlir::ValueRange keys, const LaneBlock &block) const override;
  Values multiply(const PrefillTile &t, mlir::ValueRange columns, const LaneBlock &block,
                  mlir::ValueRange init) const override;
};

/// Pairs of bf16 along the summed dimension.
class PairProducts : public PrefillProducts {
public:
  void allocate(PrefillTile &t) override;
  Values getScores(const PrefillTile &t, mlir::ValueRange keys, const LaneBlock &block) const override;
  int64_t getKeysAtOnce() const override { return 2; }
  void storeWeights(const PrefillTile &t, mlir::Value first, mlir::ValueRange weights, const LaneBlock &block,
                    int64_t v, bool mayHideNaN) const override;
  Values multiply(const PrefillTile &t, mlir::ValueRange columns, const LaneBlock &block,
                  mlir::ValueRange init) const override;
};

/// bfmmla: quads of bf16 (PrefillQuads.cpp).
class QuadProducts final : public PairProducts {
public:
  void allocate(PrefillTile &t) override;
  void begin(const PrefillTile &t) const override;
  Values getScores(const PrefillTile &t, mlir::ValueRange keys, const LaneBlock &block) const override;
  void endWeights(const PrefillTile &t, const LaneBlock &block) const override;
  bool startsAtZero(const PrefillTile &t) const override { return true; }
  Values multiply(const PrefillTile &t, mlir::ValueRange columns, const LaneBlock &block,
                  mlir::ValueRange init) const override;

private:
  /// (k floordiv 4, 4 * other)
  mlir::Value query, key, value, weights;
};

/// AMX tiles, for all lanes and keys of a step at once; V is stored as (e, j).
class AMXProducts final : public PairProducts {
public:
  bool multipliesWholeTiles() const override { return true; }
  void allocate(PrefillTile &t) override;
  void begin(const PrefillTile &t) const override;
  void end(const PrefillTile &t) const override;
  Values getScores(const PrefillTile &t, mlir::ValueRange keys, const LaneBlock &block) const override;
  void storeWeights(const PrefillTile &t, mlir::Value first, mlir::ValueRange weights, const LaneBlock &block,
                    int64_t v, bool mayHideNaN) const override;
  void beginWeights(const PrefillTile &t, const LaneBlock &block) const override;
  bool startsAtZero(const PrefillTile &t) const override { return false; }
  Values multiply(const PrefillTile &t, mlir::ValueRange columns, const LaneBlock &block,
                  mlir::ValueRange init) const override {
    return Values(init);
  }
};

std::unique_ptr<PrefillProducts> createPrefillProducts(Instruction instruction);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_PREFILLPRODUCTS_H
