//===- ArmTarget.cpp - names and facts of 64-bit Arm ----------------------===//
//
// Instructions follow from LLVM's tables of processors. No table of LLVM's that libraries can read has ports, latencies
// and caches. They are listed here, from llvm-mca's models (multiply-adds) and from the vendors' pages (caches). No
// figure is measured.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ArmTarget.h"
#include "TargetNames.h"
#include "attn-c/attn_dispatch.h"
#include "attn/Support/OtherWords.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/VersionTuple.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace attn {

static constexpr StringLiteral kLinux = "aarch64-unknown-linux-gnu", kLowestLevel = "armv8-a",
                               kMacOS = "arm64-apple-macosx";
/// Rate of multiply-adds by bfmmla relative to f32, where both use the same ports.
static constexpr double kMatrixRate = 4;
static constexpr int64_t kKiB = 1024, kMiB = 1024 * 1024;
/// Lengths of SVE registers for which kernels are compiled. At 128 bits, SVE multiplies like NEON.
static constexpr unsigned kSveBits[] = {256, 512};

namespace {
struct CoreFacts {
  StringLiteral prefix; ///< of LLVM's name
  double fmaPerCycle, fmaLatency, issuedPerCycle;
  int64_t l1Sets, l1Ways, lineBytes, l2Bytes;
  unsigned sveBits = 0; ///< the default of its kernels
};
} // namespace

/// The first match counts.
static constexpr CoreFacts kCores[] = {
    {"neoverse-v1", 4, 4, 8, 256, 4, 64, kMiB},
    {"neoverse-v", 4, 4, 6, 256, 4, 64, 2 * kMiB},
    {"grace", 4, 4, 6, 256, 4, 64, kMiB},
    {"cortex-x", 4, 4, 6, 256, 4, 64, kMiB},
    {"neoverse-n", 2, 4, 4, 256, 4, 64, kMiB},
    {"apple-", 4, 4, 8, 128, 8, 128, 3 * kMiB}, // 12 MiB for four cores
    {"a64fx", 2, 9, 4, 64, 4, 256, 512 * kKiB, 512},
    {"", 2, 4, 4, 128, 4, 64, 512 * kKiB},
};

static Triple parseTriple(StringRef text) { return Triple(Triple::normalize(text)); }

static bool isProcessor(StringRef name) {
  return name != "generic" && (AArch64::parseCpu(name) || AArch64::parseArch(name));
}

bool isArmName(StringRef name) {
  auto [triple, processor, features] = splitTargetName(name, &Triple::isAArch64);
  return triple.empty() ? isProcessor(processor) : parseTriple(triple).isAArch64();
}

static Expected<std::string> getTriple(StringRef text, StringRef name) {
  if (text.empty())
    return kLinux.str();
  Triple triple = parseTriple(text);
  if (triple.getArch() != Triple::aarch64 || triple.isArm64e() || triple.getEnvironment() == Triple::GNUILP32)
    return createStringError("expected 64-bit little-endian Arm as target, found '" + name +
                             "'; write aarch64-linux-gnu");
  if (triple.getOS() == Triple::UnknownOS && text.split('-').second.empty())
    return kLinux.str();
  if (triple.isMacOSX()) {
    // Objects record the first version on which they run. "darwin" alone has none.
    VersionTuple version;
    bool isKnown = triple.getMacOSXVersion(version) && version >= VersionTuple(11);
    return kMacOS.str() + (isKnown ? version.getAsString() : "11.0");
  }
  if (triple.isOSWindows() && (triple.isWindowsMSVCEnvironment() || triple.isWindowsGNUEnvironment()))
    return "aarch64-" + triple.getVendorName().str() + "-windows-" + triple.getEnvironmentName().str();
  if (!triple.isOSLinux() || triple.isAndroid())
    return createStringError("expected Linux, macOS or Windows as the system of 64-bit Arm, found '" + name +
                             "'; the code that tests arguments and features is not there for others; write "
                             "aarch64-linux-gnu, aarch64-apple-darwin or aarch64-pc-windows-msvc");
  return triple.getArchName() == "aarch64" ? triple.str()
                                           : "aarch64" + triple.str().substr(triple.getArchName().size());
}

/// Sets the length of SVE registers if the feature is one, as sve256.
static Expected<bool> parseLength(StringRef feature, StringRef name, unsigned &bits) {
  StringRef digits = feature;
  if (!digits.consume_front("sve") || digits.getAsInteger(10, bits) || bits < 100) // not sve2
    return false;
  if (!is_contained(kSveBits, bits))
    return createStringError("expected sve256 or sve512 as length of SVE registers, found '" + feature + "' in '" +
                             name + "'; without one, vectors have 128 bits");
  return true;
}

