//===- BackwardFormulas.h - the ops of the backward pass as linalg -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IR_BACKWARDFORMULAS_H
#define ATTN_LIB_IR_BACKWARDFORMULAS_H

#include "Formula.h"

namespace attn {

Values decomposeRowDelta(Formula &f, RowDeltaOp op);
Values decomposeBackwardStep(Formula &f, BackwardStepOp op);
Values decomposeScoreGradients(Formula &f, ScoreGradientsOp op);

/// (x == value) ? 0 : y
mlir::Value zeroWhere(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, double value, mlir::Value y);

/// output += sum of factor * input over the dimensions that output lacks; without an input, of factor alone. A factor
/// of 0 adds 0, whatever the input holds. The maps are over the domain of `f`; the loops are those that a map of an
/// input uses.
mlir::Value accumulateProduct(Formula &f, mlir::Value factor, mlir::AffineMap factorMap, mlir::Value input,
                              mlir::AffineMap inputMap, mlir::Value output, mlir::AffineMap outputMap);

/// Rewrites to padded sequences, as for a sdpa (Packed.cpp); rows after the last sequence have gradients of 0.
mlir::FailureOr<Values> padSequences(mlir::OpBuilder &builder, SdpaBackwardOp op);

} // namespace attn

#endif // ATTN_LIB_IR_BACKWARDFORMULAS_H
