//===- BackwardBlocks.h - gradients of a GPU's blocks -----------*- C++ -*-===//
//
// What the kernels of gradients share: those of dQ, dK and dV (TileBackwardBlocks.cpp), and those that add up what
// each score contributes to a bias or a captured tensor (TileScoreSums.cpp).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_BACKWARDBLOCKS_H
#define ATTN_LIB_TRANSFORMS_BACKWARDBLOCKS_H

#include "BackwardTile.h"

namespace attn {

/// Where a kernel adds the contributions of scores: the places of a captured tensor that a block alone adds to.
struct ScoreSum {
  mlir::Value destination;                             ///< of the accumulations of the step
  std::optional<unsigned> batchDim, headDim, queryDim; ///< its dimensions whose position is that of the score
  bool hasParts() const { return !queryDim; }          ///< a dimension of warps in front, each with a part of its own
};

/// What all blocks of a kernel have in common: rows are those of the gradients that it sums up.
struct KernelShape : BackwardShape {
  KernelShape(const BackwardShape &s, RangeAxis columns, llvm::ArrayRef<llvm::StringRef> gradients)
      : BackwardShape(s), columns(columns), gradients(gradients) {
    std::optional<int64_t> all = mlir::getConstantIntValue(domainSizes[rowPos()]);
    tileRows = llvm::cast<BlockAttr>(schedule).getBlockRows();
    if (all && !step.getCuSeqlensQ()) // or all where there are fewer
      tileRows = std::min(tileRows, std::max<int64_t>(1, *all));
  }
  bool hasQueryRows() const { return columns == RangeAxis::Keys; }
  unsigned rowPos() const { return hasQueryRows() ? queryPos() : keyPos(); }
  unsigned columnPos() const { return hasQueryRows() ? keyPos() : queryPos(); }

  /// True for a sum that several blocks add to: of queries, where rows are keys.
  bool isOfAllBlocks(llvm::StringRef gradient) const { return gradient == "dquery" && !hasQueryRows(); }

  RangeAxis columns; ///< that a block goes through
  llvm::ArrayRef<llvm::StringRef> gradients;
  int64_t tileRows;
  std::optional<ScoreSum> scoreSum;
  mlir::Value turns; ///< counts, with which blocks that add to one tile keep an order (attn.await_order)
  Slice whole;       ///< all of what they add to
};

struct BlockTile : DomainTile {
  mlir::Value tile;                ///< its number
  mlir::Value numQueries, numKeys; ///< of the sequence, or all
  mlir::Value isRest;              ///< packed rows behind the last sequence, which nothing is added to
};

/// Tile `tile` of rows of the batch indices `batch`, the last of which counts heads of K where keys are rows.
BlockTile getBlockTile(mlir::OpBuilder &b, const KernelShape &s, llvm::ArrayRef<mlir::Value> batch, mlir::Value tile);
/// Rows of an operand as a tile of its own, (batch…, row, column): `tileRows` of them, 0 behind the last one; with
/// `asFew`, as many as there are.
mlir::Value packRows(mlir::OpBuilder &b, const KernelShape &s, const BlockTile &at, llvm::StringRef name, unsigned row,
                     int64_t tileRows, bool asFew);
/// A tensor of zeros, by no linalg.fill, which is the start of sums in registers.
mlir::Value createZeros(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<mlir::OpFoldResult> shape,
                        mlir::Type type);
/// Adds what the columns that the tile visits contribute.
TileState accumulateColumns(mlir::OpBuilder &b, const KernelShape &s, const BlockTile &at,
                            const llvm::StringMap<mlir::Value> &rows, TileState sums);

/// A kernel for the bias of the step, and one for each captured tensor, in the place of their results; erases the step.
void createScoreSums(mlir::RewriterBase &b, BackwardStepOp step);
/// What the tile `tiled` adds goes to its own destination, at places of the block.
void redirectScoreSums(mlir::OpBuilder &b, const KernelShape &s, BackwardStepOp tiled);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_BACKWARDBLOCKS_H
