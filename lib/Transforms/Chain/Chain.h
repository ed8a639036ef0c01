//===- Chain.h - the textbook chain that attn-fuse finds --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_CHAIN_H
#define ATTN_LIB_TRANSFORMS_CHAIN_H

#include "attn/IR/Attn.h"

namespace attn {

/// The ops that the walk from softmax back to the product has collected.
struct Chain {
  ScoresOp scores;
  SoftmaxOp softmax;
  DropoutOp dropout;
  llvm::SmallVector<ScaleOp> scales;
  mlir::Value query, key; // the inputs of the scales of Q and K, if any
  double factor = 1;      // product of all constant scales
  ModifyOp modify;
  SoftcapOp softcap;
  MaskOp biasSource, maskSource; // the ops with the only bias and the only boolean mask
  llvm::SmallVector<MaskOp> predicates;
  mlir::Value queryLengths; // of the softmax, where a mask has the same
};

/// The chain that ends in `apply`; nothing, with a `reason`, where no chain can become an sdpa.
std::optional<Chain> matchChain(ApplyOp apply, std::string &reason);

/// Operands of the sdpa that need not dominate the softmax.
llvm::SmallVector<mlir::Value> getLateOperands(const Chain &chain, ApplyOp apply);

/// The key dimension of the weights that a chain reads; none where no chain reads them.
std::optional<unsigned> findKeyDim(mlir::Value weights);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_CHAIN_H
