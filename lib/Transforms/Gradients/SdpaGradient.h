//===- SdpaGradient.h - the rule of one attn.sdpa ---------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_SDPAGRADIENT_H
#define ATTN_LIB_TRANSFORMS_SDPAGRADIENT_H

#include "attn/IR/Attn.h"

namespace attn {

/// The inputs of attn.sdpa that have gradients, those up to the sink in the order of the results of attn.sdpa_backward.
enum SdpaInput : unsigned {
  OfQuery,
  OfKey,
  OfValue,
  OfBias,
  OfSink,
  OfScale, ///< an operand
  OfKeyScale,
  OfValueScale,
  NumSdpaInputs
};

/// What is asked of one attn.sdpa: inputs, in the order in which their gradients are returned. Those from
/// NumSdpaInputs are the captured tensors.
struct WantedGradients {
  llvm::SmallVector<unsigned> inputs;
  llvm::SmallVector<mlir::Value> captures; ///< those of score_mod among them
  /// Of q, k and v where a function adds to gradients: whether that one is added to, and its destination.
  bool isAdded[3] = {false, false, false};
  mlir::Value destinations[3];
  bool inSumType = false; ///< all in the type of the accumulation, to be added to others

  bool contains(unsigned input) const { return llvm::is_contained(inputs, input); }
};

/// The operand that `input` is; none where it is left out.
mlir::Value getInput(SdpaOp sdpa, const WantedGradients &wanted, unsigned input);

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
