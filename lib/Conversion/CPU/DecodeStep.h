//===- DecodeStep.h - one key tile folded into the rows of a decode tile -===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_DECODESTEP_H
#define ATTN_LIB_CONVERSION_CPU_DECODESTEP_H

#include "RowTile.h"
#include "StepPrefetch.h"

namespace attn::cpu {

/// Lowers one attn.online_step of a decode tile: DecodeStep.cpp goes over the keys, DecodeScores.cpp multiplies Q by K,
/// DecodeSoftmax.cpp makes weights of scores, DecodeOutput.cpp multiplies them by V.
class DecodeStepLowering {
public:
  DecodeStepLowering(VectorBuilder &vb, OnlineStepOp step);
  void emit();

private:
  void foldKeys();
  /// From here on keys are `count` rows, in turn one from each of the places that start at `starts`.
  void setTile(Values starts, mlir::OpFoldResult count);
  /// The `k`-th key after the `row`-th ones of all places.
  mlir::Value getKey(mlir::Value row, int64_t k);
  /// The rows that each place has, and where the score of the `place`-th key of a row of them is.
  mlir::Value getRowsOfPlace();
  mlir::Value getScore(mlir::Value row, int64_t place);
  /// Folds the keys of setTile.
  void emitTile();
  /// Products are of blocks of rows times keys, as many as lanes in all or fewer.
  int64_t getKeyBlock() const;
  /// Places of memory that a tile takes its keys from.
  int64_t getNumPlaces() const;
  /// The first block is the one that waits for memory; it has code of its own, so that its loads walk evenly.
  void forEachRowBlock(llvm::function_ref<void(mlir::Value first, int64_t count)> body);
  /// A position in the domain (batch…, query, key, head, value).
  Values at(mlir::Value row, mlir::Value keyIndex, mlir::Value head, mlir::Value column);
  /// A vector of columns of Q, K or V from `position` on, widened.
  mlir::Value loadColumns(const Operand &operand, unsigned dim, mlir::ArrayRef<mlir::Value> position, mlir::Value mask);
  /// Twice as many, as pairs of bf16.
  mlir::Value loadPairsOfColumns(const Operand &operand, mlir::ArrayRef<mlir::Value> position);
  /// Beside the products of a block of `rows` rows of K or V from `row` on, in each of `rounds` rounds over the
  /// columns: asks for a part of the same rows of `operand`, `rowsAhead` further on. Each row block asks for its share.
  void prefetch(const Operand &operand, unsigned column, mlir::Value row, int64_t rows, int64_t rowsAhead,
                mlir::Value firstTileRow, mlir::Value round, int64_t rounds);

  /// s[r][j] of all rows and keys.
  void emitScores();
  /// The same of `count` rows from `first` on and a block of keys, from number `firstKey` of a row of all places on.
  void emitScoresOf(mlir::Value first, int64_t count, mlir::Value row, int64_t firstKey, mlir::ValueRange keys);

  /// The lanes of l are added up once a step.
  void beginSums();
  void endSums();
  /// p of one row in the place of s, its sum, and its maximum where that moves. Returns the largest score of each lane.
  mlir::Value emitSoftmax(mlir::Value row);
  mlir::Value moveMaximum(mlir::Value row, mlir::Value best, mlir::Value oldMax);
  mlir::Value scaledExp(mlir::Value x, mlir::Value max, mlir::Type roundedTo = {});
  mlir::Value isAnyGreater(mlir::Value x, mlir::Value y);
  Values forEachKeyVector(mlir::ValueRange init,
                          llvm::function_ref<Values(mlir::Value, mlir::Value, mlir::ValueRange)> body);
  Values keepRolled(Values results);

  /// acc[r][:] += sum_j p[r][j] v_j of all rows.
  void emitOutput();
  /// The same of `count` rows from `first` on and `block` keys.
  void emitOutputOf(mlir::Value first, int64_t count, mlir::Value row, int64_t firstKey, int64_t block);
  mlir::Value loadValues(mlir::Value keyIndex, mlir::Value column, mlir::Value mask);
  Values loadPairsOfKeys(mlir::ValueRange keyIndices, mlir::Value column);

  mlir::OpFoldResult divide(mlir::OpFoldResult value, int64_t divisor);
  mlir::OpFoldResult multiply(mlir::OpFoldResult value, int64_t factor);

  VectorBuilder &vb;
  mlir::OpBuilder &b;
  mlir::Location loc;
  LaneCode laneCode;
  unsigned numBatch;
  ScheduleAttr schedule;
  TileRows rows;
  Operand query, key, value, acc, rowMax, rowSum;
  mlir::OpFoldResult keys;
  bool isLong;
  bool usesPairs; ///< products of pairs of bf16: Q's and K's along the head, those of the weights and V along the keys
  // Of the current tile.
  std::optional<int64_t> numKeys;
  mlir::Value keyCount;
  Values places;
  int64_t headSize, valueSize;
  mlir::Value scores, weights, laneSums; // (row, key), (row, key), (row, lane)
};

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_DECODESTEP_H
