//===- CheckBitcode.cpp - code of every object as LLVM bitcode ------------===//
//
// Contains the bytes that cmake/EmbedBitcode.cmake makes of the C files, for each ABI.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/CheckBitcode.h"

#define FILE_NAME_OF(text) #text
#define FILE_NAME(text) FILE_NAME_OF(text)
#define PLATFORM x86_64
#include "PlatformBitcode.inc"
#undef PLATFORM
#define PLATFORM aarch64
#include "PlatformBitcode.inc"
#undef PLATFORM
#define PLATFORM apple
#include "PlatformBitcode.inc"
#undef PLATFORM
#define PLATFORM windows
#include "PlatformBitcode.inc"
#undef PLATFORM
#define PLATFORM riscv64
#include "PlatformBitcode.inc"
#undef PLATFORM

namespace wasm32 {
static constexpr unsigned char checkArguments[] = {
#include "CheckArguments.wasm32.bc.inc"
};
static constexpr unsigned char mapWeights[] = {
#include "MapWeights.wasm32.bc.inc"
};
static constexpr unsigned char webLibrary[] = {
#include "WebLibrary.wasm32.bc.inc"
};
} // namespace wasm32

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
  if (triple.isWasm())
    return {toText(wasm32::checkArguments), {}, toText(wasm32::mapWeights), {}};
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
llvm::StringRef attn::getWebLibraryBitcode() { return toText(wasm32::webLibrary); }
