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
static constexpr unsigned char mapWeights[] = {
#include "MapWeights.x86_64.bc.inc"
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
static constexpr unsigned char mapWeights[] = {
#include "MapWeights.aarch64.bc.inc"
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
static constexpr unsigned char mapWeights[] = {
#include "MapWeights.apple.bc.inc"
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
static constexpr unsigned char mapWeights[] = {
#include "MapWeights.windows.bc.inc"
};
static constexpr unsigned char processor[] = {
#include "Processor.windows.bc.inc"
};
} // namespace windows

namespace riscv64 {
static constexpr unsigned char checkArguments[] = {
#include "CheckArguments.riscv64.bc.inc"
};
static constexpr unsigned char library[] = {
#include "Library.riscv64.bc.inc"
};
static constexpr unsigned char mapWeights[] = {
#include "MapWeights.riscv64.bc.inc"
};
static constexpr unsigned char processor[] = {
#include "Processor.riscv64.bc.inc"
};
} // namespace riscv64

template <size_t size> static llvm::StringRef toText(const unsigned char (&bytes)[size]) {
  return {reinterpret_cast<const char *>(bytes), size};
}

namespace {
/// The bytes of the files.
struct Code {
  llvm::StringRef checkArguments, library, mapWeights, processor;
};
} // namespace

#define CODE(platform)                                                                                                 \
  Code {                                                                                                               \
    toText(platform::checkArguments), toText(platform::library), toText(platform::mapWeights),                         \
        toText(platform::processor)                                                                                    \
  }

static Code getCode(const llvm::Triple &triple) {
  if (triple.isRISCV())
    return CODE(riscv64);
  if (!triple.isAArch64())
    return CODE(x86_64);
  return triple.isOSDarwin() ? CODE(apple) : triple.isOSWindows() ? CODE(windows) : CODE(aarch64);
}

llvm::StringRef attn::getCheckArgumentsBitcode(const llvm::Triple &triple) { return getCode(triple).checkArguments; }
llvm::StringRef attn::getLibraryBitcode(const llvm::Triple &triple) { return getCode(triple).library; }
llvm::StringRef attn::getProcessorBitcode(const llvm::Triple &triple) { return getCode(triple).processor; }
llvm::StringRef attn::getMapWeightsBitcode(const llvm::Triple &triple) { return getCode(triple).mapWeights; }
