//===- ProblemTokens.cpp - the tokens of problem lines --------------------===//
//
// Sizes, types, layouts and outputs are rows of a table here, with a few lines
// that store the value; the words of attn.sdpa are those of Words.def.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemTokens.h"

#include "attn/Problem/ProblemText.h"
#include "attn/Support/OtherWords.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn;
using llvm::StringRef;
using enum TokenForm;

template <int64_t Problem::Sizes::*field, int64_t minimum> static bool storeSize(Problem &problem, StringRef value) {
  std::optional<int64_t> size = parseSize(value, minimum);
  problem.sizes.*field = size.value_or(problem.sizes.*field);
  return size.has_value();
}

/// A size that may be dynamic.
template <int64_t Problem::Sizes::*field, int64_t minimum>
static bool storeDynamicSize(Problem &problem, StringRef value) {
  if (value != "?")
    return storeSize<field, minimum>(problem, value);
  problem.sizes.*field = Problem::kDynamic;
  return true;
}

template <Problem::Element element> static bool storeElement(Problem &problem, StringRef) {
  problem.element = element;
  return true;
}

static bool storeKvElement(Problem &problem, StringRef value) {
  constexpr std::pair<StringRef, Problem::KvElement> elements[] = {{"int8", Problem::KvElement::I8},
                                                                   {"fp8", Problem::KvElement::F8E4M3FN},
                                                                   {"e5m2", Problem::KvElement::F8E5M2},
                                                                   {"bf16", Problem::KvElement::BF16},
                                                                   {"f16", Problem::KvElement::F16}};
  for (auto [name, element] : elements)
    if (value == name) {
      problem.kv = element;
      return true;
    }
  return false;
}

static bool storeKvScale(Problem &problem, StringRef value) {
  for (auto [name, scale] : kKvScales)
    if (value == name) {
      problem.kvScale = scale;
      return true;
    }
  return false;
}

static bool storeResult(Problem &problem, StringRef value) {
  problem.isResultWide = true;
  return value == "f32";
}

/// SIZE, SIZE,nhd or SIZE,hnd
static bool storePaged(Problem &problem, StringRef value) {
  auto [size, layout] = value.split(',');
  std::optional<int64_t> rows = parseSize(size, 1);
  bool isComplete = layout == "nhd" || layout == "hnd" || !value.contains(',');
  if (!rows || !isComplete)
    return false;
  problem.paged = {*rows, layout == "hnd"};
  return true;
}

static bool storePages(Problem &problem, StringRef value) {
  problem.pages = parseSize(value, 0);
  return problem.pages.has_value();
}

static bool storeLayout(Problem &problem, StringRef value) {
  constexpr std::pair<StringRef, Problem::Layout> layouts[] = {{"bhsd", Problem::Layout::BHSD},
                                                               {"bshd", Problem::Layout::BSHD},
                                                               {"bsd", Problem::Layout::BSD},
                                                               {"varlen", Problem::Layout::Varlen}};
  for (auto [name, layout] : layouts)
    if (value == name) {
      problem.layout = layout;
      return true;
    }
  return false;
}

static bool storeStrided(Problem &problem, StringRef) {
  problem.isStrided = true;
  return true;
}

static bool storeOutputs(Problem &problem, StringRef value) {
  for (StringRef name : llvm::split(value, ',')) {
    const auto *output = llvm::find_if(kProblemOutputs, [&](const ProblemOutput &each) { return each.name == name; });
    if (output == std::end(kProblemOutputs) || problem.outputs.*output->isWanted)
      return false;
    problem.outputs.*output->isWanted = true;
  }
  return true;
}

template <std::vector<std::string> Problem::*field> static bool storeNames(Problem &problem, StringRef value) {
  for (StringRef name : llvm::split(value, ',')) {
    if (name.empty() || llvm::is_contained(problem.*field, name))
      return false;
    (problem.*field).push_back(name.str());
  }
  return true;
}

/// The part of an unknown word to print: as long as any name is.
static constexpr size_t kMaxNameLength = 32;

static constexpr StringRef kElementTypes = "f32, f64, bf16 or f16";

