//===- DecodeProducts.h - the two products of a decode tile -----*- C++ -*-===//
//
// S = Q K^T and acc += P V, by the instruction of the schedule: one class for each.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_DECODEPRODUCTS_H
#define ATTN_LIB_CONVERSION_CPU_DECODEPRODUCTS_H

#include "DecodeStep.h"

namespace attn::cpu {

/// Multiply-adds of vectors of columns, which are widened.
class DecodeProducts {
public:
  virtual ~DecodeProducts() = default;
  /// Allocates the weights, if their type is not that of the scores, and other operands of the products.
  virtual void allocate(DecodeTile &t, OnlineStepOp step) const {}
  /// Keys of a block of products with the weights.
  virtual int64_t getOutputBlock(const DecodeTile &t) const;
  /// s[r][j] of all rows and keys (DecodeScores.cpp).
  virtual void emitScores(const DecodeTile &t) const;
  /// Loads a vector of the scores of a row, from a key on.
  virtual std::function<mlir::Value(mlir::Value key)> getScoresOfRow(const DecodeTile &t, mlir::Value row) const;
  /// Called after the weights of a row. `peak` is carried from row to row to `emitOutput`.
  virtual mlir::Value finishWeights(const DecodeTile &t, mlir::Value row, mlir::Value peak) const { return peak; }
  /// acc[r][:] += sum_j p[r][j] v_j of all rows (DecodeOutput.cpp).
  virtual void emitOutput(const DecodeTile &t, mlir::Value peak) const;

protected:
  /// The number of the first columns of a row that are multiplied in pairs.
  virtual int64_t getPairedColumns(const DecodeTile &t, int64_t columns) const { return 0; }
  /// Products of `count` rows from `first` on and some keys, those from `row` on of all segments: (row, key) after
  /// (row, key) in one vector.
  virtual mlir::Value multiplyBlock(const DecodeTile &t, mlir::Value first, int64_t count, mlir::Value row,
                                    mlir::ValueRange keys) const;

private:
  void emitOutputOf(const DecodeTile &t, mlir::Value first, int64_t count, mlir::Value row, int64_t block) const;
};

/// Pairs of bf16: of Q and K along the head, of the weights and V along the keys.
class PairDecodeProducts final : public DecodeProducts {
public:
  void allocate(DecodeTile &t, OnlineStepOp step) const override;
  int64_t getOutputBlock(const DecodeTile &t) const override;

protected:
  int64_t getPairedColumns(const DecodeTile &t, int64_t columns) const override {
    return columns / (2 * t.vb.lanes) * 2 * t.vb.lanes;
  }
};

/// Integers of two digits times bytes (DecodeBytes.cpp).
class ByteDecodeProducts final : public DecodeProducts {
public:
  void allocate(DecodeTile &t, OnlineStepOp step) const override;
  std::function<mlir::Value(mlir::Value key)> getScoresOfRow(const DecodeTile &t, mlir::Value row) const override;
  /// The peak is greater than 0 if one weight of a row is so large that the rounding errors need another round.
  mlir::Value finishWeights(const DecodeTile &t, mlir::Value row, mlir::Value peak) const override;
  void emitOutput(const DecodeTile &t, mlir::Value peak) const override;

protected:
  mlir::Value multiplyBlock(const DecodeTile &t, mlir::Value first, int64_t count, mlir::Value row,
                            mlir::ValueRange keys) const override;
};

/// AMX tiles of pairs, of all rows and keys at once (DecodeTiles.cpp).
class AMXDecodeProducts final : public DecodeProducts {
public:
  void allocate(DecodeTile &t, OnlineStepOp step) const override;
  void emitScores(const DecodeTile &t) const override;
  void emitOutput(const DecodeTile &t, mlir::Value peak) const override;
};

std::unique_ptr<DecodeProducts> createDecodeProducts(Instruction instruction);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_DECODEPRODUCTS_H
