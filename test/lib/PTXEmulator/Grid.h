//===- Grid.h - the blocks of a launch --------------------------*- C++ -*-===//
//
// Blocks of a kernel that may wait for each other are executed in turns. A turn ends at a strong access of global
// memory, so that other blocks interleave with the steps of a protocol, and after some instructions of each warp.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_GRID_H
#define ATTN_TEST_PTXEMULATOR_GRID_H

#include "Emulator.h"
#include "GlobalOrder.h"

#include <random>

namespace attn::ptx {

class Block;

/// The state that the blocks of a launch share.
class Grid {
public:
  Grid(const Program &program, GlobalMemory &global, const Launch &launch, Report &report);
  ~Grid();
  /// Executes all blocks.
  void run();
  /// "3 of 8 blocks have started, at most 3 at once"
  std::string describeStarted() const;

  const Program &program;
  GlobalMemory &global;
  const Launch &launch;
  Report &report;
  std::vector<uint8_t> constants; ///< .const and .global variables
  GlobalOrder order;
  uint64_t executed = 0; ///< instructions of warps
  uint64_t changes = 0;  ///< to memory and barriers, by any block: a repeated read may then have another result
  bool stopped = false;

private:
  void start();
  bool runTurns();

  std::vector<std::unique_ptr<Block>> blocks; ///< the active ones
  uint64_t started = 0;
  std::vector<uint32_t> sequence; ///< the order in which blocks start; empty: by index
  std::mt19937_64 random;
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_GRID_H
