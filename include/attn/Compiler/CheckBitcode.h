//===- CheckBitcode.h - code of every object as LLVM bitcode ----*- C++ -*-===//
//
// The code of `attn_check_arguments` and of kernel selection, for linking into objects, which then need nothing but
// libc. Each architecture has its own: C code is compiled for one ABI, including that of va_list.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CHECKBITCODE_H
#define ATTN_COMPILER_CHECKBITCODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Triple.h"

namespace attn {

/// A module that defines `attn_check_arguments` (see attn-c/attn_runtime.h) with external linkage and calls
/// `vsnprintf`. It has no target processor. A client that links it into a kernel gives the function internal linkage.
llvm::StringRef getCheckArgumentsBitcode(const llvm::Triple &triple);

/// The same for the code that selects a kernel by the processor, and by the tensors of a call: the functions of
/// attn-c/attn_dispatch.h.
llvm::StringRef getProcessorBitcode(const llvm::Triple &triple);
llvm::StringRef getLibraryBitcode(const llvm::Triple &triple);

/// The same for `attn_map_weights` and `attn_describe_no_weights` of attn-c/attn_runtime.h.
llvm::StringRef getMapWeightsBitcode(const llvm::Triple &triple);

/// What linked modules of WebAssembly have of a C library.
llvm::StringRef getWebLibraryBitcode();

} // namespace attn

#endif // ATTN_COMPILER_CHECKBITCODE_H
