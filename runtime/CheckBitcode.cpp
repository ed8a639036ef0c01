//===- CheckBitcode.cpp - code of every object as LLVM bitcode ------------===//
//
// Holds the bytes that cmake/EmbedBitcode.cmake makes of the C files, for each
// architecture.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/CheckBitcode.h"

namespace x86_64 {
static constexpr unsigned char checkArguments[] = {
#include "CheckArguments.x86_64.bc.inc"
};
static constexpr unsigned char library[] = {
#include "Library.x86_64.bc.inc"
};
static constexpr unsigned char processor[] = {
#include "Processor.x86_64.bc.inc"
};
} // namespace x86_64

namespace aarch64 {
static constexpr unsigned char checkArguments[] = {
#include "CheckArguments.aarch64.bc.inc"
};
static constexpr unsigned char library[] = {
#include "Library.aarch64.bc.inc"
};
static constexpr unsigned char processor[] = {
#include "Processor.aarch64.bc.inc"
};
} // namespace aarch64

template <size_t size> static llvm::StringRef toText(const unsigned char (&bytes)[size]) {
  return {reinterpret_cast<const char *>(bytes), size};
}

llvm::StringRef attn::getCheckArgumentsBitcode(const llvm::Triple &triple) {
  return triple.isAArch64() ? toText(aarch64::checkArguments) : toText(x86_64::checkArguments);
}
llvm::StringRef attn::getLibraryBitcode(const llvm::Triple &triple) {
  return triple.isAArch64() ? toText(aarch64::library) : toText(x86_64::library);
}
llvm::StringRef attn::getProcessorBitcode(const llvm::Triple &triple) {
  return triple.isAArch64() ? toText(aarch64::processor) : toText(x86_64::processor);
}
