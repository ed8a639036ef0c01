//===- LinkBitcode.h - links the runtime's code into a module ---*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_LINKBITCODE_H
#define ATTN_CODEGEN_LINKBITCODE_H

#include "llvm/Linker/Linker.h"
#include "llvm/Support/Error.h"

namespace attn {

/// Links code without a target processor into a module, for the module's target. An error if the two are incompatible.
llvm::Error linkBitcode(llvm::Module &module, llvm::StringRef bitcode,
                        unsigned flags = llvm::Linker::Flags::LinkOnlyNeeded);

} // namespace attn

#endif // ATTN_CODEGEN_LINKBITCODE_H
