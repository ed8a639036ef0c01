//===- Faults.h - one fault after the other ---------------------*- C++ -*-===//
//
// scripts/plant-faults.py chooses faults and their classes. This runs each of them and reports what is seen of it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTN_PTX_RUN_FAULTS_H
#define ATTN_TOOLS_ATTN_PTX_RUN_FAULTS_H

#include "RunProblem.h"

namespace attn::ptx {

/// A line of the PTX, from 1, that is another one.
struct Fault {
  unsigned line;
  std::string text;
};

/// "LINE<tab>TEXT", one a line.
llvm::Expected<std::vector<Fault>> readFaults(llvm::StringRef path);

/// Runs the text with each fault on the inputs, until something is seen, and prints a line a fault:
///
///   finding KIND  the emulator reports it          invalid     it is no PTX, or not of instructions that are emulated
///   wrong NAME    an output is off on that input   unreached   no input executes the line
///   same          each thread writes the same bits to the same places, on every input
///   unseen        something that is written differs, and no output is off; "unseen, same bits" where each launch
///   leaves the
///                 same bits in global memory
///
/// An error where the text without a fault is not clean and right.
llvm::Error runFaults(const ProblemRun &run, llvm::ArrayRef<Fault> faults);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_FAULTS_H
