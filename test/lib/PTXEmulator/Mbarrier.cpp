//===- Mbarrier.cpp - mbarrier objects of shared memory -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Mbarrier.h"
#include "Block.h"
#include "MemoryRows.h"

#include <bit>

using namespace llvm;
using namespace attn::ptx;

namespace {
constexpr unsigned kBytes = 8;
constexpr uint32_t kMostArrivals = (1 << 20) - 1;
constexpr int64_t kMostBytes = (1 << 20) - 1;
constexpr int64_t kNeverSeen = -2;
} // namespace

const Mbarrier *Mbarriers::find(uint64_t offset) const {
  auto above = objects.upper_bound(offset);
  if (above == objects.begin() || offset - std::prev(above)->first >= kBytes)
    return nullptr;
  return &std::prev(above)->second;
}

Mbarrier *Mbarriers::use(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address) {
  if (instruction.space == Space::Generic && Block::resolveGeneric(address) != Space::Shared) {
    block.find(FindingKind::InvalidValue, warp, lane, instruction, "expected an address in shared memory");
    block.stop();
    return nullptr;
  }
  auto found = objects.find(address);
  if (found == objects.end()) {
    block.find(FindingKind::Mbarrier, warp, lane, instruction,
               "expected an mbarrier at " + Twine(address) +
                   " of shared memory, found none: mbarrier.init comes first");
    block.stop(); // its waiters would wait forever
    return nullptr;
  }
  ++block.grid.changes;
  const unsigned thread = warp.thread(lane);
  const Epoch other = block.shadow.access(block.clocks, address, 1, Access::Atomic, thread, instruction.line);
  if (other.clock)
    block.find(FindingKind::Race, warp, lane, instruction,
               "uses the mbarrier at " + Twine(address) + ", which " + block.describe(other) +
                   "; no barrier is between them");
  return &found->second;
}

void Mbarriers::init(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address,
                     uint32_t count) {
  if (instruction.space == Space::Generic)
    Block::resolveGeneric(address);
  if (const Mbarrier *old = find(address)) {
    block.find(FindingKind::Mbarrier, warp, lane, instruction,
               "initialises the mbarrier at " + Twine(address) + " again; line " + Twine(old->initialised.line) +
                   " did, and nothing has invalidated it");
    return;
  }
  if (!block.access(warp, lane, instruction, Space::Shared, address, kBytes, Access::Write))
    return;
  if (count < 1 || count > kMostArrivals) {
    block.find(FindingKind::InvalidValue, warp, lane, instruction,
               "expected 1 to " + Twine(kMostArrivals) + " arrivals, found " + Twine(count));
    return block.stop();
  }
  const unsigned thread = warp.thread(lane);
  auto [agent, isNew] = agents.try_emplace(address, 0, 0);
  if (isNew)
    agent->second.first = block.addAgent("a copy to the mbarrier at " + std::to_string(address));
  Mbarrier object{address, count, count};
  object.agent = agent->second.first;
  object.clock = agent->second.second + 1;
  object.initialised = block.clocks.now(thread, instruction.line);
  object.seen.assign(block.launch.block.count(), kNeverSeen);
  objects.emplace(address, std::move(object));
  block.shadow.forStates(address, kBytes, [](ShadowState &state) { state.pending = kMbarrierByte; });
}

void Mbarriers::invalidate(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address) {
  const Mbarrier *object = use(warp, lane, instruction, address);
  if (!object)
    return;
  address = object->offset;
  if (!object->waiters.empty() || object->bytes != 0)
    block.find(FindingKind::Mbarrier, warp, lane, instruction,
               "invalidates the mbarrier at " + Twine(address) + ", which threads or bytes still wait for");
  agents[address].second = object->clock;
  objects.erase(address);
  block.shadow.forStates(address, kBytes, [](ShadowState &state) {
    state.pending = 0;
    state.initialised = false;
  });
  block.access(warp, lane, instruction, Space::Shared, address, kBytes, Access::Write);
}

void Mbarriers::announce(unsigned thread) {
  for (auto &[offset, object] : objects)
    object.isAnnounced |= object.initialised.thread == thread;
}

uint64_t Mbarriers::arrive(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address,
                           uint32_t count, bool isOrdering) {
  Mbarrier *object = use(warp, lane, instruction, address);
  if (!object)
    return 0;
  if (count > object->pending) {
    block.find(FindingKind::Mbarrier, warp, lane, instruction,
               "arrives " + Twine(count) + " times at the mbarrier at " + Twine(object->offset) + ", whose phase " +
                   Twine(object->phase) + " waits for " + Twine(object->pending) + " of " + Twine(object->expected) +
                   " arrivals and " + Twine(object->bytes) + " bytes");
    block.stop();
    return object->phase;
  }
  const uint32_t state = object->phase;
  if (isOrdering)
    block.clocks.release(warp.thread(lane), object->arriving);
  object->pending -= count;
  advance(warp, lane, instruction, *object);
  return state;
}

void Mbarriers::expect(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address,
                       int64_t bytes) {
  Mbarrier *object = use(warp, lane, instruction, address);
  if (!object)
    return;
  object->bytes += bytes;
  if (object->bytes > kMostBytes || object->bytes < -kMostBytes)
    block.find(FindingKind::InvalidValue, warp, lane, instruction,
               "expected at most " + Twine(kMostBytes) + " bytes in a phase, found " + Twine(object->bytes));
  if (bytes < 0)
    advance(warp, lane, instruction, *object);
}

