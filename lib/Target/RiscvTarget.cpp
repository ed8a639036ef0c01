//===- RiscvTarget.cpp - names and facts of 64-bit RISC-V -----------------===//
//
// Extensions follow from LLVM's tables of processors and profiles. A kernel uses those alone that its checked entry can
// test (runtime/RiscvFeatures.inc) beside rv64gc, which every Linux has. Multiply-adds are those of llvm-mca's models;
// no figure is measured.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RiscvTarget.h"
#include "TargetNames.h"
#include "attn/Support/OtherWords.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/RISCVISAInfo.h"
#include "llvm/TargetParser/RISCVTargetParser.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace attn {

static constexpr StringLiteral kLinux = "riscv64-unknown-linux-gnu", kLowestLevel = "rv64gc";
/// Lengths of vectors that kernels are compiled for.
static constexpr unsigned kMinBits = 128, kMaxBits = 1024;
/// The extensions of rv64gc, and prefetches, which are hints: a processor without them executes nothing.
static constexpr StringLiteral kBase[] = {"i", "m", "a", "f", "d", "c", "zicsr", "zifencei"};
static constexpr StringLiteral kHints = "zicbop";
/// The profiles that have vectors, with the rest of LLVM's names.
static constexpr std::pair<StringLiteral, StringLiteral> kProfiles[] = {{"rva22", "rva22u64_v"}, {"rva23", "rva23u64"}};

static constexpr StringLiteral kTested[] = {
#define FEATURE(name, place, bit) name,
#include "../../runtime/RiscvFeatures.inc"
#undef FEATURE
};

namespace {
struct CoreFacts {
  StringLiteral prefix; ///< of LLVM's name
  double fmaPerCycle, fmaLatency, issuedPerCycle;
};
} // namespace

/// The first match counts.
static constexpr CoreFacts kCores[] = {
    {"sifive-p470", 1, 6, 3}, {"sifive-p", 2, 6, 4},   {"sifive-x", 0.5, 8, 2},
    {"spacemit-", 1, 5, 2},   {"tt-ascalon", 2, 4, 8}, {"", 2, 4, 4},
};

static bool isProcessor(StringRef name) {
  return !name.starts_with("generic") && RISCV::parseCPU(name, /*IsRV64=*/true);
}

static bool isArchitecture(StringRef name) {
  return name.starts_with("rv64") || name.starts_with("rv32") || name.starts_with("rva2");
}

bool isRiscvName(StringRef name) {
  TargetName parts = splitTargetName(name, &Triple::isRISCV);
  return parts.triple.empty() ? isProcessor(parts.processor) || isArchitecture(parts.processor) ||
                                    RISCV::parseCPU(parts.processor, /*IsRV64=*/false)
                              : Triple(Triple::normalize(parts.triple)).isRISCV();
}

static Expected<std::string> getTriple(StringRef text, StringRef name) {
  Triple triple(text.empty() ? kLinux.str() : Triple::normalize(text));
  if (!triple.isRISCV64() || !triple.isLittleEndian())
    return createStringError("expected 64-bit little-endian RISC-V as target, found '" + name +
                             "'; write riscv64-linux-gnu");
  if (triple.getOS() == Triple::UnknownOS && text.split('-').second.empty())
    return kLinux.str();
  if (!triple.isOSLinux() || triple.isAndroid())
    return createStringError("expected Linux as the system of RISC-V, found '" + name +
                             "'; the code that tests extensions is not there for others; write riscv64-linux-gnu");
  return triple.str();
}

/// A length that only the processor knows: LLVM's scalable vectors.
static Error refuseUnknownLength(ArrayRef<StringRef> extensions, StringRef name) {
  for (StringRef extension : extensions)
    if (is_contained({"scalable", "vscale", "vla", "zvl"}, extension))
      return createStringError("expected a length of vectors that is known when a kernel is compiled, found '" +
                               extension + "' in '" + name +
                               "'; write zvl128b, or up to zvl1024b: the code runs on processors with longer vectors, "
                               "and a list of targets has several lengths in one object");
  return Error::success();
}

/// The architecture string of a processor, a profile or an architecture, as LLVM parses it.
static std::string getArchitecture(StringRef processor) {
  for (auto [profile, architecture] : kProfiles)
    if (processor == profile)
      return architecture.str();
  return RISCV::parseCPU(processor, /*IsRV64=*/true) ? RISCV::getMArchFromMcpu(processor).str() : processor.str();
}

