//===- CheckBitcode.cpp - the argument check as LLVM bitcode --------------===//
//
// Holds the bytes that cmake/EmbedBitcode.cmake makes of CheckArguments.c.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/CheckBitcode.h"

static constexpr unsigned char checkArgumentsBitcode[] = {
#include "CheckArguments.bc.inc"
};

llvm::StringRef attn::getCheckArgumentsBitcode() {
  return {reinterpret_cast<const char *>(checkArgumentsBitcode), sizeof(checkArgumentsBitcode)};
}
