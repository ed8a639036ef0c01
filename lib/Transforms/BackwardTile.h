//===- BackwardTile.h - the operands of a tile of gradients -----*- C++ -*-===//
//
// What attn-tile of a backward_step reads and writes of a tile: slices of the
// operands, copies of rows in the order and type of the register kernel, regions
// whose indices are positions of the tile. Functions build at the builder's
// position.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_BACKWARDTILE_H
#define ATTN_LIB_TRANSFORMS_BACKWARDTILE_H

#include "TileBuilder.h"

namespace attn {

using Position = llvm::SmallVector<mlir::OpFoldResult>;

/// What all tiles of a backward_step have in common.
struct BackwardShape {
  BackwardShape(mlir::OpBuilder &b, BackwardStepOp step);
  unsigned queryPos() const { return numBatch; }
  unsigned keyPos() const { return numBatch + 1; }
  unsigned headPos() const { return numBatch + 2; }
  unsigned valuePos() const { return numBatch + 3; }

  mutable BackwardStepOp step;
  mlir::Location loc;
  llvm::SmallVector<mlir::OpFoldResult> domainSizes;
  unsigned numBatch;
  int64_t groupSize = 0;         ///< heads of Q that share one of K; 0 for all of them
  mlir::FloatType type, rowType; ///< of the sums; of rows where products read them
  llvm::StringMap<mlir::AffineMap> maps;
};

/// What a tile has of an operand, or adds to, and its map.
struct OperandTile {
  mlir::Value value;
  mlir::AffineMap map;
};
using OperandTiles = llvm::StringMap<OperandTile>;
/// The step of a tile, without regions; `tiles` are its operands by their names, without captures.
BackwardStepOp createBackwardTile(mlir::OpBuilder &b, const BackwardShape &s, const OperandTiles &tiles,
                                  mlir::ValueRange dcaptures = {}, mlir::ValueRange transposed = {});

/// The part of an operand in a tile, without batch dimensions, and its map over (query, key, head, value).
struct Part {
  mlir::Value source, value;
  mlir::AffineMap map;
  Slice slice;
};

class BackwardOperands {
public:
  BackwardOperands(mlir::RewriterBase &b, BackwardStepOp step);

  /// Positions in the packed rows of a sequence whose own are `at`; the same without packed sequences.
  Position inRows(Position at);
  /// `operand`, or the task's part of it, at `offsets` of it.
  Part getPart(mlir::Value operand, llvm::StringRef name, llvm::ArrayRef<mlir::OpFoldResult> offsets,
               llvm::ArrayRef<mlir::OpFoldResult> partSizes);
  mlir::Value insert(const Part &part, mlir::Value value);
  /// Space of rows x columns, of which rows are a line apart from each other, and its first `size` rows or columns; of
  /// the type of the sums, or of `elementType`.
  mlir::Value createSpace(int64_t rows, int64_t columns, mlir::OpFoldResult usedRows, mlir::OpFoldResult usedColumns,
                          mlir::Type elementType = {});
  /// Rows of a tile in the type of products, one after the other; 0 where `lse`, one of each row, is -inf: what a row
  /// without keys holds reaches no sum.
  mlir::Value copyRows(const Part &rows, unsigned row, unsigned column, mlir::Value space, mlir::Value lse = {});
  /// Rows of K or V as (column, key) in a whole key tile, 0 behind the last key.
  mlir::Value transposeRows(const Part &rows, unsigned column, int64_t columns);
  /// The same in pairs of columns, (column floordiv 2, key, column mod 2).
  mlir::Value transposePairs(const Part &rows, unsigned column, int64_t columns);
  /// Rows of K in pairs of `count` keys, (key floordiv 2, column, key mod 2).
  mlir::Value pairRows(const Part &rows, unsigned column, int64_t columns, mlir::OpFoldResult count);
  /// The gradient of a key tile as (column, key), from its place.
  mlir::Value readRows(mlir::Value whole, llvm::StringRef name, unsigned column, int64_t columns, const Position &at,
                       llvm::ArrayRef<mlir::OpFoldResult> tileSizes);
  /// The gradient of a key tile, (column, key), into its place.
  mlir::Value writeRows(mlir::Value sums, mlir::Value whole, llvm::StringRef name, unsigned column, const Position &at,
                        llvm::ArrayRef<mlir::OpFoldResult> tileSizes);
  /// The indices of `region` in the positions of a tile.
  void cloneRegion(mlir::Region &from, mlir::Region &to, const Position &at, mlir::Operation *before);
  /// The batch index or head of a tile.
  mlir::Value evaluateIndex(IndexOp index, const Position &at);

protected:
  mlir::Value toIndex(mlir::OpFoldResult value) { return toValue(b, loc, value); }

  mlir::RewriterBase &b;
  mlir::Location loc;
  BackwardStepOp step;
  BackwardAttr schedule;
  Position sizes;                   ///< of the step's domain; of packed sequences, those of the task's
  mlir::Value queryStart, keyStart; ///< of the task's sequence in the packed rows; null for others
  unsigned numBatch;
  mlir::FloatType type, rowType; ///< of the sums; of what is multiplied
  llvm::StringMap<mlir::AffineMap> maps;

  bool usesPairs() { return schedule.getInfo().depth == 2; }

private:
  /// Space of (pair, other, 2), of which pairs are a line apart from each other.
  mlir::Value createPairs(int64_t pairs, int64_t others, mlir::OpFoldResult usedPairs);
  mlir::AffineMap getRowMap();
  /// From a map over (query, key, head, value) to one over (row, column).
  mlir::AffineMap getRowMap(mlir::AffineMap map, unsigned row, unsigned column);
};

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_BACKWARDTILE_H
