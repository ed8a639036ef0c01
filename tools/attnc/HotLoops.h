//===- HotLoops.h - instruction mix of the main loops -----------*- C++ -*-===//
//
// Reads the machine code of an object file: its innermost loops with multiplications, and their kinds of instructions.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_HOTLOOPS_H
#define ATTN_TOOLS_ATTNC_HOTLOOPS_H

#include "attn/Target/TargetInfo.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <vector>

namespace llvm {
class MCInst;
class MCInstrAnalysis;
class TargetMachine;
} // namespace llvm

namespace attn::driver {

/// Innermost loops with fewer multiply-adds take little of a kernel's time.
constexpr unsigned kHotMultiplyAdds = 4;

/// One innermost loop. An instruction with a memory operand counts as its operation and as a load.
struct HotLoop {
  std::string function;
  uint64_t start = 0, end = 0; ///< bytes from the start of the function; the end is after the last instruction
  unsigned instructions = 0;
  unsigned fma = 0; ///< vector multiply-adds; multiplications where the target has none
  unsigned dot = 0; ///< 16- or 8-bit products, summed in 32 bits
  unsigned load = 0, store = 0, shuffle = 0, convert = 0, call = 0;
  std::string assembly; ///< one instruction per line
  unsigned stack = 0;   ///< accesses at a fixed offset of the stack frame: spills
  /// Cycles of a round by LLVM's model of the processor, where they were asked for and there is one.
  std::optional<double> cycles{};
};

/// The loops of an object file with at least kHotMultiplyAdds, in the order of their code.
llvm::Expected<std::vector<HotLoop>> findHotLoops(llvm::StringRef object, const TargetInfo &target,
                                                  bool simulates = false);

/// Cycles of a round of a loop, as llvm-mca computes them; none where LLVM has no model (LoopCycles.cpp).
std::optional<double> simulateLoop(const llvm::TargetMachine &machine, const llvm::MCInstrAnalysis &analysis,
                                   llvm::ArrayRef<llvm::MCInst> loop);

/// "sdpa+0x40: 84 instructions: 64 fma, …"
void printHotLoop(llvm::raw_ostream &os, const HotLoop &loop);
/// The instructions between markers of llvm-mca.
void printAssembly(llvm::raw_ostream &os, const HotLoop &loop);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_HOTLOOPS_H
