//===- Mbarrier.h - mbarrier objects of shared memory -----------*- C++ -*-===//
//
// An object counts the arrivals and the bytes that its phase still waits for. When both are 0 the phase is complete:
// the next one starts, and whoever sees that is ordered after all arrivals, and after the copies that counted down its
// bytes. What such copies do has a clock for each object: the number of its phases.
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
  int64_t bytes = 0;        ///< that copies will still bring; below 0 where they came before they were expected
  uint32_t phase = 0;       ///< the incomplete one
  uint32_t clock = 0;       ///< of the agent, for the incomplete phase
  unsigned agent = 0;       ///< does the copies
  Epoch initialised{};      ///< by whom
  bool isAnnounced = false; ///< to the asynchronous proxy, by fence.mbarrier_init
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
  /// Returns the state: the number of the phase it arrived in. `isOrdering`: it is no .relaxed one.
  uint64_t arrive(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address, uint32_t count,
                  bool isOrdering);
  /// More bytes to come in this phase; less than 0: copies have brought them.
  void expect(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address, int64_t bytes);

  /// test_wait and try_wait. True: the path waits.
  bool wait(Warp &warp, unsigned path, const Instruction &instruction, LaneMask lanes);

  /// The object on which a copy of `bytes` will complete; null after a finding.
  Mbarrier *startCopy(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address);
  void completeCopy(const Warp &warp, unsigned lane, const Instruction &instruction, Mbarrier &object, int64_t bytes);

  /// What is wrong with them when the block ends.
  void finish();
  const std::map<uint64_t, Mbarrier> &all() const { return objects; }
  const Mbarrier *find(uint64_t offset) const;

private:
  Mbarrier *use(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address);
  bool isComplete(const Mbarrier &object, const Instruction &instruction, uint64_t operand) const;
  void see(const Warp &warp, unsigned lane, const Instruction &instruction, Mbarrier &object);
  /// Ends the phase if it waits for nothing.
  void advance(const Warp &warp, unsigned lane, const Instruction &instruction, Mbarrier &object);

  Block &block;
  std::map<uint64_t, Mbarrier> objects; ///< by offset
  std::map<uint64_t, std::pair<unsigned, uint32_t>>
      agents; ///< by offset: agent and its last clock, of all objects there
};

/// Instruction::variant of mbarrier.
/// rows: address, result or kNoRow, operand (count, bytes, state, parity) or kNoRow, count beside bytes or kNoRow.
/// variant2: .relaxed. negated: the wait is by parity.
enum class MbarrierKind : uint8_t { Init, Invalidate, Arrive, ArriveExpect, Expect, Complete, TestWait, TryWait };

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_MBARRIER_H
