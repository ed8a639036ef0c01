//===- WarpScores.h - scores of a thread at their positions -----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_WARPSCORES_H
#define ATTN_LIB_CONVERSION_NVVM_WARPSCORES_H

#include "WarpTile.h"
#include "attn/IR/ScoreFunctions.h"

namespace attn::nvvm {

/// The results of a region of scalars at one position (NarrowRegion.cpp). `resolve` returns an i32 for attn.index, or
/// null for an index that is 0 in a tile. `kept` is the result of attn.random_keep; null lets each evaluate its
/// formula.
mlir::Value evaluateRegion(WarpBuilder &wb, mlir::Region &region, mlir::ValueRange arguments,
                           llvm::function_ref<mlir::Value(IndexOp)> resolve, mlir::Value kept = {});
/// `op` of a region, an f32 function of these operands, in instructions of its own (Functions.cpp); null for one that
/// has none.
mlir::Value buildFunction(WarpBuilder &wb, mlir::Operation *op, mlir::ValueRange operands);

/// Whether the rows of a score tile are queries or keys; columns are the other.
enum class RowKind { Queries, Keys };

/// The tiles of a bias and a mask in shared memory; nothing for those in global memory.
struct OperandTiles {
  std::optional<SharedTile> bias, mask;
};

/// The positions of a thread's scores, for the score functions of `op` (WarpScores.cpp).
class ScorePositions {
public:
  ScorePositions(WarpBuilder &wb, mlir::Operation *op, const ScoreTile &tile, const ScoreFunctions &functions,
                 RowKind rowKind = RowKind::Queries, const OperandTiles &operands = {});
  /// Applies the score functions, or the weight function, to element `i` of the tile, at the thread's row `row` and a
  /// column.
  mlir::Value evaluateScore(size_t i, int64_t row, mlir::Value column, mlir::Value score) const;
  mlir::Value evaluateWeight(size_t i, int64_t row, mlir::Value column, mlir::Value weight) const;
  /// The result of `region`, a region on scores, there.
  mlir::Value evaluate(mlir::Region &region, size_t i, int64_t row, mlir::Value column,
                       mlir::ValueRange arguments) const;

private:
  class Position;
  struct Row {
    mlir::Value head, position; ///< i32, clamped to the range of the operands
  };

  /// Reads a dense operand from shared memory, for the whole tile.
  Values loadTile(const ScoreTile &tile, const SharedTile &operand, mlir::Type type) const;
  /// Reads two adjacent columns of a dense operand at a time, for the whole tile, if their addresses are aligned.
  Values loadPairs(const ScoreTile &tile, const GlobalView &view) const;
  /// The address of a dense operand's element at a row and a column, which are in range.
  mlir::Value getAddress(const GlobalView &view, const Row &at, mlir::Value column) const;
  /// Lets the lanes of a warp share the random numbers of weight_mod for the whole tile, if they can (KeptWeights.cpp).
  void drawKept(const ScoreTile &tile);
  /// A value of weight_mod, from those of it that are known; and the four words from the index of these positions on.
  mlir::Value evaluateIn(mlir::IRMapping &known, mlir::Value value) const;
  std::array<mlir::Value, 4> callRandom(RandomKeepOp op, mlir::Value head, mlir::Value query, mlir::Value key) const;
  /// The result of attn.random_keep for element `i`; null without shared numbers.
  mlir::Value getKept(size_t i) const;

  WarpBuilder &wb;
  ScoreFunctions functions;
  RowKind rowKind;
  TileRows tileRows;
  mlir::Value columnCount;
  std::optional<int64_t> lastKey; ///< for rows that are keys, if their number is known and does not fill the block
  GlobalView bias, mask;
  Values biases, masks; ///< their elements where loadTile or loadPairs has read them
  llvm::SmallVector<Row> rows;
  Values kept;                         ///< bits of the thread's elements, i32
  int64_t keptBits = 0, keyBlocks = 0; ///< of those, for each block of columns; blocks of the tile
};

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_WARPSCORES_H
