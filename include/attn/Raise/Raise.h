//===- Raise.h - from front ends' attention to attn ops ---------*- C++ -*-===//
//
// Finds attention in linalg on tensors and rewrites it as the chain attn.scores … attn.apply, which attn-fuse turns
// into attn.sdpa.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_RAISE_RAISE_H
#define ATTN_RAISE_RAISE_H

#include "attn/IR/Attn.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace attn {

/// The relaxations of docs/Semantics.md: where attn's result may differ from that of the matched ops.
struct RaiseOptions {
  /// A select or an addition of a constant of at most -1e30 is a mask if it provably keeps a key in each row: scores
  /// are assumed to be far smaller. Otherwise only -inf is.
  bool assumeFiniteMask = true;
  /// Softmax without its maximum, which overflows where attn does not.
  bool allowUnsafeSoftmax = true;
};

/// Replaces the attention whose product of weights and values is `contraction` by a chain of attn ops, and returns the
/// last of these. The matched ops are left without uses. Changes nothing if it is not attention: `reason` is then the
/// step that did not match, or empty if there is no likely softmax between the two products.
mlir::FailureOr<ApplyOp> raiseAttention(mlir::RewriterBase &rewriter, mlir::linalg::LinalgOp contraction,
                                        const RaiseOptions &options = {}, std::string *reason = nullptr);
/// The same as a pattern on all linalg ops.
void populateAttnRaisePatterns(mlir::RewritePatternSet &patterns, const RaiseOptions &options = {});
/// Raises all attention at or in `root`, and erases ops that are then unused. Each product after a likely softmax that
/// is not attention gets a missed remark, and is passed to `report` with the reason.
llvm::SmallVector<ApplyOp>
raiseAllAttention(mlir::RewriterBase &rewriter, mlir::Operation *root, const RaiseOptions &options,
                  llvm::function_ref<void(mlir::linalg::LinalgOp, llvm::StringRef reason)> report);

#define GEN_PASS_DECL
#include "attn/Raise/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "attn/Raise/Passes.h.inc"

} // namespace attn

#endif // ATTN_RAISE_RAISE_H
