//===- WantedGradients.h - requested gradients of one attn.sdpa -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_WANTEDGRADIENTS_H
#define ATTN_LIB_TRANSFORMS_WANTEDGRADIENTS_H

#include "attn/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {

/// The inputs of attn.sdpa with gradients; those up to the sink are in the order of the results of attn.sdpa_backward.
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

/// The requested gradients of one attn.sdpa: inputs, in the order in which their gradients are returned. Those from
/// NumSdpaInputs on are the captured tensors.
struct WantedGradients {
  llvm::SmallVector<unsigned> inputs;
  llvm::SmallVector<mlir::Value> captures; ///< includes those of score_mod
  /// For q, k and v, where a function adds to gradients: whether this one is added to, and its destination.
  bool isAdded[3] = {false, false, false};
  mlir::Value destinations[3];
  bool inSumType = false; ///< all in the accumulation type, to be added to others

  bool contains(unsigned input) const { return llvm::is_contained(inputs, input); }
  /// True for q, k and v where at least one of them is added to.
  bool hasDestination(unsigned input) const { return input <= OfValue && llvm::is_contained(isAdded, true); }
};

/// The operand of `input`; null where it is absent.
mlir::Value getInput(SdpaOp sdpa, const WantedGradients &wanted, unsigned input);

/// The requests of attn.grad and attn.into of `function` for `sdpa`, the one in it. Refuses names without a gradient,
/// and features of attn.sdpa that attn.sdpa_backward lacks.
mlir::FailureOr<WantedGradients> findWantedGradients(mlir::func::FuncOp function, SdpaOp sdpa, mlir::ArrayAttr grad,
                                                     mlir::ArrayAttr into);

/// The type of the argument, or the accumulation type if out has that. The gradient of a captured tensor is summed and
/// returned in the accumulation type, that of a scale as a tensor of rank 0.
mlir::Type getGradientType(SdpaOp sdpa, const WantedGradients &wanted, unsigned input);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_WANTEDGRADIENTS_H
