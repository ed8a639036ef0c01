//===- Text.h - text files as editors write them ----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_TEXT_H
#define ATTN_SUPPORT_TEXT_H

#include "llvm/ADT/StringRef.h"

namespace attn {

/// The text without UTF-8's byte order mark, which some editors write at its start.
inline llvm::StringRef dropByteOrderMark(llvm::StringRef text) {
  text.consume_front("\xef\xbb\xbf");
  return text;
}

} // namespace attn

#endif // ATTN_SUPPORT_TEXT_H
