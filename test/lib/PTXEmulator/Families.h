//===- Families.h - the tables of instructions ------------------*- C++ -*-===//
//
// One function per family, in the file of its name. A new family is a file and a line here and in InstructionTable.cpp.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_FAMILIES_H
#define ATTN_TEST_PTXEMULATOR_FAMILIES_H

#include "Decoder.h"

namespace attn::ptx {

llvm::ArrayRef<InstructionInfo> getIntegerInstructions();
llvm::ArrayRef<InstructionInfo> getLogicInstructions();
llvm::ArrayRef<InstructionInfo> getFloatInstructions();
llvm::ArrayRef<InstructionInfo> getHalfInstructions();
llvm::ArrayRef<InstructionInfo> getCompareInstructions();
llvm::ArrayRef<InstructionInfo> getConvertInstructions();
llvm::ArrayRef<InstructionInfo> getMoveInstructions();
llvm::ArrayRef<InstructionInfo> getControlInstructions();
llvm::ArrayRef<InstructionInfo> getWarpInstructions();
llvm::ArrayRef<InstructionInfo> getMemoryInstructions();
llvm::ArrayRef<InstructionInfo> getAtomicInstructions();
llvm::ArrayRef<InstructionInfo> getMatrixInstructions();
llvm::ArrayRef<InstructionInfo> getMmaInstructions();
llvm::ArrayRef<InstructionInfo> getAsyncInstructions();
llvm::ArrayRef<InstructionInfo> getMbarrierInstructions();
llvm::ArrayRef<InstructionInfo> getWgmmaInstructions();

/// cp.async.bulk, after these modifiers.
void decodeBulk(Decoder &decoder);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_FAMILIES_H
