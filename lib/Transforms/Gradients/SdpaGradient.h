//===- SdpaGradient.h - the rule of one attn.sdpa ---------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_SDPAGRADIENT_H
#define ATTN_LIB_TRANSFORMS_SDPAGRADIENT_H

#include "WantedGradients.h"

namespace attn {

/// Replaces an sdpa by one that also returns the row maximum and log_sum: in a single lse, ln l is lost beside a large
/// maximum.
SdpaOp addRowStatistics(mlir::OpBuilder &b, SdpaOp sdpa);
/// Replaces a softmax by one that also returns lse.
SoftmaxOp addLse(mlir::OpBuilder &b, SoftmaxOp softmax);

/// The cotangents of the results of an sdpa, and the results. `dlse` may be null.
struct SdpaResults {
  mlir::Value out, max, logSum, dout, dlse;
};

/// The backward form of `sdpa`, with operands mapped by `mapping`: the gradients of `wanted.inputs`.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildSdpaBackward(mlir::OpBuilder &b, SdpaOp sdpa, const WantedGradients &wanted, mlir::IRMapping &mapping,
                  SdpaResults results, llvm::function_ref<mlir::InFlightDiagnostic()> refuse);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_SDPAGRADIENT_H
