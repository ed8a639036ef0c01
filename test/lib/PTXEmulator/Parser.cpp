//===- Parser.cpp - PTX text → Module: directives -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Parser.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <bit>

using namespace llvm;
using namespace attn::ptx;

namespace {
/// More than any module needs; a larger value is a typing error that would take all memory.
constexpr uint64_t kLargestVariable = uint64_t(1) << 28;

uint64_t alignUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

std::string describe(const Token &token) {
  if (token.kind == Token::Kind::End)
    return "the end";
  return ("'" + token.text + "'").str();
}
} // namespace

bool Parser::failAt(int line, const Twine &text) {
  if (message.empty()) {
    message = text.str();
    messageLine = line;
  }
  return false;
}

bool Parser::fail(const Twine &expected) {
  const Token &token = peek();
  if (token.kind == Token::Kind::Invalid)
    return failAt(token.line, token.text);
  return failAt(token.line, "expected " + expected + ", found " + describe(token));
}

bool Parser::consume(char punctuation) {
  if (!peek().is(punctuation))
    return false;
  take();
  return true;
}

bool Parser::expect(char punctuation) { return consume(punctuation) || fail("'" + Twine(punctuation) + "'"); }

bool Parser::expectWord(StringRef what, StringRef &word) {
  if (peek().kind != Token::Kind::Word)
    return fail(what);
  word = take().text;
  return true;
}

bool Parser::expectInteger(StringRef what, uint64_t &value) {
  if (peek().kind != Token::Kind::Integer)
    return fail(what);
  value = take().bits;
  return true;
}

/// .loc and .file end with their line.
void Parser::skipLine() {
  const int line = peek().line;
  while (peek().line == line && !isAtEnd())
    take();
}

bool Parser::skipBraces() {
  int depth = 0;
  do {
    const Token &token = peek();
    if (isAtEnd())
      return fail("'}'");
    depth += token.is('{') - token.is('}');
    take();
  } while (depth > 0);
  return true;
}

bool Parser::skipToSemicolon() {
  while (!peek().is(';')) {
    if (isAtEnd())
      return fail("';'");
    take();
  }
  take();
  return true;
}

/// .align 16 .b8 name[32] = {1, 2}, other;
bool Parser::parseVariable(Space space, std::vector<Variable> &variables) {
  uint64_t align = 0;
  Type type = Type::None;
  uint64_t vector = 1;
  while (peek().kind == Token::Kind::Dotted) {
    const Token &token = take();
    if (token.text == ".align") {
      if (!expectInteger("an alignment", align))
        return false;
    } else if (token.text == ".attribute") {
      if (!expect('(') || !(take(), expect(')')))
        return false;
    } else if (token.text == ".v2" || token.text == ".v4") {
      vector = token.text.back() - '0';
    } else if (type = parseType(token.text); type == Type::None) {
      return failAt(token.line, "expected .align or a type, found '" + token.text + "'");
    }
  }
  if (type == Type::None)
    return fail("a type");
  do {
    StringRef name;
    const int line = peek().line;
    if (!expectWord("a variable's name", name))
      return false;
    Variable variable{name.str(), space, align ? align : getBytes(type) * vector, getBytes(type) * vector, {}, line};
    if (!isPowerOf2_64(variable.align))
      return failAt(line, "expected an alignment that is a power of two, found " + Twine(align));
    bool isOpen = false;
    while (consume('[')) {
      uint64_t count = 0;
      if (peek().is(']'))
        isOpen = true;
      else if (!expectInteger("a number of elements", count))
        return false;
      if (!isOpen && (count > kLargestVariable || variable.size * count > kLargestVariable))
        return failAt(line, "expected at most 256 MiB for '" + name + "'");
      variable.size *= count;
      if (!expect(']'))
        return false;
    }
    if (consume('=') && !parseInitializer(type, variable))
      return false;
    if (isOpen)
      variable.size = variable.data.size();
    variables.push_back(std::move(variable));
  } while (consume(','));
  return expect(';');
}

bool Parser::parseInitializer(Type type, Variable &variable) {
  const bool isList = consume('{');
  do {
    if (isList && peek().is('{')) // rows of a matrix are consecutive
      return fail("a number (nested lists are not read)");
    const bool negative = consume('-');
    const Token &token = peek();
    uint64_t bits = token.bits;
    if (token.kind == Token::Kind::Float64 && type == Type::F32)
      bits = std::bit_cast<uint32_t>(float(std::bit_cast<double>(bits)));
    else if (token.kind != Token::Kind::Integer && token.kind != Token::Kind::Float32 &&
             token.kind != Token::Kind::Float64)
      return fail("a number");
    if (negative && token.kind != Token::Kind::Integer)
      return fail("a number without a sign");
    take();
    bits = negative ? 0 - bits : bits;
    for (unsigned i = 0; i < getBytes(type); ++i)
      variable.data.push_back(uint8_t(bits >> (8 * i)));
  } while (isList && consume(','));
  if (variable.size && variable.data.size() > variable.size)
    return failAt(variable.line, "expected at most " + Twine(variable.size) + " bytes of initial data, found " +
                                     Twine(variable.data.size()));
  return !isList || expect('}');
}

