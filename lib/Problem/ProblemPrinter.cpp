//===- ProblemPrinter.cpp - problems as lines -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LinearProblem.h"
#include "attn/Problem/ProblemText.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn;
using llvm::StringRef;

StringRef attn::printElement(Problem::Element element) {
  switch (element) {
  case Problem::Element::F32: return "f32";
  case Problem::Element::F64: return "f64";
  case Problem::Element::BF16: return "bf16";
  case Problem::Element::F16: return "f16";
  }
  llvm_unreachable("all element types are handled");
}

StringRef attn::printKvElement(const Problem &problem) {
  switch (problem.kv) {
  case Problem::KvElement::Same: return printElement(problem.element);
  case Problem::KvElement::BF16: return "bf16";
  case Problem::KvElement::F16: return "f16";
  case Problem::KvElement::I8: return "i8";
  case Problem::KvElement::F8E4M3FN: return "f8E4M3FN";
  case Problem::KvElement::F8E5M2: return "f8E5M2";
  }
  llvm_unreachable("all element types are handled");
}

static StringRef printLayout(Problem::Layout layout) {
  switch (layout) {
  case Problem::Layout::BHSD: return "bhsd";
  case Problem::Layout::BSHD: return "bshd";
  case Problem::Layout::BSD: return "bsd";
  case Problem::Layout::Varlen: return "varlen";
  }
  llvm_unreachable("all layouts are handled");
}

bool Problem::hasArgument(const WordInfo &word) const {
  switch (word.stands) {
  case WordStands::ByToken: return words.has(word.word);
  case WordStands::BesideWord: return words.has(word.beside);
  case WordStands::BesideOffset: return hasOffset();
  // Keys in pages have lengths.
  case WordStands::WherePacked: return layout == Layout::Varlen && !(paged && word.counts == WordCounts::Keys);
  case WordStands::BesideQuantised: return isQuantised();
  case WordStands::InIROnly: return false;
  }
  llvm_unreachable("all cases are handled");
}

/// All words except sizes and element types. Without shapes, also without those of bias and mask and the number of
/// pages.
static llvm::SmallVector<std::string> getStructureWords(const Problem &problem, bool withShapes) {
  llvm::SmallVector<std::string> words;
  auto add = [&](StringRef name, const std::string &value) { words.push_back((name + "=" + value).str()); };
  if (problem.kv == Problem::KvElement::I8)
    add("kv", "int8");
  else if (problem.kv == Problem::KvElement::F8E4M3FN)
    add("kv", "fp8");
  else if (problem.kv == Problem::KvElement::F8E5M2)
    add("kv", "e5m2");
  else if (problem.kv != Problem::KvElement::Same)
    add("kv", printKvElement(problem).str());
  for (auto [name, scale] : kKvScales)
    if (problem.kvScale == scale && scale != Problem::KvScale::Head)
      add("kvscale", name.str());
  if (problem.isResultWide)
    add("result", "f32");
  for (const WordInfo &word : getWords()) {
    const WordValue &value = problem.words[word.word];
    bool isAlone = word.form == WordForm::Presence || (word.form == WordForm::ScoreSizes && !withShapes);
    if (problem.words.has(word.word) && isAlone)
      words.push_back(word.token.str());
    else if (problem.words.has(word.word))
      add(word.token, printWordValue(value));
  }
  if (problem.paged)
    add("paged", std::to_string(problem.paged->size) + (problem.paged->isHeadMajor ? ",hnd" : ""));
  if (problem.pages && withShapes)
    add("pages", std::to_string(*problem.pages));
  if (problem.layout != Problem::Layout::BHSD)
    add("layout", printLayout(problem.layout).str());
  if (problem.isStrided)
    words.push_back("strided");
  llvm::SmallVector<StringRef> outputs;
  for (const ProblemOutput &output : kProblemOutputs)
    if (problem.outputs.*output.isWanted)
      outputs.push_back(output.name);
  if (!outputs.empty())
    add("out", llvm::join(outputs, ","));
  if (!problem.grad.empty())
    add("grad", llvm::join(problem.grad, ","));
  if (!problem.into.empty())
    add("into", llvm::join(problem.into, ","));
  return words;
}

llvm::SmallVector<std::string> attn::getFeatureWords(const Problem &problem) {
  return getStructureWords(problem, /*withShapes=*/false);
}

std::string attn::printProblemLine(const Problem &problem) {
  if (problem.linear)
    return printLinearLine(problem);
  llvm::SmallVector<std::string> words;
  for (auto [name, size] : {std::pair("b", problem.sizes.b),
                            {"hq", problem.sizes.hq},
                            {"hkv", problem.sizes.hkv},
                            {"sq", problem.sizes.sq},
                            {"sk", problem.sizes.sk},
                            {"d", problem.sizes.d},
                            {"dv", problem.sizes.dv}})
    words.push_back(name + printSize(size));
  words.push_back(printElement(problem.element).str());
  llvm::append_range(words, getStructureWords(problem, /*withShapes=*/true));
  return llvm::join(words, " ");
}

std::string attn::printProblem(const Problem &problem) {
  std::string text = printProblemLine(problem);
  auto print = [](const Problem::Capture &capture) { return "%" + capture.name + " : " + capture.type; };
  if (!problem.captures.empty())
    text += "\ncaptures(" + llvm::join(llvm::map_range(problem.captures, print), ", ") + ")";
  for (const auto &[name, region] : {std::pair("score_mod ", problem.scoreMod), {"mask_mod ", problem.maskMod}})
    if (!region.empty())
      text += std::string("\n") + name + region;
  return text;
}
