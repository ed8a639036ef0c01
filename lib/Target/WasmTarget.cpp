//===- WasmTarget.cpp - names and facts of WebAssembly --------------------===//
//
// WebAssembly 2.0 with its vectors of 128 bits, as every browser has had them since 2023; relaxed vectors are of 3.0. A
// module is validated as a whole before it runs, so its code tests no features.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WasmTarget.h"

using namespace llvm;

namespace attn {

static constexpr StringLiteral kName = "wasm32", kRelaxed = "relaxed-simd";
static constexpr StringLiteral kFeatures = "+simd128,+bulk-memory,+bulk-memory-opt,+nontrapping-fptoint,+sign-ext";

bool isWasmName(StringRef name) { return name.starts_with("wasm"); }

Expected<TargetInfo> getWasmTarget(StringRef name) {
  auto [triple, feature] = name.split('+');
  if (triple != kName && triple != "wasm32-unknown-unknown")
    return createStringError(
        "expected wasm32 as target, found '" + name +
        "'; write wasm32: other systems of WebAssembly, as Emscripten and WASI, link its objects, and "
        "memories of 64 bits have no kernels");
  if (!feature.empty() && feature != kRelaxed)
    return createStringError("expected relaxed-simd or no feature of wasm32, whose vectors have 128 bits, found '" +
                             feature + "' in '" + name + "'; write wasm32 or wasm32+relaxed-simd");
  TargetInfo target;
  target.name = name.str();
  target.triple = "wasm32-unknown-unknown";
  target.cpu = "generic";
  target.features = kFeatures.str();
  target.hasFma = feature == kRelaxed;
  if (target.hasFma)
    target.features += (",+" + kRelaxed).str();
  target.contracts = target.isValidated = true;
  return target;
}

} // namespace attn
