//===- DecomposeLinear.h - linear attention as linalg -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IR_DECOMPOSELINEAR_H
#define ATTN_LIB_IR_DECOMPOSELINEAR_H

#include "Formula.h"
#include "attn/IR/Attn.h"

namespace attn {

/// The recurrence as loops of linalg on tensors, computed in `type`: output and state.
Values decomposeLinear(mlir::OpBuilder &builder, LinearOp op, mlir::Type type);
/// The gradients from the last token to the first; the states in front of all tokens are in memory.
Values decomposeLinearBackward(mlir::OpBuilder &builder, LinearBackwardOp op, mlir::Type type);

} // namespace attn

#endif // ATTN_LIB_IR_DECOMPOSELINEAR_H
