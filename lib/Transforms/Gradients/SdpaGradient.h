//===- SdpaGradient.h - the rule of one attn.sdpa ---------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_SDPAGRADIENT_H
#define ATTN_LIB_TRANSFORMS_SDPAGRADIENT_H

#include "WantedGradients.h"

namespace attn {

/// An sdpa that returns the row maximum and log_sum too, in place of one that does not: lse as one number loses ln l
/// beside a large maximum.
SdpaOp addRowStatistics(mlir::OpBuilder &b, SdpaOp sdpa);
/// A softmax that returns lse, in place of one that does not.
SoftmaxOp addLse(mlir::OpBuilder &b, SoftmaxOp softmax);

/// The cotangents of what an sdpa returns, and what it has returned. `dlse` may be left out.
struct SdpaResults {
  mlir::Value out, max, logSum, dout, dlse;
};

/// The backward form of `sdpa`, on the values that `mapping` has for its operands: the gradients of `wanted.inputs`.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildSdpaBackward(mlir::OpBuilder &b, SdpaOp sdpa, const WantedGradients &wanted, mlir::IRMapping &mapping,
                  SdpaResults results, llvm::function_ref<mlir::InFlightDiagnostic()> refuse);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_SDPAGRADIENT_H
