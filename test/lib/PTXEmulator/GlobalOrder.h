//===- GlobalOrder.h - order by global memory -------------------*- C++ -*-===//
//
// What threads of one launch, of any blocks, release and acquire by strong accesses of global memory (PTX ISA, memory
// consistency model), and who touched each byte. A store or an atomic releases what its thread has done and seen, or
// what the thread's last fence has; others' atomics on the same address pass it on. A load or an atomic acquires it, or
// the thread's next fence does.
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
  /// Records the access; the past access that races with it, or clock 0.
  Epoch access(const Clocks &clocks, const Buffer &buffer, uint64_t offset, unsigned bytes, Access access,
               unsigned thread, int line);

  // Strong accesses, after they were recorded.
  void load(Clocks &clocks, unsigned thread, uint64_t address, bool acquires);
  /// `isUpdate`: of an atomic.
  void store(Clocks &clocks, unsigned thread, uint64_t address, bool releases, bool isUpdate);
  /// At the scope of other blocks.
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
