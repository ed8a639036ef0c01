//===- ProblemParser.h - one problem line while it is parsed ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_PROBLEM_PROBLEMPARSER_H
#define ATTN_LIB_PROBLEM_PROBLEMPARSER_H

#include "ProblemTokens.h"
#include "llvm/ADT/SmallVector.h"

namespace attn {

/// Problem.cpp reads the tokens and what follows the line; ProblemChecks.cpp tests the problem as a whole.
class ProblemParser {
public:
  ProblemParser(llvm::StringRef line, unsigned lineNumber)
      : line(line), lineNumber(lineNumber), words(getProblemTokens().size() + 1) {}
  /// The line, and the captures and regions that follow it.
  llvm::Expected<Problem> parse(llvm::StringRef regions = "");

private:
  llvm::Error parseWord(llvm::StringRef word);
  llvm::Error parseLinearWord(llvm::StringRef word);
  llvm::Error fillDefaults();
  llvm::Error parseRegions(llvm::StringRef text);
  llvm::Error parseCaptures(llvm::StringRef &text);

  llvm::Error check();
  llvm::Error checkHeads();
  llvm::Error checkKeyTypes();
  llvm::Error checkAlignment();
  llvm::Error checkOrigins();
  llvm::Error checkPacking();
  llvm::Error checkPages();
  llvm::Error checkOutputs();
  llvm::Error checkGradients();
  llvm::Error checkInto();
  llvm::Error checkScoreShape(llvm::StringRef name, const ScoreShape &shape);
  llvm::Error checkSizes();
  llvm::Error checkSize(llvm::StringRef name, llvm::ArrayRef<int64_t> shape);

  /// An error at a word of the line, or at the end of the line.
  llvm::Error error(llvm::StringRef word, const llvm::Twine &text);
  llvm::Error errorAtEnd(const llvm::Twine &text) { return error(line.rtrim().take_back(0), text); }

  /// Where the line gave a token; empty where it did not.
  llvm::StringRef &wordOf(const ProblemToken &token) {
    // A line has one element type, whatever its name: these share a position. So do `scale=0.125` and `scale=?`.
    if (token.form == TokenForm::Element)
      return words.back();
    return words[findProblemToken(token.name.split('=').first) - getProblemTokens().begin()];
  }
  llvm::StringRef &wordOf(llvm::StringRef name) { return wordOf(*findProblemToken(name)); }

  llvm::StringRef line;
  unsigned lineNumber;
  Problem problem;
  llvm::SmallVector<llvm::StringRef> words, linearWords;
};

} // namespace attn

#endif // ATTN_LIB_PROBLEM_PROBLEMPARSER_H
