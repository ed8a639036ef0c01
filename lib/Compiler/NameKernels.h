//===- NameKernels.h - C names of the kernels of a file ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_COMPILER_NAMEKERNELS_H
#define ATTN_LIB_COMPILER_NAMEKERNELS_H

#include "attn/Compiler/Compiler.h"

namespace attn {

/// Gives public functions the names of CompileOptions::names.
llvm::LogicalResult nameKernels(mlir::ModuleOp module, llvm::ArrayRef<KernelName> names);

} // namespace attn

#endif // ATTN_LIB_COMPILER_NAMEKERNELS_H
