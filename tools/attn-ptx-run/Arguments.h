//===- Arguments.h - kernel arguments as words ------------------*- C++ -*-===//
//
// The input of an emulated launch, independent of its source: --arg words here; a manifest and a problem line would
// fill the same KernelCall.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTN_PTX_RUN_ARGUMENTS_H
#define ATTN_TOOLS_ATTN_PTX_RUN_ARGUMENTS_H

#include "PTXEmulator/Emulator.h"
#include "attn/Support/Npy.h"

namespace attn::ptx {

/// An array that is written to a file if the kernel has run without a finding.
struct OutputArray {
  std::string path;
  NpyType type;
  llvm::SmallVector<int64_t, 4> shape;
  uint64_t address;
};

struct KernelCall {
  GlobalMemory memory;
  std::vector<ParameterBytes> parameters;
  std::vector<OutputArray> outputs;
};

/// The forms of a word, for --help.
extern const char *const kArgumentHelp;

/// Appends the parameter of the word.
llvm::Error addArgument(llvm::StringRef word, KernelCall &call);

/// "64,1,1" or "64"; missing dimensions are 1.
llvm::Expected<Dim3> parseDim3(llvm::StringRef flag, llvm::StringRef text);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_ARGUMENTS_H
