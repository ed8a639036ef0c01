//===- MemoryRows.h - the addresses of a warp's access ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_MEMORYROWS_H
#define ATTN_TEST_PTXEMULATOR_MEMORYROWS_H

#include "Addresses.h"
#include "Lanewise.h"

#include <bit>

namespace attn::ptx {

/// The address of a lane: a register plus an offset; the sum has 32 bits for a 32-bit register.
inline uint64_t loadAddress(Warp &warp, const Instruction &instruction, unsigned lane, bool isWide, unsigned row = 0) {
  if (isWide)
    return warp.row<uint64_t>(instruction.rows[row])[lane] + uint64_t(instruction.offset);
  return uint32_t(warp.row<uint32_t>(instruction.rows[row])[lane] + uint64_t(instruction.offset));
}

/// The addresses of all lanes, from rows[row]; those of inactive lanes are meaningless. Returns the space of the first
/// active one.
inline Space loadAddresses(Warp &warp, const Instruction &instruction, LaneMask lanes, uint64_t *addresses,
                           unsigned row = 0) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    addresses[lane] = loadAddress(warp, instruction, lane, instruction.wideAddress, row);
  if (instruction.space != Space::Generic)
    return instruction.space;
  uint64_t first = addresses[std::countr_zero(lanes)];
  return Block::resolveGeneric(first);
}

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_MEMORYROWS_H