void Mbarriers::advance(const Warp &warp, unsigned lane, const Instruction &instruction, Mbarrier &object) {
  if (object.pending > 0 || object.bytes > 0)
    return;
  if (object.bytes < 0) {
    block.find(FindingKind::Mbarrier, warp, lane, instruction,
               "all have arrived at the mbarrier at " + Twine(object.offset) + ", and copies have brought " +
                   Twine(-object.bytes) + " bytes more than phase " + Twine(object.phase) + " expects");
    return block.stop();
  }
  block.clocks.releaseAgent(object.agent, object.clock, object.arriving);
  object.completed = std::exchange(object.arriving, {});
  ++object.phase;
  ++object.clock;
  object.pending = object.expected;
  for (const Mbarrier::Waiter &waiter : std::exchange(object.waiters, {})) {
    const Instruction &waiting = block.program.instructions[waiter.warp->paths[waiter.path].pc];
    storePredicate(*waiter.warp, waiting.rows[1], kAllLanes, waiter.lanes);
    forLanes(waiter.lanes, [&](unsigned waitingLane) { see(*waiter.warp, waitingLane, waiting, object); });
    waiter.warp->paths[waiter.path].timedOut = 0;
    waiter.warp->resume(waiter.path);
  }
}

/// The thread observes that the last phase is complete.
void Mbarriers::see(const Warp &warp, unsigned lane, const Instruction &instruction, Mbarrier &object) {
  const unsigned thread = warp.thread(lane);
  const int64_t phase = int64_t(object.phase) - 1, before = std::exchange(object.seen[thread], phase);
  object.lastSeen = object.phase;
  if (!instruction.variant2)
    block.clocks.acquire(thread, object.completed);
  // The parity of a phase equals that of the phase two later.
  if (before != kNeverSeen && phase > before + 2)
    block.find(FindingKind::Mbarrier, warp, lane, instruction,
               "waits for phase " + Twine(before + 1) + " of the mbarrier at " + Twine(object.offset) + ", and phase " +
                   Twine(phase) + " is complete: the object has left its waiter behind");
}

bool Mbarriers::isComplete(const Mbarrier &object, const Instruction &instruction, uint64_t operand) const {
  return instruction.negated ? (object.phase & 1) != operand : object.phase > operand;
}

bool Mbarriers::wait(Warp &warp, unsigned path, const Instruction &instruction, LaneMask lanes) {
  LaneMask done = 0;
  Mbarrier *object = nullptr;
  uint64_t operand = 0;
  bool isOne = true; // all lanes wait for one phase
  forLanes(lanes, [&](unsigned lane) {
    const uint64_t address = loadAddress(warp, instruction, lane, instruction.wideAddress);
    Mbarrier *own = block.isStopped() ? nullptr : use(warp, lane, instruction, address);
    if (!own)
      return;
    const uint64_t ownOperand = instruction.negated ? warp.row<uint32_t>(instruction.rows[2])[lane]
                                                    : warp.row<uint64_t>(instruction.rows[2])[lane];
    if (instruction.negated && ownOperand > 1)
      block.find(FindingKind::InvalidValue, warp, lane, instruction,
                 "expected a parity of 0 or 1, found " + Twine(ownOperand));
    if (isComplete(*own, instruction, ownOperand)) {
      done |= LaneMask(1) << lane;
      return see(warp, lane, instruction, *own);
    }
    isOne &= !object || (object == own && operand == ownOperand);
    object = own;
    operand = ownOperand;
  });
  Path &at = warp.paths[path];
  const bool canWait = MbarrierKind(instruction.variant) == MbarrierKind::TryWait && isOne;
  // The first attempt fails, as hardware may do: a kernel that does not retry continues too early.
  if (done || !object || !canWait || at.timedOut != at.pc + 1) {
    at.timedOut = done ? 0 : at.pc + 1;
    storePredicate(warp, instruction.rows[1], done, lanes);
    return false;
  }
  at.state = Path::State::AtMbarrier;
  object->waiters.push_back({&warp, path, lanes});
  return true;
}

Mbarrier *Mbarriers::startCopy(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address) {
  Mbarrier *object = use(warp, lane, instruction, address);
  if (!object)
    return nullptr;
  const Epoch init = object->initialised;
  if (!object->isAnnounced && !block.clocks.isFenced(init, warp.thread(lane)))
    block.find(FindingKind::ProxyFence, warp, lane, instruction,
               "a copy completes on the mbarrier at " + Twine(object->offset) + ", which " + block.describe(init) +
                   "; expected fence.mbarrier_init or fence.proxy.async between them");
  object->lastCopied = object->phase + 1;
  return object;
}

void Mbarriers::completeCopy(const Warp &warp, unsigned lane, const Instruction &instruction, Mbarrier &object,
                             int64_t bytes) {
  object.bytes -= bytes;
  advance(warp, lane, instruction, object);
}

void Mbarriers::finish() {
  for (auto &[offset, object] : objects) {
    const int line = object.initialised.line;
    if (object.bytes != 0)
      block.report.add(FindingKind::Mbarrier, line, "",
                       "the block ends, and phase " + Twine(object.phase) + " of the mbarrier at " + Twine(offset) +
                           " still expects " + Twine(object.bytes) + " bytes",
                       block.index);
    else if (object.lastCopied > object.lastSeen)
      block.report.add(FindingKind::Mbarrier, line, "",
                       "the block ends, and no thread has waited for the copies of phase " +
                           Twine(object.lastCopied - 1) + " of the mbarrier at " + Twine(offset),
                       block.index);
  }
}
