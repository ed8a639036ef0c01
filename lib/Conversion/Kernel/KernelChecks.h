//===- KernelChecks.h - what describe-kernels refuses -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_KERNEL_KERNELCHECKS_H
#define ATTN_LIB_CONVERSION_KERNEL_KERNELCHECKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace attn {

/// Element types of a kernel's arguments, in words.
inline constexpr llvm::StringLiteral kElementTypes = "f32, f64, bf16, f16, f8E4M3FN, f8E5M2, i1, i8, i32 or i64";

/// A kernel's entries are C functions; their names, and those of what they read and call, must be free. For each target
/// alike: what one compiles, another does.
llvm::LogicalResult checkNames(mlir::func::FuncOp function);

/// What no comparison of sizes can test at run time.
llvm::LogicalResult checkDynamicSizes(mlir::func::FuncOp function);

/// A kernel takes pointers, so a call with tensors would no longer fit; kernels lie in the module itself; and element
/// types are those that kernels compute with.
llvm::LogicalResult checkModule(mlir::ModuleOp module);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_KERNEL_KERNELCHECKS_H