bool Parser::parseParameters(std::vector<Parameter> &parameters) {
  if (!expect('('))
    return false;
  uint64_t offset = 0;
  while (!consume(')')) {
    if (!parameters.empty() && !expect(','))
      return false;
    if (peek().isDotted(".reg"))
      return fail(".param (parameters in registers are not read)");
    if (!peek().isDotted(".param"))
      return fail(".param");
    take();
    Parameter parameter{"", Type::None, 0, 0, 0};
    uint64_t pointerAlign = 0;
    bool isPointer = false;
    while (peek().kind == Token::Kind::Dotted) {
      const Token &token = take();
      if (token.text == ".align") {
        // After .ptr it is the alignment of the pointee.
        if (!expectInteger("an alignment", isPointer ? pointerAlign : parameter.align))
          return false;
      } else if (token.text == ".ptr") {
        isPointer = true;
      } else if (Type type = parseType(token.text); type != Type::None) {
        parameter.type = type;
      } else if (!isPointer) {
        return failAt(token.line, "expected a type, found '" + token.text + "'");
      }
    }
    StringRef name;
    if (parameter.type == Type::None)
      return fail("a type");
    if (!expectWord("a parameter's name", name))
      return false;
    parameter.name = name.str();
    parameter.size = getBytes(parameter.type);
    if (!parameter.align)
      parameter.align = parameter.size;
    if (consume('[')) {
      uint64_t count;
      if (!expectInteger("a number of elements", count) || !expect(']'))
        return false;
      parameter.size *= count;
    }
    offset = alignUp(offset, parameter.align);
    parameter.offset = offset;
    offset += parameter.size;
    parameters.push_back(std::move(parameter));
  }
  return true;
}

/// .maxntid 128, 1, 1 and the like, between the parameters and the body.
bool Parser::parseAttributes(Function &result) {
  while (peek().kind == Token::Kind::Dotted) {
    const StringRef name = take().text;
    SmallVector<uint32_t, 3> numbers;
    while (peek().kind == Token::Kind::Integer) {
      numbers.push_back(uint32_t(take().bits));
      if (!consume(','))
        break;
    }
    if (name == ".reqntid")
      result.requiredBlock = numbers;
    else if (name == ".maxntid")
      result.largestBlock = numbers;
    else if (name == ".maxnreg" && !numbers.empty())
      result.maxRegisters = numbers[0];
    else if (name == ".minnctapersm" && !numbers.empty())
      result.minBlocks = numbers[0];
    else if (name == ".pragma" && !skipToSemicolon())
      return false;
  }
  return true;
}

bool Parser::parseFunction(bool isEntry) {
  if (!isEntry && peek().is('(')) { // the results of a function
    while (!consume(')')) {
      if (isAtEnd())
        return fail("')'");
      take();
    }
  }
  StringRef name;
  if (!expectWord("a function's name", name))
    return false;
  Function result;
  result.name = name.str();
  result.isEntry = isEntry;
  if (!isEntry) {
    // Calls are not emulated, so functions are skipped.
    while (!peek().is('{') && !peek().is(';')) {
      if (isAtEnd())
        return fail("'{' or ';'");
      take();
    }
    return peek().is('{') ? skipBraces() : expect(';');
  }
  if (peek().is('(') && !parseParameters(result.parameters))
    return false;
  for (const Parameter &parameter : result.parameters)
    result.parameterBytes = std::max(result.parameterBytes, parameter.offset + parameter.size);
  if (!parseAttributes(result))
    return false;
  if (consume(';'))
    return true;
  module.functions.push_back(std::move(result));
  function = &module.functions.back();
  return parseBody();
}

bool Parser::parseDirective() {
  if (peek().kind != Token::Kind::Dotted)
    return fail("a directive");
  const Token &token = take();
  const StringRef name = token.text;
  if (name == ".version" || name == ".loc" || name == ".file") {
    --position;
    skipLine();
    return true;
  }
  if (name == ".target") {
    module.target = peek().text.str();
    position = &token - tokens.data();
    skipLine();
    return true;
  }
  if (name == ".address_size") {
    uint64_t bits;
    if (!expectInteger("64", bits))
      return false;
    return bits == 64 || failAt(token.line, "expected .address_size 64, found " + Twine(bits));
  }
  if (name == ".section") {
    take();
    return skipBraces();
  }
  if (name == ".pragma" || name == ".alias")
    return skipToSemicolon();
  if (name == ".visible" || name == ".weak" || name == ".extern" || name == ".common")
    return true;
  if (name == ".entry" || name == ".func")
    return parseFunction(name == ".entry");
  const std::optional<Space> space = StringSwitch<std::optional<Space>>(name)
                                         .Case(".global", Space::Global)
                                         .Case(".shared", Space::Shared)
                                         .Case(".const", Space::Const)
                                         .Default(std::nullopt);
  if (space)
    return parseVariable(*space, module.variables);
  return failAt(token.line, "expected a directive of a module, found '" + name + "'");
}

bool Parser::parse() {
  while (peek().kind != Token::Kind::End)
    if (!parseDirective())
      return false;
  return true;
}

std::string Statement::opcode() const {
  std::string text = name.str();
  for (StringRef modifier : modifiers)
    text += modifier;
  return text;
}

const Function *Module::findEntry(StringRef name) const {
  for (const Function &candidate : functions)
    if (candidate.isEntry && candidate.name == name)
      return &candidate;
  return nullptr;
}

Expected<Module> attn::ptx::parseModule(std::string text, StringRef fileName) {
  Module module;
  module.text = std::make_unique<std::string>(std::move(text));
  Parser parser(*module.text, module);
  if (!parser.parse())
    return createStringError(fileName + ":" + Twine(parser.messageLine) + ": " + parser.message);
  return module;
}
