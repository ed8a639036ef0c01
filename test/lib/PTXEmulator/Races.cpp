//===- Races.cpp - accesses to each byte of shared memory -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Races.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>

using namespace llvm;
using namespace attn::ptx;

Clocks::Clocks(uint32_t block, unsigned threads, unsigned agents)
    : block(block % (1u << kBlockBits)), own(threads, 1), ownFenced(agents ? threads : 0),
      firstFenced(threads + agents),
      base(threads, std::make_shared<ClockVector>(threads + (agents ? agents + threads : 0), 0)) {}

static void joinThreads(std::vector<uint32_t> &to, const std::vector<uint32_t> &from) {
  for (size_t i = 0; i < from.size(); ++i)
    to[i] = std::max(to[i], from[i]);
}

void attn::ptx::join(BlockClocks &to, const BlockClocks &from) {
  for (const auto &[block, clocks] : from) {
    auto &own = to[block];
    if (own == clocks)
      continue;
    if (!own) {
      own = clocks;
      continue;
    }
    auto joined = std::make_shared<std::vector<uint32_t>>(*own);
    joinThreads(*joined, *clocks);
    own = std::move(joined);
  }
}

static void joinVectors(ClockVector &to, const ClockVector &from) {
  joinThreads(to, from);
  join(to.others, from.others);
}

BlockClocks Clocks::releaseToBlocks(unsigned thread) {
  BlockClocks released = base[thread]->others;
  auto mine = std::make_shared<std::vector<uint32_t>>(base[thread]->begin(), base[thread]->begin() + own.size());
  (*mine)[thread] = own[thread]++;
  released[block] = std::move(mine);
  return released;
}

void Clocks::acquireFromBlocks(unsigned thread, const BlockClocks &released) {
  if (released.empty())
    return;
  auto joined = std::make_shared<ClockVector>(*base[thread]);
  join(joined->others, released);
  if (auto mine = joined->others.extract(block))
    joinThreads(*joined, *mine.mapped());
  base[thread] = std::move(joined);
}

bool Clocks::isOrderedBlock(const Epoch &other, unsigned thread) const {
  const auto known = base[thread]->others.find(other.block);
  return known != base[thread]->others.end() && other.clock <= (*known->second)[other.thread];
}

void Clocks::release(unsigned thread, SyncPoint &point) {
  if (!point.joined)
    point.joined = std::make_shared<ClockVector>(base[thread]->size(), 0);
  if (!is_contained(point.seen, base[thread])) {
    point.seen.push_back(base[thread]);
    joinVectors(*point.joined, *base[thread]);
  }
  (*point.joined)[thread] = std::max((*point.joined)[thread], own[thread]);
  if (!ownFenced.empty()) {
    uint32_t &fenced = (*point.joined)[firstFenced + thread];
    fenced = std::max(fenced, ownFenced[thread]);
  }
  ++own[thread];
}

void Clocks::acquire(unsigned thread, const SyncPoint &point) {
  if (!point.joined)
    return;
  // If the thread released into the point, its own vector is already part of it.
  if (is_contained(point.seen, base[thread])) {
    base[thread] = point.joined;
    return;
  }
  if (point.lastMerged != base[thread]) {
    auto merged = std::make_shared<ClockVector>(*point.joined);
    joinVectors(*merged, *base[thread]);
    point.lastMerged = base[thread];
    point.lastResult = std::move(merged);
  }
  base[thread] = point.lastResult;
}

void Clocks::releaseAgent(unsigned agent, uint32_t clock, SyncPoint &point) {
  if (!point.joined)
    point.joined = std::make_shared<ClockVector>(base[0]->size(), 0);
  (*point.joined)[agent] = std::max((*point.joined)[agent], clock);
}

void Clocks::fenceProxy(unsigned thread) {
  if (lastUnfenced != base[thread]) {
    auto fenced = std::make_shared<ClockVector>(*base[thread]);
    for (size_t i = 0; i < own.size(); ++i)
      (*fenced)[firstFenced + i] = (*fenced)[i];
    lastUnfenced = base[thread];
    lastFenced = std::move(fenced);
  }
  base[thread] = lastFenced;
  ownFenced[thread] = own[thread]++;
}

void Shadow::split(Cell &cell, uint64_t alignment) {
  const unsigned shift = std::countr_zero(alignment | kCellBytes), before = cell.parts ? cell.shift : kCellShift;
  if (cell.parts && cell.shift <= shift)
    return;
  // A list belongs to one part: the others get copies.
  auto copy = [&](const EpochSet &set) {
    EpochSet own = set;
    if (set.list)
      addList(own, SmallVector<Epoch, 8>(ArrayRef<Epoch>(lists[set.list - 1])));
    return own;
  };
  auto parts = std::make_unique<ShadowState[]>(kCellBytes >> shift);
  for (unsigned i = 0; i < kCellBytes >> shift; ++i) {
    const ShadowState &from = cell.parts ? cell.parts[i >> (before - shift)] : cell.state;
    parts[i] = from;
    if (i & ((1u << (before - shift)) - 1)) {
      parts[i].reads = copy(from.reads);
      parts[i].atomics = copy(from.atomics);
    }
  }
  cell.parts = std::move(parts);
  cell.shift = shift;
}

