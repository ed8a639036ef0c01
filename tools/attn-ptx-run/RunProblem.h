//===- RunProblem.h - PTX as the kernels of a problem -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTN_PTX_RUN_RUNPROBLEM_H
#define ATTN_TOOLS_ATTN_PTX_RUN_RUNPROBLEM_H

#include "../common/Driver.h"

namespace attn::ptx {

struct ProblemRun {
  driver::Source source;
  std::string kernel; ///< which of the source
  driver::ArgumentOptions arguments;
  std::string schedule; ///< as attnc had it: the host's side must be of the same kernels
  std::string ptx;      ///< the text
};

/// Runs the host's side of the source, with exactly this PTX as its kernels, in the emulator on random inputs, and
/// prints how far the outputs are from the reference, and what the kernels did. False where an output is off.
llvm::Expected<bool> runProblem(const ProblemRun &run);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_RUNPROBLEM_H
