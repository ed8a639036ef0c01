//===- KernelChecks.h - kernels that describe-kernels refuses ---*- C++ -*-===//
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

/// A kernel's entries are C functions; their names, and those of the symbols that they use, must be free. The rule is
/// the same for all targets, so that code that compiles for one compiles for another.
llvm::LogicalResult checkNames(mlir::func::FuncOp function);

/// Refuses dynamic sizes that no comparison at run time can test.
llvm::LogicalResult checkDynamicSizes(mlir::func::FuncOp function);

/// A kernel takes pointers, so calls with tensors would no longer match; kernels are in the module itself; and element
/// types are those with which kernels compute.
llvm::LogicalResult checkModule(mlir::ModuleOp module);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_KERNEL_KERNELCHECKS_H
