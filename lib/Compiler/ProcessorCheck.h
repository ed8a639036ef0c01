//===- ProcessorCheck.h - tests the processor first -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_COMPILER_PROCESSORCHECK_H
#define ATTN_LIB_COMPILER_PROCESSORCHECK_H

#include "attn/Compiler/Bundle.h"
#include "llvm/IR/IRBuilder.h"

namespace attn {

/// A constant with internal linkage.
llvm::GlobalVariable *createTable(llvm::Module &module, llvm::Constant *value, const llvm::Twine &name);
/// The same for a C string.
llvm::Constant *createText(llvm::Module &module, llvm::StringRef text);

/// `struct attn_variants` (attn-c/attn_dispatch.h): the features that each variant needs, and the selected one.
llvm::Constant *createVariantTable(llvm::Module &module, llvm::ArrayRef<Variant> variants);

/// Renames the kernel's checked entry, makes it internal, and gives its name to a function that tests the processor
/// first. Returns that function.
llvm::Function *guardCheckedEntry(llvm::Module &module, const Kernel &kernel, llvm::Constant *variants);

/// Makes the checked entries of a module for one target refuse a processor that lacks one of its features, in code that
/// runs on any processor of the architecture.
llvm::Error addProcessorCheck(llvm::Module &module, const TargetInfo &target, llvm::ArrayRef<Kernel> kernels);

} // namespace attn

#endif // ATTN_LIB_COMPILER_PROCESSORCHECK_H
