//===- OtherWords.h - words of other systems, and misspelt ones -*- C++ -*-===//
//
// OtherWords.def as data, and the name that a misspelt one is nearest to.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_SUPPORT_OTHERWORDS_H
#define ATTN_SUPPORT_OTHERWORDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace attn {

/// A row of OtherWords.def.
struct OtherWord {
  llvm::StringLiteral names;     ///< separated by commas
  llvm::StringLiteral attribute; ///< of attn.sdpa; empty where it is none
  llvm::StringLiteral line;      ///< completes "write …" in a problem line
};

llvm::ArrayRef<OtherWord> getOtherWords();
/// The row of a name, whatever its case and its underscores, hyphens and dots are; null where no system has it.
const OtherWord *findOtherWord(llvm::StringRef name);
/// The op of attn that other systems call so, without its prefix; empty where none does.
llvm::StringRef findOtherOp(llvm::StringRef name);

/// A name in lower case, without underscores, hyphens, dots and blanks.
std::string dropSeparators(llvm::StringRef name);
/// True for two names that differ in these alone.
bool isSameName(llvm::StringRef a, llvm::StringRef b);
/// Which of the known names a misspelt one is for: the same but for case and separators, the same letters in another
/// order, or few letters away. Of equals the last; empty where there is none.
llvm::StringRef findNearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);

} // namespace attn

#endif // ATTN_SUPPORT_OTHERWORDS_H
