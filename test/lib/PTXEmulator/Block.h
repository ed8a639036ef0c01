//===- Block.h - a block of threads and its shared memory -------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_BLOCK_H
#define ATTN_TEST_PTXEMULATOR_BLOCK_H

#include "Async.h"
#include "BulkCopy.h"
#include "Grid.h"
#include "Mbarrier.h"
#include "Warpgroup.h"

namespace attn::ptx {

inline constexpr unsigned kBarriers = 16;

/// Instruction::variant of bar and barrier; variant2: whether it is .aligned.
/// rows: result, barrier, threads or kNoRow, predicate.
enum class BarrierKind : uint8_t { Sync, Arrive, Popc, And, Or };
inline bool isReduction(BarrierKind kind) { return kind >= BarrierKind::Popc; }

struct Barrier {
  struct Waiter {
    Warp *warp;
    unsigned path;
    LaneMask lanes;
  };
  SyncPoint point;
  unsigned arrived = 0, expected = 0;
  int line = 0; ///< of the first arrival
  llvm::SmallVector<Waiter, 8> waiters;
  // bar.red
  unsigned trueCount = 0, voters = 0;
};

class Block {
public:
  enum class Turn : uint8_t { Done, Goes, Waits };
  Block(Grid &grid, uint32_t number);
  /// Runs at most `slice` instructions of each warp. It may wait for other blocks.
  Turn run(unsigned slice);
  /// Reports every waiting path, once per line, and ends the launch.
  void reportDeadlock();

  /// The host address of the `bytes` at `address`, after all checks; null after a finding. `align` 0: as `bytes`.
  uint8_t *access(const Warp &warp, unsigned lane, const Instruction &instruction, Space space, uint64_t address,
                  unsigned bytes, Access access, unsigned align = 0);
  /// The same for shared memory, accessed by an asynchronous operation of the thread.
  uint8_t *accessAsync(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t offset, unsigned bytes,
                       const Shadow::AsyncAccess &access);
  /// Counts the cost of an access of a whole warp.
  void countAccess(const Instruction &instruction, Space space, llvm::ArrayRef<uint64_t> addresses, LaneMask lanes,
                   unsigned bytes);
  /// Adds a write of a thread to Report::trace.
  void traceWrite(const Warp &warp, unsigned lane, Space space, uint64_t address, const uint8_t *data, unsigned bytes);
  /// The space of a generic address, which becomes an address in that space.
  static Space resolveGeneric(uint64_t &address);

  /// Applies the memory order of strong accesses of global memory, after they were made. All but float additions end
  /// the turn.
  void order(Warp &warp, const Instruction &instruction, LaneMask lanes, llvm::ArrayRef<uint64_t> addresses,
             Access access);

  /// Returns true if the path waits.
  bool arrive(Warp &warp, unsigned path, const Instruction &instruction, LaneMask lanes);
  void syncWarp(const Warp &warp, LaneMask lanes);
  /// Adds an agent of asynchronous operations, for Clocks.
  unsigned addAgent(std::string name);
  /// "thread (1, 0, 0) touched at line 7"
  std::string describe(const Epoch &epoch) const;

  void find(FindingKind kind, const Warp &warp, unsigned lane, const Instruction &instruction,
            const llvm::Twine &message);
  /// Ends the launch: further instructions would only repeat the finding.
  void stop() { grid.stopped = true; }
  bool isStopped() const { return grid.stopped; }
  Dim3 threadIndex(unsigned thread) const;
  Counters &counters(const Instruction &instruction) {
    return report.counters[&instruction - program.instructions.data()];
  }

  Grid &grid;
  const Program &program;
  GlobalMemory &global;
  const Launch &launch;
  Report &report;
  const uint32_t number; ///< of the block in its grid
  const Dim3 index;
  std::vector<uint8_t> shared;
  Clocks clocks;
  Shadow shadow;
  AsyncProxy async;
  Mbarriers mbarriers;
  Warpgroups warpgroups;
  std::vector<CopyGroups> copyGroups;        ///< by thread
  std::map<unsigned, BulkGroups> bulkGroups; ///< by thread, if it has any

private:
  uint8_t *accessShared(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t offset,
                        unsigned bytes, Access access);
  uint8_t *accessGlobal(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address,
                        unsigned bytes, Access access);
  void checkOtherBlocks(const Warp &warp, unsigned lane, const Instruction &instruction, Buffer &buffer,
                        uint64_t offset, unsigned bytes, Access access);
  void checkOrder(const Warp &warp, unsigned lane, const Instruction &instruction, const Buffer &buffer,
                  uint64_t offset, unsigned bytes, Access access);
  uint8_t *accessBytes(const Warp &warp, unsigned lane, const Instruction &instruction, llvm::StringRef name,
                       uint8_t *memory, uint64_t size, uint64_t offset, unsigned bytes);
  void completeBarrier(Barrier &barrier);
  void reportWaiting(const Warp &warp, const Path &path);
  void finish();

  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<uint8_t> local; ///< thread after thread
  std::vector<uint8_t> parameters;
  Barrier barriers[kBarriers];
  std::vector<std::string> agentNames;
  size_t nextWarp = 0; ///< the next warp to run
  bool hasYielded = false;
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_BLOCK_H
