//===- SplitModule.h - the halves of a kernel's module ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_COMPILER_SPLITMODULE_H
#define ATTN_LIB_COMPILER_SPLITMODULE_H

#include "attn/Compiler/Compiler.h"

namespace attn {

/// The symbol of a kernel's variant.
std::string getVariantName(llvm::StringRef kernel, llvm::StringRef suffix);

/// The names of a kernel's checked entries; a CPU kernel has only the first.
llvm::SmallVector<std::string> getCheckedEntries(const Kernel &kernel);

/// Keeps only the kernels, as hidden functions with the names of their variant.
void keepVariant(llvm::Module &module, llvm::ArrayRef<Kernel> kernels, llvm::StringRef suffix);
/// Keeps only the checked entries and their tables; kernels become declarations.
void keepEntries(llvm::Module &module, llvm::ArrayRef<Kernel> kernels);

} // namespace attn

#endif // ATTN_LIB_COMPILER_SPLITMODULE_H
