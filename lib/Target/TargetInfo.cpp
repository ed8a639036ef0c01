//===- TargetInfo.cpp - facts of x86-64 processors ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Target/TargetInfo.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace llvm;

namespace attn {

StringRef TargetInfo::getKnownNames() { return "host x86-64 x86-64-v2 x86-64-v3 x86-64-v4"; }

/// Vector facts follow from the features alone. LLVM lists only features that no other implies: avx512vl stands for
/// avx512f.
static void deriveFacts(TargetInfo &target, const StringSet<> &features) {
  if (features.contains("avx512vl") && features.contains("avx512dq")) {
    target.vectorBits = 512;
    target.vectorRegisters = 32;
    target.hasFma = true;
    target.l2Bytes = 1024 * 1024;
    // Measured: twice the f32 rate on Zen 4 and 5, half of it on Emerald Rapids. LLVM knows what the others are.
    if (features.contains("avx512bf16"))
      target.bf16DotRate = StringRef(target.cpu).starts_with("znver") ? 2 : 0.5;
  } else if (features.contains("avx2") && features.contains("fma")) {
    target.vectorBits = 256;
    target.hasFma = true;
  }
}

static TargetInfo getHost() {
  TargetInfo target;
  target.name = "host";
  target.cpu = sys::getHostCPUName().str();
  StringSet<> enabled;
  SmallVector<std::string> all;
  for (const auto &[feature, isEnabled] : sys::getHostCPUFeatures()) {
    if (isEnabled)
      enabled.insert(feature);
    all.push_back((isEnabled ? "+" : "-") + feature.str());
  }
  llvm::sort(all); // the map's order is not stable, and the string stands in manifests
  target.features = join(all, ",");
  deriveFacts(target, enabled);
  return target;
}

Expected<TargetInfo> TargetInfo::get(StringRef name) {
  TargetInfo target;
  if (name == "host") {
    target = getHost();
  } else {
    X86::CPUKind kind = X86::parseArchX86(name, /*Only64Bit=*/true);
    if (kind == X86::CK_None)
      return createStringError("unknown target '" + name + "', expected one of " + getKnownNames() +
                               ", or an x86-64 processor that LLVM knows, as znver5");
    target.name = target.cpu = name.str();
    SmallVector<StringRef> features;
    X86::getFeaturesForCPU(name, features);
    StringSet<> enabled;
    for (StringRef feature : features)
      enabled.insert(feature.ltrim('+'));
    deriveFacts(target, enabled);
  }
  target.triple = "x86_64-unknown-linux-gnu";
  return target;
}

} // namespace attn
