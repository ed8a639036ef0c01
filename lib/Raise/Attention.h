//===- Attention.h - an attention that was found ----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_ATTENTION_H
#define ATTN_LIB_RAISE_ATTENTION_H

#include "Elements.h"
#include "attn/Raise/Raise.h"

namespace attn::raise {

/// Keeps a key where `condition`, an i1, is `keepIf`. An element of a constant tensor of floats stands for "is 0".
struct Predicate {
  ExprRef condition;
  bool keepIf;
};

/// What is done to the product of Q and K, from the inside out:
/// bias + softcap * tanh(modify(scale * product) / softcap), keys removed by masks.
struct Scores {
  ExprRef product = nullptr;
  double scale = 1;
  ExprRef scaleValue = nullptr; // a further factor, known at run time
  ExprRef modify = nullptr;     // of `product`, scale included; null: none
  std::optional<double> softcap;
  ExprRef bias = nullptr;
  llvm::SmallVector<Predicate> masks;
};

struct Attention {
  mlir::Value result;                     // of the ops that are replaced
  llvm::SmallVector<LinearIndex> indices; // of an element of it
  ExprRef query = nullptr, key = nullptr, value = nullptr;
  LinearIndex keyIndex, headIndex;
  Scores scores;
  ExprRef sink = nullptr;             // one more score of the row, which has no weight; null: none
  ExprRef weights = nullptr;          // an element of them, where they have other uses
  llvm::SmallVector<Predicate> gates; // what keeps a weight from being set to 0; masks must do the same
  llvm::SmallVector<llvm::StringRef> relaxations;
};

/// What all steps of a match share.
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
/// and is null where nothing does.
mlir::FailureOr<ExprRef> matchSoftmax(MatchContext &ctx, ExprRef weights, ExprRef denominator, const LinearIndex &key,
                                      Attention &attention);

/// Splits `scores` around the product of Q and K.
mlir::LogicalResult matchScores(MatchContext &ctx, ExprRef scores, Attention &attention);

/// A condition that chooses between two constants: `whenTrue` and `whenFalse`.
struct Choice {
  ExprRef condition;
  double whenTrue, whenFalse;
};
std::optional<Choice> matchChoice(Elements &elements, ExprRef expr);

/// The conditions that must all hold for `predicate`, added to `parts`.
void splitPredicate(Elements &elements, Predicate predicate, llvm::SmallVectorImpl<Predicate> &parts);

/// True where what the gates set to 0 is what masks have removed.
bool areGatesMasks(MatchContext &ctx, const Attention &attention);

/// Adds the mask that puts `removed` in the place of scores (or adds it to them) where `condition` is not `keepIf`;
/// false where that is no mask.
bool addMask(MatchContext &ctx, ExprRef condition, bool keepIf, double removed, Attention &attention);

/// True where each row keeps a key by `condition`, as far as that can be proved.
bool keepsAKeyInEachRow(MatchContext &ctx, const Predicate &predicate, const LinearIndex &key);

/// The attention whose result is `result`, with everything between it and Q, K and V.
mlir::FailureOr<Attention> matchAttention(MatchContext &ctx, mlir::Value result);

/// Builds the chain in front of the op of `attention.result` and returns its last op; `result` is what stands for
/// attention.result.
mlir::FailureOr<ApplyOp> createChain(mlir::RewriterBase &rewriter, MatchContext &ctx, const Attention &attention,
                                     mlir::Value &result);

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_ATTENTION_H
