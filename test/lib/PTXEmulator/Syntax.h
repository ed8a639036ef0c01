//===- Syntax.h - a parsed PTX module ---------------------------*- C++ -*-===//
//
// Names of registers and labels are resolved, scope by scope; opcodes and their modifiers are still text.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_SYNTAX_H
#define ATTN_TEST_PTXEMULATOR_SYNTAX_H

#include "Types.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace attn::ptx {

struct Operand {
  enum class Kind : uint8_t {
    Register, ///< reg
    Special,  ///< text: %tid.x
    Symbol,   ///< text: a variable or parameter, plus offset
    Integer,  ///< bits
    Float32,  ///< bits
    Float64,  ///< bits
    Address,  ///< [parts[0] + offset], or with the coordinates parts[1] in a tensor
    Vector,   ///< {parts…}
    Pair,     ///< parts[0]|parts[1]
    Sink,     ///< _
  };
  Kind kind = Kind::Sink;
  bool negated = false; ///< !p
  uint32_t reg = 0;
  llvm::StringRef text;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::vector<Operand> parts;
};

struct Statement {
  int line = 0;
  llvm::StringRef name;                            ///< ld
  llvm::SmallVector<llvm::StringRef, 6> modifiers; ///< .global .v4 .f32, with their dots
  std::vector<Operand> operands;
  int guard = -1; ///< a predicate register
  bool guardNegated = false;
  std::vector<uint32_t> targets; ///< of bra and brx.idx: indices of statements

  std::string opcode() const;
};

struct Register {
  std::string name;
  Type type;
};

enum class Space : uint8_t { Generic, Global, Shared, Local, Const, Param };

struct Variable {
  std::string name;
  Space space;
  uint64_t align;
  uint64_t size;             ///< bytes; 0: `extern name[]`, whose size the launch gives
  std::vector<uint8_t> data; ///< initial bytes, empty: zeros
  int line;
};

struct Parameter {
  std::string name;
  Type type; ///< of an element
  uint64_t size;
  uint64_t align;
  uint64_t offset; ///< in the parameters' block
};

struct Function {
  std::string name;
  bool isEntry = false;
  std::vector<Parameter> parameters;
  uint64_t parameterBytes = 0;
  std::vector<Register> registers;
  std::vector<Variable> variables; ///< .shared and .local in the body
  std::vector<Statement> statements;
  std::vector<std::pair<std::string, uint32_t>> labels;       ///< in the order of the text
  uint32_t maxRegisters = 0, minBlocks = 0;                   ///< .maxnreg, .minnctapersm; 0: not said
  llvm::SmallVector<uint32_t, 3> requiredBlock, largestBlock; ///< .reqntid, .maxntid; empty: not said
};

struct Module {
  std::unique_ptr<std::string> text; ///< the storage of the StringRefs
  std::string target;
  std::vector<Variable> variables;
  std::vector<Function> functions;

  const Function *findEntry(llvm::StringRef name) const;
};

/// Errors are "NAME:LINE: expected …, found …".
llvm::Expected<Module> parseModule(std::string text, llvm::StringRef fileName = "ptx");

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_SYNTAX_H
