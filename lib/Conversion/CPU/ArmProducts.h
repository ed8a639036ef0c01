//===- ArmProducts.h - products of 16 and 8 bits of 64-bit Arm --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_ARMPRODUCTS_H
#define ATTN_LIB_CONVERSION_CPU_ARMPRODUCTS_H

#include "VectorTile.h"

namespace attn::cpu {

/// bfdot: acc + the sum of the products of each lane's pairs of bf16.
mlir::Value emitBf16Dot(VectorBuilder &vb, mlir::Value acc, mlir::Value a, mlir::Value b);
/// bfmmla: acc + A B^T, A and B of two rows of four bf16, acc of two rows of two f32.
mlir::Value emitBf16Matrix(VectorBuilder &vb, mlir::Value acc, mlir::Value a, mlir::Value b);
/// sdot: acc + the sum of the products of each lane's four signed bytes.
mlir::Value emitByteDot(VectorBuilder &vb, mlir::Value acc, mlir::Value a, mlir::Value b);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_ARMPRODUCTS_H
