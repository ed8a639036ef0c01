//===- TargetInfoTest.cpp - facts of processors -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Target/TargetInfo.h"
#include "attn/CodeGen/CodeGen.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Target/TargetMachine.h"
#include "gtest/gtest.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

using namespace attn;

namespace {

TargetInfo getTarget(llvm::StringRef name) {
  llvm::Expected<TargetInfo> target = TargetInfo::get(name);
  EXPECT_TRUE(bool(target)) << llvm::toString(target.takeError());
  return target ? *target : TargetInfo();
}

/// What the architecture manuals say of each level, and of processors that stand for what LLVM knows by name.
struct Level {
  const char *name;
  unsigned vectorBits, vectorRegisters;
  bool hasFma;
  double bf16DotRate = 0; ///< as measured; 0 where there is no such instruction
  bool hasByteDot = false;
};
constexpr Level levels[] = {
    {"x86-64", 128, 16, false},
    {"x86-64-v2", 128, 16, false},
    {"x86-64-v3", 256, 16, true},
    {"x86-64-v4", 512, 32, true},
    {"nehalem", 128, 16, false},
    {"sandybridge", 128, 16, false},
    {"haswell", 256, 16, true},
    {"znver1", 256, 16, true},
    {"bdver2", 128, 16, false},
    {"skylake-avx512", 512, 32, true},
    {"cascadelake", 512, 32, true, 0, true},
    {"znver4", 512, 32, true, 2, true},
    {"znver5", 512, 32, true, 2, true},
    {"sapphirerapids", 512, 32, true, 0.5, true},
    {"alderlake", 256, 16, true, 0, true},
    {"sierraforest", 256, 16, true, 0, true},
};

TEST(TargetInfo, Levels) {
  for (const Level &level : levels) {
    TargetInfo target = getTarget(level.name);
    EXPECT_EQ(target.name, level.name);
    EXPECT_EQ(target.cpu, level.name);
    EXPECT_EQ(target.triple, "x86_64-unknown-linux-gnu");
    EXPECT_EQ(target.vectorBits, level.vectorBits) << level.name;
    EXPECT_EQ(target.vectorRegisters, level.vectorRegisters) << level.name;
    EXPECT_EQ(target.hasFma, level.hasFma) << level.name;
    EXPECT_EQ(target.bf16DotRate, level.bf16DotRate) << level.name;
    EXPECT_EQ(target.hasByteDot, level.hasByteDot) << level.name;
    EXPECT_EQ(target.getLanes(32), level.vectorBits / 32);
    EXPECT_EQ(target.getLanes(64), level.vectorBits / 64);
  }
}

TEST(TargetInfo, TilesNeedBF16) {
  for (const char *name : {"sapphirerapids", "emeraldrapids", "graniterapids", "diamondrapids"})
    EXPECT_TRUE(getTarget(name).hasTiles()) << name;
  for (const char *name : {"x86-64-v4", "cooperlake", "znver5", "alderlake", "x86-64"})
    EXPECT_FALSE(getTarget(name).hasTiles()) << name;
}

// Xeon Phi has 512-bit vectors but not those of AVX-512VL, which v4 is made of.
TEST(TargetInfo, WideVectorsNeedTheirWholeSet) { EXPECT_EQ(getTarget("knl").vectorBits, 256u); }

TEST(TargetInfo, CodeGeneratorTakesEveryLevel) {
  for (const Level &level : levels) {
    llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(getTarget(level.name));
    ASSERT_TRUE(bool(machine)) << llvm::toString(machine.takeError());
    EXPECT_EQ((*machine)->getTargetCPU(), level.name);
  }
}

TEST(TargetInfo, UnknownNames) {
  for (llvm::StringRef name : {"", "pdp11", "i8086"}) {
    llvm::Expected<TargetInfo> target = TargetInfo::get(name);
    ASSERT_FALSE(bool(target)) << name.str();
    EXPECT_EQ(llvm::toString(target.takeError()),
              "unknown target '" + name.str() + "', expected one of host x86-64 x86-64-v2 x86-64-v3 x86-64-v4 " +
                  "sm_80 sm_86 sm_89 sm_90 sm_90a sm_100 sm_103 sm_120 aarch64-linux-gnu riscv64-linux-gnu wasm32, or "
                  "an x86-64, " +
                  "64-bit Arm or RISC-V processor that LLVM knows, as znver5, neoverse-v2 or spacemit-x60");
  }
}

// What other systems, vendors and users call a target; and what is one but for its spelling.
TEST(TargetInfo, NamesOfOthers) {
  constexpr std::pair<llvm::StringRef, llvm::StringRef> names[] = {
      {"native", "write host, the processor of this machine"},
      {"generic", "write x86-64, or aarch64-linux-gnu"},
      {"i686", "write x86-64; no code of 32 bits is made"},
      {"amd64", "write x86-64"},
      {"x86_64-unknown-linux-gnu", "write x86-64"},
      {"sse4.2", "write x86-64-v2"},
      {"avx2", "write x86-64-v3"},
      {"AVX512", "write x86-64-v4"},
      {"avx512bf16", "write x86-64-v4, or a processor"},
      {"amx-bf16", "write sapphirerapids"},
      {"sapphire-rapids", "did you mean 'sapphirerapids'?"},
      {"zen4", "write znver4"},
      {"znver6", "did you mean 'znver5'?"},
      {"skylke", "did you mean 'skylake'?"},
      {"x86_64_v3", "did you mean 'x86-64-v3'?"},
      {"x86-64-v5", "did you mean 'x86-64-v4'?"},
      {"X86-64", "did you mean 'x86-64'?"},
      {"host ", "did you mean 'host'?"},
      {"cortexa76", "did you mean 'cortex-a76'?"},
      {"a76", "did you mean 'cortex-a76'?"},
      {"armv8.2", "did you mean 'armv8.2-a'?"},
      {"-march=native", "write host, the processor of this machine"},
      {"A100-SXM4-80GB", "write sm_80"},
      {"rtx_3090", "write sm_86"},
      {"neoverse_v2", "did you mean 'neoverse-v2'?"},
      {"cortex-m4", "write aarch64-linux-gnu or a processor of 64-bit Arm; no code of 32 bits is made"},
      {"neon", "write aarch64-linux-gnu"},
      {"sve", "write neoverse-v1"},
      {"graviton3", "write neoverse-v1"},
      {"m1", "write aarch64-apple-darwin:apple-m1"},
      {"znver5+avx512bf16", "write a processor that has the features"},
      {"cuda", "write the GPU's compute capability"},
      {"A100", "write sm_80"},
      {"h100", "write sm_90a"},
      {"rtx4090", "write sm_89"},
      {"blackwell", "write sm_100"},
      {"gb300", "write sm_103"},
      {"rtx5090", "write sm_120"},
      {"v100", "write host; GPUs before sm_80 have no kernels"},
      {"sm90", "did you mean 'sm_90'?"},
      {"SM_90A", "did you mean 'sm_90a'?"},
      {"compute_90", "write sm_90"},
      {"9.0", "write sm_90"},
      {"sm120", "did you mean 'sm_120'?"},
      {"gfx942", "write host, or an NVIDIA GPU"},
      {"metal", "write host, or an NVIDIA GPU"},
      {"rvv", "write rva23, or rv64gcv+zvl256b"},
      {"ppc64le", "write host, or a target of x86-64, 64-bit Arm, RISC-V or WebAssembly"},
      {"emscripten", "write wasm32"},
      {"x86-64-v2,x86-64-v3", "write one of them"},
  };
  for (auto [name, advice] : names) {
    std::string text = llvm::toString(TargetInfo::get(name).takeError());
    EXPECT_TRUE(llvm::StringRef(text).starts_with(("unknown target '" + name + "'; " + advice).str())) << text;
  }
}

TEST(TargetInfo, UnknownGpus) {
  const std::string gpus("sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_103, sm_120");
  constexpr std::pair<llvm::StringRef, llvm::StringRef> names[] = {
      {"sm_70", "GPUs before sm_80 have none"},
      {"sm_87", "write sm_86, whose code later GPUs run"},
      {"sm_90b", "write sm_90"},
      {"sm_100a", "write sm_100"},
      {"sm_110", "write sm_103, whose code later GPUs run"},
      {"sm_121", "write sm_120, whose code later GPUs run"}};
  for (auto [name, advice] : names)
    EXPECT_EQ(llvm::toString(TargetInfo::get(name).takeError()),
              ("no kernels for target '" + name + "', expected one of " + gpus + "; " + advice).str());
  EXPECT_EQ(llvm::toString(TargetInfo::get("sm_").takeError()), "no kernels for target 'sm_', expected one of " + gpus);
}

TEST(TargetInfo, KnownNamesAreKnown) {
  llvm::SmallVector<llvm::StringRef> names;
  TargetInfo::getKnownNames().split(names, ' ');
  EXPECT_EQ(names.size(), 16u);
  for (llvm::StringRef name : names)
    EXPECT_EQ(getTarget(name).name, name);
}

TEST(TargetInfo, Arm) {
  for (const char *name : {"aarch64-linux-gnu", "armv8.2-a", "neoverse-n1", "neoverse-v2", "apple-m1", "grace",
                           "aarch64-linux-gnu:cortex-a76", "neoverse-v1+nosve"}) {
    TargetInfo target = getTarget(name);
    EXPECT_EQ(target.name, name);
    EXPECT_EQ(target.triple, "aarch64-unknown-linux-gnu") << name;
    EXPECT_TRUE(target.isArm());
    EXPECT_EQ(target.vectorBits, 128u) << name;
    EXPECT_EQ(target.sveBits, 0u) << name;
    EXPECT_EQ(target.vectorRegisters, 32u);
    EXPECT_TRUE(target.hasFma);
  }
  EXPECT_EQ(getTarget("aarch64-linux-musl:neoverse-v2").triple, "aarch64-unknown-linux-musl");
  EXPECT_EQ(getTarget("neoverse-n1").fmaPerCycle, 2);
  EXPECT_EQ(getTarget("neoverse-v2").fmaPerCycle, 4);
  EXPECT_TRUE(getTarget("neoverse-v2").hasBf16Matrices);
  EXPECT_TRUE(getTarget("neoverse-v2").hasSignedByteDot);
  EXPECT_FALSE(getTarget("neoverse-n1").hasBf16Matrices);
  EXPECT_TRUE(getTarget("neoverse-n1").hasByteDot);
  EXPECT_FALSE(getTarget("aarch64-linux-gnu").hasByteDot);
  EXPECT_EQ(getTarget("aarch64-apple-darwin").triple, "arm64-apple-macosx11.0");
  EXPECT_EQ(getTarget("arm64-apple-macos14:apple-m2").triple, "arm64-apple-macosx14");
  EXPECT_EQ(getTarget("aarch64-pc-windows-msvc").triple, "aarch64-pc-windows-msvc");
  EXPECT_EQ(getTarget("apple-m1").lineBytes, 128);
  EXPECT_EQ(getTarget("neoverse-v1+sve256").vectorBits, 256u);
  EXPECT_EQ(getTarget("a64fx").sveBits, 512u);
  EXPECT_EQ(getTarget("a64fx+nosve").vectorBits, 128u);
  EXPECT_FALSE(getTarget("x86-64-v4").isArm());
}

TEST(TargetInfo, Riscv) {
  struct Length {
    const char *name;
    unsigned bits;
  };
  for (Length each : {Length{"riscv64-linux-gnu", 128},
                      {"rv64gcv", 128},
                      {"rva23", 128},
                      {"rva22+zvl512b", 512},
                      {"spacemit-x60", 256},
                      {"sifive-x390", 1024},
                      {"riscv64-linux-gnu:rv64gcv_zvl256b", 256}}) {
    TargetInfo target = getTarget(each.name);
    EXPECT_EQ(target.triple, "riscv64-unknown-linux-gnu") << each.name;
    EXPECT_EQ(target.vectorBits, each.bits) << each.name;
    EXPECT_EQ(target.vectorRegisters, 32u);
    EXPECT_TRUE(target.hasFma);
    EXPECT_FALSE(target.isArm());
  }
  EXPECT_EQ(getTarget("riscv64-linux-musl:rva23").triple, "riscv64-unknown-linux-musl");
  EXPECT_TRUE(getTarget("rva23").hasHalf);
  EXPECT_FALSE(getTarget("rv64gcv").hasHalf);
  EXPECT_EQ(getTarget("sifive-p670").fmaPerCycle, 2);
  // Of what LLVM's processor has, a kernel uses what its checked entry tests.
  EXPECT_NE(getTarget("spacemit-x60").features.find("-zkt"), std::string::npos);
  EXPECT_NE(getTarget("spacemit-x60").features.find("+zvfh"), std::string::npos);
}

#if defined(__aarch64__)
TEST(TargetInfo, HostAgreesWithTheProcessor) {
  TargetInfo host = getTarget("host");
  const unsigned long features = getauxval(AT_HWCAP), more = getauxval(AT_HWCAP2);
  EXPECT_TRUE(host.isArm());
  EXPECT_FALSE(host.cpu.empty());
  EXPECT_EQ(host.vectorBits, 128u);
  EXPECT_EQ(host.vectorRegisters, 32u);
  EXPECT_EQ(host.hasByteDot, (features & HWCAP_ASIMDDP) != 0);
  EXPECT_EQ(host.hasBf16Matrices, (more & HWCAP2_BF16) != 0);
}
#else
// The compiler that built this test knows what x86-64 has at least; the processor says the rest itself.
TEST(TargetInfo, HostAgreesWithTheProcessor) {
  TargetInfo host = getTarget("host");
  EXPECT_FALSE(host.cpu.empty());
  __builtin_cpu_init();
  bool hasAvx512 = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  bool hasAvx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  EXPECT_EQ(host.vectorBits, hasAvx512 ? 512u : hasAvx2 ? 256u : 128u);
  EXPECT_EQ(host.vectorRegisters, hasAvx512 ? 32u : 16u);
  EXPECT_EQ(host.hasFma, hasAvx512 || hasAvx2);
  EXPECT_GE(host.l2Bytes, 128 * 1024);
  EXPECT_EQ(host.hasByteDot,
            hasAvx512 ? __builtin_cpu_supports("avx512vnni") : hasAvx2 && __builtin_cpu_supports("avxvnni"));
  EXPECT_EQ(host.bf16DotRate > 0, hasAvx512 && __builtin_cpu_supports("avx512bf16"));
}
#endif

// The string stands in manifests: the same in every run, each feature with its sign, once.
TEST(TargetInfo, HostFeaturesHaveOneOrder) {
  TargetInfo host = getTarget("host");
  EXPECT_EQ(host.features, getTarget("host").features);
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(host.features).split(features, ',');
  // Those of Arm are in the order of LLVM's table.
  EXPECT_TRUE(host.isArm() || llvm::is_sorted(features));
  EXPECT_NE(llvm::find(features, host.isArm() ? "+neon" : "+sse2"), features.end());
  for (size_t i = 0; i < features.size(); ++i) {
    EXPECT_TRUE(features[i].starts_with("+") || features[i].starts_with("-")) << features[i].str();
    EXPECT_TRUE(i == 0 || features[i - 1] != features[i]) << features[i].str();
  }
}

} // namespace
