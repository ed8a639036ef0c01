//===- KernelTiles.h - the tiles of a kernel in shared memory ---*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_KERNELTILES_H
#define ATTN_LIB_CONVERSION_NVVM_KERNELTILES_H

#include "WarpTile.h"

namespace attn::nvvm {

/// The tiles of a kernel after attn-pipeline-copies, told apart by its products.
struct KernelTiles {
  explicit KernelTiles(mlir::gpu::GPUFuncOp kernel);
  /// The layout of the tiles, in the order in which they are listed here.
  BlockLayout getLayout(BlockAttr schedule) const;

  llvm::SetVector<mlir::Value> queries, keys, values; ///< empty for gradients
  llvm::SetVector<mlir::Value> operands;              ///< biases and masks of scores
  bool hasQueryStages = false;                        ///< a producer copies Q
  mlir::Value output;                                 ///< stored by boxes; null where threads store it
  llvm::SmallVector<mlir::Value> columns, rows;       ///< for gradients
  mlir::Value statistics, exchange;                   ///< for gradients; null where there are none
  mlir::Type queryType;                               ///< of elements; null for gradients
  ProductOp misfit; ///< the first product with head sizes other than those before it; null without one

private:
  void findTiles(mlir::gpu::GPUFuncOp kernel);
  void findOperands(mlir::gpu::GPUFuncOp kernel);
  void findGradientTiles(mlir::gpu::GPUFuncOp kernel);

  int64_t d = 0, dv = 0, elementBytes = 0, keyBytes = 0;
};

/// The tiles of columns, which a block multiplies with its rows one after the other.
llvm::SetVector<mlir::Value> findColumnTiles(mlir::gpu::GPUFuncOp kernel);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_KERNELTILES_H
