//===- TargetNames.cpp - suggestions for names that are not targets -------===//
//
// Names of products, instruction sets and other systems, one per row; then misspelt names of LLVM's processors.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TargetNames.h"
#include "attn/Support/OtherWords.h"
#include "attn/Target/TargetInfo.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/RISCVTargetParser.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace llvm;
using namespace attn;

namespace {
struct OtherTarget {
  StringLiteral names; ///< separated by blanks; a star matches any suffix
  StringLiteral write; ///< completes "write …"
};
} // namespace

static constexpr OtherTarget kOtherTargets[] = {
    {"native cpu local localhost auto default llvm llvm-cpu", "host, the processor of this machine"},
    {"generic baseline", "x86-64, or aarch64-linux-gnu for 64-bit Arm"},
    // x86-64
    {"x86 x64 amd64 intel64 x86_64-unknown* x86_64-linux* x86_64-pc*", "x86-64"},
    {"v2", "x86-64-v2"},
    {"v3", "x86-64-v3"},
    {"v4", "x86-64-v4"},
    {"i386 i486 i586 i686 x86-32", "x86-64; no code of 32 bits is made"},
    {"sse sse2", "x86-64"},
    {"sse3 ssse3 sse4 sse4.1 sse4.2 avx", "x86-64-v2"},
    {"avx2 fma fma3 bmi2 f16c", "x86-64-v3"},
    {"avx512* avx-512", "x86-64-v4, or a processor for more of AVX-512, as znver4 or sapphirerapids"},
    {"vnni avxvnni", "alderlake, or znver4 for AVX-512 VNNI"},
    {"amx*", "sapphirerapids"},
    {"avx10*", "graniterapids"},
    {"skylake-x skylake-sp skylake-server skl-x", "skylake-avx512"},
    {"icelake icelake-sp icx", "icelake-server"},
    {"spr sapphire", "sapphirerapids"},
    {"emr emerald", "emeraldrapids"},
    {"gnr granite", "graniterapids"},
    {"zen zen1 naples", "znver1"},
    {"zen2 rome", "znver2"},
    {"zen3 milan", "znver3"},
    {"zen4 genoa bergamo siena", "znver4"},
    {"zen5 turin", "znver5"},
    {"intel amd xeon epyc ryzen threadripper core",
     "host for this machine, or LLVM's name of a processor, as sapphirerapids or znver5"},
    // 64-bit Arm
    {"arm neon asimd linux-arm64", "aarch64-linux-gnu"},
    {"armv5* armv6* armv7* armhf thumb* cortex-m* cortex-r* cortex-a5 cortex-a7 cortex-a8 cortex-a9 cortex-a15 "
     "cortex-a17",
     "aarch64-linux-gnu or a processor of 64-bit Arm; no code of 32 bits is made"},
    {"sve", "neoverse-v1"},
    {"sve2 sme sme2", "neoverse-v2"},
    {"graviton graviton2 altra ampere-altra", "neoverse-n1"},
    {"graviton3 graviton3e", "neoverse-v1"},
    {"graviton4 axion", "neoverse-v2"},
    {"cobalt cobalt100", "neoverse-n2"},
    {"ampereone", "ampere1"},
    {"rpi4 raspberrypi4", "cortex-a72"},
    {"rpi5 raspberrypi5", "cortex-a76"},
    {"m1* apple apple-silicon macos darwin", "aarch64-apple-darwin:apple-m1"},
    {"m2*", "aarch64-apple-darwin:apple-m2"},
    {"m3*", "aarch64-apple-darwin:apple-m3"},
    {"m4*", "aarch64-apple-darwin:apple-m4"},
    // GPUs
    {"cuda* gpu nvidia nvptx* ptx nvgpu",
     "the GPU's compute capability: sm_80 for an A100, sm_86, sm_89 for an L40, sm_90a for an H100"},
    {"a100* a800* a30 ampere", "sm_80"},
    {"a10 a10g a40 a6000 rtxa6000 rtx30* 3090 3080 orin* jetson*", "sm_86"},
    {"l4 l40* ada lovelace rtx40* 4090 4080", "sm_89"},
    {"h100* h200* h800* h20 gh200* hopper", "sm_90a"},
    {"b100* b200* gb200* blackwell", "sm_100"},
    {"b300* gb300* blackwell-ultra", "sm_103"},
    {"rtx50* 5090 5080 rtxpro6000 gb10 dgx-spark", "sm_120"},
    {"thor", "sm_100, whose code later GPUs of data centres run"},
    {"v100* t4 p100* volta turing pascal maxwell kepler rtx20*", "host; GPUs before sm_80 have no kernels"},
    {"rocm hip amdgpu amdgcn* gfx* mi250* mi300* mi325* mi355* metal mps vulkan* spirv* opencl webgpu wgsl xpu sycl "
     "level-zero tpu npu ane",
     "host, or an NVIDIA GPU as sm_80; no code is made for other devices"},
    // 64-bit RISC-V
    {"rvv riscv", "rva23, or rv64gcv+zvl256b for vectors of 256 bits"},
    {"k1 bpi-f3 bananapi-f3 spacemit-k1 x60", "spacemit-x60"},
    // Other processors
    {"webassembly emscripten* wasi*", "wasm32"},
    {"ppc* power* s390x systemz loongarch* mips* sparc* hexagon",
     "host, or a target of x86-64, 64-bit Arm, RISC-V or WebAssembly; no code is made for other processors"},
};

