//===- ProblemTokens.h - the tokens of problem lines ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_PROBLEM_PROBLEMTOKENS_H
#define ATTN_LIB_PROBLEM_PROBLEMTOKENS_H

#include "attn/Problem/Problem.h"
#include "llvm/ADT/ArrayRef.h"

namespace attn {

/// How a token is written: `hq8`, `causal=…`, or a word alone. Element types are words too, and a line has one of them.
enum class TokenForm { Size, Value, Word, Element };

struct ProblemToken {
  llvm::StringRef name;
  TokenForm form;
  /// Completes "expected …".
  llvm::StringRef what;
  /// Completes "write …".
  llvm::StringRef example;
  /// Stores what follows the name (and its `=`); false where it is malformed.
  bool (*store)(Problem &problem, llvm::StringRef value);
};

llvm::ArrayRef<ProblemToken> getProblemTokens();

/// The row of a word: a word alone by its whole text, the others by their leading letters; null where there is none.
const ProblemToken *findProblemToken(llvm::StringRef word);

/// What an error says of a word that is no token: the nearest one, or all.
std::string describeUnknownToken(llvm::StringRef word);

/// What `mask=bool` stores until all sizes are known.
constexpr Problem::ScoreShape kFullScoreShape = {-2, -2, -2, -2};

} // namespace attn

#endif // ATTN_LIB_PROBLEM_PROBLEMTOKENS_H
