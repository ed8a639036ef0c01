//===- WebModule.h - an object as a module of WebAssembly -------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_WEBMODULE_H
#define ATTN_COMPILER_WEBMODULE_H

#include "attn/Target/TargetInfo.h"

namespace attn {

/// Links an object of kernels with the little that they need of a C library. The module imports nothing. It exports the
/// entries, its memory, and malloc and free for the tensors of a call.
llvm::Expected<std::string> createWebModule(llvm::StringRef object, const TargetInfo &target);

} // namespace attn

#endif // ATTN_COMPILER_WEBMODULE_H