static constexpr ProblemToken kFirstTokens[] = {
    {"b", Size, "a batch size from 1 to 2147483647", "a number as b2, or b?", storeDynamicSize<&Problem::Sizes::b, 1>},
    {"hq", Size, "a number of query heads from 1 to 2147483647", "a number as hq8, or hq?",
     storeDynamicSize<&Problem::Sizes::hq, 1>},
    {"hkv", Size, "a number of key heads from 1 to 2147483647", "a number as hkv2, or hkv?",
     storeDynamicSize<&Problem::Sizes::hkv, 1>},
    {"sq", Size, "a query length from 0 to 2147483647", "a number as sq128, or sq?",
     storeDynamicSize<&Problem::Sizes::sq, 0>},
    {"sk", Size, "a key length from 0 to 2147483647", "a number as sk128, or sk?",
     storeDynamicSize<&Problem::Sizes::sk, 0>},
    {"d", Size, "a head size from 1 to 2147483647", "a number as d64", storeSize<&Problem::Sizes::d, 1>},
    {"dv", Size, "a head size from 1 to 2147483647", "a number as dv64", storeSize<&Problem::Sizes::dv, 1>},
    {"f32", Element, "one element type", kElementTypes, storeElement<Problem::Element::F32>},
    {"f64", Element, "one element type", kElementTypes, storeElement<Problem::Element::F64>},
    {"bf16", Element, "one element type", kElementTypes, storeElement<Problem::Element::BF16>},
    {"f16", Element, "one element type", kElementTypes, storeElement<Problem::Element::F16>},
    {"kv", Value, "the type of k and v", "kv=int8, kv=fp8, kv=e5m2, kv=bf16 or kv=f16", storeKvElement},
    {"kvscale", Value, "what has a scale", "kvscale=head, kvscale=token, kvscale=page or kvscale=slot", storeKvScale},
    {"result", Value, "the type of out and of gradients beside 16-bit q", "result=f32", storeResult},
};
static constexpr ProblemToken kLastTokens[] = {
    {"paged", Value, "a page size from 1 to 2147483647 and a page layout", "paged=16 or paged=16,hnd", storePaged},
    {"pages", Value, "a number of pages", "pages=24 or the like", storePages},
    {"layout", Value, "a layout", "layout=bhsd, layout=bshd, layout=bsd or layout=varlen", storeLayout},
    {"strided", Alone, "strides of each call", "strided", storeStrided},
    {"out", Value, "further outputs",
     "out=lse, out=weights, out=lse,weights, or some of lse, max, log_sum and key_sums", storeOutputs},
    {"grad", Value, "arguments that have gradients, each once", "grad=q,k,v or the like", storeNames<&Problem::grad>},
    {"into", Value, "what is added to in place of overwriting it, each once",
     "into=state, or into=q,k,v or some of these", storeNames<&Problem::into>},
};

llvm::ArrayRef<ProblemToken> attn::getProblemTokens() {
  static const llvm::SmallVector<ProblemToken> tokens = [] {
    llvm::SmallVector<ProblemToken> all(std::begin(kFirstTokens), std::end(kFirstTokens));
    for (const WordInfo &word : getWords())
      if (!word.token.empty())
        all.push_back(
            {word.token, word.form == WordForm::Presence ? Alone : Value, word.what, word.example, nullptr, &word});
    all.append(std::begin(kLastTokens), std::end(kLastTokens));
    return all;
  }();
  return tokens;
}

bool ProblemToken::store(Problem &problem, StringRef value) const {
  if (!word)
    return storeOwn(problem, value);
  std::optional<WordValue> parsed = parseWordValue(*word, value);
  problem.words[word->word] = parsed.value_or(WordValue());
  return parsed.has_value();
}

const ProblemToken *attn::findProblemToken(StringRef word) {
  StringRef letters = word.take_while([](char c) { return llvm::isAlpha(c) || c == '_'; });
  const ProblemToken *found = nullptr;
  for (const ProblemToken &token : getProblemTokens()) {
    bool isWhole = token.form == Alone || token.form == Element;
    if (isWhole && token.name == word)
      return &token;
    if (!isWhole && token.name == letters)
      found = &token;
  }
  return found;
}

std::string attn::describeUnknownToken(StringRef word) {
  StringRef name = word.split('=').first.take_front(kMaxNameLength), letters = name.rtrim("0123456789?");
  llvm::SmallVector<StringRef> names;
  for (const ProblemToken &token : getProblemTokens())
    names.push_back(token.name);
  // A variant of our own name, then a word of another system: a word with a row is no misspelling.
  for (StringRef each : {name, letters}) {
    const auto *own = llvm::find_if(names, [&](StringRef known) { return isSameName(known, each); });
    if (own != names.end())
      return llvm::formatv("did you mean '{0}'?", *own);
    if (const OtherWord *other = findOtherWord(each))
      return "write " + other->line.str();
  }
  for (StringRef each : {name, letters})
    if (StringRef nearest = findNearestName(each, names); !nearest.empty())
      return llvm::formatv("did you mean '{0}'?", nearest);
  return "write one of " + llvm::join(names, ", ");
}
