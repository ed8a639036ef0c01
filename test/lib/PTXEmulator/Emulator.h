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
  /// By warps; a kernel that waits for what never comes ends there.
  uint64_t maxInstructions = uint64_t(1) << 30;
  /// Whether Report::trace is computed.
  bool tracesWrites = false;
  /// What a block may have, as on sm_90.
  uint64_t largestShared = 227 * 1024;
  /// Blocks that are alive at once, of kernels that may order their blocks. One that waits for an earlier one needs no
  /// certain number.
  unsigned resident = 4;
  /// 0: blocks start and take turns by their numbers. Else the seed of another order.
  uint64_t turns = 0;
};

/// Executes one kernel. Errors are of the launch: no such entry, parameters that do not fit, a block that is too large.
/// What the PTX does wrong is in the report, which names things of the module: keep that alive.
llvm::Expected<Report> run(const Module &module, llvm::StringRef entry, GlobalMemory &memory, const Launch &launch);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_EMULATOR_H
