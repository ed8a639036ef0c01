//===- ProblemTokens.cpp - the tokens of problem lines --------------------===//
//
// One table; a new token is a new row, and a few lines that store its value.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemTokens.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace attn;
using llvm::StringRef;
using enum TokenForm;

static constexpr int64_t kMaxSize = (int64_t(1) << 31) - 1;
/// What #attn.window takes: an offset of 32 bits may lie as far from the keys as all of them are many.
static constexpr int64_t kMaxWindowBound = int64_t(1) << 40;

static std::optional<int64_t> parseSize(StringRef text, int64_t minimum, int64_t maximum = kMaxSize) {
  uint64_t size;
  if (text.getAsInteger(10, size) || size < uint64_t(minimum) || size > uint64_t(maximum))
    return std::nullopt;
  return int64_t(size);
}

template <int64_t Problem::*field, int64_t minimum> static bool storeSize(Problem &problem, StringRef value) {
  std::optional<int64_t> size = parseSize(value, minimum);
  problem.*field = size.value_or(problem.*field);
  return size.has_value();
}

/// A size that may be left to each call.
template <int64_t Problem::*field, int64_t minimum> static bool storeDynamicSize(Problem &problem, StringRef value) {
  if (value != "?")
    return storeSize<field, minimum>(problem, value);
  problem.*field = Problem::kDynamic;
  return true;
}

template <Problem::Element element> static bool storeElement(Problem &problem, StringRef) {
  problem.element = element;
  return true;
}

