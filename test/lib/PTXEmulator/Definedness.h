//===- Definedness.h - registers that nothing has written -------*- C++ -*-===//
//
// A register has no value until an instruction writes it. Moves and arithmetic pass that on, lane by lane; it is
// reported where it decides something: as an address, a predicate of an instruction, an operand of mma, of a vote, of
// what is stored. Nearly every instruction reads what is written on all paths to it. A data-flow analysis finds the
// others, and only they, and what writes their registers, are tracked when they run.
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
