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
#include <memory>
#include <vector>

namespace attn::ptx {

using ClockVector = std::vector<uint32_t>;

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
  explicit Clocks(unsigned threads, unsigned agents = 0);
  /// Everything the thread did so far is ordered before whoever acquires from `point`.
  void release(unsigned thread, SyncPoint &point);
  void acquire(unsigned thread, const SyncPoint &point);

  uint32_t now(unsigned thread) const { return own[thread]; }
  /// Whether what `other` did at `clock` is ordered before what `thread` does now.
  bool isOrdered(unsigned other, uint32_t clock, unsigned thread) const {
    return other == thread || clock <= (*base[thread])[other];
  }

  // Agents do what the asynchronous proxy does; each counts by itself, and in an Epoch stands as a thread.
  bool isAgent(unsigned thread) const { return thread >= own.size(); }
  unsigned firstAgent() const { return own.size(); }
  /// What the agent did up to `clock` is ordered before whoever acquires from `point`.
  void releaseAgent(unsigned agent, uint32_t clock, SyncPoint &point);
  /// What `thread` did, or has seen, is ordered before what the asynchronous proxy does for whoever acquires it.
  void fenceProxy(unsigned thread);
  /// Whether a proxy fence stands between what `other` did at `clock` and now.
  bool isFenced(unsigned other, uint32_t clock, unsigned thread) const {
    return isAgent(other) || clock <= (other == thread ? ownFenced[thread] : (*base[thread])[firstFenced + other]);
  }

private:
  std::vector<uint32_t> own;
  std::vector<uint32_t> ownFenced; ///< of a thread: what of its own its last proxy fence has seen
  unsigned firstFenced;            ///< threads, agents, then threads again: what a proxy fence has seen of them
  std::vector<std::shared_ptr<ClockVector>> base;
  /// The last vector that a proxy fence was done on, and the result: threads that share one share the other.
  std::shared_ptr<ClockVector> lastUnfenced, lastFenced;
};

struct Epoch {
  uint32_t clock = 0; ///< 0: none
  uint16_t thread = 0;
  int line = 0;
  bool operator==(const Epoch &) const = default;
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

/// AsyncWrite: the bytes will be written by a copy that is under way.
enum class Access : uint8_t { Read, Write, Atomic, AsyncWrite };

/// The state of every byte. Most accesses are of 16 bytes at a time, which have one state until an access is of a part.
class Shadow {
public:
  Shadow(uint64_t bytes, Clocks &clocks) : cells((bytes + kCellBytes - 1) / kCellBytes), clocks(clocks) {}

  /// Records the access; the past access that races with it, or clock 0.
  Epoch access(uint64_t offset, unsigned size, Access access, unsigned thread, int line);
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
  AsyncConflict accessAsync(uint64_t offset, unsigned size, const AsyncAccess &access);

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
  void record(EpochSet &set, unsigned thread, int line);
  void addList(EpochSet &set, llvm::ArrayRef<Epoch> epochs);
  /// One that is not ordered before what `thread` does now; clock 0: there is none.
  Epoch findUnordered(const EpochSet &set, unsigned thread) const;
  void clear(EpochSet &set);

  std::vector<Cell> cells;
  std::vector<llvm::SmallVector<Epoch, 4>> lists; ///< by EpochSet::list − 1
  std::vector<uint32_t> freeLists;
  Clocks &clocks;
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_RACES_H
