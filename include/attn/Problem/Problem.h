//===- Problem.h - one attention problem, as a line of text -----*- C++ -*-===//
//
// A problem line names one case for tests, benchmarks and the driver:
// `b2 hq8 hkv2 sq113 sk203 d64 f32 bias=1,8,113,203 out=lse`.
// It is parsed, printed in its canonical form, and written as an IR file.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_PROBLEM_PROBLEM_H
#define ATTN_PROBLEM_PROBLEM_H

#include "attn/Support/Words.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn {

struct Problem {
  /// A size written as `?`: every call says it.
  static constexpr int64_t kDynamic = kDynamicSize;
  enum class Element { F32, F64, BF16, F16 };
  /// Of q, k, v and out: (batch, head, row, column), (batch, row, head, column), (batch, row, head * column), or
  /// (row, head, column) with the sequences one after the other. Scores and lse are as in BHSD, but for varlen: lse
  /// (head, row).
  enum class Layout { BHSD, BSHD, BSD, Varlen };

  struct Sizes {
    int64_t b = 1;
    int64_t hq = 1;
    int64_t hkv = 1;
    int64_t sq = 0; ///< of all sequences together in varlen, and so is sk
    int64_t sk = 0;
    int64_t d = 1;
    int64_t dv = 1;
    bool operator==(const Sizes &) const = default;
  };
  Sizes sizes;
  Element element = Element::F32;
  /// The type of k and v where it is not that of q: 16-bit floats, or numbers that a scale goes with.
  enum class KvElement { Same, BF16, F16, I8, F8E4M3FN, F8E5M2 };
  KvElement kv = KvElement::Same;
  /// out, and gradients, in the type of the accumulation, f32: partial results, which are rounded behind their sum.
  bool isResultWide = false;
  /// What has a scale of quantised k and v; k_scale and v_scale are f32 [hkv], [b, hkv, sk], [pages, hkv], or like the
  /// caches without their columns.
  enum class KvScale { Head, Token, Page, Slot };
  KvScale kvScale = KvScale::Head;
  /// Those of Words.def.
  WordValues words;
  /// K and V in pages of `size` rows: (page, row, head, column), or (page, head, row, column) where head-major.
  struct Paged {
    int64_t size = 1;
    bool isHeadMajor = false;
    bool operator==(const Paged &) const = default;
  };
  std::optional<Paged> paged;
  /// Pages of the cache; nullopt: as many as the block table has entries.
  std::optional<int64_t> pages;
  Layout layout = Layout::BHSD;
  bool isStrided = false; ///< q, k, v, bias, mask and dout at strides that each call says
  /// What is asked for beside out.
  struct Outputs {
    bool lse = false;
    bool weights = false;
    bool max = false;    ///< the row maximum
    bool logSum = false; ///< ln l; max + log_sum = lse
    /// Sums of weights a key, over queries and the heads that share a key head: (b, hkv, sk), (hkv, sk) in varlen,
    /// and (b, hkv, pages of the table, rows of a page) of keys in pages.
    bool keySums = false;
    bool operator==(const Outputs &) const = default;
  };
  Outputs outputs;
  /// Arguments whose gradients are asked for, of q, k, v, bias and sink: the problem is then two kernels.
  std::vector<std::string> grad;
  /// What a call adds to in place of overwriting it: `state`, the outputs, which then hold those of other keys; or
  /// arguments, those of `grad` whose gradients are added to what is there.
  std::vector<std::string> into;

  /// The words of a line that begins with `linear`, of an attn.linear. Heads of value are sizes.hq, of query and key
  /// sizes.hkv, tokens sizes.sq.
  struct Linear {
    enum class Decay { None, Head, Channel };
    Decay decay = Decay::None;
    bool beta = false, erase = false, write = false, before = false;
    std::optional<double> normalize, scale;
    std::optional<int64_t> slots; ///< places of a pool of states; kDynamic where open
    bool operator==(const Linear &) const = default;
  };
  std::optional<Linear> linear;

  /// What the text after the line holds: arguments that the regions read, and the regions with their braces, as MLIR.
  struct Capture {
    std::string name, type;
    bool operator==(const Capture &) const = default;
  };
  std::vector<Capture> captures;
  std::string scoreMod, maskMod;

  bool hasScalesInPages() const { return kvScale == KvScale::Page || kvScale == KvScale::Slot; }
  bool isQuantised() const { return kv == KvElement::I8 || kv == KvElement::F8E4M3FN || kv == KvElement::F8E5M2; }
  bool continuesState() const { return into == std::vector<std::string>{"state"}; }
  /// True where the alignment of a mask is a run-time offset.
  bool hasOffset() const { return words.getAlignment() == Alignment::Offset; }
  /// Whether the problem has the argument that a word is, by its own token or another.
  bool hasArgument(const WordInfo &word) const;
  /// Entries of a row of the block table; kDynamic where sk is.
  int64_t getTablePages() const { return sizes.sk == kDynamic ? kDynamic : (sizes.sk + paged->size - 1) / paged->size; }

  bool operator==(const Problem &) const = default;
};

/// A further output of a problem, by the name that `out=` and the kernel's result have, in their order.
struct ProblemOutput {
  llvm::StringRef name;
  bool Problem::Outputs::*isWanted;
};
inline constexpr ProblemOutput kProblemOutputs[] = {{"lse", &Problem::Outputs::lse},
                                                    {"weights", &Problem::Outputs::weights},
                                                    {"max", &Problem::Outputs::max},
                                                    {"log_sum", &Problem::Outputs::logSum},
                                                    {"key_sums", &Problem::Outputs::keySums}};

/// Parses one problem line. Left out, `b` and `hq` are 1, `hkv` is `hq`, `sk` is `sq`, `dv` is `d`, and elements are
/// f32. The error shows the line with a caret under the token that is wrong. The line may be followed by lines of
/// `captures(%name : type, …)`, `score_mod { … }` and `mask_mod { … }`, in this order.
llvm::Expected<Problem> parseProblem(llvm::StringRef text);

/// Parses a file of problem lines. Blank lines, and what follows a `#`, are skipped; errors name the line.
llvm::Expected<std::vector<Problem>> parseProblems(llvm::StringRef text);

/// The canonical text: every size, then what differs from the defaults, on one line; then captures and regions, where
/// there are any, on lines of their own. parseProblem gives the problem back.
std::string printProblem(const Problem &problem);
/// Its first line: what a report shows.
std::string printProblemLine(const Problem &problem);

/// A module of one public function, `name`, or if that is empty `sdpa` or `linear`, that computes the problem:
/// arguments q, k, v, those of Words.def, block_table, captures, results out, lse, weights, max, log_sum, key_sums,
/// each only where the problem has it, named by `attn.name` attributes. Weights are returned by the unfused chain with
/// scores in f32 (f64). Where gradients are asked for, the function has the attribute `attn.grad`, and becomes a
/// forward and a backward one. With `into=state` the results are arguments as well, the last ones; gradients that are
/// added to are named by `attn.into`. Null where a region or the type of a capture is no MLIR, which is reported.
mlir::OwningOpRef<mlir::ModuleOp> buildProblem(mlir::MLIRContext &context, const Problem &problem,
                                               llvm::StringRef name = "");
/// The same as an IR file.
llvm::Expected<std::string> problemToMLIR(const Problem &problem, llvm::StringRef name = "");

} // namespace attn

#endif // ATTN_PROBLEM_PROBLEM_H
