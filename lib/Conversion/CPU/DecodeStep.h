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

/// Rows of numbers as integers of two bytes: number = scale (256 high + low), both digits signed.
struct ByteOperand {
  mlir::Value digits;  ///< (digit, row, column), the high one first
  mlir::Value scales;  ///< (row)
  mlir::Value offsets; ///< (row): 128 times the sum of its integers
};

/// Products are of blocks of rows times keys, as many as lanes in all or fewer: the keys of one.
int64_t getKeyBlock(OnlineStepOp step);
/// Places of memory that a tile takes its keys from.
int64_t getNumPlaces(OnlineStepOp step);
/// The loop over key tiles that a step with a schedule is in, around that over heads of K where there is one; null for
/// others.
mlir::scf::ForOp getKeyLoop(OnlineStepOp step);

/// Lowers one attn.online_step of a decode tile, or steps that fold the keys of several pages of a cache in turn into
/// the same state: DecodeStep.cpp goes over the keys, DecodePages.cpp over those of pages, DecodeScores.cpp multiplies
/// Q by K, DecodeSoftmax.cpp makes weights of scores, DecodeOutput.cpp multiplies them by V, DecodeBytes.cpp does both
/// products by integers.
class DecodeStepLowering {
public:
  DecodeStepLowering(VectorBuilder &vb, llvm::ArrayRef<OnlineStepOp> steps);
  void emit();

private:
  void foldKeys();
  /// The same of steps of one page each.
  void foldPages();
  /// What the loop around the steps reads some rounds later in the place of `pages`; none where that is not known.
  llvm::SmallVector<Operand> findNextPages(OnlineStepOp step, llvm::ArrayRef<Operand> pages, int64_t rounds);
  /// From here on keys are `count` rows, in turn one from each of the places that start at `starts`.
  void setTile(Values starts, mlir::OpFoldResult count);
  /// The `k`-th key after the `row`-th ones of all places, and K or V that it is a row of.
  mlir::Value getKey(mlir::Value row, int64_t k);
  const Operand &getPage(llvm::ArrayRef<Operand> pages, int64_t k) const { return pages[k % pages.size()]; }
  /// The last key of a tile that is no whole number of blocks, null for others: beyond it, it is taken once more.
  mlir::Value getLastKey(int64_t block);
  mlir::Value limitKey(mlir::Value key, mlir::Value lastKey);
  /// The rows that each place has, and where the score of the `place`-th key of a row of them is.
  mlir::Value getRowsOfPlace();
  mlir::Value getScore(mlir::Value row, int64_t place);
  /// Folds the keys of setTile.
  void emitTile();
  /// The first block is the one that waits for memory; it has code of its own, so that its loads walk evenly.
  void forEachRowBlock(llvm::function_ref<void(mlir::Value first, int64_t count)> body);
  /// for each `step`-th of the rows of all places. Rolled: copies of the code would skip the rows of the others.
  void forEachKeyRow(mlir::Value first, mlir::Value end, int64_t step, llvm::function_ref<void(mlir::Value row)> body);
  /// A position in the domain (batch…, query, key, head, value).
  Values at(mlir::Value row, mlir::Value keyIndex, mlir::Value head, mlir::Value column);
  /// A vector of columns of Q, K or V from `position` on, widened.
  mlir::Value loadColumns(const Operand &operand, unsigned dim, mlir::ArrayRef<mlir::Value> position, mlir::Value mask);
  /// Twice as many, as pairs of bf16.
  mlir::Value loadPairsOfColumns(const Operand &operand, mlir::ArrayRef<mlir::Value> position);
  bool isDense(const Operand &rows);
  /// Beside the products of a block of K or V, `row` on of all places, in each of `rounds` rounds over the columns:
  /// asks for a part of the same rows of `pages`, counted from `starts`. Each row block asks for its share.
  void prefetch(llvm::ArrayRef<Operand> pages, mlir::ValueRange starts, unsigned column, mlir::Value row, int64_t block,
                mlir::Value firstTileRow, mlir::Value round, int64_t rounds);

  /// The first row of K and V at each place, all at once: nothing else is on its way yet.
  void prefetchFirstRows(llvm::ArrayRef<mlir::Value> starts);

  /// s[r][j] of all rows and keys.
  void emitScores();
  /// The same of `count` rows from `first` on and a block of keys, those from `row` of all places on.
  void emitScoresOf(mlir::Value first, int64_t count, mlir::Value row, mlir::ValueRange keys);
  /// Q by K, (row, key) after (row, key) in one vector.
  mlir::Value emitProducts(mlir::Value first, int64_t count, mlir::Value row, mlir::ValueRange keys);

