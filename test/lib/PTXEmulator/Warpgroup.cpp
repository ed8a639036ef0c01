//===- Warpgroup.cpp - four warps, and their pending wgmma ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Warpgroup.h"
#include "Block.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

#include <bit>

using namespace llvm;
using namespace attn::ptx;

namespace {
/// Registers of a multiprocessor, and most registers of a thread.
constexpr uint32_t kRegisterFile = 65536, kMostRegisters = 256, kRegisterUnit = 8, kLeastRegisters = 24;
} // namespace

void attn::ptx::watchWgmmaRegisters(Program &program) {
  BitVector used(program.image.size() / kRowAlign + 1);
  auto isWgmma = [&](size_t i) { return program.uses[i].use == UndefinedUse::Accumulates; };
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    if (!isWgmma(i))
      continue;
    for (uint32_t row : concat<const uint32_t>(program.uses[i].results, program.uses[i].fragments))
      used.set(row / kRowAlign);
  }
  if (used.none())
    return;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const RegisterUses &uses = program.uses[i];
    const auto rows = concat<const uint32_t>(uses.addresses, uses.sources, uses.results);
    program.instructions[i].isWatched =
        !isWgmma(i) && any_of(rows, [&](uint32_t row) { return used.test(row / kRowAlign); });
  }
}

WgmmaWarp &Warpgroups::of(const Warp &warp) {
  if (warps.empty()) {
    warps.resize((block.launch.block.count() + kLanes - 1) / kLanes);
    groups.resize((warps.size() + kWarpsOfGroup - 1) / kWarpsOfGroup);
    for (WgmmaWarp &each : warps) {
      each.registers.resize(block.program.image.size() / kRowAlign + 1);
      each.numRegisters = initialRegisters();
    }
  }
  return warps[warp.index];
}

bool Warpgroups::call(const Warp &warp, const Instruction &instruction, ArrayRef<uint64_t> operands) {
  WgmmaWarp &state = of(warp);
  const unsigned number = warp.index / kWarpsOfGroup, first = number * kWarpsOfGroup;
  if (block.launch.block.count() < (first + kWarpsOfGroup) * kLanes) {
    block.find(FindingKind::DivergentAligned, warp, 0, instruction,
               "expected four warps in the group of warp " + Twine(warp.index) + ", found a block of " +
                   Twine(block.launch.block.count()) + " threads");
    block.stop();
    return false;
  }
  Group &group = groups[number];
  const uint32_t pc = &instruction - block.program.instructions.data(), at = state.calls++ - group.first;
  if (at == group.calls.size()) {
    group.calls.push_back({pc, SmallVector<uint64_t, 3>(operands)});
    return true;
  }
  const Call &other = group.calls[at];
  if (other.pc != pc || ArrayRef(other.operands) != operands) {
    block.find(FindingKind::DivergentAligned, warp, 0, instruction,
               other.pc != pc ? "expected the instruction that another warp of the group does, that of line " +
                                    Twine(block.program.instructions[other.pc].line)
                              : Twine("expected the operands that another warp of the group has"));
    block.stop();
    return false;
  }
  bool isLast = at == 0;
  for (unsigned i = first; i < first + kWarpsOfGroup; ++i)
    isLast &= warps[i].calls > group.first;
  if (isLast) {
    group.calls.pop_front();
    ++group.first;
  }
  return true;
}

std::string Warpgroups::nameOf(uint32_t row) const {
  const Program &program = block.program;
  return program.function->registers[llvm::find(program.registerRows, row) - program.registerRows.begin()].name;
}

void Warpgroups::touch(const Warp &warp, const Instruction &instruction, LaneMask lanes) {
  WgmmaWarp &state = of(warp);
  const RegisterUses &uses = block.program.uses[&instruction - block.program.instructions.data()];
  for (uint32_t row : concat<const uint32_t>(uses.addresses, uses.sources, uses.results)) {
    WgmmaWarp::State &reg = state.registers[row / kRowAlign];
    if (reg.group > state.complete) {
      block.find(FindingKind::WgmmaPending, warp, std::countr_zero(lanes), instruction,
                 "touches " + nameOf(row) + ", " + (reg.columns ? "an accumulator" : "a fragment of A") +
                     " of the wgmma of line " + Twine(reg.line) + ": wgmma.wait_group comes first");
      reg.group = 0; // reported once
    }
    reg.touched = state.fences + 1;
  }
}

