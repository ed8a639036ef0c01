//===- OtherWords.cpp - words of other systems, and misspelt ones ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Support/OtherWords.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn;
using llvm::StringRef;

/// At most one mistake per kLettersPerMistake letters, and at most kMaxMistakes.
static constexpr unsigned kLettersPerMistake = 3, kMaxMistakes = 2;

static constexpr OtherWord kOtherWords[] = {
#define ATTN_OTHER(NAMES, ATTRIBUTE, LINE, ...) {NAMES, ATTRIBUTE, LINE},
#include "attn/Support/OtherWords.def"
};

static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kOtherOps[] = {
#define ATTN_OTHER_OP(NAMES, OP) {NAMES, OP},
#include "attn/Support/OtherWords.def"
};

std::string attn::dropSeparators(StringRef name) {
  std::string letters = name.lower();
  llvm::erase_if(letters, [](char c) { return StringRef("_-. ").contains(c); });
  return letters;
}

bool attn::isSameName(StringRef a, StringRef b) { return dropSeparators(a) == dropSeparators(b); }

static bool isListed(StringRef names, StringRef name) {
  return llvm::any_of(llvm::split(names, ", "), [&](StringRef each) { return isSameName(each, name); });
}

llvm::ArrayRef<OtherWord> attn::getOtherWords() { return kOtherWords; }

const OtherWord *attn::findOtherWord(StringRef name) {
  const auto *found = llvm::find_if(kOtherWords, [&](const OtherWord &word) { return isListed(word.names, name); });
  return found == std::end(kOtherWords) ? nullptr : found;
}

StringRef attn::findOtherOp(StringRef name) {
  for (auto [names, op] : kOtherOps)
    if (isListed(names, name))
      return op;
  return "";
}

/// Swapped letters count as one mistake.
static unsigned countMistakes(StringRef a, StringRef b) {
  unsigned distance = a.edit_distance(b, /*AllowReplacements=*/true, kMaxMistakes);
  std::string sortedA = a.str(), sortedB = b.str();
  llvm::sort(sortedA);
  llvm::sort(sortedB);
  return distance > 1 && distance <= kMaxMistakes && sortedA == sortedB ? 1 : distance;
}

StringRef attn::findNearestName(StringRef name, llvm::ArrayRef<StringRef> known) {
  std::string letters = dropSeparators(name);
  StringRef nearest;
  unsigned fewest = kMaxMistakes;
  for (StringRef each : known) {
    std::string others = dropSeparators(each);
    unsigned mistakes = countMistakes(letters, others);
    if (mistakes <= fewest && mistakes * kLettersPerMistake <= std::max(letters.size(), others.size())) {
      nearest = each;
      fewest = mistakes;
    }
  }
  return nearest;
}
