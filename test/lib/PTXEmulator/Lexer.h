//===- Lexer.h - PTX text → tokens ------------------------------*- C++ -*-===//
//
// Comments are dropped. A '.' starts a word of its own (".global", ".shared::cta", ".x"): an opcode is a word and the
// dotted words that follow it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_LEXER_H
#define ATTN_TEST_PTXEMULATOR_LEXER_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn::ptx {

struct Token {
  enum class Kind : uint8_t {
    End,
    Word,    ///< ld, %r1, $L__BB0_1
    Dotted,  ///< .global, with its dot
    Integer, ///< value in bits
    Float32, ///< 0f3F800000
    Float64, ///< 0d…, 1.5
    String,
    Punctuation, ///< one character
    Invalid,     ///< text is the reason
  };
  Kind kind = Kind::End;
  llvm::StringRef text;
  uint64_t bits = 0;
  int line = 0;

  bool is(char punctuation) const { return kind == Kind::Punctuation && text.front() == punctuation; }
  bool isDotted(llvm::StringRef name) const { return kind == Kind::Dotted && text == name; }
};

/// Ends with End, or with Invalid at the first character that cannot start a token.
std::vector<Token> tokenize(llvm::StringRef source);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_LEXER_H
