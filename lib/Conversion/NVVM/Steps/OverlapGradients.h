//===- OverlapGradients.h - gradient products that run concurrently -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_OVERLAPGRADIENTS_H
#define ATTN_LIB_CONVERSION_NVVM_OVERLAPGRADIENTS_H

#include "attn/IR/Attn.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace attn::nvvm {

/// Weights or their gradients as the operand of `values`: in the type of its other operand.
mlir::Value roundFactors(mlir::IRRewriter &b, ProductOp values, mlir::Value factors);
/// Issues the products of each gradient step together, and overlaps those of an iteration with the sums of the previous
/// one if the registers hold both.
void overlapGradients(mlir::IRRewriter &b, mlir::gpu::GPUFuncOp kernel);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_OVERLAPGRADIENTS_H
