//===- Report.h - findings and counters of a launch -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_REPORT_H
#define ATTN_TEST_PTXEMULATOR_REPORT_H

#include "Program.h"

#include "llvm/Support/JSON.h"

namespace attn::ptx {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

enum class FindingKind : uint8_t {
  UnknownInstruction,
  InvalidOperand,
  OutOfBounds,
  Misaligned,
  UninitialisedRead,
  WriteToReadOnly,
  Race,
  UnorderedAdd,
  AsyncBeforeWait,
  BarrierMismatch,
  Deadlock,
  DivergentAligned,
  UndefinedShuffle,
  UndefinedRegister,
  InvalidValue,
  Mbarrier,
  ProxyFence,
  WgmmaPending,
  WgmmaFence,
  Trap,
  InstructionLimit,
};
/// "out-of-bounds", as in the JSON report.
llvm::StringRef getFindingName(FindingKind kind);

/// The first finding of its kind at its line, and how many followed.
struct Finding {
  FindingKind kind;
  int line;
  std::string opcode;
  std::string message;
  Dim3 block, thread; ///< zero-based
  uint64_t count = 1;
};

/// The counters of one instruction, summed over a launch.
struct Counters {
  uint64_t executions = 0; ///< by warps
  uint64_t lanes = 0;
  uint64_t sharedAccesses = 0, globalAccesses = 0; ///< by warps
  uint64_t transactions = 0;                       ///< of shared memory: passes over its 32 banks
  uint64_t idealTransactions = 0;
  uint64_t narrowGlobal = 0; ///< global accesses by warps of less than 16 bytes per thread
  uint64_t sectors = 0;      ///< of 32 bytes of global memory
};

class Report {
public:
  void add(FindingKind kind, int line, llvm::StringRef opcode, const llvm::Twine &message, Dim3 block = {0, 0, 0},
           Dim3 thread = {0, 0, 0});
  bool has(FindingKind kind) const;
  const Finding *find(FindingKind kind) const;
  bool clean() const { return findings.empty(); }
  /// "PTX line 12: out-of-bounds: …", one line each.
  std::string text() const;

  std::vector<Finding> findings;
  std::vector<Counters> counters;         ///< by instruction
  std::shared_ptr<const Program> program; ///< null where it was not decoded
  Dim3 grid, block;
  uint64_t sharedBytes = 0;
  double seconds = 0;
  /// A hash of all writes of all threads, independent of their order. Launches with equal traces have written the same.
  uint64_t trace = 0;

  uint64_t bankConflicts() const;
  uint64_t warpInstructions() const;
  /// Lines of the text that no warp has reached.
  std::vector<int> neverExecuted() const;
  /// The loop that executes the most instructions outside of nested loops; null if no loop ran.
  const Loop *mainLoop() const;
  /// Executions by opcode, of a loop or of the whole kernel.
  std::map<std::string, uint64_t> mix(const Loop *loop = nullptr) const;
  llvm::json::Value toJSON() const;

private:
  std::map<std::pair<FindingKind, int>, size_t> known;
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_REPORT_H
