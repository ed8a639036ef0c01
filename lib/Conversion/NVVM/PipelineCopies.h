//===- PipelineCopies.h - tiles in shared memory, and their copies -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_PIPELINECOPIES_H
#define ATTN_LIB_CONVERSION_NVVM_PIPELINECOPIES_H

#include "WarpTile.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace attn::nvvm {

bool isInSharedMemory(mlir::Value memref);
/// At the builder's position.
mlir::Value createSharedTile(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int64_t> shape, mlir::Type type);
/// As much of `tile` as a buffer of these sizes holds.
mlir::Value getPartOfTile(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tile,
                          llvm::ArrayRef<mlir::OpFoldResult> sizes);
/// What reads `buffer`, or a view of it, reads `tile`; the buffer is erased.
void moveBuffer(mlir::RewriterBase &b, mlir::Value buffer, mlir::Value tile);

/// The copies of a kernel that has attn.score_gradients (PipelineGradientCopies.cpp).
mlir::LogicalResult placeGradientCopies(mlir::IRRewriter &rewriter, mlir::gpu::GPUFuncOp kernel);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_PIPELINECOPIES_H
