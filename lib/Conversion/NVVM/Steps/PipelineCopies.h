//===- PipelineCopies.h - tiles in shared memory, and their copies -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_PIPELINECOPIES_H
#define ATTN_LIB_CONVERSION_NVVM_PIPELINECOPIES_H

#include "Warps/WarpTile.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace attn::nvvm {

bool isInSharedMemory(mlir::Value memref);
/// At the builder's position.
mlir::Value createSharedTile(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int64_t> shape, mlir::Type type);
/// As much of `tile` as a buffer of these sizes holds.
mlir::Value getPartOfTile(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tile,
                          llvm::ArrayRef<mlir::OpFoldResult> sizes);
/// A product reads a buffer, or a view of it, that becomes tile number `tile` of the kernel.
struct TileUse {
  mlir::OpOperand *operand;
  unsigned tile;
};
/// Bufferisation gives tiles of equal sizes one buffer, and one tensor that is K and V has one. Lets no two tiles have
/// the same: the first one of `uses` keeps it, and what fills it for another fills that one's own.
mlir::LogicalResult separateBuffers(mlir::RewriterBase &b, llvm::ArrayRef<TileUse> uses);
/// What reads `buffer`, or a view of it, reads `tile`; the buffer is erased.
void moveBuffer(mlir::RewriterBase &b, mlir::Value buffer, mlir::Value tile);

/// Stage `stage` of a tile with a dimension of stages in front; the tile itself where `stage` is null.
mlir::Value getStage(mlir::OpBuilder &b, mlir::Value tile, mlir::Value stage);
/// Builds `value`, computed in `loop` from its induction variable, for another one, in front of the builder's position.
/// Null where that is not possible.
mlir::Value cloneFor(mlir::OpBuilder &b, mlir::Value value, mlir::scf::ForOp loop, mlir::Value induction);

/// The slice of a memref.subview with another size of `dim`.
mlir::Value resizeView(mlir::OpBuilder &b, mlir::Value slice, unsigned dim, mlir::OpFoldResult size);
/// An operand of a loop over tiles of columns, slices of global memory.
struct ColumnOperand {
  mlir::Value tile;     ///< with a dimension of stages in front, where there are some
  mlir::ArrayAttr maps; ///< of attn.copy
  unsigned rowDim;      ///< of a slice: which of its dimensions the columns are
};
/// Starts the copy of a tile of the `count` rows from that of `slice` on, without the first `skipped` ones; rows
/// without keys, by `lse`, are not read where it is not null.
mlir::Value copyColumns(mlir::OpBuilder &b, const ColumnOperand &operand, mlir::Value slice, mlir::OpFoldResult count,
                        mlir::Value skipped, mlir::Value stage, mlir::Value lse = {});
/// Waits for `first` at the builder's position, in front of `scores`, and behind it for `second`, whose copy is the
/// youngest, where it is not null.
void waitInTurn(mlir::OpBuilder &b, ProductOp scores, mlir::ValueRange first, mlir::Value second);
/// Lets `loop` carry more values; `round` builds what a round gives to the next one. What the last one gives.
mlir::ValueRange carry(mlir::RewriterBase &b, mlir::scf::ForOp &loop, mlir::ValueRange inits,
                       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> round);

/// The copies of a kernel that has attn.score_gradients (PipelineGradientCopies.cpp).
mlir::LogicalResult placeGradientCopies(mlir::IRRewriter &rewriter, mlir::gpu::GPUFuncOp kernel);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_PIPELINECOPIES_H
