//===- WantedGradients.h - what is asked of one attn.sdpa -------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_WANTEDGRADIENTS_H
#define ATTN_LIB_TRANSFORMS_WANTEDGRADIENTS_H

#include "attn/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

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
  /// True for q, k and v where one of them is added to.
  bool hasDestination(unsigned input) const { return input <= OfValue && llvm::is_contained(isAdded, true); }
};

/// The operand that `input` is; none where it is left out.
mlir::Value getInput(SdpaOp sdpa, const WantedGradients &wanted, unsigned input);

/// What attn.grad and attn.into of `function` ask of `sdpa`, the one in it. Refuses names without a gradient, and what
/// attn.sdpa has and attn.sdpa_backward has not.
mlir::FailureOr<WantedGradients> findWantedGradients(mlir::func::FuncOp function, SdpaOp sdpa, mlir::ArrayAttr grad,
                                                     mlir::ArrayAttr into);

/// Of the argument, or, where out is, in the type of the accumulation; that of a captured tensor is summed, and
/// returned, in the type of the accumulation, that of a scale as a tensor without dimensions.
mlir::Type getGradientType(SdpaOp sdpa, const WantedGradients &wanted, unsigned input);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_WANTEDGRADIENTS_H
