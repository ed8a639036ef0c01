//===- Link.h - lld as a function of bytes ----------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_LINK_H
#define ATTN_LIB_CODEGEN_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace attn {

/// Runs lld, as ld.lld or wasm-ld, on one file of these bytes, with arguments before and after it, and returns what it
/// writes.
llvm::Expected<std::string> linkFile(llvm::StringRef bytes, llvm::StringRef extension, std::vector<std::string> before,
                                     std::vector<std::string> after, llvm::StringRef linker = "ld.lld");

} // namespace attn

#endif // ATTN_LIB_CODEGEN_LINK_H
