//===- Attention.h - a matched attention ------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_ATTENTION_H
#define ATTN_LIB_RAISE_ATTENTION_H

#include "Elements.h"
#include "attn/Raise/Raise.h"

namespace attn::raise {

/// Keeps a key where `condition`, an i1, is `keepIf`. For an element of a constant float tensor, the condition is "is
/// 0".
struct Predicate {
  ExprRef condition;
  bool keepIf;
};

/// The function of the product of Q and K, from the inside out:
/// bias + softcap * tanh(modify(scale * product) / softcap), keys removed by masks.
struct Scores {
  ExprRef product = nullptr;
  double scale = 1;
  ExprRef scaleValue = nullptr; // another factor, known at run time
  ExprRef modify = nullptr;     // of `product`, including the scale; null: none
  std::optional<double> softcap;
  ExprRef bias = nullptr;
  llvm::SmallVector<Predicate> masks;
};

struct Attention {
  mlir::Value result;                     // of the replaced ops
  llvm::SmallVector<LinearIndex> indices; // of an element of `result`
  ExprRef query = nullptr, key = nullptr, value = nullptr;
  LinearIndex keyIndex, headIndex;
  Scores scores;
  ExprRef sink = nullptr;             // an additional score of the row without a weight; null: none
  ExprRef weights = nullptr;          // an element of the weights, if they have other uses
  llvm::SmallVector<Predicate> gates; // conditions under which a weight is not set to 0; masks must imply them
  llvm::SmallVector<llvm::StringRef> relaxations;
};

/// Shared by all steps of a match.
struct MatchContext {
  Elements &elements;
  const RaiseOptions &options;
  std::string reason;

  mlir::LogicalResult fail(const llvm::Twine &why) {
    if (reason.empty())
      reason = why.str();
    return mlir::failure();
  }
};

/// The scores of which `weights` is the softmax over `key`; `denominator` divides the product of weights and values,
/// and is null without such a division.
mlir::FailureOr<ExprRef> matchSoftmax(MatchContext &ctx, ExprRef weights, ExprRef denominator, const LinearIndex &key,
                                      Attention &attention);

/// Splits `scores` around the product of Q and K.
mlir::LogicalResult matchScores(MatchContext &ctx, ExprRef scores, Attention &attention);

/// A condition that selects one of two constants: `whenTrue` or `whenFalse`.
struct Choice {
  ExprRef condition;
  double whenTrue, whenFalse;
};
std::optional<Choice> matchChoice(Elements &elements, ExprRef expr);

/// Adds the conditions whose conjunction is `predicate` to `parts`.
void splitPredicate(Elements &elements, Predicate predicate, llvm::SmallVectorImpl<Predicate> &parts);

/// True where all weights that the gates set to 0 have been removed by masks.
bool areGatesMasks(MatchContext &ctx, const Attention &attention);

/// Adds the mask that replaces scores by `removed` (or adds it to them) where `condition` is not `keepIf`; false if
/// that is not a mask.
bool addMask(MatchContext &ctx, ExprRef condition, bool keepIf, double removed, Attention &attention);

/// True if `condition` provably keeps a key in each row.
bool keepsAKeyInEachRow(MatchContext &ctx, const Predicate &predicate, const LinearIndex &key);

/// The attention that computes `result`, with everything from Q, K and V on.
mlir::FailureOr<Attention> matchAttention(MatchContext &ctx, mlir::Value result);

/// Builds the chain before the op of `attention.result` and returns its last op; sets `result` to the replacement of
/// attention.result.
mlir::FailureOr<ApplyOp> createChain(mlir::RewriterBase &rewriter, MatchContext &ctx, const Attention &attention,
                                     mlir::Value &result);

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_ATTENTION_H
