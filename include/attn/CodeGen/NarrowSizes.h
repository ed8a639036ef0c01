//===- NarrowSizes.h - sizes of 64 bits for a C library of 32 ---*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_NARROWSIZES_H
#define ATTN_CODEGEN_NARROWSIZES_H

#include "llvm/IR/Module.h"

namespace attn {

/// Gives functions of C that a module calls their size_t, where that is not i64. A larger size becomes the largest, for
/// which there is no memory.
void narrowSizes(llvm::Module &module);

} // namespace attn

#endif // ATTN_CODEGEN_NARROWSIZES_H
