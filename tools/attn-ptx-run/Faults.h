//===- Faults.h - one fault after the other ---------------------*- C++ -*-===//
//
// scripts/plant-faults.py chooses faults and their classes. This runs each of them and reports how it is detected.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTN_PTX_RUN_FAULTS_H
#define ATTN_TOOLS_ATTN_PTX_RUN_FAULTS_H

#include "RunProblem.h"

namespace attn::ptx {

/// A replaced line of the PTX; the first line is 1.
struct Fault {
  unsigned line;
  std::string text;
};

/// Reads lines of the form "LINE<tab>TEXT".
llvm::Expected<std::vector<Fault>> readFaults(llvm::StringRef path);

/// Runs the text with each fault on the inputs until it is detected, and prints one line per fault:
///
///   finding KIND  the emulator reports it          invalid     not PTX, or with instructions that are not emulated
///   wrong NAME    an output is off on that input   unreached   no input executes the line
///   same          each thread writes the same bits to the same addresses, on every input
///   unseen        some writes differ, but no output is off; "unseen, same bits" where each launch leaves the
///                 same bits in global memory
///
/// An error if the text without a fault is not clean and correct.
llvm::Error runFaults(const ProblemRun &run, llvm::ArrayRef<Fault> faults);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_FAULTS_H
