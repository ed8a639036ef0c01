//===- problem_fuzzer.cpp - problem lines under libFuzzer -------------------===//
//
// A line is refused with a printable text, or its canonical form reads back as
// the same problem.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Problem/Problem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdlib>

static void require(bool condition) {
  if (!condition)
    abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::Expected<std::vector<attn::Problem>> problems = attn::parseProblems(text);
  if (!problems)
    llvm::consumeError(problems.takeError());

  llvm::Expected<attn::Problem> problem = attn::parseProblem(text);
  if (!problem) {
    std::string error = llvm::toString(problem.takeError());
    require(!error.empty() && llvm::all_of(error, [](char c) { return c == '\n' || llvm::isPrint(c); }));
    return 0;
  }
  llvm::Expected<attn::Problem> again = attn::parseProblem(attn::printProblem(*problem));
  require(bool(again) && *again == *problem);
  // Regions, and types of captures, may be no MLIR.
  if (llvm::Expected<std::string> text = attn::problemToMLIR(*problem))
    require(!text->empty());
  else
    require(!llvm::toString(text.takeError()).empty());
  return 0;
}
