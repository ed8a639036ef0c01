//===- Summary.h - launches in a few lines ----------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTN_PTX_RUN_SUMMARY_H
#define ATTN_TOOLS_ATTN_PTX_RUN_SUMMARY_H

#include "CudaEmulator/CudaEmulator.h"

namespace attn::ptx {

/// Blocks, instructions, bank conflicts, narrow accesses and time, on standard output.
void printSummary(const std::string &name, const Report &report);

/// For each kernel: how many of its lines any launch has executed, and which ones none has.
void printCoverage(llvm::ArrayRef<LaunchRecord> launches);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_SUMMARY_H
