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

/// What a loop over sequences has of one.
struct LinearTokens {
  mlir::Value sequence;     ///< null where there is one loop over tokens for all batch indices
  mlir::Value first, end;   ///< of its tokens
  mlir::Value slot, isNone; ///< where its state lies, and whether it has none; null where states have no slots
};
/// A loop that carries tensors.
Values buildLoop(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lower, mlir::Value upper, mlir::ValueRange init,
                 llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
/// Calls `body` for each sequence, where they are packed or have slots, and once otherwise.
Values buildSequences(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sums, mlir::Value slots,
                      llvm::ArrayRef<mlir::OpFoldResult> sizes, unsigned token, mlir::ValueRange init,
                      llvm::function_ref<Values(const LinearTokens &, mlir::ValueRange)> body);

/// The recurrence as loops of linalg on tensors, computed in `type`: output and state.
Values decomposeLinear(mlir::OpBuilder &builder, LinearOp op, mlir::Type type);
/// The gradients from the last token to the first; the states in front of all tokens are in memory.
Values decomposeLinearBackward(mlir::OpBuilder &builder, LinearBackwardOp op, mlir::Type type);

} // namespace attn

#endif // ATTN_LIB_IR_DECOMPOSELINEAR_H
