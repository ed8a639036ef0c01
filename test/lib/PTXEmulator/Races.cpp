//===- Races.cpp - who touched each byte of shared memory -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Races.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace attn::ptx;

Clocks::Clocks(unsigned threads) : own(threads, 1), base(threads, std::make_shared<ClockVector>(threads, 0)) {}

void Clocks::release(unsigned thread, SyncPoint &point) {
  if (!point.joined)
    point.joined = std::make_shared<ClockVector>(own.size(), 0);
  if (!is_contained(point.seen, base[thread])) {
    point.seen.push_back(base[thread]);
    for (size_t i = 0; i < own.size(); ++i)
      (*point.joined)[i] = std::max((*point.joined)[i], (*base[thread])[i]);
  }
  (*point.joined)[thread] = std::max((*point.joined)[thread], own[thread]);
  ++own[thread];
}

void Clocks::acquire(unsigned thread, const SyncPoint &point) {
  // Where the thread released into the point, its own vector is part of it already.
  if (is_contained(point.seen, base[thread])) {
    base[thread] = point.joined;
    return;
  }
  auto merged = std::make_shared<ClockVector>(*point.joined);
  for (size_t i = 0; i < merged->size(); ++i)
    (*merged)[i] = std::max((*merged)[i], (*base[thread])[i]);
  base[thread] = std::move(merged);
}

/// A reader that is not ordered before what `thread` does now.
Epoch Shadow::findReader(const ShadowByte &byte, unsigned thread) const {
  if (byte.readers) {
    for (const Epoch &epoch : readers[byte.readers - 1])
      if (!clocks.isOrdered(epoch.thread, epoch.clock, thread))
        return epoch;
  } else if (byte.read.clock && !clocks.isOrdered(byte.read.thread, byte.read.clock, thread)) {
    return byte.read;
  }
  return {};
}

void Shadow::recordRead(ShadowByte &byte, unsigned thread, int line) {
  const Epoch epoch{clocks.now(thread), uint16_t(thread), line};
  if (!byte.readers) {
    // Whoever is ordered after this read is ordered after one that this read follows.
    if (!byte.read.clock || clocks.isOrdered(byte.read.thread, byte.read.clock, thread)) {
      byte.read = epoch;
      return;
    }
    if (freeReaders.empty()) {
      readers.emplace_back();
      freeReaders.push_back(readers.size());
    }
    byte.readers = freeReaders.back();
    freeReaders.pop_back();
    readers[byte.readers - 1].assign({byte.read, epoch});
    return;
  }
  auto &list = readers[byte.readers - 1];
  llvm::erase_if(list, [&](const Epoch &old) { return clocks.isOrdered(old.thread, old.clock, thread); });
  list.push_back(epoch);
}

Epoch Shadow::access(uint64_t offset, unsigned size, Access access, unsigned thread, int line) {
  Epoch racing;
  for (uint64_t i = offset; i < offset + size; ++i) {
    ShadowByte &byte = bytes[i];
    const bool isOrdered = !byte.write.clock || clocks.isOrdered(byte.write.thread, byte.write.clock, thread) ||
                           (access == Access::Atomic && byte.writeIsAtomic);
    if (!isOrdered)
      racing = byte.write;
    if (access == Access::Read) {
      recordRead(byte, thread, line);
      continue;
    }
    if (Epoch reader = findReader(byte, thread); reader.clock && !racing.clock)
      racing = reader;
    if (byte.readers) {
      readers[byte.readers - 1].clear();
      freeReaders.push_back(byte.readers);
      byte.readers = 0;
    }
    byte.read = {};
    byte.write = {clocks.now(thread), uint16_t(thread), line};
    byte.writeIsAtomic = access == Access::Atomic;
    byte.initialised |= access != Access::AsyncWrite;
  }
  return racing;
}
