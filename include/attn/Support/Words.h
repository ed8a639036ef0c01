//===- Words.h - the words of attn.sdpa and their values --------*- C++ -*-===//
//
// Words.def as data, and values of words in the form of a problem line, its IR, header and manifest.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_SUPPORT_WORDS_H
#define ATTN_SUPPORT_WORDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace attn {

/// The words by their names.
enum class Word : uint8_t {
#define ATTN_ATTRIBUTE(NAME, ...) NAME,
#define ATTN_OPERAND(NAME, ...) NAME,
#include "attn/Support/Words.def"
};

/// The op of a chain that has the word, and its form in attn.sdpa: one of attn.mask, or of another op.
enum class WordKind : uint8_t { Attribute, MaskAttribute, Operand, MaskOperand };
/// How a value is written.
enum class WordForm : uint8_t { None, Aligned, Bounds, Integer, Positive, Real, Probability, ScoreSizes, Presence };
/// The shape of an operand. PerKey is (kv_heads), or (batch, kv_heads, keys); PrefixSums has one more than PerBatch.
enum class WordShape : uint8_t { Other, Scores, PerHead, PerBatch, PerKey, PrefixSums, Number };
enum class WordElement : uint8_t { OfQuery, Accumulation, Bool, I32, I64, F32 };
/// What the integers of an operand count for each sequence.
enum class WordCounts : uint8_t { Nothing, Queries, Keys };
/// When an operand is an argument of a problem: if its own token is present, or something else requires it.
enum class WordStands : uint8_t { ByToken, BesideWord, BesideOffset, WherePacked, BesideQuantised, InIROnly };

/// A row of Words.def.
struct WordInfo {
  Word word;
  llvm::StringLiteral name; ///< of the attribute or operand of attn.sdpa
  WordKind kind;
  WordForm form = WordForm::None;
  int64_t minimum = 0;
  llvm::StringLiteral token = "";    ///< of problem lines
  llvm::StringLiteral what = "";     ///< completes "expected …"
  llvm::StringLiteral example = "";  ///< completes "write …"
  llvm::StringLiteral assembly = ""; ///< completes "write …" in IR
  llvm::StringLiteral argument = "";
  WordShape shape = WordShape::Other;
  WordElement element = WordElement::OfQuery;
  WordCounts counts = WordCounts::Nothing;
  WordStands stands = WordStands::ByToken;
  Word beside = Word{};               ///< the word that implies it
  llvm::StringLiteral notPacked = ""; ///< why it excludes packed sequences; empty where it does not
  bool ignoresRows = false;           ///< removes keys by their own positions only
  llvm::StringLiteral sentence = "";  ///< for a header, with {0} for the value
  llvm::StringLiteral condition = ""; ///< for a header, on j; {0} is the value, {1} the key on the diagonal
  bool isPlaced = false;              ///< removes keys by their position relative to an alignment's diagonal
  bool isDistance = false;            ///< removes keys only by their distance from that diagonal
  llvm::StringLiteral meaning = "";   ///< of a keyword of Python, if it needs no code there

  bool isAttribute() const { return kind == WordKind::Attribute || kind == WordKind::MaskAttribute; }
};

llvm::ArrayRef<WordInfo> getWords();
const WordInfo &getWord(Word word);
/// The word of that name; null where there is none.
const WordInfo *findWord(llvm::StringRef name);
/// The lengths of the sequences, of queries or of keys.
const WordInfo &getLengths(WordCounts counts);
/// The operand that defines the diagonal for Alignment::Offset.
const WordInfo &getOffset();
/// The tokens of the words with a diagonal, joined by "or".
std::string joinPlacedWords();

enum class Alignment : uint8_t { TopLeft, BottomRight, Offset };
/// Inclusive; a side of nullopt is unbounded.
struct KeyBounds {
  std::optional<int64_t> left, right;
  bool operator==(const KeyBounds &) const = default;
};
/// Sizes over (batch, head, query, key), each 1 or that of the problem.
using ScoreShape = std::array<int64_t, 4>;
/// A size known only at run time.
constexpr int64_t kDynamicSize = -1;
/// The meaning of `mask=bool` until all sizes are known.
constexpr ScoreShape kFullScoreShape = {-2, -2, -2, -2};

/// `true` stands for an operand that is present.
using WordValue = std::variant<std::monostate, bool, Alignment, KeyBounds, int64_t, double, ScoreShape>;

/// The words that a problem or a kernel has, with their values.
class WordValues {
public:
  bool has(Word word) const { return !std::holds_alternative<std::monostate>((*this)[word]); }
  const WordValue &operator[](Word word) const { return values[size_t(word)]; }
  WordValue &operator[](Word word) { return values[size_t(word)]; }
  /// The value of a word, or null where the word is absent.
  template <typename T> const T *get(Word word) const { return std::get_if<T>(&(*this)[word]); }
  /// The alignment that defines the diagonal of words.
  std::optional<Alignment> getAlignment() const;
  /// True if a word with such a diagonal is present.
  bool hasPlaced() const;

  bool operator==(const WordValues &) const = default;

private:
  static constexpr size_t kCount = 0
#define ATTN_ATTRIBUTE(NAME, ...) +1
#define ATTN_OPERAND(NAME, ...) +1
#include "attn/Support/Words.def"
      ;
  std::array<WordValue, kCount> values;
};

/// The value of a word in a problem line, without its name; nullopt where it is malformed.
std::optional<WordValue> parseWordValue(const WordInfo &word, llvm::StringRef text);
/// The inverse of parseWordValue.
std::string printWordValue(const WordValue &value);

/// A size from `minimum` to `maximum`, as a decimal number.
std::optional<int64_t> parseSize(llvm::StringRef text, int64_t minimum, int64_t maximum = (int64_t(1) << 31) - 1);
/// A number, or `?`.
std::string printSize(int64_t size);
/// The shortest decimal that reads back as the same value.
std::string printReal(double real);
llvm::StringRef printAlignment(Alignment alignment);

} // namespace attn

#endif // ATTN_SUPPORT_WORDS_H
