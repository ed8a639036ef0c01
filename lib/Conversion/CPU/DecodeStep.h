//===- DecodeStep.h - a decode tile accumulates one key tile ----*- C++ -*-===//
//
// DecodeStep.cpp goes over blocks of rows and keys, DecodeSoftmax.cpp makes weights of scores; the products are
// objects (DecodeProducts.h).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_DECODESTEP_H
#define ATTN_LIB_CONVERSION_CPU_DECODESTEP_H

#include "RowTile.h"
#include "StepPrefetch.h"

namespace attn::cpu {

/// Rows of elements as integers of two bytes: element = scale (256 high + low), both digits signed.
struct ByteOperand {
  mlir::Value digits;  ///< (row, digit, column), the high one first; rows of Q are (batch…, head, query)
  mlir::Value scales;  ///< (row)
  mlir::Value offsets; ///< (row): 128 times the sum of its integers
};

struct DecodeState {
  Operand acc, rowMax, rowSum;
};

class DecodeProducts;

/// What an online_step of a decode tile reads and writes. The functions below emit code for it at the builder's
/// position.
struct DecodeTile {
  DecodeTile(VectorBuilder &vb, OnlineStepOp step, const DecodeProducts &products);

  VectorBuilder &vb;
  const DecodeAttr schedule;
  const DecodeProducts &products;
  const TileRows rows;
  const StepPrefetches prefetches;
  const int64_t maxKeys; ///< of a segment
  Operand query;
  DecodeState state;
  llvm::SmallVector<Operand> keys, values; ///< one per segment
  mlir::OpFoldResult numKeys;              ///< of all segments
  mlir::Value scores, weights;             ///< (row, key), on the stack; the same where their types are
  ByteOperand queryBytes, weightBytes;     ///< for products of integers
};

// Sizes and positions.
inline unsigned getHeadPos(const DecodeTile &t) { return t.query.map.getNumDims() - 2; }
inline unsigned getValuePos(const DecodeTile &t) { return t.query.map.getNumDims() - 1; }
int64_t getHeadSize(const DecodeTile &t);
int64_t getValueSize(const DecodeTile &t);
inline int64_t getNumSegments(const DecodeTile &t) { return t.keys.size(); }
/// The number of keys, if it is static; and as a value.
std::optional<int64_t> getStaticKeys(const DecodeTile &t);
mlir::Value getKeyCount(const DecodeTile &t);
/// Keys of a block of products with Q.
int64_t getKeyBlock(const DecodeTile &t);

// Keys and rows.
/// The row in its segment, and the segment, of the `k`-th key from `row` on.
inline mlir::Value getKey(const DecodeTile &t, mlir::Value row, int64_t k) {
  return t.vb.add(row, k / getNumSegments(t));
}
inline const Operand &getSegment(llvm::ArrayRef<Operand> segments, int64_t k) { return segments[k % segments.size()]; }
inline int64_t getElementBytes(const Operand &operand) {
  return mlir::getElementTypeOrSelf(operand.memref.getType()).getIntOrFloatBitWidth() / 8;
}
/// The last key of a tile that is not a whole number of blocks, read in place of keys past it; null for other tiles.
mlir::Value getLastKey(const DecodeTile &t, int64_t block);
mlir::Value limitKey(VectorBuilder &vb, mlir::Value key, mlir::Value lastKey);
/// The rows of each segment, and the position of the score of the `segment`-th key of a row.
mlir::Value getRowsOfSegment(const DecodeTile &t);
mlir::Value getScore(const DecodeTile &t, mlir::Value row, int64_t segment);
/// Calls `body` for each block of rows. The first one waits for memory; it has code of its own, so its loads walk
/// through memory evenly.
void forEachRowBlock(const DecodeTile &t, llvm::function_ref<void(mlir::Value first, int64_t count)> body);
/// Calls `body` for every `step`-th row of all segments, in a rolled loop: each copy of an unrolled one would skip the
/// rows of the others.
void forEachKeyRow(VectorBuilder &vb, mlir::Value first, mlir::Value end, int64_t step,
                   llvm::function_ref<void(mlir::Value row)> body);
/// Calls body(first key, mask of existing keys, carried) for each vector of keys.
Values forEachKeyVector(const DecodeTile &t, mlir::ValueRange init,
                        llvm::function_ref<Values(mlir::Value, mlir::Value, mlir::ValueRange)> body);
/// A position in the domain (batch…, query, key, head, value).
Values at(const DecodeTile &t, mlir::Value row, mlir::Value keyIndex, mlir::Value head, mlir::Value column);
/// A vector of columns of Q, K or V from `position` on, widened.
mlir::Value loadColumns(VectorBuilder &vb, const Operand &operand, unsigned dim, mlir::ArrayRef<mlir::Value> position,
                        mlir::Value mask);
/// The same of twice as many columns, as pairs of bf16.
mlir::Value loadPairsOfColumns(VectorBuilder &vb, const Operand &operand, mlir::ArrayRef<mlir::Value> position);
/// The number of vectors in a step over `count` vectors of columns, `bytes` each in memory: a divisor of `count`. A
/// cache line if vectors are much narrower and registers many, so that one prefetch and one load of each weight serve
/// them all.
int64_t getVectorsAtOnce(VectorBuilder &vb, int64_t count, int64_t bytes);
/// Emits prefetches beside `product` of the block of keys from `row` on of all segments, in each of `rounds` rounds
/// over the columns: a part of the same rows of the prefetched tile. Each row block emits its share.
void prefetch(const DecodeTile &t, Contraction product, mlir::Value row, int64_t block, mlir::Value firstTileRow,
              mlir::Value round, int64_t rounds);
/// True if any lane of `x` is greater than that of `y`.
mlir::Value isAnyGreater(VectorBuilder &vb, mlir::Value x, mlir::Value y);

// The parts of a step.
/// Writes p of one row over s, adds to its row sum, and updates its row maximum if that moves. Returns the largest
/// score of each lane.
mlir::Value emitSoftmax(const DecodeTile &t, LaneCode &laneCode, mlir::Value row);
mlir::LogicalResult lowerDecodeStep(mlir::RewriterBase &rewriter, OnlineStepOp step, const TargetInfo &target);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_DECODESTEP_H
