//===- ControlFlow.h - joins of paths, loops --------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_CONTROLFLOW_H
#define ATTN_TEST_PTXEMULATOR_CONTROLFLOW_H

#include "Program.h"

namespace attn::ptx {

/// Basic blocks.
struct FlowGraph {
  using Edges = std::vector<llvm::SmallVector<uint32_t, 4>>;
  std::vector<uint32_t> firsts; ///< instruction indices; the last block is the exit, without instructions
  std::vector<uint32_t> blockOf;
  Edges successors, predecessors;
};
FlowGraph buildFlowGraph(const Program &program);

/// Sets `join` of each branch to the first instruction of its immediate post-dominator (the number of instructions if
/// that is the exit), and fills `program.loops`.
void analyzeControlFlow(Program &program, const FlowGraph &graph);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_CONTROLFLOW_H