void Shadow::unite(Cell &cell) {
  const ShadowState &first = cell.parts[0];
  auto isNone = [](const EpochSet &set) { return !set.list && !set.only.clock; };
  for (unsigned i = 0; i < kCellBytes >> cell.shift; ++i) {
    const ShadowState &part = cell.parts[i];
    if (part.write != first.write || part.pending != first.pending || part.initialised != first.initialised ||
        !isNone(part.reads) || !isNone(part.atomics))
      return;
  }
  cell.state = first;
  cell.parts.reset();
}

void Shadow::uniteAll(uint64_t offset, uint64_t size) {
  for (uint64_t i = (offset + kCellBytes - 1) / kCellBytes; i < (offset + size) / kCellBytes; ++i)
    if (cells[i].parts)
      unite(cells[i]);
}

Epoch Shadow::findUnordered(const Clocks &clocks, const EpochSet &set, unsigned thread) const {
  if (set.list) {
    for (const Epoch &epoch : reverse(lists[set.list - 1]))
      if (races(clocks, epoch, thread))
        return epoch;
  } else if (races(clocks, set.only, thread)) {
    return set.only;
  }
  return {};
}

void Shadow::record(const Clocks &clocks, EpochSet &set, unsigned thread, int line) {
  const Epoch epoch = clocks.now(thread, line);
  if (set.list) {
    auto &list = lists[set.list - 1];
    // A thread not ordered after one of these is not ordered after this access either. Many threads read a byte, so a
    // search each time would be quadratic.
    if (list.size() == list.capacity())
      llvm::erase_if(list, [&](const Epoch &old) { return clocks.isOrdered(old, thread); });
    list.push_back(epoch);
    return;
  }
  // A thread ordered after this access is also ordered after its predecessors.
  if (!set.only.clock || clocks.isOrdered(set.only, thread)) {
    set.only = epoch;
    return;
  }
  addList(set, {set.only, epoch});
}

void Shadow::addList(EpochSet &set, ArrayRef<Epoch> epochs) {
  if (freeLists.empty()) {
    lists.emplace_back();
    freeLists.push_back(lists.size());
  }
  set.list = freeLists.back();
  freeLists.pop_back();
  lists[set.list - 1].assign(epochs.begin(), epochs.end());
}

void Shadow::clear(EpochSet &set) {
  if (set.list) {
    lists[set.list - 1].clear();
    freeLists.push_back(set.list);
  }
  set = {};
}

Epoch Shadow::access(const Clocks &clocks, uint64_t offset, unsigned size, Access access, unsigned thread, int line) {
  Epoch racing;
  const bool isWrite = access == Access::Write || access == Access::AsyncWrite || access == Access::FloatAdd;
  const bool isAtomic = access == Access::Atomic || access == Access::StrongWrite;
  forStates(offset, size, [&](ShadowState &state) {
    if (races(clocks, state.write, thread))
      racing = state.write;
    if ((isWrite || isAtomic) && !racing.clock)
      racing = findUnordered(clocks, state.reads, thread);
    if ((isWrite || access == Access::Read) && !racing.clock)
      racing = findUnordered(clocks, state.atomics, thread);
    if (access == Access::Read) {
      record(clocks, state.reads, thread, line);
    } else if (isAtomic) {
      record(clocks, state.atomics, thread, line);
    } else if (isWrite) {
      clear(state.reads);
      clear(state.atomics);
      state.write = clocks.now(thread, line);
    }
    state.initialised |= access == Access::Write || isAtomic;
  });
  if (isWrite)
    uniteAll(offset, size);
  return racing;
}

void Shadow::recordAgent(EpochSet &set, Epoch epoch) {
  // A thread that has waited for an agent's operation has also waited for its earlier ones.
  if (!set.list && (!set.only.clock || set.only.thread == epoch.thread)) {
    set.only = epoch;
    return;
  }
  if (!set.list) {
    addList(set, {set.only, epoch});
    return;
  }
  for (Epoch &old : lists[set.list - 1]) {
    if (old.thread == epoch.thread) {
      old = epoch;
      return;
    }
  }
  lists[set.list - 1].push_back(epoch);
}

Shadow::AsyncConflict Shadow::accessAsync(const Clocks &clocks, uint64_t offset, unsigned size,
                                          const AsyncAccess &access) {
  AsyncConflict conflict;
  const Epoch epoch = clocks.ofAgent(access.agent, access.clock, access.line);
  forStates(offset, size, [&](ShadowState &state) {
    const Epoch write = state.write;
    if (write.clock && !conflict.other.clock) {
      if (!clocks.isOrdered(write, access.issuer))
        conflict = {write, false};
      else if (!clocks.isFenced(write, access.issuer))
        conflict = {write, true};
    }
    if (!access.isWrite)
      return recordAgent(state.reads, epoch);
    if (!conflict.other.clock)
      conflict.other = findUnordered(clocks, state.reads, access.issuer);
    if (!conflict.other.clock)
      conflict.other = findUnordered(clocks, state.atomics, access.issuer);
    clear(state.reads);
    clear(state.atomics);
    state.write = epoch;
    state.initialised = true;
  });
  if (access.isWrite)
    uniteAll(offset, size);
  return conflict;
}
