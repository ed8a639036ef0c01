//===- ShardPositions.h - which rows and keys a device has ------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_SHARDING_SHARDPOSITIONS_H
#define ATTN_LIB_SHARDING_SHARDPOSITIONS_H

#include "attn/IR/Attn.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace attn {

/// The maps of operands, then of results, over the domain of attention and one dimension more, which is on no device
/// alone: upstream wants a dimension for each dimension of a tensor, and no other expression. `h floordiv G` becomes
/// h, which is right where the number of devices divides the heads of K.
llvm::SmallVector<mlir::AffineMap> getShardMaps(mlir::Operation *op);

/// Which axes of the grid each dimension of that domain is split by.
struct SplitAxes {
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<llvm::SmallVector<mlir::shard::GridAxis>> axes;
  unsigned numBatch;

  /// `shardings` has those of operands, then of results.
  SplitAxes(mlir::Operation *op, llvm::ArrayRef<mlir::shard::Sharding> shardings);

  llvm::ArrayRef<mlir::shard::GridAxis> getRows() const { return axes[numBatch]; }
  llvm::ArrayRef<mlir::shard::GridAxis> getKeys() const { return axes[numBatch + 1]; }
  llvm::ArrayRef<mlir::shard::GridAxis> getHeadSize() const { return axes[numBatch + 2]; }
  llvm::ArrayRef<mlir::shard::GridAxis> getValueSize() const { return axes[numBatch + 3]; }
  bool isWhole() const {
    return llvm::all_of(axes, [](const auto &split) { return split.empty(); });
  }
  bool hasPositions() const { return !getRows().empty() || !getKeys().empty(); }
};

/// Makes `local`, the op on this device's part of rows and keys, count as `whole` does: causal alignment, and what it
/// places, become offsets, or origins stand where keys themselves are counted; lengths are what the device has of them.
/// OpTy is SdpaOp or SdpaBackwardOp.
template <typename OpTy>
llvm::LogicalResult placePositions(mlir::OpBuilder &b, OpTy whole, OpTy local, mlir::shard::GridOp grid,
                                   const SplitAxes &split);
/// Makes dropout of `local` count weights by the batch indices, heads and sizes of `whole`.
template <typename OpTy>
void placeDropout(mlir::OpBuilder &b, OpTy whole, OpTy local, mlir::shard::GridOp grid, const SplitAxes &split);

} // namespace attn

#endif // ATTN_LIB_SHARDING_SHARDPOSITIONS_H
