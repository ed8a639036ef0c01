//===- Chain.h - the textbook chain that attn-fuse finds --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_CHAIN_H
#define ATTN_LIB_TRANSFORMS_CHAIN_H

#include "attn/IR/Attn.h"

namespace attn {

/// What the walk from softmax back to the product has collected.
struct Chain {
  ScoresOp scores;
  SoftmaxOp softmax;
  DropoutOp dropout;
  llvm::SmallVector<ScaleOp> scales;
  mlir::Value query, key; // what the scales of Q and K read, where these have some
  double factor = 1;      // of all scales that are constant
  ModifyOp modify;
  SoftcapOp softcap;
  MaskOp biasSource, maskSource; // the ops that hold the one bias, the one boolean mask
  llvm::SmallVector<MaskOp> predicates;
  mlir::Value queryLengths; // of the softmax, where a mask has them too
};

/// The chain that ends in `apply`; nothing, and why in `reason`, where none can be one sdpa.
std::optional<Chain> matchChain(ApplyOp apply, std::string &reason);

/// Operands of the sdpa that need not dominate the softmax.
llvm::SmallVector<mlir::Value> getLateOperands(const Chain &chain, ApplyOp apply);

/// The dimension of the keys in what a chain reads as its weights; none where no chain reads it.
std::optional<unsigned> findKeyDim(mlir::Value weights);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_CHAIN_H
