//===- GlobalOrder.h - memory order through global memory -------*- C++ -*-===//
//
// What threads of one launch, in any blocks, release and acquire by strong accesses of global memory (PTX ISA, memory
// consistency model), and which threads accessed each byte. A store or an atomic releases everything ordered before it
// in its thread, or before the thread's last fence; atomics of others on the same address continue the release
// sequence. A load or an atomic acquires it, or the thread's next fence does.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_GLOBALORDER_H
#define ATTN_TEST_PTXEMULATOR_GLOBALORDER_H

#include "Memory.h"
#include "Races.h"

namespace attn::ptx {

class GlobalOrder {
public:
  /// Records the access. Returns the past access that races with it, or clock 0.
  Epoch access(const Clocks &clocks, const Buffer &buffer, uint64_t offset, unsigned bytes, Access access,
               unsigned thread, int line);

  // Strong accesses, after they were recorded.
  void load(Clocks &clocks, unsigned thread, uint64_t address, bool acquires);
  /// `isUpdate`: part of an atomic.
  void store(Clocks &clocks, unsigned thread, uint64_t address, bool releases, bool isUpdate);
  /// A fence with a scope of other blocks.
  void fence(Clocks &clocks, unsigned thread);

private:
  struct Fenced {
    BlockClocks loaded;   ///< by relaxed loads, for the next fence to acquire
    BlockClocks released; ///< by the last fence
  };
  Fenced &of(const Clocks &clocks, unsigned thread);

  std::map<uint64_t, BlockClocks> released;               ///< by address
  std::map<std::pair<uint32_t, unsigned>, Fenced> fenced; ///< by block and thread
  std::map<uint64_t, Shadow> touched;                     ///< by address of the buffer
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_GLOBALORDER_H
