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

/// How a token is written: `hq8`, `layout=…`, or its name alone. Element types are names too, and a line has one of
/// them.
enum class TokenForm { Size, Value, Alone, Element };

struct ProblemToken {
  llvm::StringRef name;
  TokenForm form;
  /// Completes "expected …".
  llvm::StringRef what;
  /// Completes "write …".
  llvm::StringRef example;
  /// Stores what follows the name (and its `=`); false where it is malformed. Null for a word of attn.sdpa.
  bool (*storeOwn)(Problem &problem, llvm::StringRef value) = nullptr;
  const WordInfo *word = nullptr;

  bool store(Problem &problem, llvm::StringRef value) const;
};

llvm::ArrayRef<ProblemToken> getProblemTokens();

/// The row of a word: by its whole text if it stands alone, else by its leading letters; null if there is none.
const ProblemToken *findProblemToken(llvm::StringRef word);

/// The message for a word that is no token: the nearest token, or all.
std::string describeUnknownToken(llvm::StringRef word);

} // namespace attn

#endif // ATTN_LIB_PROBLEM_PROBLEMTOKENS_H