TargetName attn::splitTargetName(StringRef name, bool (Triple::*isOfArchitecture)() const) {
  auto [named, features] = name.split('+');
  auto [head, processor] = named.split(':');
  if (named.contains(':') || (Triple(Triple::normalize(head)).*isOfArchitecture)())
    return {head, processor, features};
  return {"", head, features};
}

static bool isNamed(StringRef names, StringRef name) {
  SmallVector<StringRef> list;
  names.split(list, ' ');
  return any_of(list, [&](StringRef each) {
    return each.consume_back("*") ? StringRef(dropSeparators(name)).starts_with(dropSeparators(each))
                                  : isSameName(each, name);
  });
}

/// 90 of sm_90, sm90a, compute_90, 9.0 or 90; nullopt for a name that is not a compute capability.
static std::optional<unsigned> parseCapability(StringRef name) {
  std::string text = dropSeparators(name);
  StringRef rest = text;
  bool isNamed = rest.consume_front("sm") || rest.consume_front("compute");
  unsigned capability;
  if (rest.consumeInteger(10, capability) || (!isNamed && (rest.size() > 1 || capability < 50 || capability > 130)))
    return std::nullopt;
  return capability;
}

/// Completes a partial name of 64-bit Arm: armv8.2-a, cortex-a76, neoverse-n1; empty for other names.
static std::string completeArm(StringRef name) {
  if (AArch64::parseArch((name + "-a").str()))
    return (name + "-a").str();
  for (StringRef prefix : {"cortex-", "neoverse-", "apple-"})
    if (AArch64::parseCpu((prefix + name).str()))
      return (prefix + name).str();
  return "";
}

/// The last GPU target whose code runs on this compute capability.
static std::string explainCapability(StringRef name, unsigned capability) {
  SmallVector<StringRef> known;
  TargetInfo::getKnownNames().split(known, ' ');
  StringRef last;
  for (StringRef each : known) {
    unsigned number;
    StringRef digits = each;
    if (!digits.consume_front("sm_"))
      continue;
    if (isSameName(each, name))
      return ("; did you mean '" + each + "'?").str();
    if (!digits.getAsInteger(10, number) && number <= capability)
      last = each;
  }
  if (last.empty())
    return "; GPUs before sm_80 have none";
  bool isLater = last.drop_front(3) != std::to_string(capability);
  return ("; write " + last + (isLater ? ", whose code later GPUs run" : "")).str();
}

std::string attn::explainTarget(StringRef name) {
  if (name.contains('=')) // -march=native
    name = name.split('=').second;
  if (name.contains(','))
    return "; write one of them, as only objects and shared libraries of attnc are for several";
  SmallVector<StringRef> known;
  TargetInfo::getKnownNames().split(known, ' ');
  X86::fillValidCPUArchList(known, /*Only64Bit=*/true);
  AArch64::fillValidCPUArchList(known);
  RISCV::fillValidCPUArchList(known, /*IsRV64=*/true);
  erase(known, "generic"); // 64-bit Arm; not a target
  if (const auto *same = find_if(known, [&](StringRef each) { return isSameName(each, name); }); same != known.end())
    return ("; did you mean '" + *same + "'?").str();
  for (const OtherTarget &other : kOtherTargets)
    if (isNamed(other.names, name))
      return ("; write " + other.write).str();
  if (std::string complete = completeArm(name); !complete.empty())
    return "; did you mean '" + complete + "'?";
  if (std::optional<unsigned> capability = parseCapability(name))
    return explainCapability(name, *capability);
  if (name.starts_with("sm_"))
    return "";
  if (name.contains('+'))
    return "; write a processor that has the features, as znver5: names of 64-bit Arm and RISC-V alone take some after "
           "a +";
  if (StringRef nearest = findNearestName(name, known); !nearest.empty())
    return ("; did you mean '" + nearest + "'?").str();
  return "";
}
