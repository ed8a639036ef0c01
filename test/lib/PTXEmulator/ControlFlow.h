//===- ControlFlow.h - joins of paths, loops --------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_CONTROLFLOW_H
#define ATTN_TEST_PTXEMULATOR_CONTROLFLOW_H

#include "Program.h"

namespace attn::ptx {

/// Sets `join` of each branch to the first instruction of its immediate post-dominator (the number of instructions
/// where only the end is one), and fills `program.loops`.
void analyzeControlFlow(Program &program);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_CONTROLFLOW_H
