//===- Warp.cpp - a warp: paths of its 32 lanes ---------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Warp.h"
#include "Block.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>
#include <cstring>

using namespace llvm;
using namespace attn::ptx;

Warp::Warp(Block &block, unsigned index, LaneMask lanes)
    : block(block), index(index), launched(lanes), live(lanes), registers(block.program.image),
      undefined(block.program.undefined) {
  paths.push_back({lanes, 0, uint32_t(block.program.instructions.size()), -1});
  fillSpecials();
}

void Warp::fillSpecials() {
  const Launch &launch = block.launch;
  for (const SpecialRow &special : block.program.specials) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const Dim3 tid = block.threadIndex(thread(lane));
      const LaneMask equal = LaneMask(1) << lane;
      uint64_t value = 0;
      switch (special.which) {
      case SpecialRegister::TidX: value = tid.x; break;
      case SpecialRegister::TidY: value = tid.y; break;
      case SpecialRegister::TidZ: value = tid.z; break;
      case SpecialRegister::NtidX: value = launch.block.x; break;
      case SpecialRegister::NtidY: value = launch.block.y; break;
      case SpecialRegister::NtidZ: value = launch.block.z; break;
      case SpecialRegister::CtaidX: value = block.index.x; break;
      case SpecialRegister::CtaidY: value = block.index.y; break;
      case SpecialRegister::CtaidZ: value = block.index.z; break;
      case SpecialRegister::NctaidX: value = launch.grid.x; break;
      case SpecialRegister::NctaidY: value = launch.grid.y; break;
      case SpecialRegister::NctaidZ: value = launch.grid.z; break;
      case SpecialRegister::LaneId: value = lane; break;
      case SpecialRegister::WarpId: value = index; break;
      case SpecialRegister::NwarpId: value = (launch.block.count() + kLanes - 1) / kLanes; break;
      case SpecialRegister::One:
      case SpecialRegister::NsmId: value = 1; break;
      case SpecialRegister::Zero:
      case SpecialRegister::GridId:
      case SpecialRegister::SmId: value = 0; break;
      case SpecialRegister::LanemaskEq: value = equal; break;
      case SpecialRegister::LanemaskLt: value = equal - 1; break;
      case SpecialRegister::LanemaskLe: value = equal | (equal - 1); break;
      case SpecialRegister::LanemaskGe: value = ~(equal - 1); break;
      case SpecialRegister::LanemaskGt: value = ~(equal | (equal - 1)); break;
      case SpecialRegister::DynamicSharedSize: value = launch.dynamicShared; break;
      case SpecialRegister::TotalSharedSize: value = block.shared.size(); break;
      }
      std::memcpy(&registers[special.row + lane * special.bytes], &value, special.bytes);
    }
  }
}

unsigned Warp::newPath(Path path) {
  for (unsigned i = 0; i < paths.size(); ++i) {
    if (paths[i].state != Path::State::Free)
      continue;
    paths[i] = path;
    return i;
  }
  paths.push_back(path);
  return paths.size() - 1;
}

/// Ends a path that has no lanes left, or has reached its join.
void Warp::finish(unsigned path) {
  const int parent = paths[path].parent;
  paths[path].state = Path::State::Free;
  if (parent < 0 || --paths[parent].children > 0)
    return;
  paths[parent].mask &= live;
  paths[parent].state = Path::State::Ready;
  if (!paths[parent].mask)
    finish(parent);
}

void Warp::exitLanes(unsigned path, LaneMask lanes) {
  live &= ~lanes;
  paths[path].mask &= ~lanes;
  if (!paths[path].mask)
    finish(path);
}

void Warp::diverge(unsigned path, LaneMask taken, uint32_t target, uint32_t otherwise, uint32_t join) {
  const LaneMask other = paths[path].mask & ~taken;
  if (join == paths[path].join) {
    // The new paths end where this one does. A sibling is added instead of a child, so that lanes that leave a loop one
    // by one form a flat list.
    const int parent = paths[path].parent;
    if (parent >= 0)
      ++paths[parent].children;
    paths[path].mask = taken;
    paths[path].pc = target;
    newPath({other, otherwise, join, parent});
    return;
  }
  paths[path].state = Path::State::Joining;
  paths[path].pc = join;
  paths[path].children = 2;
  newPath({taken, target, join, int(path)});
  newPath({other, otherwise, join, int(path)});
}

void Warp::branch(unsigned path, const Instruction &instruction, LaneMask active) {
  Path &at = paths[path];
  if (active == at.mask)
    at.pc = instruction.targets[0];
  else if (!active)
    ++at.pc;
  else
    diverge(path, active, instruction.targets[0], at.pc + 1, instruction.join);
}

void Warp::branchTable(unsigned path, const Instruction &instruction, LaneMask active) {
  if (active != paths[path].mask)
    return diverge(path, active, paths[path].pc, paths[path].pc + 1, instruction.join);
  const uint32_t *index = row<uint32_t>(instruction.rows[0]);
  const uint32_t first = index[std::countr_zero(active)];
  LaneMask same = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    same |= LaneMask((active >> lane & 1) && index[lane] == first) << lane;
  if (first >= instruction.targets.size()) {
    block.find(FindingKind::InvalidValue, *this, std::countr_zero(active), instruction,
               "expected an index below " + Twine(instruction.targets.size()) + ", found " + Twine(first));
    return block.stop();
  }
  // Lanes with another target return to this instruction as a separate path.
  if (same != active)
    return diverge(path, same, instruction.targets[first], paths[path].pc, instruction.join);
  paths[path].pc = instruction.targets[first];
}

