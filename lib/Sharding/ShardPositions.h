//===- ShardPositions.h - the rows and keys of a device ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_SHARDING_SHARDPOSITIONS_H
#define ATTN_LIB_SHARDING_SHARDPOSITIONS_H

#include "attn/IR/Attn.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace attn {

/// The maps of operands, then of results, over the domain of attention and one more dimension, which is never sharded:
/// upstream requires a plain dimension for each dimension of a tensor. `h floordiv G` becomes h, which is correct where
/// the number of devices divides the key heads.
llvm::SmallVector<mlir::AffineMap> getShardMaps(mlir::Operation *op);

/// The grid axes that split each dimension of that domain.
struct SplitAxes {
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<llvm::SmallVector<mlir::shard::GridAxis>> axes;
  unsigned numBatch;

  /// `shardings` are those of operands, then of results.
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

/// Makes `local`, the op on this device's rows and keys, use the positions of `whole`: causal alignment and other
/// position words become offsets, or origins where absolute key positions are used; lengths become those of the
/// device's part. OpTy is SdpaOp or SdpaBackwardOp.
template <typename OpTy>
llvm::LogicalResult placePositions(mlir::OpBuilder &b, OpTy whole, OpTy local, mlir::shard::GridOp grid,
                                   const SplitAxes &split);
/// Makes dropout of `local` index weights by the batch indices, heads and sizes of `whole`.
template <typename OpTy>
void placeDropout(mlir::OpBuilder &b, OpTy whole, OpTy local, mlir::shard::GridOp grid, const SplitAxes &split);

} // namespace attn

#endif // ATTN_LIB_SHARDING_SHARDPOSITIONS_H
