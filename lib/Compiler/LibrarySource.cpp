//===- LibrarySource.cpp - a problem as a kernel of a library -------------===//
//
// The part of a problem line that a caller names (features), and the part that tensors show (sizes, element types).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Bundle.h"
#include "attn/Problem/Problem.h"
#include "attn/Problem/ProblemText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace attn {

/// `library` and the line, as a C name: sizes unchanged, `?` as n, punctuation as underscores.
static std::string makeKernelName(StringRef library, StringRef line) {
  std::string name = library.str() + "_";
  for (char c : line)
    name += c == '?' ? 'n' : c == '-' ? 'm' : c == '.' ? 'p' : isAlnum(c) ? c : '_';
  return name;
}

/// The positions of a problem line's sizes in a caller's tensors; sizes that are not a dimension are left open.
static std::string getSizePlaces(const Problem &problem) {
  if (problem.paged) {
    StringRef query = problem.layout == Problem::Layout::BHSD ? "hq{0.1} sq{0.2}" : "hq{0.2} sq{0.1}";
    StringRef key = problem.paged->isHeadMajor ? "hkv{1.1}" : "hkv{1.2}";
    return ("b{0.0} " + query + " " + key + " sk? d{0.3} dv{2.3}").str();
  }
  switch (problem.layout) {
  case Problem::Layout::BHSD: return "b{0.0} hq{0.1} hkv{1.1} sq{0.2} sk{1.2} d{0.3} dv{2.3}";
  case Problem::Layout::BSHD: return "b{0.0} hq{0.2} hkv{1.2} sq{0.1} sk{1.1} d{0.3} dv{2.3}";
  case Problem::Layout::BSD: return formatv("b{{0.0} sq{{0.1} sk{{1.1} d{0} dv{1}", problem.sizes.d, problem.sizes.dv);
  case Problem::Layout::Varlen: return "b? hq{0.1} hkv{1.1} sq{0.0} sk{1.0} d{0.2} dv{2.2}";
  }
  llvm_unreachable("all layouts are handled");
}

/// True if tensors and features determine a whole problem line. They do not show the columns of a head in (batch, row,
/// head * column), the rows of a page, the number of offsets, or an alignment that the line omits.
static bool isSaidByTensors(const Problem &problem) {
  bool isVarlen = problem.layout == Problem::Layout::Varlen;
  bool isPlaced = problem.words.getAlignment() || !problem.words.hasPlaced();
  return problem.layout != Problem::Layout::BSD && !problem.paged && !(isVarlen && problem.hasOffset()) && isPlaced;
}

/// True for the token of a tensor over the scores, without its sizes.
static bool isScoreSizes(StringRef token) {
  return any_of(getWords(),
                [&](const WordInfo &word) { return word.form == WordForm::ScoreSizes && word.token == token; });
}

/// Features and line of a problem: of its only kernel, or of the backward one.
static std::pair<std::string, std::string> getFeatures(const Problem &problem) {
  SmallVector<std::string> words = getFeatureWords(problem);
  // (batch, row, head * column) does not show the number of heads.
  if (problem.layout == Problem::Layout::BSD)
    for (auto [name, size] : {std::pair("hq", problem.sizes.hq), {"hkv", problem.sizes.hkv}})
      words.push_back(name + printSize(size));
  std::string features = join(words, " ");
  if (!isSaidByTensors(problem))
    return {features, ""};
  std::string line = getSizePlaces(problem) + " {0}";
  // Bias and mask are features; their shapes are those of tensors 3 and 4, in order.
  unsigned argument = 3;
  for (std::string &word : words) {
    if (isScoreSizes(word)) {
      word += formatv("={{{0}.0},{{{0}.1},{{{0}.2},{{{0}.3}", argument).str();
      ++argument;
    }
    line += " " + word;
  }
  return {features, line};
}

BundleSource makeLibrarySource(const Problem &problem, StringRef library) {
  BundleSource source;
  source.problem = printProblemLine(problem);
  source.name = "problem '" + source.problem + "'";
  // A line of a file has no regions, the only part of a problem that may be no MLIR.
  source.text = cantFail(problemToMLIR(problem, makeKernelName(library, source.problem)));
  std::tie(source.features, source.line) = getFeatures(problem);
  Problem forward = problem;
  forward.outputs.max = forward.outputs.logSum = true;
  forward.grad.clear();
  if (!problem.grad.empty())
    std::tie(source.forwardFeatures, source.forwardLine) = getFeatures(forward);
  return source;
}

} // namespace attn
