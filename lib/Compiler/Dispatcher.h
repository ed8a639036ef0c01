//===- Dispatcher.h - the object that selects among kernels -----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_COMPILER_DISPATCHER_H
#define ATTN_LIB_COMPILER_DISPATCHER_H

#include "attn/Compiler/Bundle.h"

namespace attn {

/// The kernels of a library with the same features.
struct LibraryGroup {
  std::string features, line;
  std::vector<const Kernel *> kernels; ///< those with the fewest dynamic sizes first
};

struct DispatcherSource {
  llvm::ArrayRef<Variant> variants;
  llvm::ArrayRef<Kernel> kernels;
  llvm::ArrayRef<std::string> entries; ///< bitcode of modules of checked entries (ModulePart::Entries)
  std::string library;                 ///< its C name; empty for none
  llvm::ArrayRef<LibraryGroup> groups;
};

/// An object for any x86-64 processor with the kernels' entries, which call the variants by their hidden names.
llvm::Expected<std::string> compileDispatcher(const DispatcherSource &source);

} // namespace attn

#endif // ATTN_LIB_COMPILER_DISPATCHER_H