static Expected<AArch64::ExtensionSet> parseFeatures(StringRef processor, StringRef text, StringRef name,
                                                     unsigned &sveBits) {
  AArch64::ExtensionSet extensions;
  if (std::optional<AArch64::CpuInfo> cpu = AArch64::parseCpu(processor))
    extensions.addCPUDefaults(*cpu);
  else
    extensions.addArchDefaults(*AArch64::parseArch(processor));
  SmallVector<StringRef> features;
  text.split(features, '+', /*MaxSplit=*/-1, /*KeepEmpty=*/true);
  for (StringRef feature : text.empty() ? ArrayRef<StringRef>() : ArrayRef(features)) {
    unsigned bits = 0;
    Expected<bool> isLength = parseLength(feature, name, bits);
    if (!isLength)
      return isLength.takeError();
    if (*isLength)
      sveBits = bits;
    if (!extensions.parseModifier(*isLength ? "sve" : feature))
      return createStringError("expected a feature of 64-bit Arm after +, found '" + feature + "' in '" + name +
                               "'; write it as clang's -mcpu takes it, as bf16 or nosve, or sve256 for the length of "
                               "vectors");
  }
  if (!extensions.Enabled.test(AArch64::AEK_SVE))
    sveBits = 0;
  if (!extensions.Enabled.test(AArch64::AEK_FP) || !extensions.Enabled.test(AArch64::AEK_SIMD))
    return createStringError("expected a target with vectors, found '" + name + "'; leave nofp and nosimd out");
  return extensions;
}

Expected<TargetInfo> getArmTarget(StringRef name) {
  auto [tripleText, processor, features] = splitTargetName(name, &Triple::isAArch64);
  Expected<std::string> triple = getTriple(tripleText, name);
  if (!triple)
    return triple.takeError();
  if (processor.empty() && !name.contains(':'))
    processor = kLowestLevel;
  if (!isProcessor(processor)) {
    SmallVector<StringRef> known;
    AArch64::fillValidCPUArchList(known);
    StringRef nearest = findNearestName(processor, known);
    return createStringError("expected a processor or an architecture of 64-bit Arm after the triple, found '" +
                             processor + "' in '" + name + "'; write " +
                             (nearest.empty() ? "neoverse-n1 or armv8.2-a" : nearest));
  }
  const CoreFacts &core = *find_if(
      kCores, [&, &processor = processor](const CoreFacts &facts) { return processor.starts_with(facts.prefix); });
  unsigned sveBits = core.sveBits;
  Expected<AArch64::ExtensionSet> extensions = parseFeatures(processor, features, name, sveBits);
  if (!extensions)
    return extensions.takeError();
  if (sveBits && !Triple(*triple).isOSLinux())
    return createStringError("expected Linux as the system of vectors in SVE registers, whose length no other says, "
                             "found '" +
                             name + "'; write +nosve, or a processor without a length");
  bool isCpu = AArch64::parseCpu(processor).has_value();

  TargetInfo target;
  target.name = name.str();
  target.triple = std::move(*triple);
  target.cpu = isCpu ? AArch64::resolveCPUAlias(processor).str() : "generic";
  if (!isCpu || !features.empty()) {
    std::vector<StringRef> list;
    extensions->toLLVMFeatureList(list);
    target.features = join(list, ",");
  }
  target.vectorBits = sveBits ? sveBits : 128;
  target.sveBits = sveBits;
  target.vectorRegisters = 32;
  target.hasFma = target.hasHalf = true;
  target.takesLanes = sveBits == 0; // SVE has a lane for each 128 bits
  target.overwritesAddend = target.hasNumberMax = true;
  target.hasPowerTable = extensions->Enabled.test(AArch64::AEK_SVE);
  // Only for 128 bits: SVE has a separate layout for each 128 bits.
  target.hasBf16Matrices = extensions->Enabled.test(AArch64::AEK_BF16) && sveBits == 0;
  target.hasByteDot = target.hasSignedByteDot = extensions->Enabled.test(AArch64::AEK_DOTPROD) && sveBits == 0;
  target.bf16DotRate = target.hasBf16Matrices ? kMatrixRate : 0;
  target.fmaPerCycle = core.fmaPerCycle;
  target.fmaLatency = core.fmaLatency;
  target.issuedPerCycle = core.issuedPerCycle;
  target.l1Sets = core.l1Sets;
  target.l1Ways = core.l1Ways;
  target.lineBytes = core.lineBytes;
  target.l2Bytes = core.l2Bytes;
  return target;
}

Expected<TargetInfo> getArmHost() {
  // LLVM's name of the processor, if it is known, with those of its features that the system grants. LLVM reads them
  // from a text that describes the machine, not the process.
  std::string processor = sys::getHostCPUName().str();
  std::string name = isProcessor(processor) ? processor : kLowestLevel.str();
  uint64_t found[ATTN_FEATURE_WORDS];
  attn_detect_features(found);
  for (const char *feature : {"dotprod", "bf16", "i8mm", "sve", "sve2"})
    if (int32_t bit = attn_find_feature(feature); bit >= 0)
      name += (found[bit / 64] >> bit % 64 & 1 ? "+" : "+no") + std::string(feature);
  Expected<TargetInfo> target = getArmTarget(name);
  if (target)
    target->name = "host";
  return target;
}

} // namespace attn