  /// The lanes of l are added up once a step.
  void beginSums();
  void endSums();
  /// p of one row in the place of s, its sum, and its maximum where that moves. Returns the largest score of each lane.
  mlir::Value emitSoftmax(mlir::Value row);
  mlir::Value moveMaximum(mlir::Value row, mlir::Value best, mlir::Value oldMax);
  mlir::Value isAnyGreater(mlir::Value x, mlir::Value y);
  Values forEachKeyVector(mlir::ValueRange init,
                          llvm::function_ref<Values(mlir::Value, mlir::Value, mlir::ValueRange)> body);
  Values keepRolled(Values results);

  /// acc[r][:] += sum_j p[r][j] v_j of all rows.
  void emitOutput();
  /// The same of `count` rows from `first` on and `block` keys.
  void emitOutputOf(mlir::Value first, int64_t count, mlir::Value row, int64_t block);
  /// Two vectors of columns of V, each element of the `k`-th key of a row beside that of the next one.
  Values loadPairsOfKeys(mlir::Value row, int64_t k, int64_t block, mlir::Value column);

  // The same by integers, where K and V are bytes (DecodeBytes.cpp).
  void emitQueryDigits(int64_t pitch);
  /// Greater than 0 for a row of which one weight is so large that another round for what rounding has left pays.
  mlir::Value emitWeightDigits(mlir::Value row);
  /// p becomes what its digits leave of it.
  void emitResiduals(mlir::Value row);
  mlir::Value loadWeights(mlir::Value row, mlir::Value key, mlir::Value mask);
  /// In every lane.
  mlir::Value findLargestWeight(mlir::Value row);
  void emitByteOutput();
  mlir::Value emitByteProducts(mlir::Value first, int64_t count, mlir::Value row, mlir::ValueRange keys);
  /// Loads a vector of what emitProducts has left of a row, from a key on.
  std::function<mlir::Value(mlir::Value key)> getScoresOfRow(mlir::Value row);
  void storeScale(mlir::Value row, const ByteOperand &operand, mlir::Value scale, mlir::Value sum);
  void emitByteOutputOf(mlir::Value first, int64_t count);
  void emitByteColumns(mlir::Value first, int64_t count, mlir::Value column, int64_t columns,
                       mlir::ArrayRef<int64_t> halves, mlir::Value round, int64_t rounds);
  /// acc += scale * sums of (row, digit, vector) of `columns` columns.
  void addToOutput(mlir::ValueRange sums, mlir::Value first, int64_t count, mlir::Value column, int64_t columns,
                   mlir::ArrayRef<int64_t> halves);
  /// `columns` bytes of K or V, 0 behind them.
  mlir::Value loadBytes(const Operand &operand, mlir::ArrayRef<mlir::Value> position, int64_t columns);

  mlir::OpFoldResult divide(mlir::OpFoldResult value, int64_t divisor);
  mlir::OpFoldResult multiply(mlir::OpFoldResult value, int64_t factor);

  VectorBuilder &vb;
  mlir::OpBuilder &b;
  mlir::Location loc;
  LaneCode laneCode;
  unsigned numBatch;
  DecodeAttr schedule;
  TileRows rows;
  Operand query, acc, rowMax, rowSum;
  llvm::SmallVector<Operand> keyPages, valuePages; ///< one, or of each place one
  llvm::SmallVector<Operand> nextPages;            ///< of K; none where they are not known
  llvm::SmallVector<Operand> nextValuePages;       ///< likewise of V, where a page is short
  mlir::OpFoldResult keys;
  int64_t keyBlock, outputBlock; ///< keys of a block of products with Q, and with the weights
  int64_t numPlaces, keyTile, tileKeys;
  bool isLong, isPaged, isInterleaved;
  bool usesBytes; ///< products of integers: DecodeBytes.cpp
  bool usesPairs; ///< products of pairs of bf16: Q's and K's along the head, those of the weights and V along the keys
  // Of the current tile.
  std::optional<int64_t> numKeys;
  mlir::Value keyCount;
  Values places;
  // K of the next tile; no places where it is not known. V of this one, or of a later one.
  llvm::SmallVector<Operand> nextKeyPages, askedValuePages;
  Values nextPlaces, askedPlaces;
  int64_t headSize, valueSize;
  mlir::Value scores, weights, laneSums; // (row, key), (row, key), (row, lane)
  ByteOperand queryBytes, weightBytes;
  mlir::Value peak; ///< of the rows of the current tile, as emitWeightDigits returns it
};

/// Lowers steps of one state that are next to each other, at the last one.
mlir::LogicalResult lowerDecodeSteps(mlir::RewriterBase &rewriter, llvm::ArrayRef<OnlineStepOp> steps,
                                     const TargetInfo &target);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_DECODESTEP_H
