//===- ConvertRows.h - elements of new rows in the type of a cache -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_KERNEL_CONVERTROWS_H
#define ATTN_LIB_CONVERSION_KERNEL_CONVERTROWS_H

#include "mlir/IR/Builders.h"

namespace attn {

/// The float `value` as an element of type `to`, as attn.kv_append says; `scale`, which may be null, is f32.
mlir::Value emitConverted(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Value scale, mlir::Type to);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_KERNEL_CONVERTROWS_H
