//===- Definedness.cpp - uninitialised registers --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Definedness.h"
#include "Block.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

#include <bit>

using namespace llvm;
using namespace attn::ptx;

namespace {

/// Registers, by row / kRowAlign.
using Registers = BitVector;

class Analysis {
public:
  Analysis(Program &program, const FlowGraph &graph)
      : program(program), graph(graph), entries(graph.firsts.size(), Registers(program.image.size() / kRowAlign + 1)) {}

  void run() {
    for (uint32_t row : program.registerRows)
      entries[0].set(row / kRowAlign);
    SmallVector<uint32_t, 32> work = {0};
    std::vector<bool> isSeen(graph.firsts.size(), false);
    while (!work.empty()) {
      const uint32_t block = work.pop_back_val();
      isSeen[block] = true;
      Registers state = entries[block];
      forBlock(block, [&](uint32_t i) { step(i, state); });
      for (uint32_t next : graph.successors[block]) {
        const size_t before = entries[next].count();
        entries[next] |= state;
        if (!isSeen[next] || entries[next].count() != before)
          work.push_back(next);
      }
    }
    mark();
  }

private:
  template <typename F> void forBlock(uint32_t block, F body) {
    const uint32_t end = block + 1 < graph.firsts.size() ? graph.firsts[block + 1] : program.instructions.size();
    for (uint32_t i = graph.firsts[block]; i < end; ++i)
      body(i);
  }

  /// Applies the instruction to the set of registers that may be undefined.
  void step(uint32_t i, Registers &state) const {
    const RegisterUses &uses = program.uses[i];
    const bool passes = uses.use != UndefinedUse::Observes && uses.use != UndefinedUse::Accumulates &&
                        any_of(uses.sources, [&](uint32_t row) { return state.test(row / kRowAlign); });
    for (uint32_t row : uses.results) {
      if (passes)
        state.set(row / kRowAlign);
      else if (program.instructions[i].guard == kNoRow)
        state.reset(row / kRowAlign);
    }
  }

  void mark() {
    Registers read(program.image.size() / kRowAlign + 1);
    bool isAny = false;
    auto check = [&](uint32_t i, uint32_t row, const Registers &state) {
      if (!state.test(row / kRowAlign))
        return;
      read.set(row / kRowAlign);
      program.instructions[i].isTracked = isAny = true;
    };
    for (uint32_t block = 0; block < graph.firsts.size(); ++block) {
      Registers state = entries[block];
      forBlock(block, [&](uint32_t i) {
        const RegisterUses &uses = program.uses[i];
        for (uint32_t row : concat<const uint32_t>(uses.addresses, uses.sources))
          check(i, row, state);
        if (program.instructions[i].guard != kNoRow)
          check(i, program.instructions[i].guard, state);
        if (uses.use == UndefinedUse::Accumulates)
          for (uint32_t row : uses.results)
            check(i, row, state);
        step(i, state);
      });
    }
    if (!isAny)
      return;
    for (auto [uses, instruction] : zip_equal(program.uses, program.instructions))
      instruction.isTracked |= any_of(uses.results, [&](uint32_t row) { return read.test(row / kRowAlign); });
    program.undefined.assign(program.image.size() / kRowAlign + 1, 0);
    for (uint32_t row : program.registerRows)
      if (read.test(row / kRowAlign))
        program.undefined[row / kRowAlign] = kAllLanes;
  }

  Program &program;
  const FlowGraph &graph;
  std::vector<Registers> entries; ///< registers that may be undefined at each block's start
};

} // namespace

void attn::ptx::trackUndefined(Program &program, const FlowGraph &graph) {
  if (!program.instructions.empty())
    Analysis(program, graph).run();
}

void Warp::reportUndefined(uint32_t pc, uint32_t row, LaneMask lanes, StringRef role) {
  const LaneMask found = undefinedLanes(row) & lanes;
  if (!found)
    return;
  const Program &program = block.program;
  const size_t number = llvm::find(program.registerRows, row) - program.registerRows.begin();
  block.find(FindingKind::UndefinedRegister, *this, std::countr_zero(found), program.instructions[pc],
             "reads " + program.function->registers[number].name + " as " + role + ", which nothing has written");
  // Reported once, not at every later use.
  setUndefined(row, 0, kAllLanes);
}

void Warp::trackUndefined(uint32_t pc, LaneMask mask, LaneMask active) {
  const Instruction &instruction = block.program.instructions[pc];
  const RegisterUses &uses = block.program.uses[pc];
  if (instruction.guard != kNoRow)
    reportUndefined(pc, instruction.guard, mask, "a predicate");
  for (uint32_t row : uses.addresses)
    reportUndefined(pc, row, active, "an address");
  if (instruction.members != kNoRow)
    reportUndefined(pc, instruction.members, active, "a member mask");
  if (uses.use == UndefinedUse::Own)
    return;
  LaneMask undefined = 0;
  for (uint32_t row : uses.sources) {
    if (uses.use == UndefinedUse::Observes || uses.use == UndefinedUse::Accumulates)
      reportUndefined(pc, row, active, "an operand");
    else
      undefined |= undefinedLanes(row);
  }
  if (uses.use == UndefinedUse::Accumulates) {
    const LaneMask adds = predicate(instruction.rows[kScaleRow]) ^ (instruction.negated ? kAllLanes : 0);
    for (uint32_t row : uses.results)
      reportUndefined(pc, row, active & adds, "an accumulator");
  }
  for (uint32_t row : uses.results)
    setUndefined(row, undefined, active);
}
