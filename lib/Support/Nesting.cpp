//===- Nesting.cpp - the nesting depth of a source ------------------------===//
//
// One walk over the tokens of MLIR text, without recursion.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Support/Nesting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace attn;
using llvm::StringRef;

static constexpr StringRef kBytecode = "ML\xefR";

namespace {
/// An open bracket. Inside, operators nest their operands until a comma or the end.
struct Bracket {
  char open;
  unsigned operators = 0;
};

class NestingScanner {
public:
  explicit NestingScanner(StringRef text) : text(text) {}

  /// The position of the first bracket, operator or alias that is too deep.
  std::optional<size_t> findTooDeep() {
    while (at < text.size()) {
      size_t place = at;
      unsigned here = scanToken();
      if (alias)
        aliasDepth = std::max(aliasDepth, here);
      if (here > kMaxNesting)
        return place;
    }
    return std::nullopt;
  }

private:
  /// Consumes one token. Returns its depth, including that of an alias' definition.
  unsigned scanToken() {
    char c = text[at];
    if (c == '"')
      skipString();
    else if (text.substr(at).starts_with("//"))
      at = std::min(text.find('\n', at), text.size());
    else if (text.substr(at).starts_with("->") || text.substr(at).starts_with(">=") ||
             text.substr(at).starts_with("<="))
      at += 2;
    else if (StringRef("([{<").contains(c))
      open(c);
    else if (StringRef(")]}>").contains(c))
      close(c);
    else if ((c == '#' || c == '!') && brackets.empty() && startsAlias())
      ;
    else if (c == '#' || c == '!')
      return depth + aliases.lookup(takeName());
    else if (llvm::isAlpha(c) || c == '_' || c == '%' || c == '@' || c == '^')
      scanWord();
    else
      scanMark(c);
    return depth;
  }

  void scanMark(char c) {
    ++at;
    if (StringRef("+-*").contains(c))
      nestOperand();
    else if (c == ',')
      endOperands();
    else if (c == '\n' && brackets.empty() && alias && hasValue)
      endAlias();
    hasValue |= !llvm::isSpace(c);
  }

  void scanWord() {
    StringRef word = takeName();
    if (llvm::is_contained({"floordiv", "ceildiv", "mod"}, word))
      nestOperand();
    hasValue = true;
  }

  /// Counts operators of affine expressions, inside of brackets that are not a region.
  void nestOperand() {
    if (brackets.empty() || brackets.back().open == '{')
      return;
    ++brackets.back().operators;
    ++depth;
  }

  void endOperands() {
    if (brackets.empty())
      return;
    depth -= brackets.back().operators;
    brackets.back().operators = 0;
  }

  void open(char c) {
    ++at;
    hasValue = true;
    brackets.push_back({c});
    ++depth;
  }

  /// An unclosed angle bracket was a comparison.
  void close(char c) {
    ++at;
    char wanted = c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '<';
    if (llvm::none_of(brackets, [&](const Bracket &bracket) { return bracket.open == wanted; }))
      return;
    char last;
    do {
      endOperands();
      last = brackets.pop_back_val().open;
      --depth;
    } while (last != wanted);
  }

  /// `#name =` or `!name =`, at the start of a definition.
  bool startsAlias() {
    size_t start = at;
    StringRef name = takeName();
    size_t next = text.find_first_not_of(" \t\r\n", at);
    if (next == StringRef::npos || text[next] != '=' || text.substr(next).starts_with("==")) {
      at = start;
      return false;
    }
    endAlias();
    alias = name;
    hasValue = false;
    at = next + 1;
    return true;
  }

  void endAlias() {
    if (alias)
      aliases[*alias] = aliasDepth;
    alias.reset();
    aliasDepth = 0;
  }

  /// A word with its sigil.
  StringRef takeName() {
    size_t start = at++;
    while (at < text.size() && (llvm::isAlnum(text[at]) || StringRef("_$.").contains(text[at])))
      ++at;
    hasValue = true;
    return text.slice(start, at);
  }

  void skipString() {
    hasValue = true;
    // Of a model's weights, which are most of its text, the end is found by memchr.
    StringRef plain = text.slice(at + 1, text.find('"', at + 1));
    if (!plain.contains('\\') && !plain.contains('\n'))
      at += plain.size();
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      at += text[at] == '\\';
    at = std::min(at + 1, text.size());
  }

  StringRef text;
  size_t at = 0;
  unsigned depth = 0;
  llvm::SmallVector<Bracket> brackets;
  llvm::StringMap<unsigned> aliases; ///< depth of their definition
  std::optional<StringRef> alias;    ///< the alias being defined
  unsigned aliasDepth = 0;
  bool hasValue = false; ///< the definition has begun
};
} // namespace

llvm::Error attn::checkNesting(llvm::MemoryBufferRef source) {
  StringRef text = source.getBuffer(), name = source.getBufferIdentifier();
  // Behind the magic are a byte of the version and the producer, terminated.
  if (text.starts_with(kBytecode) && text.drop_front(kBytecode.size() + 1).split('\0').first == kReaderProducer)
    return llvm::Error::success();
  if (text.starts_with(kBytecode))
    return llvm::createStringError(name + ": expected MLIR as text, found bytecode; write it as text with mlir-opt");
  std::optional<size_t> place = NestingScanner(text).findTooDeep();
  if (!place)
    return llvm::Error::success();
  StringRef before = text.take_front(*place);
  size_t line = before.count('\n') + 1, column = *place - (before.rfind('\n') + 1) + 1;
  return llvm::createStringError(name + ":" + llvm::Twine(line) + ":" + llvm::Twine(column) +
                                 ": error: expected at most " + llvm::Twine(kMaxNesting) +
                                 " brackets and operators inside each other, found more");
}
