//===- WasmTarget.h - names and facts of WebAssembly ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TARGET_WASMTARGET_H
#define ATTN_LIB_TARGET_WASMTARGET_H

#include "attn/Target/TargetInfo.h"

namespace attn {

/// True for a name that getWasmTarget either accepts or refuses with its own message.
bool isWasmName(llvm::StringRef name);

/// wasm32, or wasm32+relaxed-simd.
llvm::Expected<TargetInfo> getWasmTarget(llvm::StringRef name);

} // namespace attn

#endif // ATTN_LIB_TARGET_WASMTARGET_H
