//===- Instruction.h - what multiplies a tile, as data ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_SCHEDULE_INSTRUCTION_H
#define ATTN_SCHEDULE_INSTRUCTION_H

#include <cstdint>
#include <string>

namespace attn {

struct TargetInfo;
enum class Instruction : uint32_t;

/// Layout of an operand of a prefill tile: rows of the other dimension, the same with pairs along the summed dimension
/// (dot-product layout), or the summed dimension innermost.
enum class OperandLayout { Rows, Pairs, Columns };

/// Facts of an instruction, beside the code that emits it.
struct InstructionInfo {
  Instruction instruction;
  bool isForPrefill, isForDecode, isForBlock; ///< the kinds of kernels that have it
  int64_t depth;                              ///< products that it accumulates into one sum
  bool takesNarrow;                           ///< multiplies elements of Q's type; those of others are widened first
  int64_t inputBits;                          ///< of an f32 significand that it rounds to; 0 for all
  OperandLayout queryLayout, valueLayout;     ///< of a prefill tile
  int64_t headMultiple;                       ///< of head sizes of a prefill tile; of V too where it lies in columns
  int64_t keyMultiple; ///< it multiplies whole key tiles, multiples of so many keys, of which the last may be padding
  int64_t warps;       ///< of a block that execute it together; 0 on a CPU
  /// It reads tiles in shared memory by descriptors, so they lie in panels (BlockLayout.h).
  bool readsPanels() const { return warps > 1; }
};

/// The names of the instructions of a kind of kernel, as "fma, pairs or bytes".
std::string joinInstructions(bool InstructionInfo::*isForKind);

} // namespace attn

#endif // ATTN_SCHEDULE_INSTRUCTION_H