static bool storeKvElement(Problem &problem, StringRef value) {
  constexpr std::pair<StringRef, Problem::KvElement> elements[] = {{"int8", Problem::KvElement::I8},
                                                                   {"fp8", Problem::KvElement::F8E4M3FN},
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
  problem.hasTokenScales = value == "token";
  return value == "token" || value == "head";
}

template <bool Problem::*field> static bool storeWord(Problem &problem, StringRef) {
  problem.*field = true;
  return true;
}

template <std::optional<Problem::Causal> Problem::*field>
static bool storeAlignment(Problem &problem, StringRef value) {
  if (value == "top_left")
    problem.*field = Problem::Causal::TopLeft;
  else if (value == "bottom_right")
    problem.*field = Problem::Causal::BottomRight;
  else if (value == "offset")
    problem.*field = Problem::Causal::Offset;
  return (problem.*field).has_value();
}

/// L,R with either left out where that side is unbounded.
static bool storeWindow(Problem &problem, StringRef value) {
  if (value.count(',') != 1)
    return false;
  Problem::Window window;
  auto [left, right] = value.split(',');
  for (auto [text, bound] : {std::pair(left, &window.left), std::pair(right, &window.right)})
    if (!text.empty() && !(*bound = parseSize(text, 0, kMaxWindowBound)))
      return false;
  problem.window = window;
  return true;
}

static bool storeReal(std::optional<double> &field, StringRef value, double minimum, double maximum) {
  double real;
  if (value.getAsDouble(real) || !std::isfinite(real) || real < minimum || real > maximum)
    return false;
  field = real;
  return true;
}

static bool storeScale(Problem &problem, StringRef value) {
  return storeReal(problem.scale, value, -HUGE_VAL, HUGE_VAL);
}
static bool storeDropout(Problem &problem, StringRef value) { return storeReal(problem.dropout, value, 0, 1); }
static bool storeSoftcap(Problem &problem, StringRef value) {
  return storeReal(problem.softcap, value, 0, HUGE_VAL) && *problem.softcap > 0;
}

template <std::optional<Problem::ScoreShape> Problem::*field>
static bool storeScoreShape(Problem &problem, StringRef value) {
  llvm::SmallVector<StringRef> parts;
  value.split(parts, ',');
  Problem::ScoreShape shape;
  if (parts.size() != shape.size())
    return false;
  for (auto [part, size] : llvm::zip_equal(parts, shape)) {
    std::optional<int64_t> parsed = part == "?" ? Problem::kDynamic : parseSize(part, 0);
    if (!parsed)
      return false;
    size = *parsed;
  }
  problem.*field = shape;
  return true;
}

static bool storeMask(Problem &problem, StringRef value) {
  if (value != "bool")
    return storeScoreShape<&Problem::mask>(problem, value);
  problem.mask = kFullScoreShape;
  return true;
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

static bool storeOutputs(Problem &problem, StringRef value) {
  for (StringRef name : llvm::split(value, ',')) {
    bool &asked = name == "lse" ? problem.lse : problem.weights;
    if ((name != "lse" && name != "weights") || asked)
      return false;
    asked = true;
  }
  return true;
}

static constexpr StringRef kElementTypes = "f32, f64, bf16 or f16";

static constexpr ProblemToken kTokens[] = {
    {"b", Size, "a batch size from 1 to 2147483647", "a number as b2, or b?", storeDynamicSize<&Problem::b, 1>},
    {"hq", Size, "a number of query heads from 1 to 2147483647", "a number as hq8, or hq?",
     storeDynamicSize<&Problem::hq, 1>},
    {"hkv", Size, "a number of key heads from 1 to 2147483647", "a number as hkv2, or hkv?",
     storeDynamicSize<&Problem::hkv, 1>},
    {"sq", Size, "a query length from 0 to 2147483647", "a number as sq128, or sq?", storeDynamicSize<&Problem::sq, 0>},
    {"sk", Size, "a key length from 0 to 2147483647", "a number as sk128, or sk?", storeDynamicSize<&Problem::sk, 0>},
    {"d", Size, "a head size from 1 to 2147483647", "a number as d64", storeSize<&Problem::d, 1>},
    {"dv", Size, "a head size from 1 to 2147483647", "a number as dv64", storeSize<&Problem::dv, 1>},
    {"f32", Element, "one element type", kElementTypes, storeElement<Problem::Element::F32>},
    {"f64", Element, "one element type", kElementTypes, storeElement<Problem::Element::F64>},
    {"bf16", Element, "one element type", kElementTypes, storeElement<Problem::Element::BF16>},
    {"f16", Element, "one element type", kElementTypes, storeElement<Problem::Element::F16>},
    {"kv", Value, "the type of k and v", "kv=int8, kv=fp8, kv=bf16 or kv=f16", storeKvElement},
    {"kvscale", Value, "what has a scale", "kvscale=head or kvscale=token", storeKvScale},
    {"causal", Value, "an alignment", "causal=top_left, causal=bottom_right or causal=offset",
     storeAlignment<&Problem::causal>},
    {"chunk", Value, "a number of tokens from 1 to 2147483647", "chunk=64 or the like",
     [](Problem &problem, StringRef value) { return bool(problem.chunk = parseSize(value, 1)); }},
    {"softcap", Value, "a positive number", "softcap=30 or the like", storeSoftcap},
    {"scale", Value, "a finite number", "scale=0.125 or the like", storeScale},
    {"bias", Value, "four sizes: batch, heads, queries, keys", "bias=1,8,113,203 or the like",
     storeScoreShape<&Problem::bias>},
    {"mask", Value, "'bool' or four sizes: batch, heads, queries, keys", "mask=bool, mask=1,1,113,203 or the like",
     storeMask},
    {"layout", Value, "a layout", "layout=bhsd, layout=bshd, layout=bsd or layout=varlen", storeLayout},
    {"out", Value, "further outputs", "out=lse, out=weights or out=lse,weights", storeOutputs},
    {"window", Value, "two bounds from 0 to 2^40: left, right",
     "window=127,0 for 128 keys that end at the query, window=127, for no bound on the right", storeWindow},
    {"align", Value, "an alignment", "align=top_left, align=bottom_right or align=offset",
     storeAlignment<&Problem::align>},
    {"sink", Word, "a sink", "sink", storeWord<&Problem::sink>},
    {"q_lengths", Word, "lengths", "q_lengths", storeWord<&Problem::qLengths>},
    {"kv_lengths", Word, "lengths", "kv_lengths", storeWord<&Problem::kvLengths>},
    {"dropout", Value, "a probability from 0 to 1", "dropout=0.1 or the like", storeDropout},
    {"paged", Value, "a page size from 1 to 2147483647 and a page layout", "paged=16 or paged=16,hnd", storePaged},
    {"pages", Value, "a number of pages", "pages=24 or the like", storePages},
};

llvm::ArrayRef<ProblemToken> attn::getProblemTokens() { return kTokens; }

const ProblemToken *attn::findProblemToken(StringRef word) {
  StringRef letters = word.take_while([](char c) { return llvm::isAlpha(c) || c == '_'; });
  for (const ProblemToken &token : kTokens)
    if (token.name == (token.form == Word || token.form == Element ? word : letters))
      return &token;
  return nullptr;
}

std::string attn::describeUnknownToken(StringRef word) {
  StringRef name = word.split('=').first.take_front(32);
  StringRef letters = name.rtrim("0123456789?");
  const ProblemToken *nearest = nullptr;
  unsigned nearestDistance = 3;
  for (const ProblemToken &token : kTokens) {
    unsigned distance = token.name.edit_distance(token.form == Element ? name : letters);
    if (distance < nearestDistance && distance < token.name.size())
      nearest = &token, nearestDistance = distance;
  }
  if (nearest)
    return llvm::formatv("did you mean '{0}'?", nearest->name);
  return "write one of " +
         llvm::join(llvm::map_range(kTokens, [](const ProblemToken &token) { return token.name; }), ", ");
}
