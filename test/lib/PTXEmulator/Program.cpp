//===- Program.cpp - a kernel as compact instructions ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "ControlFlow.h"
#include "Decoder.h"
#include "Definedness.h"
#include "Report.h"
#include "Warpgroup.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

using namespace llvm;
using namespace attn::ptx;

namespace {

uint64_t alignUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

void collectSymbols(const Operand &operand, std::set<StringRef> &symbols) {
  if (operand.kind == Operand::Kind::Symbol)
    symbols.insert(operand.text);
  for (const Operand &part : operand.parts)
    collectSymbols(part, symbols);
}

/// Places the variables that the kernel uses, each space from 0 on; dynamic shared memory comes last.
void placeVariables(Program &program, const Module &module, const Function &function) {
  std::set<StringRef> symbols;
  for (const Statement &statement : function.statements)
    for (const Operand &operand : statement.operands)
      collectSymbols(operand, symbols);
  std::vector<const Variable *> variables, dynamic;
  for (const auto *list : {&module.variables, &function.variables})
    for (const Variable &variable : *list)
      if (symbols.count(variable.name))
        (variable.space == Space::Shared && variable.size == 0 ? dynamic : variables).push_back(&variable);
  auto place = [&](const Variable &variable, uint64_t &end) {
    const uint64_t offset = alignUp(end, variable.align);
    program.placements[variable.name] = {variable.space, offset, variable.size, &variable};
    end = offset + variable.size;
  };
  uint64_t constantBytes = 0;
  for (const Variable *variable : variables) {
    if (variable->space == Space::Shared) {
      place(*variable, program.staticShared);
    } else if (variable->space == Space::Local) {
      place(*variable, program.localBytes);
    } else {
      place(*variable, constantBytes);
      program.constants.resize(constantBytes);
      llvm::copy(variable->data, program.constants.end() - variable->size);
    }
  }
  // All names of dynamic shared memory refer to the same bytes.
  for (const Variable *variable : dynamic)
    program.staticShared = alignUp(program.staticShared, variable->align);
  for (const Variable *variable : dynamic)
    program.placements[variable->name] = {Space::Shared, program.staticShared, 0, variable};
}

bool has(const Statement &statement, StringRef modifier) { return is_contained(statement.modifiers, modifier); }

bool isOfAsyncProxy(const Statement &statement) {
  return statement.name == "mbarrier" || statement.name == "wgmma" || statement.name == "setmaxnreg" ||
         has(statement, ".bulk");
}

} // namespace

std::optional<Program> attn::ptx::decodeKernel(const Module &module, const Function &function, Report &report) {
  Program program;
  program.function = &function;
  placeVariables(program, module, function);
  Decoder decoder(program, function);
  for (const Statement &statement : function.statements) {
    const std::string opcode = statement.opcode();
    if (decoder.decode(statement)) {
      program.hasAsyncProxy |= isOfAsyncProxy(statement);
      program.instructions.push_back(decoder.take());
      const Instruction &instruction = program.instructions.back();
      program.ordersBlocks |= instruction.isStrong || instruction.acquires;
      program.uses.push_back(decoder.takeUses());
      program.opcodes.push_back(opcode);
      continue;
    }
    const std::string reason = decoder.message.empty() ? "" : ": " + decoder.message;
    if (decoder.isUnknown)
      report.add(FindingKind::UnknownInstruction, statement.line, opcode, "'" + opcode + "' is not emulated" + reason);
    else
      report.add(FindingKind::InvalidOperand, statement.line, opcode, "'" + opcode + "'" + reason);
  }
  if (!report.clean())
    return std::nullopt;
  // Handlers read whole rows of the widest type, even for unused operands.
  program.image.resize(program.image.size() + sizeof(uint64_t) * kLanes);
  const FlowGraph graph = buildFlowGraph(program);
  analyzeControlFlow(program, graph);
  trackUndefined(program, graph);
  watchWgmmaRegisters(program);
  return program;
}
