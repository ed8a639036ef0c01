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
/// Allocates a tile in shared memory at the builder's position.
mlir::Value createSharedTile(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int64_t> shape, mlir::Type type);
/// The part of `tile` with the sizes of a buffer.
mlir::Value getPartOfTile(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tile,
                          llvm::ArrayRef<mlir::OpFoldResult> sizes);
/// A product reads a buffer or a view of it, which becomes tile `tile` of the kernel.
struct TileUse {
  mlir::OpOperand *operand;
  unsigned tile;
};
/// Bufferisation gives tiles of equal size one buffer, and a tensor that is both K and V has one. Gives each tile a
/// buffer of its own: the first of `uses` keeps it, and fills for another tile write that tile's buffer.
mlir::LogicalResult separateBuffers(mlir::RewriterBase &b, llvm::ArrayRef<TileUse> uses);
/// Replaces `buffer` by `tile` in its readers and their views, and erases it.
void moveBuffer(mlir::RewriterBase &b, mlir::Value buffer, mlir::Value tile);

/// Stage `stage` of a tile whose first dimension is the stage; the tile itself where `stage` is null.
mlir::Value getStage(mlir::OpBuilder &b, mlir::Value tile, mlir::Value stage);
/// Clones `value`, computed in `loop` from its induction variable, for another induction value at the builder's
/// position. Returns null where that is not possible.
mlir::Value cloneFor(mlir::OpBuilder &b, mlir::Value value, mlir::scf::ForOp loop, mlir::Value induction);

/// The slice of a memref.subview with another size in dimension `dim`.
mlir::Value resizeView(mlir::OpBuilder &b, mlir::Value slice, unsigned dim, mlir::OpFoldResult size);
/// An operand of a loop over column tiles: slices of global memory.
struct ColumnOperand {
  mlir::Value tile;     ///< with a leading stage dimension if it has several stages
  mlir::ArrayAttr maps; ///< of attn.copy
  unsigned rowDim;      ///< the slice's dimension of columns
};
/// Starts the copy of a tile of the `count` rows that begin with those of `slice`, without the first `skipped` ones.
/// Where `lse` is not null, rows without keys are not read.
mlir::Value copyColumns(mlir::OpBuilder &b, const ColumnOperand &operand, mlir::Value slice, mlir::OpFoldResult count,
                        mlir::Value skipped, mlir::Value stage, mlir::Value lse = {});
/// Waits for `first` at the builder's position, before `scores`, and after `scores` for `second`, whose copy is the
/// youngest, if it is not null.
void waitInTurn(mlir::OpBuilder &b, ProductOp scores, mlir::ValueRange first, mlir::Value second);
/// Adds loop-carried values to `loop`; `round` builds those of the next iteration. Returns their final values.
mlir::ValueRange carry(mlir::RewriterBase &b, mlir::scf::ForOp &loop, mlir::ValueRange inits,
                       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> round);

/// Inserts the copies of a kernel with attn.score_gradients (PipelineGradientCopies.cpp).
mlir::LogicalResult placeGradientCopies(mlir::IRRewriter &rewriter, mlir::gpu::GPUFuncOp kernel);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_PIPELINECOPIES_H
