//===- CheckBitcode.cpp - code of every object as LLVM bitcode ------------===//
//
// Holds the bytes that cmake/EmbedBitcode.cmake makes of the C files.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/CheckBitcode.h"

static constexpr unsigned char checkArgumentsBitcode[] = {
#include "CheckArguments.bc.inc"
};
static constexpr unsigned char libraryBitcode[] = {
#include "Library.bc.inc"
};
static constexpr unsigned char processorBitcode[] = {
#include "Processor.bc.inc"
};

template <size_t size> static llvm::StringRef toText(const unsigned char (&bytes)[size]) {
  return {reinterpret_cast<const char *>(bytes), size};
}

llvm::StringRef attn::getCheckArgumentsBitcode() { return toText(checkArgumentsBitcode); }
llvm::StringRef attn::getLibraryBitcode() { return toText(libraryBitcode); }
llvm::StringRef attn::getProcessorBitcode() { return toText(processorBitcode); }
