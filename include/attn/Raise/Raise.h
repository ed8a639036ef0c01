//===- Raise.h - attention as front ends write it to attn ops ---*- C++ -*-===//
//
// Finds attention in linalg on tensors and writes it as the chain attn.scores …
// attn.apply, of which attn-fuse makes attn.sdpa.
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

/// What docs/Semantics.md calls relaxations: where attn's result may differ from that of the ops that were found.
struct RaiseOptions {
  /// A select or an addition of a constant of at most -1e30 that is proved to keep a key in each row is a mask: scores
  /// are assumed to be far smaller. Otherwise only one of -inf is.
  bool assumeFiniteMask = true;
  /// Softmax without its maximum, which overflows where attn does not.
  bool allowUnsafeSoftmax = true;
};

/// Replaces the attention whose product of weights and values is `contraction` by a chain of attn ops, and returns the
/// last of these. The ops that it was are left without uses. Nothing is changed where that is no attention: then
/// `reason` says which step did not match, and is empty where nothing between the two products looks like a softmax.
mlir::FailureOr<ApplyOp> raiseAttention(mlir::RewriterBase &rewriter, mlir::linalg::LinalgOp contraction,
                                        const RaiseOptions &options = {}, std::string *reason = nullptr);
/// The same as a pattern on all linalg ops.
void populateAttnRaisePatterns(mlir::RewritePatternSet &patterns, const RaiseOptions &options = {});
/// All attention at or in `root`, of which ops without uses are then erased. Each product behind something that looks
/// like a softmax and is none is a missed remark and goes to `report`, with the reason.
llvm::SmallVector<ApplyOp>
raiseAllAttention(mlir::RewriterBase &rewriter, mlir::Operation *root, const RaiseOptions &options,
                  llvm::function_ref<void(mlir::linalg::LinalgOp, llvm::StringRef reason)> report);

#define GEN_PASS_DECL
#include "attn/Raise/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "attn/Raise/Passes.h.inc"

} // namespace attn

#endif // ATTN_RAISE_RAISE_H
