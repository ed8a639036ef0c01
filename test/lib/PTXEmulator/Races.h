//===- Races.h - who touched what, in which order ---------------*- C++ -*-===//
//
// Happens-before by vector clocks (FastTrack, Flanagan and Freund 2009). A thread's clock is the shared vector of its
// last synchronisation with its own component replaced, so that a barrier makes one vector, not one for each thread.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_RACES_H
#define ATTN_TEST_PTXEMULATOR_RACES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace attn::ptx {

/// How far the threads of other blocks had come in what is ordered before, by block.
using BlockClocks = std::map<uint32_t, std::shared_ptr<const std::vector<uint32_t>>>;
void join(BlockClocks &to, const BlockClocks &from);

/// The same of the threads and agents of its own block, and what is known of the others.
struct ClockVector : std::vector<uint32_t> {
  using std::vector<uint32_t>::vector;
  BlockClocks others = {};
};

/// Of an Epoch: threads and agents of a block, and blocks. Of more, some count as the same.
inline constexpr unsigned kThreadBits = 11, kBlockBits = 21;

/// An access, by a thread or an agent of a block.
struct Epoch {
  uint32_t clock = 0; ///< 0: none
  uint32_t thread : kThreadBits = 0, block : kBlockBits = 0;
  int line = 0;
  bool operator==(const Epoch &) const = default;
};

/// What has been released into a barrier, or will be into a phase of an mbarrier. Once somebody has acquired from it,
/// nobody releases into it before clear().
class SyncPoint {
public:
  bool empty() const { return !joined; }
  void clear() {
    joined.reset();
    seen.clear();
  }

private:
  friend class Clocks;
  std::shared_ptr<ClockVector> joined;
  llvm::SmallVector<std::shared_ptr<ClockVector>, 8> seen; ///< vectors that are part of `joined`
  /// The last vector that was merged with `joined`, and the result: threads that share one share the other.
  mutable std::shared_ptr<ClockVector> lastMerged, lastResult;
};

class Clocks {
public:
  /// `agents`: at most so many do asynchronous operations; 0 where a kernel has none.
  Clocks(uint32_t block, unsigned threads, unsigned agents);
  /// Everything the thread did so far is ordered before whoever acquires from `point`.
  void release(unsigned thread, SyncPoint &point);
  void acquire(unsigned thread, const SyncPoint &point);

  /// The same to and from threads of any block: what `thread` releases, and what it acquires.
  BlockClocks releaseToBlocks(unsigned thread);
  void acquireFromBlocks(unsigned thread, const BlockClocks &released);

  /// What `thread` does now.
  Epoch now(unsigned thread, int line) const { return {own[thread], thread, block, line}; }
  Epoch ofAgent(unsigned agent, uint32_t clock, int line) const { return {clock, agent, block, line}; }
  bool isOwn(const Epoch &epoch) const { return epoch.block == block; }
  /// Whether `other` is ordered before what `thread` does now.
  bool isOrdered(const Epoch &other, unsigned thread) const {
    if (!isOwn(other))
      return isOrderedBlock(other, thread);
    return other.thread == thread || other.clock <= (*base[thread])[other.thread];
  }

  // Agents do what the asynchronous proxy does; each counts by itself, and in an Epoch stands as a thread.
  bool isAgent(unsigned thread) const { return thread >= own.size(); }
  unsigned firstAgent() const { return own.size(); }
  /// What the agent did up to `clock` is ordered before whoever acquires from `point`.
  void releaseAgent(unsigned agent, uint32_t clock, SyncPoint &point);
  /// What `thread` did, or has seen, is ordered before what the asynchronous proxy does for whoever acquires it.
  void fenceProxy(unsigned thread);
  /// Whether a proxy fence stands between `other`, of this block, and now.
  bool isFenced(const Epoch &other, unsigned thread) const {
    return isAgent(other.thread) ||
           other.clock <= (other.thread == thread ? ownFenced[thread] : (*base[thread])[firstFenced + other.thread]);
  }

private:
  bool isOrderedBlock(const Epoch &other, unsigned thread) const;

