//===- MainName.h - a kernel named main in the source -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_COMPILER_MAINNAME_H
#define ATTN_COMPILER_MAINNAME_H

#include "llvm/ADT/StringRef.h"

namespace attn {

/// A function that C cannot call by its name, and its default name in C without --name.
constexpr llvm::StringLiteral kMainName = "main", kMainKernelName = "main_kernel";

} // namespace attn

#endif // ATTN_COMPILER_MAINNAME_H