static Expected<std::unique_ptr<RISCVISAInfo>> parseExtensions(StringRef processor, StringRef features,
                                                               StringRef name) {
  SmallVector<StringRef> extensions;
  features.split(extensions, '+', /*MaxSplit=*/-1, /*KeepEmpty=*/!features.empty());
  if (Error error = refuseUnknownLength(extensions, name))
    return error;
  std::string architecture = getArchitecture(processor);
  for (StringRef extension : extensions)
    architecture += ("_" + extension).str();
  // LLVM's processors have some; kernels use none.
  auto info = RISCVISAInfo::parseArchString(architecture, /*EnableExperimentalExtension=*/isProcessor(processor));
  if (!info)
    return createStringError("expected extensions of 64-bit RISC-V, found '" + name +
                             "': " + toString(info.takeError()) +
                             "; write a processor, a profile or an architecture with extensions after +, as "
                             "spacemit-x60, rva23+zvl256b or rv64gcv+zvfh");
  auto isThere = [&](StringRef extension) { return (*info)->hasExtension(extension); };
  if ((*info)->getXLen() != 64 || !all_of(ArrayRef(kBase).drop_back(2), isThere))
    return createStringError("expected rv64gc with vectors or without, found '" + name + "'; write rv64gcv or rva23");
  if ((*info)->getMinVLen() > kMaxBits || ((*info)->getMinVLen() && !isThere("v")))
    return createStringError("expected v with zvl128b to zvl1024b, found '" + name + "'; write rv64gcv+zvl" +
                             Twine(std::clamp((*info)->getMinVLen(), kMinBits, kMaxBits)) + "b");
  return info;
}

/// The features of a kernel, as LLVM takes them: those which LLVM's processor has and no test are disabled.
static std::string listFeatures(const RISCVISAInfo &all) {
  RISCVISAUtils::OrderedExtensionMap used;
  for (const auto &[extension, version] : all.getExtensions())
    if (is_contained(kBase, extension) || is_contained(kTested, extension))
      used[extension] = version;
  auto info = cantFail(RISCVISAInfo::createFromExtMap(all.getXLen(), used)); // adds what they imply
  std::vector<std::string> list = info->toFeatures();
  for (const std::string &feature : all.toFeatures())
    if (!is_contained(list, feature) && StringRef(feature).drop_front() != kHints)
      list.push_back("-" + feature.substr(1));
  list.push_back(("+" + kHints).str());
  return join(list, ",");
}

Expected<TargetInfo> getRiscvTarget(StringRef name) {
  auto [tripleText, processor, features] = splitTargetName(name, &Triple::isRISCV);
  Expected<std::string> triple = getTriple(tripleText, name);
  if (!triple)
    return triple.takeError();
  if (processor.empty() && !name.contains(':'))
    processor = kLowestLevel;
  if (!isProcessor(processor) && !isArchitecture(processor)) {
    SmallVector<StringRef> known;
    RISCV::fillValidCPUArchList(known, /*IsRV64=*/true);
    StringRef nearest = findNearestName(processor, known);
    return createStringError("expected a processor, a profile or an architecture of 64-bit RISC-V, found '" +
                             processor + "' in '" + name + "'; write " +
                             (nearest.empty() ? "rva23 or rv64gcv" : nearest));
  }
  Expected<std::unique_ptr<RISCVISAInfo>> extensions = parseExtensions(processor, features, name);
  if (!extensions)
    return extensions.takeError();
  const CoreFacts &core = *find_if(
      kCores, [&, &processor = processor](const CoreFacts &facts) { return processor.starts_with(facts.prefix); });

  TargetInfo target;
  target.name = name.str();
  target.triple = std::move(*triple);
  target.cpu = isProcessor(processor) ? processor.str() : "generic-rv64";
  target.features = listFeatures(**extensions);
  // rv64gc has none: LLVM makes scalars of them.
  target.vectorBits = std::max((*extensions)->getMinVLen(), kMinBits);
  target.vectorRegisters = 32;
  target.hasFma = true;
  target.takesScalars = true;
  target.hasHalf = (*extensions)->hasExtension("zvfhmin");
  target.fmaPerCycle = core.fmaPerCycle;
  target.fmaLatency = core.fmaLatency;
  target.issuedPerCycle = core.issuedPerCycle;
  return target;
}

} // namespace attn
