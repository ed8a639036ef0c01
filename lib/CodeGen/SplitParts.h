//===- SplitParts.h - a large module as several -----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_SPLITPARTS_H
#define ATTN_LIB_CODEGEN_SPLITPARTS_H

#include "llvm/IR/Module.h"
#include <string>
#include <vector>

namespace attn {

/// Takes functions out of a large module and returns modules of them as bitcode, for threads with contexts of their
/// own; none of a small one. Data stays. What parts share is hidden, so merging their objects makes it local. The parts
/// are a function of the module alone, and so is the object.
std::vector<std::string> splitParts(llvm::Module &module);

} // namespace attn

#endif // ATTN_LIB_CODEGEN_SPLITPARTS_H
