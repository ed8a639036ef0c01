//===- Lexer.cpp - PTX text → tokens --------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Lexer.h"

#include "llvm/ADT/StringExtras.h"

#include <bit>

using namespace llvm;
using namespace attn::ptx;

namespace {

bool isWordStart(char c) { return isAlpha(c) || c == '_' || c == '$' || c == '%'; }
bool isWordPart(char c) { return isAlnum(c) || c == '_' || c == '$'; }

class Lexer {
public:
  explicit Lexer(StringRef source) : rest(source) {}
  Token next();

private:
  StringRef rest;
  int line = 1;

  /// Makes a token of the first `size` characters, or of the rest.
  Token take(Token::Kind kind, size_t size) {
    size = std::min(size, rest.size());
    Token token{kind, rest.take_front(size), 0, line};
    rest = rest.drop_front(size);
    return token;
  }
  Token invalid(StringRef why) { return {Token::Kind::Invalid, why, 0, line}; }
  bool skipSpace();
  Token number();
};

/// False for an unterminated comment.
bool Lexer::skipSpace() {
  while (!rest.empty()) {
    if (isSpace(rest.front())) {
      line += rest.front() == '\n';
      rest = rest.drop_front();
    } else if (rest.starts_with("//")) {
      rest = rest.drop_until([](char c) { return c == '\n'; });
    } else if (rest.starts_with("/*")) {
      size_t end = rest.find("*/", 2);
      if (end == StringRef::npos)
        return false;
      line += int(rest.take_front(end).count('\n'));
      rest = rest.drop_front(end + 2);
    } else {
      break;
    }
  }
  return true;
}

Token Lexer::number() {
  auto hexFloat = [&](size_t digits, Token::Kind kind) {
    Token token = take(kind, 2 + digits);
    if (token.text.size() != 2 + digits || token.text.drop_front(2).getAsInteger(16, token.bits))
      return invalid("expected 8 hexadecimal digits after 0f, 16 after 0d");
    return token;
  };
  if (rest.starts_with_insensitive("0f"))
    return hexFloat(8, Token::Kind::Float32);
  if (rest.starts_with_insensitive("0d"))
    return hexFloat(16, Token::Kind::Float64);
  size_t size = 0;
  const bool isHex = rest.starts_with_insensitive("0x");
  bool isFloat = false;
  while (size < rest.size()) {
    const char c = rest[size];
    if (!isHex && (c == '.' || ((c == '+' || c == '-') && size > 0 && toLower(rest[size - 1]) == 'e')))
      isFloat = true;
    else if (!isAlnum(c))
      break;
    ++size;
  }
  if (!isHex && rest.take_front(size).contains_insensitive("e"))
    isFloat = true;
  Token token = take(isFloat ? Token::Kind::Float64 : Token::Kind::Integer, size);
  if (isFloat) {
    double value;
    if (token.text.getAsDouble(value))
      return invalid("expected a number");
    token.bits = std::bit_cast<uint64_t>(value);
    return token;
  }
  StringRef digits = token.text;
  if (!digits.consume_back("U"))
    digits.consume_back("u");
  // Base 0 reads 0x, 0b and a leading 0 as C does.
  if (digits.getAsInteger(0, token.bits))
    return invalid("expected an integer");
  return token;
}

Token Lexer::next() {
  if (!skipSpace())
    return invalid("expected */ before the end");
  if (rest.empty())
    return {Token::Kind::End, rest, 0, line};
  const char c = rest.front();
  if (isWordStart(c)) {
    size_t size = 1;
    while (size < rest.size() && isWordPart(rest[size]))
      ++size;
    return take(Token::Kind::Word, size);
  }
  if (c == '.') {
    size_t size = 1;
    while (size < rest.size()) {
      if (isWordPart(rest[size]))
        ++size;
      else if (rest.substr(size).starts_with("::"))
        size += 2;
      else
        break;
    }
    return take(Token::Kind::Dotted, size);
  }
  if (isDigit(c))
    return number();
  if (c == '"') {
    size_t end = rest.find('"', 1);
    return end == StringRef::npos ? invalid("expected a closing quote") : take(Token::Kind::String, end + 1);
  }
  if (StringRef("()[]{}<>,;:@!|+-*/=&~^%?").contains(c))
    return take(Token::Kind::Punctuation, 1);
  return invalid("expected PTX, found a character that starts no token");
}

} // namespace

std::vector<Token> attn::ptx::tokenize(StringRef source) {
  Lexer lexer(source);
  std::vector<Token> tokens;
  do
    tokens.push_back(lexer.next());
  while (tokens.back().kind != Token::Kind::End && tokens.back().kind != Token::Kind::Invalid);
  return tokens;
}
