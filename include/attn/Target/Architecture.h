//===- Architecture.h - the architecture of a processor ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TARGET_ARCHITECTURE_H
#define ATTN_TARGET_ARCHITECTURE_H

#include "attn/Target/TargetInfo.h"

namespace attn {

/// For messages: "x86-64", "64-bit Arm", "64-bit RISC-V" or "WebAssembly".
llvm::StringRef describeArchitecture(const TargetInfo &target);

/// True for a processor of another architecture than this process runs on.
bool isForeign(const TargetInfo &target);

} // namespace attn

#endif // ATTN_TARGET_ARCHITECTURE_H
