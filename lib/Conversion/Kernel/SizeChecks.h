//===- SizeChecks.h - formulas of sizes as a checked entry has them -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_KERNEL_SIZECHECKS_H
#define ATTN_LIB_CONVERSION_KERNEL_SIZECHECKS_H

#include "attn/Conversion/Kernels.h"

namespace attn {

/// For each argument, the attn_size_word of attn_runtime.h that define its sizes, three integers per word; empty where
/// they do not follow from others.
std::vector<std::vector<int64_t>> printSizeChecks(mlir::Operation *kernel, llvm::ArrayRef<KernelArgument> arguments);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_KERNEL_SIZECHECKS_H
