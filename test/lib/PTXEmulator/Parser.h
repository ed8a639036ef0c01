//===- Parser.h - shared by the files of the parser -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_PARSER_H
#define ATTN_TEST_PTXEMULATOR_PARSER_H

#include "Lexer.h"
#include "Syntax.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

namespace attn::ptx {

/// Each parse… function returns false after fail(), which keeps the first message.
class Parser {
public:
  Parser(llvm::StringRef source, Module &module) : tokens(tokenize(source)), module(module) {}
  bool parse();

  std::string message;
  int messageLine = 0;

private:
  struct LabelUse {
    uint32_t statement;
    llvm::StringRef name;
    llvm::SmallVector<uint32_t, 4> scopes; ///< innermost last
    int line;
    bool isTable;
  };
  struct Scope {
    uint32_t id;
    llvm::StringMap<uint32_t> registers;                   ///< %r → index
    llvm::StringMap<std::pair<uint32_t, uint32_t>> ranges; ///< %r of %r<8> → first, count
  };

  // Parser.cpp: tokens, directives of a module
  const Token &peek(size_t ahead = 0) const { return tokens[std::min(position + ahead, tokens.size() - 1)]; }
  /// At the end, take() returns the same token again.
  bool isAtEnd() const { return position + 1 >= tokens.size(); }
  const Token &take() { return tokens[position < tokens.size() - 1 ? position++ : position]; }
  bool consume(char punctuation);
  bool expect(char punctuation);
  bool expectWord(llvm::StringRef what, llvm::StringRef &word);
  bool expectInteger(llvm::StringRef what, uint64_t &value);
  bool fail(const llvm::Twine &expected);
  bool failAt(int line, const llvm::Twine &text);
  void skipLine();
  bool skipBraces();
  bool skipToSemicolon();
  bool parseDirective();
  bool parseVariable(Space space, std::vector<Variable> &variables);
  bool parseInitializer(Type type, Variable &variable);
  bool parseFunction(bool isEntry);
  bool parseParameters(std::vector<Parameter> &parameters);
  bool parseAttributes(Function &function);

  // ParseBody.cpp: the body of a function
  bool parseBody();
  bool parseScope();
  bool parseRegisters();
  bool parseBranchTargets(llvm::StringRef table);
  bool parseStatement();
  bool parseOperand(Operand &operand, int depth = 0);
  bool parseAddress(Operand &operand, int depth);
  bool parseName(Operand &operand);
  bool parseTargets(Statement &statement);
  std::optional<uint32_t> findRegister(llvm::StringRef name) const;
  void useLabel(uint32_t statement, llvm::StringRef name, bool isTable);
  bool resolveLabels();

  std::vector<Token> tokens;
  size_t position = 0;
  Module &module;
  Function *function = nullptr;
  std::vector<Scope> scopes;
  uint32_t nextScope = 0;
  llvm::StringMap<uint32_t> labels; ///< "scope:name" → statement
  llvm::StringMap<llvm::SmallVector<llvm::StringRef, 8>> tables;
  std::vector<LabelUse> uses;
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_PARSER_H
