//===- Mbarrier.h - mbarrier objects of shared memory -----------*- C++ -*-===//
//
// An object counts the pending arrivals and bytes of its phase. When both are 0, the phase is complete and the next one
// starts. A thread that observes this is ordered after all arrivals, and after the copies that decremented its bytes.
// These copies have a clock per object: the number of its phases.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_MBARRIER_H
#define ATTN_TEST_PTXEMULATOR_MBARRIER_H

#include "Races.h"
#include "Warp.h"

#include <map>

namespace attn::ptx {

struct Mbarrier {
  struct Waiter {
    Warp *warp;
    unsigned path;
    LaneMask lanes;
  };
  uint64_t offset;   ///< in shared memory
  uint32_t expected; ///< arrivals of a phase
  uint32_t pending;
  int64_t bytes = 0;                     ///< pending bytes of copies; negative if they arrive before they are expected
  uint32_t phase = 0;                    ///< the incomplete one
  uint32_t clock = 0;                    ///< of the agent, for the incomplete phase
  unsigned agent = 0;                    ///< the agent of the copies
  Epoch initialised{};                   ///< by which thread
  bool isAnnounced = false;              ///< made visible to the asynchronous proxy by fence.mbarrier_init
  uint32_t lastCopied = 0, lastSeen = 0; ///< phases + 1: the last with a copy, the last that a thread has waited for
  SyncPoint arriving = {}, completed = {};
  std::vector<int64_t> seen = {}; ///< by thread: the last phase that it has waited for; -2: none
  llvm::SmallVector<Waiter, 4> waiters = {};
};

class Mbarriers {
public:
  explicit Mbarriers(Block &block) : block(block) {}

  void init(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address, uint32_t count);
  void invalidate(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address);
  /// fence.mbarrier_init
  void announce(unsigned thread);
  /// Returns the state: the index of the phase of the arrival. `isOrdering`: it is not .relaxed.
  uint64_t arrive(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address, uint32_t count,
                  bool isOrdering);
  /// Expects more bytes in this phase; negative for bytes that copies have delivered.
  void expect(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address, int64_t bytes);

  /// test_wait and try_wait. Returns true if the path waits.
  bool wait(Warp &warp, unsigned path, const Instruction &instruction, LaneMask lanes);

  /// The object that tracks a copy of `bytes`; null after a finding.
  Mbarrier *startCopy(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address);
  void completeCopy(const Warp &warp, unsigned lane, const Instruction &instruction, Mbarrier &object, int64_t bytes);

  /// Reports their errors at the end of the block.
  void finish();
  const std::map<uint64_t, Mbarrier> &all() const { return objects; }
  const Mbarrier *find(uint64_t offset) const;

private:
  Mbarrier *use(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address);
  bool isComplete(const Mbarrier &object, const Instruction &instruction, uint64_t operand) const;
  void see(const Warp &warp, unsigned lane, const Instruction &instruction, Mbarrier &object);
  /// Ends the phase if nothing is pending.
  void advance(const Warp &warp, unsigned lane, const Instruction &instruction, Mbarrier &object);

  Block &block;
  std::map<uint64_t, Mbarrier> objects; ///< by offset
  std::map<uint64_t, std::pair<unsigned, uint32_t>>
      agents; ///< by offset: agent and its last clock, for all objects at this offset
};

/// Instruction::variant of mbarrier.
/// rows: address, result or kNoRow, operand (count, bytes, state, parity) or kNoRow, count in addition to bytes or
/// kNoRow. variant2: .relaxed. negated: the wait is by parity.
enum class MbarrierKind : uint8_t { Init, Invalidate, Arrive, ArriveExpect, Expect, Complete, TestWait, TryWait };

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_MBARRIER_H
