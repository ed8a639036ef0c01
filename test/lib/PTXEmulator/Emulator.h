//===- Emulator.h - executes and checks PTX on the host ---------*- C++ -*-===//
//
//   Expected<Module> module = parseModule(text);
//   GlobalMemory memory;
//   Launch launch{grid, block};
//   launch.parameters = {pointer(memory.allocate("x", values)), scalar(int32_t(5))};
//   Report report = run(*module, "kernel", memory, launch);
//
// docs/GPU.md says how the machine is modelled and what is checked.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_EMULATOR_H
#define ATTN_TEST_PTXEMULATOR_EMULATOR_H

#include "Memory.h"
#include "Report.h"
#include "Syntax.h"

namespace attn::ptx {

/// The bytes of one parameter.
using ParameterBytes = std::vector<uint8_t>;
template <typename T> ParameterBytes scalar(T value) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
  return ParameterBytes(bytes, bytes + sizeof(T));
}
inline ParameterBytes pointer(uint64_t address) { return scalar(address); }

struct Launch {
  Dim3 grid, block;
  uint64_t dynamicShared = 0;
  std::vector<ParameterBytes> parameters = {};
  /// Per warp; a kernel that waits forever ends there.
  uint64_t maxInstructions = uint64_t(1) << 30;
  /// True if Report::trace is computed.
  bool tracesWrites = false;
  /// The limit of a block, as on sm_90.
  uint64_t largestShared = 227 * 1024;
  /// Concurrent blocks of kernels that may order their blocks. A kernel whose blocks wait for earlier ones must not
  /// depend on this number.
  unsigned resident = 4;
  /// 0: blocks start and take turns in index order. Otherwise the seed of another order.
  uint64_t turns = 0;
};

/// Executes one kernel. Returns errors of the launch: an unknown entry, wrong parameters, a block that is too large.
/// Errors of the PTX are in the report, which refers to names in the module: keep that alive.
llvm::Expected<Report> run(const Module &module, llvm::StringRef entry, GlobalMemory &memory, const Launch &launch);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_EMULATOR_H