void Warpgroups::use(const Warp &warp, const Instruction &instruction, ArrayRef<uint32_t> accumulators,
                     ArrayRef<uint32_t> fragments, unsigned columns) {
  WgmmaWarp &state = of(warp);
  auto check = [&](uint32_t row, unsigned ownColumns) {
    WgmmaWarp::State &reg = state.registers[row / kRowAlign];
    const bool isPending = reg.group > state.complete;
    if (!state.fences || reg.touched == state.fences + 1) {
      block.find(FindingKind::WgmmaFence, warp, 0, instruction,
                 "uses " + nameOf(row) +
                     (state.fences ? ", which threads have touched since the last wgmma.fence"
                                   : ": wgmma.fence comes before the first wgmma"));
      reg.touched = 0;
    } else if (isPending && (reg.columns || ownColumns) && reg.columns != ownColumns) {
      block.find(FindingKind::WgmmaPending, warp, 0, instruction,
                 "uses " + nameOf(row) + ", which the wgmma of line " + Twine(reg.line) +
                     " still uses in another way: wgmma.wait_group comes first");
    }
    reg.group = state.open;
    reg.columns = ownColumns;
    reg.line = instruction.line;
  };
  for (uint32_t row : fragments)
    check(row, 0);
  for (uint32_t row : accumulators)
    check(row, columns);
  state.lastIssued = state.open;
  state.line = instruction.line;
}

Shadow::AsyncAccess Warpgroups::read(const Warp &warp, const Instruction &instruction) {
  WgmmaWarp &state = of(warp);
  if (!state.agent)
    state.agent = block.addAgent("wgmma of warp " + std::to_string(warp.index));
  return {warp.thread(0), state.agent, state.open, false, instruction.line};
}

void Warpgroups::wait(const Warp &warp, LaneMask lanes, uint64_t pending) {
  WgmmaWarp &state = of(warp);
  if (state.open <= 1 + pending || state.open - 1 - pending <= state.complete)
    return;
  state.complete = state.open - 1 - uint32_t(pending);
  if (!state.agent)
    return;
  SyncPoint point;
  block.clocks.releaseAgent(state.agent, state.complete, point);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (lanes >> lane & 1)
      block.clocks.acquire(warp.thread(lane), point);
}

/// The initial registers of each thread: .maxnreg, or all that a multiprocessor has.
uint32_t Warpgroups::initialRegisters() const {
  const Function &function = *block.program.function;
  if (function.maxRegisters)
    return function.maxRegisters;
  const uint64_t threads = block.launch.block.count() * std::max(function.minBlocks, 1u);
  return std::min<uint64_t>(kRegisterFile / threads / kRegisterUnit * kRegisterUnit, kMostRegisters);
}

void Warpgroups::setRegisters(const Warp &warp, const Instruction &instruction, uint32_t count, bool isIncrease) {
  if (!call(warp, instruction))
    return;
  WgmmaWarp &state = of(warp);
  const Function &function = *block.program.function;
  auto invalid = [&](const Twine &message) { block.find(FindingKind::InvalidValue, warp, 0, instruction, message); };
  if (!function.maxRegisters && !function.minBlocks)
    invalid("expected .minnctapersm or .maxnreg: without one, ptxas ignores it");
  if (count < kLeastRegisters || count > kMostRegisters || count % kRegisterUnit != 0)
    invalid("expected a multiple of 8 from 24 to 256, found " + Twine(count));
  if (isIncrease ? count < state.numRegisters : count > state.numRegisters)
    invalid((isIncrease ? Twine("expected no fewer") : Twine("expected no more")) + " than the warp's " +
            Twine(state.numRegisters) + " registers, found " + Twine(count));
  state.numRegisters = count;
  state.registersLine = instruction.line;
}

void Warpgroups::finish() {
  uint64_t registers = 0, line = 0;
  for (auto [i, state] : enumerate(warps)) {
    const Group &group = groups[i / kWarpsOfGroup];
    const Dim3 thread = block.threadIndex(i * kLanes);
    if (state.calls - group.first < group.calls.size()) {
      const uint32_t pc = group.calls[state.calls - group.first].pc;
      block.report.add(FindingKind::DivergentAligned, block.program.instructions[pc].line, block.program.opcodes[pc],
                       "warp " + Twine(i) + " ends, and another of its group has done this", block.index, thread);
    }
    if (state.lastIssued > state.complete)
      block.report.add(FindingKind::AsyncBeforeWait, state.line, "wgmma.mma_async",
                       "the warp ends, and has not waited for its wgmma: expected wgmma.wait_group", block.index,
                       thread);
    registers += state.numRegisters;
    line = std::max<uint64_t>(line, state.numRegisters > initialRegisters() ? state.registersLine : 0);
  }
  const uint64_t given = uint64_t(initialRegisters()) * warps.size();
  if (registers > given)
    block.report.add(FindingKind::InvalidValue, int(line), "setmaxnreg",
                     "the warps want " + Twine(registers * kLanes) + " registers, and the block has " +
                         Twine(given * kLanes) + ": one waits for ever",
                     block.index);
}
