//===- OverlapGradients.h - products of gradients run together --*- C++ -*-===//
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

/// Weights, or their gradients, as `values` takes them: in the type of what they multiply.
mlir::Value roundFactors(mlir::IRRewriter &b, ProductOp values, mlir::Value factors);
/// Starts the products of each step of gradients together, and those of a round beside the sums of the one before
/// where the registers hold both.
void overlapGradients(mlir::IRRewriter &b, mlir::gpu::GPUFuncOp kernel);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_OVERLAPGRADIENTS_H
