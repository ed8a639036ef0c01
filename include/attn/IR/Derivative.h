//===- Derivative.h - gradients of the regions of scores --------*- C++ -*-===//
//
// The gradients of a region of scores, score_mod, for a backward pass: of its
// argument, and of the tensors that it reads.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_DERIVATIVE_H
#define ATTN_IR_DERIVATIVE_H

#include "attn/IR/Attn.h"

namespace attn {

/// Fills the empty region `grad` with ^bb0(%score : T, %ds : T), which yields d score_mod / d score * %ds at %score, of
/// type T. Where `scoreMod` reads one of `captures` (by tensor.extract or memref.load), `grad` also adds the gradient
/// of what is read to the same position of the one of `destinations` in its place, by attn.accumulate.
///
/// Where %ds is 0, everything passed back is 0, whatever the score and the captures hold; in the same way a branch that
/// is not selected passes no infinity or NaN back. A maximum or minimum passes to the operand that it selects, the
/// first on a tie. The derivatives of absf, copysign and sqrt at 0 are 0, and so are all of floor, ceil, round, trunc
/// and comparisons. An op without a derivative, and a capture without one, is an error.
mlir::LogicalResult buildScoreGradient(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &scoreMod,
                                       mlir::Region &grad, mlir::ValueRange captures, mlir::ValueRange destinations,
                                       llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The derivatives of `result`, which `ops` (scalar code, in order) compute from `inputs`, times `cotangent`: one per
/// input, null if none flows back. Their ops are built at the builder's position.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildAdjoints(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> ops, mlir::ValueRange inputs,
              mlir::Value result, mlir::Value cotangent, llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// An op of the forward pass, while its gradients are built.
struct GradientFlow {
  mlir::Operation *op;                       ///< recomputed; its operands are values of the backward pass
  llvm::SmallVector<mlir::Value> results;    ///< the recomputed results
  llvm::SmallVector<mlir::Value> cotangents; ///< of the results; null if none flows back
  llvm::SmallVector<bool> wanted;            ///< operands whose gradients are requested
  llvm::SmallVector<mlir::Value> gradients;  ///< of the operands; a rule fills them in
};

/// The gradient rules of the chain's ops (ChainGradients.cpp): linalg in the type of the accumulation. An op or operand
/// without a rule is an error.
mlir::LogicalResult buildChainGradients(mlir::OpBuilder &builder, GradientFlow &flow,
                                        llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The derivative of tanh at x, 4 e / (1 + e)^2 with e = exp(-2 |x|): unlike 1 - tanh(x)^2, it is not 0 where tanh
/// rounds to 1.
mlir::Value buildTanhSlope(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);

} // namespace attn

#endif // ATTN_IR_DERIVATIVE_H
