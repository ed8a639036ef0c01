//===- Races.h - accesses and their order -----------------------*- C++ -*-===//
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

/// The progress of threads of other blocks that is ordered before, by block.
using BlockClocks = std::map<uint32_t, std::shared_ptr<const std::vector<uint32_t>>>;
void join(BlockClocks &to, const BlockClocks &from);

/// The same for the threads and agents of its own block, plus what is known of the others.
struct ClockVector : std::vector<uint32_t> {
  using std::vector<uint32_t>::vector;
  BlockClocks others = {};
};

/// Bits of an Epoch for threads and agents of a block, and for blocks. Beyond that, some count as the same.
inline constexpr unsigned kThreadBits = 11, kBlockBits = 21;

/// An access, by a thread or an agent of a block.
struct Epoch {
  uint32_t clock = 0; ///< 0: none
  uint32_t thread : kThreadBits = 0, block : kBlockBits = 0;
  int line = 0;
  bool operator==(const Epoch &) const = default;
};

/// What has been released into a barrier, or will be into a phase of an mbarrier. After an acquire from it, there is no
/// release into it until clear().
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
  /// `agents`: the most agents of asynchronous operations; 0 if a kernel has none.
  Clocks(uint32_t block, unsigned threads, unsigned agents);
  /// Orders everything that the thread did so far before any acquire from `point`.
  void release(unsigned thread, SyncPoint &point);
  void acquire(unsigned thread, const SyncPoint &point);

  /// The same to and from threads of any block: what `thread` releases, and what it acquires.
  BlockClocks releaseToBlocks(unsigned thread);
  void acquireFromBlocks(unsigned thread, const BlockClocks &released);

  /// The epoch of a current operation of `thread`.
  Epoch now(unsigned thread, int line) const { return {own[thread], thread, block, line}; }
  Epoch ofAgent(unsigned agent, uint32_t clock, int line) const { return {clock, agent, block, line}; }
  bool isOwn(const Epoch &epoch) const { return epoch.block == block; }
  /// True if `other` is ordered before the current operation of `thread`.
  bool isOrdered(const Epoch &other, unsigned thread) const {
    if (!isOwn(other))
      return isOrderedBlock(other, thread);
    return other.thread == thread || other.clock <= (*base[thread])[other.thread];
  }

  // Agents perform the operations of the asynchronous proxy. Each has its own clock, and is a thread in an Epoch.
  bool isAgent(unsigned thread) const { return thread >= own.size(); }
  unsigned firstAgent() const { return own.size(); }
  /// Orders what the agent did up to `clock` before any acquire from `point`.
  void releaseAgent(unsigned agent, uint32_t clock, SyncPoint &point);
  /// Orders what `thread` did, or has observed, before operations of the asynchronous proxy of any thread that acquires
  /// it.
  void fenceProxy(unsigned thread);
  /// True if there is a proxy fence between `other`, of this block, and now.
  bool isFenced(const Epoch &other, unsigned thread) const {
    return isAgent(other.thread) ||
           other.clock <= (other.thread == thread ? ownFenced[thread] : (*base[thread])[firstFenced + other.thread]);
  }

private:
  bool isOrderedBlock(const Epoch &other, unsigned thread) const;

  uint32_t block;
  std::vector<uint32_t> own;
  std::vector<uint32_t> ownFenced; ///< per thread: its own clock at its last proxy fence
  unsigned firstFenced;            ///< threads, agents, then threads again: their clocks at a proxy fence
  std::vector<std::shared_ptr<ClockVector>> base;
  /// The last vector of a proxy fence, and the result: threads that share one share the other.
  std::shared_ptr<ClockVector> lastUnfenced, lastFenced;
};

/// Accesses that later ones may race with: one, or a list of Shadow's, with the latest at its end.
struct EpochSet {
  Epoch only;
  uint32_t list = 0; ///< index of the list + 1; 0: `only`
};

/// The state of bytes of shared memory whose accesses were the same.
struct ShadowState {
  Epoch write;
  EpochSet reads, atomics;
  uint32_t pending = 0; ///< the asynchronous copy that will write here; 0: none
  bool initialised = false;
};

enum class Access : uint8_t {
  Read,
  Write,
  Atomic,
  AsyncWrite, ///< a pending copy will write the bytes
  // For global memory.
  StrongRead, ///< by a reader of a flag: no race with atomics and strong writes
  StrongWrite,
  FloatAdd, ///< atomic, but the order of two changes the sum
};

/// The state of every byte. Most accesses are of 16 bytes, which share one state until an access covers only a part.
class Shadow {
public:
  /// `betweenBlocks`: two accesses of one block do not race.
  explicit Shadow(uint64_t bytes, bool betweenBlocks = false)
      : cells((bytes + kCellBytes - 1) / kCellBytes), betweenBlocks(betweenBlocks) {}

  /// Records the access of a thread of the clocks. Returns the past access that races with it, or clock 0.
  Epoch access(const Clocks &clocks, uint64_t offset, unsigned size, Access access, unsigned thread, int line);
  /// Calls `body` with the state of each byte, once for bytes with a common state.
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

  /// An operation of an agent for the thread `issuer`, with the agent's clock.
  struct AsyncAccess {
    unsigned issuer, agent;
    uint32_t clock;
    bool isWrite;
    int line;
  };
  /// The past access that is not ordered before it, or (`isFenceMissing`) is ordered only for the generic proxy.
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
  /// Splits the cell so that parts begin at multiples of the lowest bit of `alignment`.
  void split(Cell &cell, uint64_t alignment);
  /// Merges equal parts of a cell after a write of the whole cell.
  void unite(Cell &cell);
  void uniteAll(uint64_t offset, uint64_t size);
  void recordAgent(EpochSet &set, Epoch epoch);
  void record(const Clocks &clocks, EpochSet &set, unsigned thread, int line);
  void addList(EpochSet &set, llvm::ArrayRef<Epoch> epochs);
  bool races(const Clocks &clocks, const Epoch &other, unsigned thread) const {
    return other.clock && !(betweenBlocks && clocks.isOwn(other)) && !clocks.isOrdered(other, thread);
  }
  /// An access that is not ordered before the current one of `thread`; clock 0 if there is none.
  Epoch findUnordered(const Clocks &clocks, const EpochSet &set, unsigned thread) const;
  void clear(EpochSet &set);

  std::vector<Cell> cells;
  std::vector<llvm::SmallVector<Epoch, 4>> lists; ///< by EpochSet::list − 1
  std::vector<uint32_t> freeLists;
  const bool betweenBlocks;
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_RACES_H
