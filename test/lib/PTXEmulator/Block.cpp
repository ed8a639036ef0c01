//===- Block.cpp - a block of threads: its warps and barriers -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Block.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>

using namespace llvm;
using namespace attn::ptx;

namespace {
/// mbarriers, threads that store by bulk copies, and warps that execute wgmma.
constexpr unsigned kMostAgents = 128;
constexpr unsigned kMostThreads = 1024;
static_assert(kMostThreads + kMostAgents <= 1u << kThreadBits);

std::vector<uint8_t> packParameters(const Program &program, const Launch &launch) {
  std::vector<uint8_t> bytes(program.function->parameterBytes);
  for (auto [parameter, value] : zip(program.function->parameters, launch.parameters))
    llvm::copy(value, bytes.begin() + parameter.offset);
  return bytes;
}
} // namespace

Block::Block(Grid &grid, uint32_t number)
    : grid(grid), program(grid.program), global(grid.global), launch(grid.launch), report(grid.report), number(number),
      index{number % launch.grid.x, number / launch.grid.x % launch.grid.y, number / launch.grid.x / launch.grid.y},
      // NaN in every format, so that an uninitialised read also shows in the result.
      shared(program.staticShared + launch.dynamicShared, 0xff),
      clocks(number, launch.block.count(), program.hasAsyncProxy ? kMostAgents : 0), shadow(shared.size()),
      async(shared, shadow, clocks), mbarriers(*this), warpgroups(*this), copyGroups(launch.block.count()),
      local(program.localBytes * launch.block.count()), parameters(packParameters(program, launch)) {
  const uint64_t threads = launch.block.count();
  for (uint64_t first = 0; first < threads; first += kLanes) {
    const uint64_t lanes = std::min<uint64_t>(kLanes, threads - first);
    warps.push_back(std::make_unique<Warp>(*this, first / kLanes, lanes == kLanes ? kAllLanes : (1u << lanes) - 1));
  }
}

