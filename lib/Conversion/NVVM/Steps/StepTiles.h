//===- StepTiles.h - the steps of a kernel and their tiles ------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_STEPTILES_H
#define ATTN_LIB_CONVERSION_NVVM_STEPTILES_H

#include "PipelineCopies.h"

namespace attn::nvvm {

/// The products of a step, in one block.
struct Step {
  ProductOp scores, values;
};

/// The steps of a kernel of attention, and its tiles of Q, K and V in shared memory.
class StepTiles {
public:
  StepTiles(mlir::IRRewriter &rewriter, mlir::gpu::GPUFuncOp kernel)
      : keyTile(kernel->getAttrOfType<BlockAttr>(kScheduleAttr).getKeyTile()), b(rewriter), kernel(kernel) {}

  mlir::LogicalResult findSteps();
  /// Creates the tile of Q of all steps, copied where Q was packed.
  mlir::LogicalResult createQueryTile();
  /// Creates `numStages` tiles of K and of V, or of K alone where V is columns of it.
  void createKeyTiles(int64_t numStages, bool isCopiedOnce = false);
  /// Replaces the buffers into which K and V were packed or gathered by the tiles. Steps may share a buffer.
  void moveBuffers();
  /// Makes the product read its tile, and records the map of its keys in memory.
  void readTile(ProductOp product, mlir::Value tile);
  /// Starts the copy of K or V of `product` to its tile, which the product then reads.
  mlir::Value copyRows(ProductOp product, mlir::Value view, mlir::Value tile);
  /// The maps of attn.copy for K or V of `product`.
  mlir::ArrayAttr getCopyMaps(ProductOp product) const;
  /// The element type of the tile of K or V: bytes may stay what they are.
  mlir::Type getTileType(ProductOp product) const;
  /// The key dimension of the memref of K or V; nothing where it has none.
  std::optional<unsigned> getKeyDim(ProductOp product) const;

  llvm::SmallVector<Step> steps;
  mlir::Value query, key, value; ///< tiles; those of K and V with a leading stage dimension if they have several stages
  int64_t keyTile, stages = 1;
  mlir::Value queryToken;                     ///< of the only copy of Q
  llvm::SmallVector<mlir::Operation *> fills; ///< packs and gathers into the tiles that no step has yet

private:
  void moveBuffer(mlir::Value buffer, mlir::Value tile);
  void replaceFills(mlir::Value memref, mlir::Value tile);

  mlir::AffineMap getMap(ProductOp product) const;

  mlir::IRRewriter &b;
  mlir::gpu::GPUFuncOp kernel;
  llvm::DenseMap<mlir::Operation *, mlir::AffineMap> operandMaps; ///< of K and V in global memory
};

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_STEPTILES_H
