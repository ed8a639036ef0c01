//===- TargetInfo.cpp - facts of processors and GPUs -------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Target/TargetInfo.h"
#include "ArmTarget.h"
#include "RiscvTarget.h"
#include "TargetNames.h"
#include "WasmTarget.h"
#include "attn-c/attn_dispatch.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <unistd.h>

using namespace llvm;

namespace attn {

static constexpr StringLiteral kX86Triple = "x86_64-unknown-linux-gnu";

static constexpr int64_t kMiB = 1024 * 1024;

namespace {
/// A row of the table of GPUs. Its PTX is of the least version that LLVM needs for the name; wgmma needs 8.0.
struct Gpu {
  StringLiteral name, ptxFeature;
  GpuInfo facts;
};
} // namespace

/// Blackwell's (from sm_100 on) kernels are those of sm_80, without its tensor memory.
static constexpr Gpu kGpus[] = {
    {"sm_80", "+ptx78", {80, 163 * 1024, 108, 40 * kMiB}},
    {"sm_86", "+ptx78", {86, 99 * 1024, 84, 6 * kMiB}},
    {"sm_89", "+ptx78", {89, 99 * 1024, 142, 72 * kMiB}},
    {"sm_90", "+ptx78", {90, 227 * 1024, 132, 50 * kMiB}},
    {"sm_90a", "+ptx81", {90, 227 * 1024, 132, 50 * kMiB, /*hasWgmma=*/true, /*isExact=*/true}},
    {"sm_100", "+ptx86", {100, 227 * 1024, 148, 126 * kMiB}},
    {"sm_103", "+ptx88", {103, 227 * 1024, 160, 126 * kMiB}},
    {"sm_120", "+ptx87", {120, 99 * 1024, 188, 128 * kMiB}},
};

static std::string joinGpus(StringRef separator) {
  return join(map_range(kGpus, [](const Gpu &gpu) { return gpu.name; }), separator);
}

StringRef TargetInfo::getKnownNames() {
  static const std::string names =
      "host x86-64 x86-64-v2 x86-64-v3 x86-64-v4 " + joinGpus(" ") + " aarch64-linux-gnu riscv64-linux-gnu wasm32";
  return names;
}

/// Facts about vectors follow from the features alone.
static void deriveFacts(TargetInfo &target, const StringSet<> &features) {
  target.prefetchesIntoL2 = target.cpu == "znver4";
  if (features.contains("avx512vl") && features.contains("avx512dq")) {
    target.vectorBits = 512;
    target.vectorRegisters = 32;
    target.hasFma = target.hasHalf = true;
    target.hasByteDot = features.contains("avx512vnni");
    // 512 multiply-adds per cycle, against 32 of f32, on Sapphire to Granite Rapids. The rest of a kernel narrows to
    // bf16.
    if (features.contains("amx-bf16") && features.contains("avx512bf16"))
      target.tileRate = 16;
    target.l2Bytes = 1024 * 1024;
    // Only AMD has sse4a; among Intel's processors, only servers since Sapphire Rapids have avx512fp16.
    if (features.contains("avx512fp16") && !features.contains("sse4a")) {
      target.sharesFmaPorts = true;
      target.l2Bytes = 2 * 1024 * 1024;
    }
    // Measured: twice the f32 rate on Zen 4 and 5, half of it on Emerald and Granite Rapids. Names are less reliable:
    // LLVM calls a Granite Rapids whose model a hypervisor hides rocketlake.
    if (features.contains("avx512bf16"))
      target.bf16DotRate = features.contains("sse4a") ? 2 : 0.5;
  } else if (features.contains("avx2") && features.contains("fma")) {
    target.vectorBits = 256;
    target.hasFma = true;
    target.hasHalf = features.contains("f16c");
    target.hasByteDot = features.contains("avxvnni");
  }
}

/// Features of the processor that this process may use: LLVM knows what the system saves, but not what it grants.
static StringMap<bool> getHostFeatures() {
  StringMap<bool> features = sys::getHostCPUFeatures();
  if (features.lookup("amx-tile") && !attn_request_tiles())
    for (auto &[feature, isEnabled] : features)
      isEnabled &= !feature.starts_with("amx-");
  return features;
}

static TargetInfo getHost() {
  TargetInfo target;
  target.name = "host";
  target.cpu = sys::getHostCPUName().str();
  StringSet<> enabled;
  SmallVector<std::string> all;
  for (const auto &[feature, isEnabled] : getHostFeatures()) {
    if (isEnabled)
      enabled.insert(feature);
    all.push_back((isEnabled ? "+" : "-") + feature.str());
  }
  llvm::sort(all); // the map's order is not stable, and manifests contain the string
  target.features = join(all, ",");
  deriveFacts(target, enabled);
  // 0 if unknown to the system.
  if (long ways = sysconf(_SC_LEVEL1_DCACHE_ASSOC); ways > 0)
    target.l1Ways = ways;
  if (long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0)
    target.l2Bytes = bytes;
  return target;
}

Expected<TargetInfo> TargetInfo::get(StringRef name) {
  TargetInfo target;
  for (const Gpu &gpu : kGpus)
    if (name == gpu.name) {
      target.name = target.cpu = name.str();
      target.triple = "nvptx64-nvidia-cuda";
      target.features = gpu.ptxFeature.str();
      target.gpu = gpu.facts;
      return target;
    }
  if (name.starts_with("sm_"))
    return createStringError("no kernels for target '" + name + "', expected one of " + joinGpus(", ") +
                             explainTarget(name));
  if (isArmName(name))
    return getArmTarget(name);
  if (isRiscvName(name))
    return getRiscvTarget(name);
  if (isWasmName(name))
    return getWasmTarget(name);
  if (name == "host" && Triple(sys::getProcessTriple()).isAArch64())
    return getArmHost();
  if (name == "host") {
    target = getHost();
  } else {
    X86::CPUKind kind = X86::parseArchX86(name, /*Only64Bit=*/true);
    if (kind == X86::CK_None) {
      if (std::string advice = explainTarget(name); !advice.empty())
        return createStringError("unknown target '" + name + "'" + advice);
      return createStringError(
          "unknown target '" + name + "', expected one of " + getKnownNames() +
          ", or an x86-64, 64-bit Arm or RISC-V processor that LLVM knows, as znver5, neoverse-v2 or "
          "spacemit-x60");
    }
    target.name = target.cpu = name.str();
    SmallVector<StringRef> features;
    X86::getFeaturesForCPU(name, features);
    // LLVM lists only features that no other one implies: for some processors avxvnni implies avx2.
    StringMap<bool> all;
    for (StringRef feature : features) {
      all[feature.ltrim('+')] = true;
      X86::updateImpliedFeatures(feature.ltrim('+'), /*Enabled=*/true, all);
    }
    StringSet<> enabled;
    for (const auto &[feature, isEnabled] : all)
      if (isEnabled)
        enabled.insert(feature);
    deriveFacts(target, enabled);
  }
  target.triple = kX86Triple.str();
  return target;
}

std::string TargetInfo::describe() const { return name == "host" ? name + " (" + cpu + ")" : name; }

bool TargetInfo::isArm() const { return Triple(triple).isAArch64(); }

std::string TargetInfo::getLowestName() const { return gpu || Triple(triple).isX86() ? "x86-64" : triple; }

} // namespace attn
