//===- ParseBody.cpp - PTX text → Module: the body of a function ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace attn::ptx;

namespace {
/// More registers than any kernel has; each needs a row of lanes.
constexpr size_t kMostRegisters = 1 << 17;
/// The deepest nesting of braces and brackets, which are parsed recursively.
constexpr int kDeepest = 64;
} // namespace

bool Parser::parseBody() {
  scopes.clear();
  labels.clear();
  tables.clear();
  uses.clear();
  nextScope = 0;
  return parseScope() && resolveLabels();
}

bool Parser::parseScope() {
  if (!expect('{'))
    return false;
  if (scopes.size() >= kDeepest)
    return fail("at most " + Twine(kDeepest) + " scopes within each other");
  scopes.push_back({nextScope++, {}, {}});
  while (!consume('}'))
    if (!parseStatement())
      return false;
  scopes.pop_back();
  return true;
}

/// .reg .b32 %r<8>, %x;
bool Parser::parseRegisters() {
  Type type = Type::None;
  while (peek().kind == Token::Kind::Dotted) {
    const Token &token = take();
    type = parseType(token.text);
    if (type == Type::None)
      return failAt(token.line, "expected a register's type, found '" + token.text + "'");
  }
  if (type == Type::None)
    return fail("a register's type");
  do {
    StringRef name;
    if (!expectWord("a register's name", name))
      return false;
    const uint32_t first = function->registers.size();
    uint64_t count = 1;
    if (consume('<')) {
      if (!expectInteger("a number of registers", count) || !expect('>'))
        return false;
      if (count > kMostRegisters || first + count > kMostRegisters)
        return fail("at most " + Twine(kMostRegisters) + " registers");
      scopes.back().ranges[name] = {first, uint32_t(count)};
      for (uint64_t i = 0; i < count; ++i)
        function->registers.push_back({(name + Twine(i)).str(), type});
    } else {
      scopes.back().registers[name] = first;
      function->registers.push_back({name.str(), type});
    }
  } while (consume(','));
  return expect(';');
}

std::optional<uint32_t> Parser::findRegister(StringRef name) const {
  StringRef prefix = name.rtrim("0123456789");
  const StringRef digits = name.drop_front(prefix.size());
  for (const Scope &scope : reverse(scopes)) {
    if (auto found = scope.registers.find(name); found != scope.registers.end())
      return found->second;
    // %r1<4> declares %r10 … %r13: any split of the digits may be the declared one.
    for (size_t split = 0; split < digits.size(); ++split) {
      uint32_t number;
      auto found = scope.ranges.find(name.take_front(prefix.size() + split));
      if (found == scope.ranges.end() || digits.drop_front(split).getAsInteger(10, number) ||
          number >= found->second.second)
        continue;
      return found->second.first + number;
    }
  }
  return std::nullopt;
}

bool Parser::parseName(Operand &operand) {
  const Token &token = take();
  operand.text = token.text;
  if (token.text == "_") {
    operand.kind = Operand::Kind::Sink;
    return true;
  }
  if (auto reg = findRegister(token.text)) {
    operand.kind = Operand::Kind::Register;
    operand.reg = *reg;
    return true;
  }
  if (token.text.starts_with("%")) {
    operand.kind = Operand::Kind::Special;
    if (peek().kind == Token::Kind::Dotted) {
      const StringRef part = take().text;
      operand.text = StringRef(token.text.data(), part.end() - token.text.begin());
    }
    return true;
  }
  operand.kind = Operand::Kind::Symbol;
  return true;
}

/// [%rd1+16], [name+4], [128], [%rd1, {%r1, %r2}]
bool Parser::parseAddress(Operand &operand, int depth) {
  operand.kind = Operand::Kind::Address;
  operand.parts.emplace_back();
  if (!parseOperand(operand.parts[0], depth + 1))
    return false;
  operand.offset = std::exchange(operand.parts[0].offset, 0);
  while (peek().is('+') || peek().is('-')) {
    const bool negative = take().is('-');
    const bool negativeNumber = consume('-');
    uint64_t offset;
    if (!expectInteger("an offset", offset))
      return false;
    operand.offset += negative != negativeNumber ? -int64_t(offset) : int64_t(offset);
  }
  // The coordinates in a tensor.
  if (consume(',')) {
    operand.parts.emplace_back();
    if (!parseOperand(operand.parts.back(), depth + 1))
      return false;
  }
  return expect(']');
}

