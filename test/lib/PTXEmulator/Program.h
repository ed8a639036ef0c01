//===- Program.h - a kernel as compact instructions -------------*- C++ -*-===//
//
// Decoded once: every operand is a row of the register file, 32 lanes wide. Constants, addresses of variables and
// special registers are rows as well, filled when a warp starts, so that no instruction tests the kind of an operand.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_PROGRAM_H
#define ATTN_TEST_PTXEMULATOR_PROGRAM_H

#include "FloatFormat.h"
#include "Syntax.h"

#include <array>
#include <functional>
#include <map>
#include <optional>

namespace attn::ptx {

class Warp;
struct Instruction;
class Report;

using LaneMask = uint32_t;
inline constexpr unsigned kLanes = 32;
inline constexpr LaneMask kAllLanes = ~LaneMask(0);

/// Executes one instruction for the lanes of the mask, which is not empty.
using Handler = void (*)(Warp &, const Instruction &, LaneMask);

/// An instruction's effect on the path of a warp, besides running its handler.
enum class Flow : uint8_t {
  Next,
  Aligned,    ///< all threads of the warp that have not exited must be here
  Collective, ///< waits until the lanes of its member mask are here
  Barrier,
  Phase, ///< may wait for a phase of an mbarrier
  Branch,
  BranchTable,
  Exit,
  Trap,
};

/// For wgmma: the predicate scale-d.
inline constexpr size_t kScaleRow = 2;
inline constexpr uint32_t kNoRow = ~uint32_t(0);
/// Alignment of rows.
inline constexpr uint32_t kRowAlign = 64;
/// Enough for d[8] a[…] b[…] c[…] of the widest mma, and for ld.v8.
inline constexpr size_t kMostRows = 24;

struct Instruction {
  Handler run = nullptr;
  Flow flow = Flow::Next;
  bool guardNegated = false;
  uint32_t guard = kNoRow;
  std::array<uint32_t, kMostRows> rows{}; ///< destinations, then sources; defined in the family's file
  uint32_t members = kNoRow;              ///< for Collective: the member mask
  uint32_t join = 0;                      ///< for a branch: where its paths join
  std::vector<uint32_t> targets;
  int64_t offset = 0; ///< of an address

  Type type = Type::None;
  Type from = Type::None; ///< of cvt, set
  Rounding rounding = Rounding::NearestEven;
  Space space = Space::Generic;
  // For accesses of global memory, and fences.
  bool isStrong = false, acquires = false, releases = false;
  bool isWatched = false; ///< uses registers of wgmma
  bool isTracked = false; ///< may read or write a register that is undefined at a read
  bool ftz = false, saturate = false, relu = false, propagateNaN = false, negated = false, wideAddress = false;
  uint8_t wide = 0;    ///< for several addresses: bit i means that rows[i] has 64 bits
  uint8_t variant = 0; ///< defined by the family: which comparison, which bits
  uint8_t variant2 = 0;
  uint8_t count = 1; ///< elements of a vector, matrices of ldmatrix
  uint8_t bytes = 0; ///< of one element in memory
  int line = 0;
};

enum class SpecialRegister : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  DynamicSharedSize,
  TotalSharedSize,
  Zero,
  One,
};

struct SpecialRow {
  uint32_t row;
  unsigned bytes;
  SpecialRegister which;
};

/// The effect of an undefined value on an instruction (Definedness.h).
enum class UndefinedUse : uint8_t {
  Passes,      ///< its results are undefined as well
  Observes,    ///< memory or other lanes observe it: a finding
  Own,         ///< its handler defines which lanes of the result are undefined
  Accumulates, ///< like Observes; and its results are sources as well, if the predicate rows[kScaleRow] holds
};

/// The registers of an instruction, as rows; the guard is in Instruction.
struct RegisterUses {
  llvm::SmallVector<uint32_t, 2> addresses;
  llvm::SmallVector<uint32_t, 4> sources;
  llvm::SmallVector<uint32_t, 4> results;
  llvm::SmallVector<uint32_t, 0> fragments; ///< sources of wgmma that stay in use after it
  UndefinedUse use = UndefinedUse::Passes;
};

/// Natural loops, by their back edges.
struct Loop {
  std::string label; ///< of its header, or the line
  uint32_t header;   ///< instruction
  int depth = 1;
  std::vector<bool> contains; ///< by instruction
};

/// The offset of a variable in its space.
struct Placement {
  Space space;
  uint64_t offset;
  uint64_t size;
  const Variable *variable;
};

struct Program {
  const Function *function = nullptr;
  std::vector<Instruction> instructions;
  std::vector<std::string> opcodes;   ///< text, by instruction
  std::vector<RegisterUses> uses;     ///< by instruction
  std::vector<uint32_t> registerRows; ///< by register of the function
  /// By row / kRowAlign: ~0 for registers that some instruction may read before they are written. Empty if there are
  /// none.
  std::vector<LaneMask> undefined;
  std::vector<Loop> loops;
  std::vector<uint8_t> image; ///< a warp's register file at its start
  std::vector<SpecialRow> specials;
  std::map<std::string, Placement, std::less<>> placements;
  uint64_t staticShared = 0;      ///< bytes; dynamic shared memory starts here
  uint64_t localBytes = 0;        ///< a thread's
  bool ordersBlocks = false;      ///< it has strong accesses of global memory, or fences for it
  bool hasAsyncProxy = false;     ///< it has mbarriers, bulk copies or wgmma
  std::vector<uint8_t> constants; ///< .const and .global variables of the module, each at its placement's offset
};

/// Decodes one kernel. An unknown instruction, modifier or special register is a finding `unknown-instruction`, once
/// per line; an operand of the wrong kind is `invalid-operand`. Empty if there are such findings: nothing is executed
/// then.
std::optional<Program> decodeKernel(const Module &module, const Function &function, Report &report);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_PROGRAM_H
