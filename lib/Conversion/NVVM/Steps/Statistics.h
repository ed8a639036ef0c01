//===- Statistics.h - lse and delta in kernels with a producer --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_STATISTICS_H
#define ATTN_LIB_CONVERSION_NVVM_STATISTICS_H

#include "../Warps/WarpTile.h"

namespace attn::nvvm {

/// Makes the gradients of `kernel` read lse, log_sum and delta from shared memory. Those of the block's rows are copied
/// once, those of columns by the producer in each step. Returns the tile; null without gradients.
mlir::Value createStatistics(mlir::OpBuilder &b, mlir::gpu::GPUFuncOp kernel, BlockAttr schedule);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_STATISTICS_H
