//===- BackwardBlocks.h - gradient kernels of a GPU -------------*- C++ -*-===//
//
// Shared parts of the gradient kernels: those of dQ, dK and dV (TileBackwardBlocks.cpp), and those that sum the
// contributions of scores to a bias or a captured tensor (TileScoreSums.cpp).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_BACKWARDBLOCKS_H
#define ATTN_LIB_TRANSFORMS_BACKWARDBLOCKS_H

#include "BackwardTile.h"

namespace attn {

/// Destination of the contributions of scores: the elements of a captured tensor that only one block adds to.
struct ScoreSum {
  mlir::Value destination;                             ///< of the accumulations of the step
  std::optional<unsigned> batchDim, headDim, queryDim; ///< its dimensions indexed by the position of the score
  bool hasParts() const { return !queryDim; }          ///< a leading dimension of warps, each with its own part
};

/// Shared by all blocks of a kernel. Rows are those of the gradients that it sums.
struct KernelShape : BackwardShape {
  KernelShape(const BackwardShape &s, RangeAxis columns, llvm::ArrayRef<llvm::StringRef> gradients)
      : BackwardShape(s), columns(columns), gradients(gradients) {
    std::optional<int64_t> all = mlir::getConstantIntValue(domainSizes[rowPos()]);
    tileRows = llvm::cast<BlockAttr>(schedule).getBlockRows();
    if (all && !step.getCuSeqlensQ()) // or all if there are fewer
      tileRows = std::min(tileRows, std::max<int64_t>(1, *all));
  }
  bool hasQueryRows() const { return columns == RangeAxis::Keys; }
  unsigned rowPos() const { return hasQueryRows() ? queryPos() : keyPos(); }
  unsigned columnPos() const { return hasQueryRows() ? keyPos() : queryPos(); }

  /// True for a sum that several blocks add to: that of queries, where rows are keys.
  bool isOfAllBlocks(llvm::StringRef gradient) const { return gradient == "dquery" && !hasQueryRows(); }

  RangeAxis columns; ///< that a block loops over
  llvm::ArrayRef<llvm::StringRef> gradients;
  int64_t tileRows;
  std::optional<ScoreSum> scoreSum;
  mlir::Value turns; ///< counts that order the blocks that add to one tile (attn.await_order)
  Slice whole;       ///< all of their destination
};

struct BlockTile : DomainTile {
  mlir::Value tile;                ///< its index
  mlir::Value numQueries, numKeys; ///< of the sequence, or all
  mlir::Value isRest;              ///< packed rows after the last sequence, to which nothing is added
};

/// Tile `tile` of rows of the batch indices `batch`, the last of which counts key heads where keys are rows.
BlockTile getBlockTile(mlir::OpBuilder &b, const KernelShape &s, llvm::ArrayRef<mlir::Value> batch, mlir::Value tile);
/// Packs rows of an operand into a tile (batch…, row, column): `tileRows` of them, 0 after the last one; with `asFew`,
/// only the existing ones.
mlir::Value packRows(mlir::OpBuilder &b, const KernelShape &s, const BlockTile &at, llvm::StringRef name, unsigned row,
                     int64_t tileRows, bool asFew);
/// A tensor of zeros, without linalg.fill, which would initialise sums in registers.
mlir::Value createZeros(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<mlir::OpFoldResult> shape,
                        mlir::Type type);
/// Accumulates the contributions of the columns that the tile visits.
TileState accumulateColumns(mlir::OpBuilder &b, const KernelShape &s, const BlockTile &at,
                            const llvm::StringMap<mlir::Value> &rows, TileState sums);

/// The sums of the gradients of a block; `whole` are their tensors.
TileState createBlock(mlir::OpBuilder &b, const KernelShape &s, const BlockTile &at, mlir::ValueRange whole);
/// Rounds the existing rows of `sum` to their destination. Sums that all blocks add to are stored already.
void storeRows(mlir::OpBuilder &b, const KernelShape &s, const BlockTile &at, llvm::StringRef name, mlir::Value sum,
               mlir::Value whole, mlir::scf::ForallOp forall);
/// Counts for all query tiles, after one of tickets: zeros.
mlir::Value createTurns(mlir::OpBuilder &b, const KernelShape &s);

/// Builds a kernel for the bias of the step, and one for each captured tensor, replaces their results, and erases the
/// step.
void createScoreSums(mlir::RewriterBase &b, BackwardStepOp step);
/// Redirects the accumulations of tile `tiled` to the kernel's destination, at indices of the block.
void redirectScoreSums(mlir::OpBuilder &b, const KernelShape &s, BackwardStepOp tiled);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_BACKWARDBLOCKS_H
