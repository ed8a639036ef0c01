//===- InitAll.h - register everything of attn ------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_INITALL_H
#define ATTN_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace attn {

/// The attn dialect with its interface models: all that a host compiler needs to hold attn ops in its IR.
void registerDialect(mlir::DialectRegistry &registry);

/// The dialect, the upstream dialects that our passes create, and their interface models and translations: what the
/// tools and the compiler library load.
void registerAllDialects(mlir::DialectRegistry &registry);

/// All attn passes and pipelines, with their flags.
void registerAllPasses();

} // namespace attn

#endif // ATTN_INITALL_H