bool Parser::parseOperand(Operand &operand, int depth) {
  if (depth > kDeepest)
    return fail("at most " + Twine(kDeepest) + " brackets within each other");
  if (consume('['))
    return parseAddress(operand, depth);
  if (consume('{')) {
    operand.kind = Operand::Kind::Vector;
    do {
      operand.parts.emplace_back();
      if (!parseOperand(operand.parts.back(), depth + 1))
        return false;
    } while (consume(','));
    return expect('}');
  }
  if (consume('!')) {
    operand.negated = true;
    if (peek().kind != Token::Kind::Word)
      return fail("a predicate");
    return parseName(operand);
  }
  const bool negative = consume('-');
  const Token &token = peek();
  switch (token.kind) {
  case Token::Kind::Integer:
    operand.kind = Operand::Kind::Integer;
    operand.bits = negative ? 0 - take().bits : take().bits;
    return true;
  case Token::Kind::Float32:
    operand.kind = Operand::Kind::Float32;
    operand.bits = take().bits ^ (negative ? uint64_t(1) << 31 : 0);
    return true;
  case Token::Kind::Float64:
    operand.kind = Operand::Kind::Float64;
    operand.bits = take().bits ^ (negative ? uint64_t(1) << 63 : 0);
    return true;
  default: break;
  }
  if (negative || token.kind != Token::Kind::Word)
    return fail("an operand");
  if (!parseName(operand))
    return false;
  if (operand.kind == Operand::Kind::Symbol && (peek().is('+') || peek().is('-'))) {
    const bool minus = take().is('-');
    uint64_t offset;
    if (!expectInteger("an offset", offset))
      return false;
    operand.offset = minus ? -int64_t(offset) : int64_t(offset);
  }
  if (consume('|')) {
    Operand first = std::move(operand);
    operand = Operand();
    operand.kind = Operand::Kind::Pair;
    operand.parts.push_back(std::move(first));
    operand.parts.emplace_back();
    return parseOperand(operand.parts.back(), depth + 1);
  }
  return true;
}

void Parser::useLabel(uint32_t statement, StringRef name, bool isTable) {
  LabelUse use{statement, name, {}, peek().line, isTable};
  for (const Scope &scope : scopes)
    use.scopes.push_back(scope.id);
  uses.push_back(std::move(use));
}

/// bra LABEL;  brx.idx %r1, TABLE;
bool Parser::parseTargets(Statement &statement) {
  StringRef name;
  const bool isTable = statement.name == "brx";
  if (isTable) {
    statement.operands.emplace_back();
    if (!parseOperand(statement.operands.back()) || !expect(','))
      return false;
  }
  if (!expectWord("a label", name))
    return false;
  useLabel(function->statements.size(), name, isTable);
  return true;
}

/// TABLE: .branchtargets A, B;
bool Parser::parseBranchTargets(StringRef table) {
  do {
    StringRef name;
    if (!expectWord("a label", name))
      return false;
    tables[table].push_back(name);
  } while (consume(','));
  return expect(';');
}

bool Parser::parseStatement() {
  if (peek().is('{'))
    return parseScope();
  if (consume(';'))
    return true;
  if (peek().kind == Token::Kind::Dotted) {
    const StringRef name = peek().text;
    if (name == ".loc" || name == ".file") {
      skipLine();
      return true;
    }
    take();
    if (name == ".reg")
      return parseRegisters();
    if (name == ".shared" || name == ".local")
      return parseVariable(name == ".shared" ? Space::Shared : Space::Local, function->variables);
    // .param in a body is for calls, which are refused where they occur.
    if (name == ".pragma" || name == ".param")
      return skipToSemicolon();
    return failAt(peek().line, "expected a statement, found '" + name + "'");
  }
  if (peek().kind == Token::Kind::Word && peek(1).is(':')) {
    const StringRef label = take().text;
    take();
    if (peek().isDotted(".branchtargets"))
      return take(), parseBranchTargets(label);
    if (peek().isDotted(".callprototype") || peek().isDotted(".calltargets"))
      return skipToSemicolon();
    const std::string key = (Twine(scopes.back().id) + ":" + label).str();
    if (!labels.try_emplace(key, function->statements.size()).second)
      return failAt(peek().line, "expected another name than '" + label + "', which is a label above");
    function->labels.emplace_back(label.str(), function->statements.size());
    return true;
  }
  Statement statement;
  statement.line = peek().line;
  if (consume('@')) {
    statement.guardNegated = consume('!');
    StringRef name;
    if (!expectWord("a predicate", name))
      return false;
    auto reg = findRegister(name);
    if (!reg || function->registers[*reg].type != Type::Pred)
      return failAt(statement.line, "expected a predicate register, found '" + name + "'");
    statement.guard = int(*reg);
  }
  if (!expectWord("an instruction", statement.name))
    return false;
  while (peek().kind == Token::Kind::Dotted)
    statement.modifiers.push_back(take().text);
  if (statement.name == "bra" || statement.name == "brx") {
    if (!parseTargets(statement))
      return false;
  } else if (statement.name == "call") {
    // The decoder refuses it by name; its operands have a grammar of their own.
    while (!peek().is(';') && !isAtEnd())
      take();
  } else {
    while (!peek().is(';')) {
      if (!statement.operands.empty() && !expect(','))
        return false;
      statement.operands.emplace_back();
      if (!parseOperand(statement.operands.back()))
        return false;
    }
  }
  function->statements.push_back(std::move(statement));
  return expect(';');
}

bool Parser::resolveLabels() {
  auto find = [&](const LabelUse &use, StringRef name) -> std::optional<uint32_t> {
    for (uint32_t scope : reverse(use.scopes))
      if (auto found = labels.find((Twine(scope) + ":" + name).str()); found != labels.end())
        return found->second;
    return std::nullopt;
  };
  for (const LabelUse &use : uses) {
    SmallVector<StringRef, 8> names = {use.name};
    if (use.isTable) {
      auto table = tables.find(use.name);
      if (table == tables.end())
        return failAt(use.line, "expected .branchtargets '" + use.name + "', found none");
      names = table->second;
    }
    for (StringRef name : names) {
      auto target = find(use, name);
      if (!target)
        return failAt(use.line, "expected a label '" + name + "', found none");
      function->statements[use.statement].targets.push_back(*target);
    }
  }
  return true;
}
