//===- Warp.h - a warp: paths of its 32 lanes -------------------*- C++ -*-===//
//
// A warp is a tree of paths: groups of lanes with a program counter each. A divergent branch creates two children that
// end at the branch's immediate post-dominator; their parent continues there when both have ended. A path that waits,
// at a barrier or for the lanes of a .sync instruction, does not stop its siblings (independent thread scheduling).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_WARP_H
#define ATTN_TEST_PTXEMULATOR_WARP_H

#include "Report.h"

namespace attn::ptx {

class Block;

struct Path {
  /// Polling: it only repeats the same reads, until something changes.
  enum class State : uint8_t { Free, Ready, Joining, AtBarrier, AtCollective, AtMbarrier, Polling };
  LaneMask mask;
  uint32_t pc;
  uint32_t join; ///< where it ends; the number of instructions: nowhere
  int parent;
  unsigned children = 0;
  State state = State::Ready;
  uint32_t timedOut = 0;               ///< pc + 1 of the last mbarrier.try_wait that failed
  const Instruction *polled = nullptr; ///< the last load that was executed while Polling
};

class Warp {
public:
  Warp(Block &block, unsigned index, LaneMask lanes);

  /// Executes at most `instructions` instructions; fewer if every path has ended or waits.
  void run(unsigned instructions);
  bool isDone() const { return live == 0; }
  bool isPolling() const;
  /// Ends the current run().
  void yield() { left = 0; }
  /// Called after a read that may be part of a loop that waits for another block. If nothing has changed since the same
  /// lanes were here with the same registers, only a change can end their loop.
  void poll(const Instruction &instruction);

  template <typename T> T *row(uint32_t offset) { return reinterpret_cast<T *>(registers.data() + offset); }
  uint32_t &predicate(uint32_t offset) { return *row<uint32_t>(offset); }
  /// The lanes whose register is undefined; maintained for tracked instructions (Definedness.h).
  LaneMask undefinedLanes(uint32_t row) const { return undefined.empty() ? 0 : undefined[row / kRowAlign]; }
  void setUndefined(uint32_t row, LaneMask values, LaneMask lanes) {
    LaneMask &mask = undefined[row / kRowAlign];
    mask = (mask & ~lanes) | (values & lanes);
  }
  unsigned thread(unsigned lane) const { return index * kLanes + lane; }

  Block &block;
  const unsigned index;
  const LaneMask launched;
  LaneMask live;      ///< not exited
  LaneMask carry = 0; ///< for add.cc and sub.cc, by lane
  std::vector<Path> paths;

  /// Continues a path whose wait is over.
  void resume(unsigned path) {
    paths[path].state = Path::State::Ready;
    ++paths[path].pc;
  }

private:
  void step(unsigned path);
  bool select();
  void fillSpecials();
  void trackUndefined(uint32_t pc, LaneMask mask, LaneMask active);
  void reportUndefined(uint32_t pc, uint32_t row, LaneMask lanes, llvm::StringRef role);
  void branch(unsigned path, const Instruction &instruction, LaneMask active);
  void branchTable(unsigned path, const Instruction &instruction, LaneMask active);
  /// The lanes of `taken` continue at `target`, the others of the path at `otherwise`; they join at `join`.
  void diverge(unsigned path, LaneMask taken, uint32_t target, uint32_t otherwise, uint32_t join);
  bool tryCollective(unsigned path);
  void exitLanes(unsigned path, LaneMask lanes);
  void finish(unsigned path);
  unsigned newPath(Path path);

  struct Poll {
    uint64_t changes = 0;
    std::vector<uint8_t> registers;
  };
  std::map<std::pair<const Instruction *, LaneMask>, Poll> polls;
  unsigned left = 0; ///< instructions to execute
  std::vector<uint8_t> registers;
  std::vector<LaneMask> undefined; ///< by row / kRowAlign
  unsigned current = 0;
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_WARP_H
