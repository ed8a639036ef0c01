//===- InitAll.h - registers everything of attn -----------------*- C++ -*-===//
//
// The functions of this header are in AttnPipelines.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_INITALL_H
#define ATTN_INITALL_H

#include "attn/IR/Attn.h" // registerDialect, which needs only AttnIR

namespace attn {

/// The dialect, the upstream dialects that our passes create, and their interface models and translations: the tools
/// and the compiler library load them.
void registerAllDialects(mlir::DialectRegistry &registry);

/// All attn passes and pipelines, with their flags.
void registerAllPasses();

} // namespace attn

#endif // ATTN_INITALL_H