/// Runs the instruction once all lanes of its member mask have arrived at it, on any path.
bool Warp::tryCollective(unsigned path) {
  const uint32_t pc = paths[path].pc;
  const Instruction &instruction = block.program.instructions[pc];
  const uint32_t *masks = row<uint32_t>(instruction.members);
  auto membersOf = [&](const Path &at) { return masks[std::countr_zero(at.mask)]; };
  const LaneMask members = membersOf(paths[path]);
  SmallVector<unsigned, 4> arrived;
  LaneMask here = 0;
  for (unsigned i = 0; i < paths.size(); ++i) {
    const Path &other = paths[i];
    if (i != path && (other.state != Path::State::AtCollective || other.pc != pc || membersOf(other) != members))
      continue;
    arrived.push_back(i);
    here |= other.mask;
  }
  if (members & live & ~here) {
    paths[path].state = Path::State::AtCollective;
    return false;
  }
  if (here & ~members)
    block.find(FindingKind::InvalidValue, *this, std::countr_zero(here & ~members), instruction,
               "expected a member mask that names the executing lane, found 0x" + Twine::utohexstr(members));
  instruction.run(*this, instruction, here);
  for (unsigned i : arrived)
    resume(i);
  return true;
}

void Warp::step(unsigned path) {
  const Path at = paths[path];
  const Instruction &instruction = block.program.instructions[at.pc];
  LaneMask active = at.mask;
  if (instruction.guard != kNoRow)
    active &= instruction.guardNegated ? ~predicate(instruction.guard) : predicate(instruction.guard);
  Counters &counters = block.report.counters[at.pc];
  ++counters.executions;
  if (instruction.isTracked)
    trackUndefined(at.pc, at.mask, active);
  if (instruction.isWatched && active)
    block.warpgroups.touch(*this, instruction, active);
  counters.lanes += std::popcount(active);

  switch (instruction.flow) {
  case Flow::Branch: branch(path, instruction, active); break;
  case Flow::BranchTable: active ? branchTable(path, instruction, active) : void(++paths[path].pc); break;
  case Flow::Exit:
    ++paths[path].pc;
    exitLanes(path, active);
    break;
  case Flow::Trap:
    if (active) {
      block.find(FindingKind::Trap, *this, std::countr_zero(active), instruction, "the kernel executes trap");
      block.stop();
    }
    ++paths[path].pc;
    break;
  case Flow::Aligned:
    if (active && active != live)
      block.find(FindingKind::DivergentAligned, *this, std::countr_zero(active), instruction,
                 "expected all threads of the warp at an .aligned instruction, found lanes 0x" +
                     Twine::utohexstr(active) + " of 0x" + Twine::utohexstr(live));
    [[fallthrough]];
  case Flow::Next:
    if (active)
      instruction.run(*this, instruction, active);
    ++paths[path].pc;
    break;
  case Flow::Collective:
  case Flow::Barrier:
  case Flow::Phase:
    if (!active) {
      ++paths[path].pc;
      break;
    }
    if (active != at.mask) {
      // The guarded lanes wait on their own; the others may continue up to the join.
      diverge(path, active, at.pc, at.pc + 1, at.pc + 1);
      break;
    }
    if (instruction.flow == Flow::Collective)
      tryCollective(path);
    else if (!(instruction.flow == Flow::Phase ? block.mbarriers.wait(*this, path, instruction, active)
                                               : block.arrive(*this, path, instruction, active)))
      ++paths[path].pc;
    break;
  }
}

bool Warp::isPolling() const {
  return any_of(paths, [](const Path &path) { return path.state == Path::State::Polling; });
}

void Warp::poll(const Instruction &instruction) {
  Path &path = paths[current];
  auto [found, isFirst] = polls.try_emplace({&instruction, path.mask});
  Poll &last = found->second;
  if (!isFirst && last.changes == block.grid.changes && last.registers == registers) {
    path.state = Path::State::Polling;
    path.polled = &instruction;
  } else {
    last = {block.grid.changes, registers};
  }
}

bool Warp::select() {
  // Paths created by the last instruction are at the end of the list; inner ones run first.
  for (unsigned i = paths.size(); i-- > 0;) {
    if (paths[i].state == Path::State::Polling && polls[{paths[i].polled, paths[i].mask}].changes != block.grid.changes)
      paths[i].state = Path::State::Ready;
    if (paths[i].state == Path::State::Ready) {
      current = i;
      return true;
    }
  }
  for (unsigned i = 0; i < paths.size(); ++i) {
    // The awaited lanes may have exited.
    if (paths[i].state == Path::State::AtCollective && tryCollective(i)) {
      current = i;
      return true;
    }
  }
  return false;
}

void Warp::run(unsigned instructions) {
  const uint32_t end = block.program.instructions.size();
  for (left = instructions; left > 0 && !block.isStopped();) {
    if (paths[current].state != Path::State::Ready && !select())
      return;
    if (paths[current].pc >= end) { // the end of the text is an exit
      exitLanes(current, paths[current].mask);
      continue;
    }
    if (paths[current].pc == paths[current].join) {
      finish(current);
      continue;
    }
    // Paths that join take none of the turn: a turn without an instruction is a deadlock.
    --left;
    ++block.grid.executed;
    step(current);
  }
  // Round-robin, so that a spinning path does not starve the one it waits for.
  for (unsigned i = 1; i < paths.size(); ++i) {
    const unsigned next = (current + i) % paths.size();
    if (paths[next].state != Path::State::Ready)
      continue;
    current = next;
    break;
  }
}
