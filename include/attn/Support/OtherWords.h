//===- OtherWords.h - words of other systems, and misspelt ones -*- C++ -*-===//
//
// OtherWords.def as data, and the nearest name to a misspelt one.
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
  llvm::StringLiteral attribute; ///< of attn.sdpa; empty where there is none
  llvm::StringLiteral line;      ///< completes "write …" in a problem line
};

llvm::ArrayRef<OtherWord> getOtherWords();
/// The row of a name, ignoring case, underscores, hyphens and dots; null where no system has it.
const OtherWord *findOtherWord(llvm::StringRef name);
/// The attn op that other systems call by this name, without its prefix; empty where there is none.
llvm::StringRef findOtherOp(llvm::StringRef name);

/// A name in lower case, without underscores, hyphens, dots and blanks.
std::string dropSeparators(llvm::StringRef name);
/// True for two names that differ only in these.
bool isSameName(llvm::StringRef a, llvm::StringRef b);
/// The known name that a misspelt one is meant for: equal up to case and separators, with swapped letters, or a few
/// letters away. The last one of equal candidates; empty where there is none.
llvm::StringRef findNearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);

} // namespace attn

#endif // ATTN_SUPPORT_OTHERWORDS_H
