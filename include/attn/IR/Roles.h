//===- Roles.h - roles of operands in attention -----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ROLES_H
#define ATTN_IR_ROLES_H

#include "mlir/IR/Value.h"

namespace attn {

/// The role of an attn op's operand, as "query" or "kv_lengths".
llvm::StringRef getRole(mlir::OpOperand &use);

/// The role of `value`, or a view of it, in the attn ops that read it; empty where none does or two differ.
llvm::StringRef getRole(mlir::Value value);

/// A unique name for a role: "query" for "q", as in problem lines; other names unchanged.
llvm::StringRef spellOutRole(llvm::StringRef name);

} // namespace attn

#endif // ATTN_IR_ROLES_H
