//===- Roles.h - what attention calls its operands --------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ROLES_H
#define ATTN_IR_ROLES_H

#include "mlir/IR/Value.h"

namespace attn {

/// What an attn op calls an operand, as "query" or "kv_lengths".
llvm::StringRef getRole(mlir::OpOperand &use);

/// What the attn ops that read `value`, or a view of it, call it; empty where none reads it or two differ.
llvm::StringRef getRole(mlir::Value value);

/// One name a role: "query" for "q", as problem lines spell it; other names as they are.
llvm::StringRef spellOutRole(llvm::StringRef name);

} // namespace attn

#endif // ATTN_IR_ROLES_H
