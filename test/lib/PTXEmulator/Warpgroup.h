//===- Warpgroup.h - four warps, and their pending wgmma --------*- C++ -*-===//
//
// The warps of a group execute one by one here. Each must do what the first of them did: the same instruction, with the
// same descriptors. A wgmma is executed when it is issued. Until a wait for its group, its registers must not be
// accessed, and the shared memory that it reads counts as read by an agent of the warp, whose clock counts groups.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_WARPGROUP_H
#define ATTN_TEST_PTXEMULATOR_WARPGROUP_H

#include "Races.h"
#include "Warp.h"

#include <deque>

namespace attn::ptx {

inline constexpr unsigned kWarpsOfGroup = 4;

/// Sets Instruction::isWatched of instructions, other than wgmma, that use registers of wgmma.
void watchWgmmaRegisters(Program &program);

/// The wgmma state of one warp.
struct WgmmaWarp {
  /// The state of a register, by row / kRowAlign.
  struct State {
    uint32_t group = 0;   ///< the last group that uses it
    uint32_t touched = 0; ///< the number of fences + 1 at a thread's last access
    uint16_t columns = 0; ///< N of the wgmma with this accumulator; 0: a fragment of A
    int line = 0;         ///< of the last wgmma, or of the last access
  };
  std::vector<State> registers;
  uint32_t fences = 0;
  uint32_t open = 1;     ///< the group that commit_group closes; the agent's clock
  uint32_t complete = 0; ///< all groups up to it have been waited for
  uint32_t lastIssued = 0;
  int line = 0;              ///< of the last wgmma
  unsigned agent = 0;        ///< 0: none yet
  uint32_t calls = 0;        ///< of instructions of its group
  uint32_t numRegisters = 0; ///< by setmaxnreg
  int registersLine = 0;
};

class Warpgroups {
public:
  explicit Warpgroups(Block &block) : block(block) {}

  /// Checks that all warps of a group do the same: the instruction, and operands that must be uniform. False after a
  /// finding.
  bool call(const Warp &warp, const Instruction &instruction, llvm::ArrayRef<uint64_t> operands = {});
  WgmmaWarp &of(const Warp &warp);
  /// An instruction other than wgmma accesses registers.
  void touch(const Warp &warp, const Instruction &instruction, LaneMask lanes);
  /// A wgmma with N = `columns` uses registers: accumulators, fragments of A.
  void use(const Warp &warp, const Instruction &instruction, llvm::ArrayRef<uint32_t> accumulators,
           llvm::ArrayRef<uint32_t> fragments, unsigned columns);
  Shadow::AsyncAccess read(const Warp &warp, const Instruction &instruction);
  /// Completes all but the last `pending` groups.
  void wait(const Warp &warp, LaneMask lanes, uint64_t pending);
  void setRegisters(const Warp &warp, const Instruction &instruction, uint32_t count, bool isIncrease);
  /// Reports their errors at the end of the block.
  void finish();

private:
  struct Call {
    uint32_t pc;
    llvm::SmallVector<uint64_t, 3> operands;
  };
  struct Group {
    std::deque<Call> calls; ///< that not all warps have made
    uint32_t first = 0;     ///< number of calls that all have made
  };
  std::string nameOf(uint32_t row) const;
  uint32_t initialRegisters() const;

  Block &block;
  std::vector<WgmmaWarp> warps;
  std::vector<Group> groups;
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_WARPGROUP_H
