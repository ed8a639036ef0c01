//===- Variants.cpp - the targets of a bundle -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn-c/attn.h"
#include "attn-c/attn_dispatch.h"
#include "attn/CodeGen/CodeGen.h"
#include "attn/Compiler/Bundle.h"
#include "attn/Target/Architecture.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace llvm;

namespace attn {

static_assert(sizeof(Variant::features) == ATTN_FEATURE_WORDS * sizeof(uint64_t));

/// A target that runs on a processor with tiles and uses none.
static constexpr StringLiteral kBelowTiles = "x86-64-v4";
/// Features of every x86-64 processor, and features that are not instructions.
static constexpr StringLiteral kAlwaysThere[] = {"x87", "vzeroupper", "evex512"};

/// Features that only their own intrinsics use: of the system, of caches and of ciphers. Kernels use none of them.
/// Hypervisors hide some of them on processors that have the rest.
static constexpr StringLiteral kNeverUsed[] = {
    "aes",        "cldemote", "clflushopt", "clwb",      "clzero",  "enqcmd",   "fsgsbase", "fxsr",      "hreset",
    "invpcid",    "kl",       "lwp",        "movdir64b", "movdiri", "mwaitx",   "pclmul",   "pconfig",   "pku",
    "prefetchi",  "ptwrite",  "rdpid",      "rdpru",     "rdrnd",   "rdseed",   "rtm",      "serialize", "sgx",
    "sha",        "sha512",   "shstk",      "sm3",       "sm4",     "tsxldtrk", "uintr",    "usermsr",   "vaes",
    "vpclmulqdq", "waitpkg",  "wbnoinvd",   "widekl",    "xsave",   "xsavec",   "xsaveopt", "xsaves"};

/// The same for 64-bit Arm. The only atomic accesses are to aligned words, which need no lse2.
static constexpr StringLiteral kNeverUsedByArm[] = {
    "aes",  "am",      "amvs",  "brbe",    "bti",     "ccdp",     "ccidx",        "ccpp",  "clrbhb",   "CONTEXTIDREL2",
    "crc",  "crypto",  "dit",   "ecv",     "el2vmsa", "el3",      "ete",          "fgt",   "fp-armv8", "fpac",
    "hbc",  "hcx",     "lor",   "ls64",    "lse2",    "mec",      "mpam",         "mte",   "nmi",      "nv",
    "pan",  "pan-rwv", "pauth", "perfmon", "predres", "rand",     "ras",          "rasv2", "rme",      "sb",
    "sel2", "sha2",    "sm4",   "spe",     "spe-eef", "specres2", "specrestrict", "ssbs",  "tlb-rmi",  "tracev8.4",
    "trbe", "uaops",   "vh",    "wfxt",    "xs"};

/// Features of x86-64 in the numbering of its runtime's table, which may differ from that of this process.
static constexpr StringLiteral kX86Features[] = {
#define FEATURE(name, leaf, subleaf, reg, bit, state) name,
#include "../../runtime/ProcessorFeatures.inc"
#undef FEATURE
};

/// The same for 64-bit Arm, and whether Windows has a number for them.
static constexpr std::pair<StringLiteral, bool> kArmFeatures[] = {
#define FEATURE(name, place, bit, apple, windows) {name, windows != 0},
#include "../../runtime/ArmFeatures.inc"
#undef FEATURE
};

/// The same for RISC-V. Its kernels use no other ones.
static constexpr StringLiteral kRiscvFeatures[] = {
#define FEATURE(name, place, bit) name,
#include "../../runtime/RiscvFeatures.inc"
#undef FEATURE
};

static bool isRiscv(const TargetInfo &target) { return Triple(target.triple).isRISCV(); }

/// The bit of a feature in attn_find_feature of the target architecture's runtime; -1 if there is none.
static int32_t findFeature(const TargetInfo &target, StringRef name) {
  if (!target.isArm()) {
    ArrayRef<StringLiteral> features = isRiscv(target) ? ArrayRef(kRiscvFeatures) : ArrayRef(kX86Features);
    const auto *found = find(features, name);
    return found == features.end() ? -1 : found - features.begin();
  }
  const auto *found = find_if(kArmFeatures, [&](const auto &feature) { return feature.first == name; });
  if (found == std::end(kArmFeatures) || (Triple(target.triple).isOSWindows() && !found->second))
    return -1;
  return found - kArmFeatures;
}

/// All extensions that LLVM may use for an Arm target, and the length of its SVE registers.
static StringMap<bool> getArmFeatures(const TargetInfo &target) {
  StringMap<bool> all;
  std::unique_ptr<TargetMachine> machine = cantFail(createTargetMachine(target));
  for (const AArch64::ExtensionInfo &extension : AArch64::Extensions)
    if (StringRef feature = extension.PosTargetFeature;
        !feature.empty() && machine->getMCSubtargetInfo()->checkFeatures(feature.str()))
      all[feature.ltrim('+')] = true;
  if (target.sveBits)
    all["sve" + std::to_string(target.sveBits)] = true;
  return all;
}

/// All features that LLVM may use for a target: those of its processor with all that they imply, then its own list.
static StringMap<bool> getFeatures(const TargetInfo &target) {
  if (target.isArm())
    return getArmFeatures(target);
  StringMap<bool> all;
  if (target.isValidated)
    return all;
  if (isRiscv(target)) {
    for (StringRef feature : split(target.features, ','))
      all[feature.drop_front()] = feature.starts_with("+") && is_contained(kRiscvFeatures, feature.drop_front());
    return all;
  }
  SmallVector<StringRef> listed;
  if (X86::parseArchX86(target.cpu, /*Only64Bit=*/true) != X86::CK_None)
    X86::getFeaturesForCPU(target.cpu, listed);
  target.features.empty() ? void() : StringRef(target.features).split(listed, ',');
  for (StringRef feature : listed) {
    bool isEnabled = !feature.starts_with("-");
    StringRef name = feature.ltrim("+-");
    X86::updateImpliedFeatures(name, isEnabled, all);
    all[name] = isEnabled;
  }
  return all;
}

static std::string getSuffix(StringRef name) {
  std::string suffix;
  for (char c : name)
    suffix += isAlnum(c) ? c : '_';
  return suffix;
}

Variant createVariant(TargetInfo target) {
  Variant variant{std::move(target), {}, {}, ""};
  variant.suffix = getSuffix(variant.target.name);
  if (variant.target.gpu)
    return variant;
  for (const auto &[name, isEnabled] : getFeatures(variant.target)) {
    bool isNeverUsed = variant.target.isArm() ? is_contained(kNeverUsedByArm, name) : is_contained(kNeverUsed, name);
    if (!isEnabled || is_contained(kAlwaysThere, name) || isNeverUsed)
      continue;
    int32_t bit = findFeature(variant.target, name);
    if (bit < 0)
      variant.untested.push_back(name.str());
    else
      variant.features[bit / 64] |= uint64_t(1) << bit % 64;
  }
  llvm::sort(variant.untested);
  return variant;
}

/// Vector width comes first: narrower vectors with more other features are not better. For GPUs, the compute
/// capability, and code for one capability only (sm_90a) before code for later ones too.
static auto getRank(const Variant &variant) {
  if (const auto &gpu = variant.target.gpu)
    return std::pair(gpu->computeCapability, int(gpu->isExact));
  int count = 0;
  for (uint64_t word : variant.features)
    count += llvm::popcount(word);
  return std::pair(variant.target.vectorBits, count);
}

Expected<std::vector<Variant>> getVariants(StringRef list) {
  std::vector<Variant> variants;
  SmallVector<StringRef> names;
  list.split(names, ',');
  for (StringRef name : names) {
    Expected<TargetInfo> target = TargetInfo::get(name);
    if (!target)
      return target.takeError();
    Variant variant = createVariant(std::move(*target));
    for (const Variant &other : variants)
      if (other.target.gpu.has_value() != variant.target.gpu.has_value())
        return createStringError("expected processors or GPUs alone in a list of targets, found '" +
                                 other.target.describe() + "' and '" + name +
                                 "'; compile GPU kernels by a call of their own");
      else if (variant.target.isValidated)
        return createStringError("expected one target of WebAssembly, whose code is validated as a whole, found '" +
                                 other.target.describe() + "' and '" + name +
                                 "'; compile each by a call of its own, and let the page choose");
      else if (!variant.target.gpu && Triple(other.target.triple) != Triple(variant.target.triple))
        return createStringError("expected targets of one architecture in a list, found '" + other.target.describe() +
                                 "' and '" + name + "'; compile each architecture by a call of its own");
      else if ((!variant.target.gpu && other.features == variant.features) || other.suffix == variant.suffix)
        return createStringError("expected targets of different features, found '" + other.target.describe() +
                                 "' and '" + name + "'; leave one out");
    auto isBetter = [](const Variant &a, const Variant &b) { return getRank(a) < getRank(b); };
    variants.insert(llvm::upper_bound(variants, variant, isBetter), std::move(variant));
  }
  // A process without Linux's permission for tiles takes the next variant, which should have the same vectors.
  auto tiled = llvm::find_if(variants, [](const Variant &variant) { return variant.target.hasTiles(); });
  if (variants.size() > 1 && tiled != variants.end() &&
      (tiled == variants.begin() || std::prev(tiled)->target.vectorBits < tiled->target.vectorBits))
    variants.insert(tiled, createVariant(cantFail(TargetInfo::get(kBelowTiles))));
  return variants;
}

Error checkProcessor(const TargetInfo &target) {
  if (target.gpu || target.name == "host")
    return Error::success();
  if (isForeign(target))
    return createStringError("expected a target that this machine runs, found '" + target.name + "', which is " +
                             describeArchitecture(target) +
                             "; compile it to an object, or run it by attnc run --runner");
  Variant variant = createVariant(target);
  attn_variant described{};
  described.name = variant.target.name.c_str();
  llvm::copy(variant.features, described.features);
  int32_t chosen = 0;
  attn_variants table{&chosen, &described, 1};
  char message[256] = "";
  if (attn_check_processor(&table, message, sizeof(message)) == ATTN_OK)
    return Error::success();
  return createStringError(message);
}

} // namespace attn
