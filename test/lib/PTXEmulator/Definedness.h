//===- Definedness.h - uninitialised registers ------------------*- C++ -*-===//
//
// A register is undefined until an instruction writes it. Moves and arithmetic propagate that, lane by lane. It is
// reported where it has an effect: as an address, a predicate of an instruction, an operand of mma or of a vote, or a
// stored value. Nearly every read is preceded by a write on all paths. A data-flow analysis finds the others; only
// they, and the instructions that write their registers, are tracked at run time.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_DEFINEDNESS_H
#define ATTN_TEST_PTXEMULATOR_DEFINEDNESS_H

#include "ControlFlow.h"

namespace attn::ptx {

/// Sets Instruction::isTracked and Program::undefined.
void trackUndefined(Program &program, const FlowGraph &graph);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_DEFINEDNESS_H
