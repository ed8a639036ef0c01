//===- ProblemText.h - what becomes of a problem line -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_PROBLEMTEXT_H
#define ATTN_TEST_UNIT_PROBLEMTEXT_H

#include "attn/Problem/Problem.h"

#include "gtest/gtest.h"

namespace attn::test {

/// The canonical form of a line, or its error.
inline std::string canonical(llvm::StringRef line) {
  llvm::Expected<Problem> problem = parseProblem(line);
  return problem ? printProblem(*problem) : llvm::toString(problem.takeError());
}

/// The first line of the error, without the place.
inline std::string reason(llvm::StringRef line) {
  std::string text = canonical(line);
  llvm::StringRef first = llvm::StringRef(text).split('\n').first;
  return first.starts_with("problem line, column ") ? first.split(": ").second.str() : text;
}

} // namespace attn::test

#endif // ATTN_TEST_UNIT_PROBLEMTEXT_H
