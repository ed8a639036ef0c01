//===- Problem.h - one attention problem, as a line of text -----*- C++ -*-===//
//
// A problem line names one case for tests, benchmarks and the driver:
// `b2 hq8 hkv2 sq113 sk203 d64 f32 causal=bottom_right bias=1,8,113,203 out=lse`.
// It is parsed, printed in its canonical form, and written as an IR file.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_PROBLEM_H
#define ATTN_COMPILER_PROBLEM_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn {

struct Problem {
  enum class Element { F32, F64, BF16, F16 };
  enum class Causal { TopLeft, BottomRight };
  /// Of q, k, v and out: (batch, head, row, column) or (batch, row, head, column). Scores and lse are as in BHSD
  /// always.
  enum class Layout { BHSD, BSHD };
  /// Sizes over (batch, head, query, key), each 1 or that of the problem.
  using ScoreShape = std::array<int64_t, 4>;

  int64_t b = 1;
  int64_t hq = 1;
  int64_t hkv = 1;
  int64_t sq = 0;
  int64_t sk = 0;
  int64_t d = 1;
  int64_t dv = 1;
  Element element = Element::F32;
  std::optional<Causal> causal;
  /// (left, right), inclusive; a side of nullopt is unbounded. `align` places a window without causal.
  struct Window {
    std::optional<int64_t> left, right;
    bool operator==(const Window &) const = default;
  };
  std::optional<Window> window;
  std::optional<Causal> align;
  std::optional<double> softcap;
  std::optional<double> scale;
  std::optional<ScoreShape> bias;
  std::optional<ScoreShape> mask;
  Layout layout = Layout::BHSD;
  bool lse = false;

  bool operator==(const Problem &) const = default;
};

/// Parses one problem line. Left out, `b` and `hq` are 1, `hkv` is `hq`, `sk` is `sq`, `dv` is `d`, and elements are
/// f32. The error shows the line with a caret under the token that is wrong.
llvm::Expected<Problem> parseProblem(llvm::StringRef line);

/// Parses a file of problem lines. Blank lines, and what follows a `#`, are skipped; errors name the line.
llvm::Expected<std::vector<Problem>> parseProblems(llvm::StringRef text);

/// The canonical line: every size, then what differs from the defaults. parseProblem gives the problem back.
std::string printProblem(const Problem &problem);

/// An IR file with one public function `sdpa` that computes the problem: arguments q, k, v, bias, mask, results out,
/// lse, each only where the problem has it, named by `attn.name` attributes.
std::string problemToMLIR(const Problem &problem);

} // namespace attn

#endif // ATTN_COMPILER_PROBLEM_H
