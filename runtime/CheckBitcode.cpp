//===- CheckBitcode.cpp - code of every object as LLVM bitcode ------------===//
//
// Contains the bytes that cmake/EmbedBitcode.cmake makes of the C files, for each ABI.
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

namespace apple {
static constexpr unsigned char checkArguments[] = {
#include "CheckArguments.apple.bc.inc"
};
static constexpr unsigned char library[] = {
#include "Library.apple.bc.inc"
};
static constexpr unsigned char processor[] = {
#include "Processor.apple.bc.inc"
};
} // namespace apple

namespace windows {
static constexpr unsigned char checkArguments[] = {
#include "CheckArguments.windows.bc.inc"
};
static constexpr unsigned char library[] = {
#include "Library.windows.bc.inc"
};
static constexpr unsigned char processor[] = {
#include "Processor.windows.bc.inc"
};
} // namespace windows

template <size_t size> static llvm::StringRef toText(const unsigned char (&bytes)[size]) {
  return {reinterpret_cast<const char *>(bytes), size};
}

/// The bytes of one file for the triple.
template <size_t x86, size_t arm, size_t apple, size_t windows>
static llvm::StringRef select(const llvm::Triple &triple, const unsigned char (&forX86)[x86],
                              const unsigned char (&forArm)[arm], const unsigned char (&forApple)[apple],
                              const unsigned char (&forWindows)[windows]) {
  if (!triple.isAArch64())
    return toText(forX86);
  return triple.isOSDarwin() ? toText(forApple) : triple.isOSWindows() ? toText(forWindows) : toText(forArm);
}

llvm::StringRef attn::getCheckArgumentsBitcode(const llvm::Triple &triple) {
  return select(triple, x86_64::checkArguments, aarch64::checkArguments, apple::checkArguments,
                windows::checkArguments);
}
llvm::StringRef attn::getLibraryBitcode(const llvm::Triple &triple) {
  return select(triple, x86_64::library, aarch64::library, apple::library, windows::library);
}
llvm::StringRef attn::getProcessorBitcode(const llvm::Triple &triple) {
  return select(triple, x86_64::processor, aarch64::processor, apple::processor, windows::processor);
}
