//===- Races.cpp - who touched each byte of shared memory -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Races.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace attn::ptx;

Clocks::Clocks(unsigned threads, unsigned agents)
    : own(threads, 1), firstFenced(threads + agents),
      base(threads, std::make_shared<ClockVector>(threads + (agents ? agents + threads : 0), 0)) {}

static void join(ClockVector &to, const ClockVector &from) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = std::max(to[i], from[i]);
}

void Clocks::release(unsigned thread, SyncPoint &point) {
  if (!point.joined)
    point.joined = std::make_shared<ClockVector>(base[thread]->size(), 0);
  if (!is_contained(point.seen, base[thread])) {
    point.seen.push_back(base[thread]);
    join(*point.joined, *base[thread]);
  }
  (*point.joined)[thread] = std::max((*point.joined)[thread], own[thread]);
  ++own[thread];
}

void Clocks::acquire(unsigned thread, const SyncPoint &point) {
  if (!point.joined)
    return;
  // Where the thread released into the point, its own vector is part of it already.
  if (is_contained(point.seen, base[thread])) {
    base[thread] = point.joined;
    return;
  }
  if (point.lastMerged != base[thread]) {
    auto merged = std::make_shared<ClockVector>(*point.joined);
    join(*merged, *base[thread]);
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
  auto fenced = std::make_shared<ClockVector>(*base[thread]);
  for (size_t i = 0; i < own.size(); ++i)
    (*fenced)[firstFenced + i] = (*fenced)[i];
  (*fenced)[firstFenced + thread] = own[thread]++;
  base[thread] = std::move(fenced);
}

Epoch Shadow::findUnordered(const EpochSet &set, unsigned thread) const {
  if (set.list) {
    for (const Epoch &epoch : reverse(lists[set.list - 1]))
      if (!clocks.isOrdered(epoch.thread, epoch.clock, thread))
        return epoch;
  } else if (set.only.clock && !clocks.isOrdered(set.only.thread, set.only.clock, thread)) {
    return set.only;
  }
  return {};
}

void Shadow::record(EpochSet &set, unsigned thread, int line) {
  const Epoch epoch{clocks.now(thread), uint16_t(thread), line};
  if (set.list) {
    auto &list = lists[set.list - 1];
    // Whoever is not ordered after one of these is not ordered after this access either. Many threads read a byte: to
    // look for them each time would take the square of that.
    if (list.size() == list.capacity())
      llvm::erase_if(list, [&](const Epoch &old) { return clocks.isOrdered(old.thread, old.clock, thread); });
    list.push_back(epoch);
    return;
  }
  // Whoever is ordered after this access is ordered after one that it follows.
  if (!set.only.clock || clocks.isOrdered(set.only.thread, set.only.clock, thread)) {
    set.only = epoch;
    return;
  }
  if (freeLists.empty()) {
    lists.emplace_back();
    freeLists.push_back(lists.size());
  }
  set.list = freeLists.back();
  freeLists.pop_back();
  lists[set.list - 1].assign({set.only, epoch});
}

void Shadow::clear(EpochSet &set) {
  if (set.list) {
    lists[set.list - 1].clear();
    freeLists.push_back(set.list);
  }
  set = {};
}

Epoch Shadow::access(uint64_t offset, unsigned size, Access access, unsigned thread, int line) {
  Epoch racing;
  for (uint64_t i = offset; i < offset + size; ++i) {
    ShadowByte &byte = bytes[i];
    if (byte.write.clock && !clocks.isOrdered(byte.write.thread, byte.write.clock, thread))
      racing = byte.write;
    if (access != Access::Read && !racing.clock)
      racing = findUnordered(byte.reads, thread);
    if (access != Access::Atomic && !racing.clock)
      racing = findUnordered(byte.atomics, thread);
    if (access == Access::Read) {
      record(byte.reads, thread, line);
    } else if (access == Access::Atomic) {
      record(byte.atomics, thread, line);
    } else {
      clear(byte.reads);
      clear(byte.atomics);
      byte.write = {clocks.now(thread), uint16_t(thread), line};
    }
    byte.initialised |= access == Access::Write || access == Access::Atomic;
  }
  return racing;
}

void Shadow::recordAgent(EpochSet &set, Epoch epoch) {
  // Whoever waited for what an agent does now has waited for what it did before.
  if (!set.list && (!set.only.clock || set.only.thread == epoch.thread)) {
    set.only = epoch;
    return;
  }
  if (!set.list) {
    if (freeLists.empty()) {
      lists.emplace_back();
      freeLists.push_back(lists.size());
    }
    set.list = freeLists.back();
    freeLists.pop_back();
    lists[set.list - 1].assign({set.only, epoch});
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

Shadow::AsyncConflict Shadow::accessAsync(uint64_t offset, unsigned size, const AsyncAccess &access) {
  AsyncConflict conflict;
  for (uint64_t i = offset; i < offset + size; ++i) {
    ShadowByte &byte = bytes[i];
    const Epoch write = byte.write;
    if (write.clock && !conflict.other.clock) {
      if (!clocks.isOrdered(write.thread, write.clock, access.issuer))
        conflict = {write, false};
      else if (!clocks.isFenced(write.thread, write.clock, access.issuer))
        conflict = {write, true};
    }
    const Epoch epoch{access.clock, uint16_t(access.agent), access.line};
    if (!access.isWrite) {
      recordAgent(byte.reads, epoch);
      continue;
    }
    if (!conflict.other.clock)
      conflict.other = findUnordered(byte.reads, access.issuer);
    if (!conflict.other.clock)
      conflict.other = findUnordered(byte.atomics, access.issuer);
    clear(byte.reads);
    clear(byte.atomics);
    byte.write = epoch;
    byte.initialised = true;
  }
  return conflict;
}