Dim3 Block::threadIndex(unsigned thread) const {
  const Dim3 &size = launch.block;
  return {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
}

void Block::find(FindingKind kind, const Warp &warp, unsigned lane, const Instruction &instruction,
                 const Twine &message) {
  const size_t number = &instruction - program.instructions.data();
  report.add(kind, instruction.line, program.opcodes[number], message, index, threadIndex(warp.thread(lane)));
}

unsigned Block::addAgent(std::string name) {
  agentNames.push_back(std::move(name));
  if (agentNames.size() > kMostAgents) {
    report.add(FindingKind::InvalidValue, 0, "",
               "expected at most " + Twine(kMostAgents) +
                   " mbarriers, threads that store by bulk copies and warps that do wgmma",
               index);
    stop();
    agentNames.pop_back();
  }
  return clocks.firstAgent() + agentNames.size() - 1;
}

std::string Block::describe(const Epoch &epoch) const {
  std::string who;
  if (clocks.isAgent(epoch.thread)) {
    who = agentNames[epoch.thread - clocks.firstAgent()];
  } else {
    const Dim3 at = threadIndex(epoch.thread);
    who = ("thread (" + Twine(at.x) + ", " + Twine(at.y) + ", " + Twine(at.z) + ")").str();
  }
  if (!clocks.isOwn(epoch))
    who += " of block " + std::to_string(epoch.block);
  return who + " touched at line " + std::to_string(epoch.line);
}

/// Reports errors of a block whose threads have all exited.
void Block::finish() {
  if (!program.hasAsyncProxy)
    return;
  mbarriers.finish();
  warpgroups.finish();
  for (auto &[thread, groups] : bulkGroups)
    if (groups.lastStore > groups.complete)
      report.add(FindingKind::AsyncBeforeWait, groups.line, "cp.async.bulk",
                 "the block ends, and its thread has not waited until the bulk store has read shared memory: expected "
                 "cp.async.bulk.wait_group.read",
                 index, threadIndex(thread));
}

Block::Turn Block::run(unsigned slice) {
  bool progress = false;
  hasYielded = false;
  for (size_t i = 0; i < warps.size() && !hasYielded && !isStopped(); ++i) {
    Warp &warp = *warps[nextWarp];
    nextWarp = (nextWarp + 1) % warps.size();
    if (warp.isDone())
      continue;
    const uint64_t before = grid.executed;
    warp.run(slice);
    progress |= grid.executed != before;
  }
  const bool done = all_of(warps, [](const auto &warp) { return warp->isDone(); });
  if (grid.executed > launch.maxInstructions && !done) {
    report.add(FindingKind::InstructionLimit, 0, "",
               "expected at most " + Twine(launch.maxInstructions) + " instructions of warps", index);
    stop();
  }
  if (done && !isStopped())
    finish();
  if (done || progress || isStopped())
    return done ? Turn::Done : Turn::Goes;
  if (any_of(warps, [](const auto &warp) { return warp->isPolling(); }))
    return Turn::Waits;
  reportDeadlock();
  return Turn::Goes;
}

bool Block::arrive(Warp &warp, unsigned path, const Instruction &instruction, LaneMask lanes) {
  const unsigned first = std::countr_zero(lanes);
  const bool isAligned = instruction.variant2;
  if (isAligned && lanes != warp.live) {
    find(FindingKind::DivergentAligned, warp, first, instruction,
         "expected all threads of the warp at an .aligned barrier, found lanes 0x" + Twine::utohexstr(lanes) +
             " of 0x" + Twine::utohexstr(warp.live));
    stop();
    return false;
  }
  auto uniform = [&](uint32_t row) -> uint32_t {
    const uint32_t *values = warp.row<uint32_t>(row);
    for (unsigned lane = first; lane < kLanes; ++lane)
      if ((lanes >> lane & 1) && values[lane] != values[first])
        find(FindingKind::InvalidValue, warp, lane, instruction, "expected one barrier for all lanes, found two");
    return values[first];
  };
  const uint32_t number = uniform(instruction.rows[1]);
  const unsigned threads = launch.block.count(), warpThreads = warps.size() * kLanes;
  unsigned expected = isAligned ? warpThreads : threads;
  if (instruction.rows[2] != kNoRow) {
    expected = uniform(instruction.rows[2]);
    if (expected == 0 || expected % kLanes != 0 || expected > warpThreads) {
      find(FindingKind::InvalidValue, warp, first, instruction,
           "expected a number of threads that is a multiple of 32 up to " + Twine(warpThreads) + ", found " +
               Twine(expected));
      stop();
      return false;
    }
  }
  if (number >= kBarriers) {
    find(FindingKind::InvalidValue, warp, first, instruction,
         "expected a barrier from 0 to 15, found " + Twine(number));
    stop();
    return false;
  }
  Barrier &barrier = barriers[number];
  if (barrier.arrived == 0) {
    barrier.expected = expected;
    barrier.line = instruction.line;
  } else if (barrier.expected != expected) {
    find(FindingKind::BarrierMismatch, warp, first, instruction,
         "barrier " + Twine(number) + " expects " + Twine(expected) + " threads here and " + Twine(barrier.expected) +
             " at line " + Twine(barrier.line));
    stop();
    return false;
  }
  ++grid.changes;
  // "As if all the threads in the warp have executed the instruction."
  barrier.arrived += isAligned ? kLanes : std::popcount(lanes);
  for (unsigned lane = first; lane < kLanes; ++lane)
    if (lanes >> lane & 1)
      clocks.release(warp.thread(lane), barrier.point);
  const auto kind = BarrierKind(instruction.variant);
  if (isReduction(kind)) {
    const LaneMask votes = warp.predicate(instruction.rows[3]) ^ (instruction.negated ? kAllLanes : 0);
    barrier.trueCount += std::popcount(votes & lanes);
    barrier.voters += std::popcount(lanes);
  }
  if (kind != BarrierKind::Arrive) {
    warp.paths[path].state = Path::State::AtBarrier;
    barrier.waiters.push_back({&warp, path, lanes});
  }
  if (barrier.arrived > barrier.expected) {
    find(FindingKind::BarrierMismatch, warp, first, instruction,
         "barrier " + Twine(number) + " expects " + Twine(barrier.expected) + " threads, " + Twine(barrier.arrived) +
             " arrive");
    stop();
  } else if (barrier.arrived == barrier.expected) {
    completeBarrier(barrier);
  }
  return kind != BarrierKind::Arrive;
}

void Block::completeBarrier(Barrier &barrier) {
  for (const Barrier::Waiter &waiter : barrier.waiters) {
    const Instruction &instruction = program.instructions[waiter.warp->paths[waiter.path].pc];
    const auto kind = BarrierKind(instruction.variant);
    const uint32_t result = kind == BarrierKind::And  ? barrier.trueCount == barrier.voters
                            : kind == BarrierKind::Or ? barrier.trueCount != 0
                                                      : barrier.trueCount;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!(waiter.lanes >> lane & 1))
        continue;
      clocks.acquire(waiter.warp->thread(lane), barrier.point);
      if (kind == BarrierKind::Popc)
        waiter.warp->row<uint32_t>(instruction.rows[0])[lane] = result;
    }
    if (kind == BarrierKind::And || kind == BarrierKind::Or) {
      uint32_t &predicate = waiter.warp->predicate(instruction.rows[0]);
      predicate = (predicate & ~waiter.lanes) | (result ? waiter.lanes : 0);
    }
    waiter.warp->resume(waiter.path);
  }
  barrier = Barrier();
}

