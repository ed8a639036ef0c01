//===- Instruction.h - the instructions of products, as data ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_SCHEDULE_INSTRUCTION_H
#define ATTN_SCHEDULE_INSTRUCTION_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace attn {

struct TargetInfo;
enum class Instruction : uint32_t;

/// Layout of an operand of a prefill tile: rows of the other dimension, the same with pairs along the summed dimension
/// (dot-product layout), or the summed dimension innermost.
enum class OperandLayout { Rows, Pairs, Columns };

/// Properties of an instruction, except the code that emits it.
struct InstructionInfo {
  Instruction instruction;
  bool isForPrefill, isForDecode, isForBlock; ///< the kinds of kernels that can use it
  int64_t depth;                              ///< products per accumulated sum
  bool takesNarrow;                           ///< multiplies elements of Q's type; others are widened first
  int64_t inputBits;                          ///< of the f32 significand after rounding; 0 for all
  OperandLayout queryLayout, valueLayout;     ///< of a prefill tile
  int64_t headMultiple; ///< of head sizes of a prefill tile; of V too where V is laid out in columns
  int64_t keyMultiple;  ///< it multiplies whole key tiles, multiples of this, whose end may be padding
  int64_t warps;        ///< that execute it together; 0 on a CPU
  /// Operands of a backward step that are transposed: K and V as columns; K as pairs of keys; Q and dO as columns.
  size_t numTransposed;
  /// Elements of the summed dimension that lie together where the layout is Pairs, else 1.
  int64_t getPairSize() const { return queryLayout == OperandLayout::Pairs ? 2 : 1; }
  /// True where it reads tiles in shared memory by descriptors, so they are laid out in panels (BlockLayout.h).
  bool readsPanels() const { return warps > 1; }
};

/// The names of the instructions of a kind of kernel, as "fma, pairs or bytes".
std::string joinInstructions(bool InstructionInfo::*isForKind);

} // namespace attn

#endif // ATTN_SCHEDULE_INSTRUCTION_H