  uint32_t block;
  std::vector<uint32_t> own;
  std::vector<uint32_t> ownFenced; ///< of a thread: what of its own its last proxy fence has seen
  unsigned firstFenced;            ///< threads, agents, then threads again: what a proxy fence has seen of them
  std::vector<std::shared_ptr<ClockVector>> base;
  /// The last vector that a proxy fence was done on, and the result: threads that share one share the other.
  std::shared_ptr<ClockVector> lastUnfenced, lastFenced;
};

/// Accesses that later ones may race with: one, or a list of Shadow's, the latest at its end.
struct EpochSet {
  Epoch only;
  uint32_t list = 0; ///< number of the list, 0: `only`
};

/// What is known of bytes of shared memory that all accesses have treated alike.
struct ShadowState {
  Epoch write;
  EpochSet reads, atomics;
  uint32_t pending = 0; ///< the asynchronous copy that will write here, 0: none
  bool initialised = false;
};

enum class Access : uint8_t {
  Read,
  Write,
  Atomic,
  AsyncWrite, ///< the bytes will be written by a copy that is under way
  // Of global memory.
  StrongRead, ///< of one value by a flag's reader: no race with atomics and strong writes
  StrongWrite,
  FloatAdd, ///< atomic, but the order of two changes the sum
};

/// The state of every byte. Most accesses are of 16 bytes at a time, which have one state until an access is of a part.
class Shadow {
public:
  /// `betweenBlocks`: two accesses of one block do not race.
  explicit Shadow(uint64_t bytes, bool betweenBlocks = false)
      : cells((bytes + kCellBytes - 1) / kCellBytes), betweenBlocks(betweenBlocks) {}

  /// Records the access of a thread of the clocks; the past access that races with it, or clock 0.
  Epoch access(const Clocks &clocks, uint64_t offset, unsigned size, Access access, unsigned thread, int line);
  /// Calls `body` with the state of each byte, once for those that have one together.
  template <typename F> void forStates(uint64_t offset, uint64_t size, F &&body) {
    for (uint64_t end = offset + size; offset < end;) {
      const uint64_t within = offset % kCellBytes, count = std::min(kCellBytes - within, end - offset);
      Cell &cell = cells[offset / kCellBytes];
      offset += count;
      if (count == kCellBytes && !cell.parts) {
        body(cell.state);
        continue;
      }
      split(cell, within | count);
      for (uint64_t part = within >> cell.shift; part <= (within + count - 1) >> cell.shift; ++part)
        body(cell.parts[part]);
    }
  }

  /// What an agent does for the thread `issuer`, at a clock of its own.
  struct AsyncAccess {
    unsigned issuer, agent;
    uint32_t clock;
    bool isWrite;
    int line;
  };
  /// The past access that is not ordered before it, or (`isFenceMissing`) only for the generic proxy.
  struct AsyncConflict {
    Epoch other;
    bool isFenceMissing = false;
  };
  AsyncConflict accessAsync(const Clocks &clocks, uint64_t offset, unsigned size, const AsyncAccess &access);

private:
  static constexpr unsigned kCellShift = 4;
  static constexpr uint64_t kCellBytes = 1 << kCellShift;
  struct Cell {
    ShadowState state;
    /// By byte >> shift; null: all have `state`.
    std::unique_ptr<ShadowState[]> parts;
    unsigned shift = 0;
  };
  /// So that parts begin at multiples of the lowest bit of `alignment`.
  void split(Cell &cell, uint64_t alignment);
  /// The parts of a cell that was written as a whole become one again where they are equal.
  void unite(Cell &cell);
  void uniteAll(uint64_t offset, uint64_t size);
  void recordAgent(EpochSet &set, Epoch epoch);
  void record(const Clocks &clocks, EpochSet &set, unsigned thread, int line);
  void addList(EpochSet &set, llvm::ArrayRef<Epoch> epochs);
  bool races(const Clocks &clocks, const Epoch &other, unsigned thread) const {
    return other.clock && !(betweenBlocks && clocks.isOwn(other)) && !clocks.isOrdered(other, thread);
  }
  /// One that is not ordered before what `thread` does now; clock 0: there is none.
  Epoch findUnordered(const Clocks &clocks, const EpochSet &set, unsigned thread) const;
  void clear(EpochSet &set);

  std::vector<Cell> cells;
  std::vector<llvm::SmallVector<Epoch, 4>> lists; ///< by EpochSet::list − 1
  std::vector<uint32_t> freeLists;
  const bool betweenBlocks;
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_RACES_H