void Block::syncWarp(const Warp &warp, LaneMask lanes) {
  SyncPoint point;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (lanes >> lane & 1)
      clocks.release(warp.thread(lane), point);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (lanes >> lane & 1)
      clocks.acquire(warp.thread(lane), point);
}

void Block::reportWaiting(const Warp &warp, const Path &path) {
  const Instruction &instruction = program.instructions[path.pc];
  const unsigned lane = std::countr_zero(path.mask);
  for (auto &[offset, object] : mbarriers.all()) {
    for (const Mbarrier::Waiter &waiter : object.waiters)
      if (waiter.warp == &warp && &warp.paths[waiter.path] == &path)
        find(FindingKind::Deadlock, warp, lane, instruction,
             "phase " + Twine(object.phase) + " of the mbarrier at " + Twine(offset) + " waits for " +
                 Twine(object.pending) + " of " + Twine(object.expected) + " arrivals and " + Twine(object.bytes) +
                 " bytes, and no thread can go on");
  }
}

void Block::reportDeadlock() {
  unsigned exited = 0;
  for (auto &warp : warps)
    exited += std::popcount(warp->launched & ~warp->live);
  for (auto &warp : warps) {
    for (unsigned i = 0; i < warp->paths.size(); ++i) {
      const Path &path = warp->paths[i];
      const Instruction &instruction = program.instructions[std::min<size_t>(path.pc, program.instructions.size() - 1)];
      if (path.state == Path::State::AtCollective) {
        const LaneMask members = warp->row<uint32_t>(instruction.members)[std::countr_zero(path.mask)];
        find(FindingKind::Deadlock, *warp, std::countr_zero(path.mask), instruction,
             "lanes 0x" + Twine::utohexstr(path.mask) + " wait for lanes 0x" +
                 Twine::utohexstr(members & warp->live & ~path.mask) + ", which never arrive here");
      }
      if (path.state == Path::State::AtMbarrier)
        reportWaiting(*warp, path);
      if (path.state == Path::State::Polling)
        find(FindingKind::Deadlock, *warp, std::countr_zero(path.mask), *path.polled,
             "reads the same value again and again, and no block can change it: " + grid.describeStarted());
      if (path.state != Path::State::AtBarrier)
        continue;
      const uint32_t number = warp->row<uint32_t>(instruction.rows[1])[std::countr_zero(path.mask)];
      const Barrier &barrier = barriers[number];
      find(FindingKind::Deadlock, *warp, std::countr_zero(path.mask), instruction,
           "barrier " + Twine(number) + " waits for " + Twine(barrier.expected) + " threads, " +
               Twine(barrier.arrived) + " have arrived and no other can; " + Twine(exited) +
               " of the block have exited");
    }
  }
  stop();
}
