//===- VariantsTest.cpp - the targets of a bundle -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn-c/attn_dispatch.h"
#include "attn/Compiler/Bundle.h"

#include "gtest/gtest.h"

using namespace attn;

namespace {

std::vector<Variant> getList(llvm::StringRef names) {
  llvm::Expected<std::vector<Variant>> variants = getVariants(names);
  EXPECT_TRUE(bool(variants)) << llvm::toString(variants.takeError());
  return variants ? *variants : std::vector<Variant>();
}

constexpr const char *kX86Features[] = {
#define FEATURE(name, leaf, subleaf, reg, bit, state) name,
#include "../../runtime/ProcessorFeatures.inc"
#undef FEATURE
};

/// Of an x86-64 variant, on any machine.
bool needs(const Variant &variant, llvm::StringRef feature) {
  const auto *found = llvm::find(kX86Features, feature);
  int32_t bit = found == std::end(kX86Features) ? -1 : found - kX86Features;
  EXPECT_GE(bit, 0) << feature.str();
#if defined(__x86_64__)
  EXPECT_EQ(bit, attn_find_feature(feature.str().c_str())) << feature.str();
#endif
  return bit >= 0 && (variant.features[bit / 64] >> bit % 64 & 1);
}

TEST(Variants, BestLastWhateverTheOrder) {
  std::vector<Variant> variants = getList("x86-64-v4,x86-64,znver5,x86-64-v3,x86-64-v2");
  ASSERT_EQ(variants.size(), 5u);
  const char *names[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "znver5"};
  for (auto [variant, name] : llvm::zip_equal(variants, names))
    EXPECT_EQ(variant.target.name, name);
  EXPECT_EQ(variants[2].suffix, "x86_64_v3");
}

// The levels of the psABI beyond its baseline, with what each feature implies.
TEST(Variants, FeaturesOfLevels) {
  std::vector<Variant> variants = getList("x86-64,x86-64-v2,x86-64-v3,x86-64-v4");
  struct {
    const char *feature;
    size_t first; ///< level that has it
  } const expected[] = {{"sse4.2", 1},   {"popcnt", 1},   {"cx16", 1},     {"avx", 2},
                        {"avx2", 2},     {"fma", 2},      {"f16c", 2},     {"bmi2", 2},
                        {"movbe", 2},    {"lzcnt", 2},    {"avx512f", 3},  {"avx512bw", 3},
                        {"avx512cd", 3}, {"avx512dq", 3}, {"avx512vl", 3}, {"avx512bf16", 4}};
  for (auto [feature, first] : expected)
    for (size_t level = 0; level < variants.size(); ++level)
      EXPECT_EQ(needs(variants[level], feature), level >= first) << feature << " at " << level;
}

// Code may use what can be tested, and nothing else.
// Hypervisors hide what only a system uses from processors that have all that kernels use.
TEST(Variants, NoFeatureThatKernelsNeverUse) {
  for (const Variant &variant : getList("znver5,sapphirerapids")) {
    EXPECT_TRUE(needs(variant, "avx512bf16"));
    for (const char *feature : {"pku", "rdpru", "wbnoinvd", "movdir64b", "xsaves", "aes"})
      EXPECT_FALSE(needs(variant, feature)) << feature << " of " << variant.target.name;
  }
}

TEST(Variants, OfGpusTheHighestCapabilityLast) {
  std::vector<Variant> variants = getList("sm_90a,sm_90,sm_80,sm_86");
  const char *names[] = {"sm_80", "sm_86", "sm_90", "sm_90a"};
  for (auto [variant, name] : llvm::zip_equal(variants, names))
    EXPECT_EQ(variant.target.name, name);
}

// Linux may refuse a process the tiles: the next variant has the same vectors.
TEST(Variants, BelowTilesTheSameVectors) {
  auto getNames = [](llvm::StringRef list) {
    std::string names;
    for (const Variant &variant : getList(list))
      names += variant.target.name + " ";
    return names;
  };
  EXPECT_EQ(getNames("sapphirerapids,x86-64-v2"), "x86-64-v2 x86-64-v4 sapphirerapids ");
  EXPECT_EQ(getNames("sapphirerapids,x86-64-v4"), "x86-64-v4 sapphirerapids ");
  EXPECT_EQ(getNames("znver4,x86-64-v3"), "x86-64-v3 znver4 ");
  EXPECT_EQ(getNames("sapphirerapids"), "sapphirerapids "); // as it was asked for
}

TEST(Variants, HostRunsHere) {
  std::vector<Variant> variants = getList("host");
  uint64_t found[ATTN_FEATURE_WORDS];
  attn_detect_features(found);
  for (int word = 0; word < ATTN_FEATURE_WORDS; ++word)
    EXPECT_EQ(variants[0].features[word] & ~found[word], 0u);
}

TEST(Variants, UntestedFeaturesAreNamed) {
  Variant knl = getList("knl")[0];
  EXPECT_TRUE(needs(knl, "avx512f"));
  Variant panther = getList("diamondrapids")[0];
  EXPECT_TRUE(llvm::is_contained(panther.untested, "avx10.2"));
}

} // namespace
