//===- Words.cpp - the words of attn.sdpa and their values ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Support/Words.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cmath>

using namespace attn;
using llvm::StringRef;
using enum WordForm;
using enum WordShape;
using enum WordElement;
using enum WordCounts;
using enum WordStands;

/// The range of #attn.window: a 32-bit offset may add to a distance as large as the number of keys.
static constexpr int64_t kMaxWindowBound = int64_t(1) << 40;

static constexpr WordInfo kWords[] = {
#define ATTN_ATTRIBUTE(NAME, ...) {.word = Word::NAME, .name = #NAME, .kind = WordKind::Attribute, __VA_ARGS__},
#define ATTN_MASK_ATTRIBUTE(NAME, ...)                                                                                 \
  {.word = Word::NAME, .name = #NAME, .kind = WordKind::MaskAttribute, __VA_ARGS__},
#define ATTN_OPERAND(NAME, ...) {.word = Word::NAME, .name = #NAME, .kind = WordKind::Operand, __VA_ARGS__},
#define ATTN_MASK_OPERAND(NAME, ...) {.word = Word::NAME, .name = #NAME, .kind = WordKind::MaskOperand, __VA_ARGS__},
#include "attn/Support/Words.def"
};

llvm::ArrayRef<WordInfo> attn::getWords() { return kWords; }
const WordInfo &attn::getWord(Word word) { return kWords[size_t(word)]; }

const WordInfo *attn::findWord(StringRef name) {
  const auto *found = llvm::find_if(kWords, [&](const WordInfo &word) { return word.name == name; });
  return found == std::end(kWords) ? nullptr : found;
}

const WordInfo &attn::getLengths(WordCounts counts) {
  return *llvm::find_if(kWords, [&](const WordInfo &word) { return word.counts == counts && word.stands == ByToken; });
}

const WordInfo &attn::getOffset() {
  return *llvm::find_if(kWords, [](const WordInfo &word) { return word.stands == BesideOffset; });
}

std::string attn::joinPlacedWords() {
  auto placed = llvm::make_filter_range(kWords, [](const WordInfo &word) { return word.isPlaced; });
  return llvm::join(llvm::map_range(placed, [](const WordInfo &word) { return word.token; }), " or ");
}

std::optional<Alignment> WordValues::getAlignment() const {
  for (const WordInfo &word : kWords)
    if (const auto *alignment = get<Alignment>(word.word))
      return *alignment;
  return std::nullopt;
}

bool WordValues::hasPlaced() const {
  return llvm::any_of(kWords, [&](const WordInfo &word) { return word.isPlaced && has(word.word); });
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

std::optional<int64_t> attn::parseSize(StringRef text, int64_t minimum, int64_t maximum) {
  uint64_t size;
  if (text.getAsInteger(10, size) || size < uint64_t(minimum) || size > uint64_t(maximum))
    return std::nullopt;
  return int64_t(size);
}

static std::optional<Alignment> parseAlignment(StringRef text) {
  for (Alignment alignment : {Alignment::TopLeft, Alignment::BottomRight, Alignment::Offset})
    if (text == printAlignment(alignment))
      return alignment;
  return std::nullopt;
}

/// L,R; a side is omitted where it is unbounded.
static std::optional<KeyBounds> parseBounds(StringRef text) {
  if (text.count(',') != 1)
    return std::nullopt;
  KeyBounds bounds;
  auto [left, right] = text.split(',');
  for (auto [side, bound] : {std::pair(left, &bounds.left), std::pair(right, &bounds.right)})
    if (!side.empty() && !(*bound = parseSize(side, 0, kMaxWindowBound)))
      return std::nullopt;
  return bounds;
}

static std::optional<double> parseReal(StringRef text, WordForm form) {
  double real;
  if (text.getAsDouble(real) || !std::isfinite(real) || (form == Positive && real <= 0) ||
      (form == Probability && (real < 0 || real > 1)))
    return std::nullopt;
  return real;
}

static std::optional<ScoreShape> parseScoreShape(StringRef text) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  ScoreShape shape;
  if (parts.size() != shape.size())
    return std::nullopt;
  for (auto [part, size] : llvm::zip_equal(parts, shape)) {
    std::optional<int64_t> parsed = part == "?" ? kDynamicSize : parseSize(part, 0);
    if (!parsed)
      return std::nullopt;
    size = *parsed;
  }
  return shape;
}

template <typename T> static std::optional<WordValue> toValue(std::optional<T> value) {
  return value ? std::optional<WordValue>(*value) : std::nullopt;
}

std::optional<WordValue> attn::parseWordValue(const WordInfo &word, StringRef text) {
  switch (word.form) {
  case None: return std::nullopt;
  case Aligned: return toValue(parseAlignment(text));
  case Bounds: return toValue(parseBounds(text));
  case Integer: return toValue(parseSize(text, word.minimum));
  case Positive:
  case Real:
  case Probability: return toValue(parseReal(text, word.form));
  case ScoreSizes: return word.element == Bool && text == "bool" ? kFullScoreShape : toValue(parseScoreShape(text));
  case Presence: return true;
  }
  llvm_unreachable("all forms are handled");
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

StringRef attn::printAlignment(Alignment alignment) {
  switch (alignment) {
  case Alignment::TopLeft: return "top_left";
  case Alignment::BottomRight: return "bottom_right";
  case Alignment::Offset: return "offset";
  }
  llvm_unreachable("all alignments are handled");
}

std::string attn::printSize(int64_t size) { return size == kDynamicSize ? "?" : std::to_string(size); }

std::string attn::printReal(double real) {
  char buffer[32];
  std::to_chars_result result = std::to_chars(buffer, std::end(buffer), real);
  return std::string(buffer, result.ptr);
}

namespace {
/// In a problem line.
struct TextPrinter {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool) const { return ""; }
  std::string operator()(Alignment alignment) const { return printAlignment(alignment).str(); }
  std::string operator()(const KeyBounds &bounds) const {
    auto print = [](std::optional<int64_t> bound) { return bound ? std::to_string(*bound) : std::string(); };
    return print(bounds.left) + "," + print(bounds.right);
  }
  std::string operator()(int64_t number) const { return std::to_string(number); }
  std::string operator()(double real) const { return printReal(real); }
  std::string operator()(const ScoreShape &shape) const { return llvm::join(llvm::map_range(shape, printSize), ","); }
};
} // namespace

std::string attn::printWordValue(const WordValue &value) { return std::visit(TextPrinter(), value); }
