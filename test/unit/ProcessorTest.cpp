//===- ProcessorTest.cpp - what this processor has, and what it runs ------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn-c/attn.h"
#include "attn-c/attn_dispatch.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "gtest/gtest.h"

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

#if defined(__aarch64__)
constexpr const char *kOfEach = "neon";
/// Registers have one length.
constexpr const char *kOfNone[] = {"sve256", "sve512"};
constexpr unsigned kKnownToLlvm = 5;
#else
constexpr const char *kOfEach = "sse2";
/// AMD's first FMA, together with what came after it had gone.
constexpr const char *kOfNone[] = {"fma4", "avx512fp16"};
constexpr unsigned kKnownToLlvm = 90;
#endif

/// Under qemu-user before 8.1, /proc/cpuinfo, where LLVM looks on Arm, is that of the machine around it.
bool isEmulated() {
#if defined(__aarch64__)
  std::ifstream file("/proc/cpuinfo");
  return std::string(std::istreambuf_iterator<char>(file), {}).find("CPU implementer") == std::string::npos;
#else
  return false;
#endif
}

// LLVM reads the same bits with code of its own: each name that both know has the same answer.
TEST(Processor, AgreesWithLLVM) {
  if (isEmulated())
    GTEST_SKIP() << "LLVM reads /proc/cpuinfo, which is of another processor";
  uint64_t found[ATTN_FEATURE_WORDS];
  attn_detect_features(found);
  unsigned known = 0;
  for (const auto &[name, isThere] : llvm::sys::getHostCPUFeatures()) {
    int32_t bit = attn_find_feature(name.str().c_str());
    if (bit < 0)
      continue;
    ++known;
    EXPECT_EQ(bool(found[bit / 64] >> bit % 64 & 1), isThere) << name.str();
  }
  EXPECT_GE(known, kKnownToLlvm);
}

TEST(Processor, UnknownFeature) {
  EXPECT_EQ(attn_find_feature("avx"), attn_find_feature("avx"));
  EXPECT_EQ(attn_find_feature("avx3"), -1);
  EXPECT_EQ(attn_find_feature(""), -1);
}

/// Three variants: one for all, one that needs what this processor has, and one that no processor is.
struct Variants : testing::Test {
  int32_t chosen = 0;
  std::vector<attn_variant> list = {{"all", {0, 0}}, {"here", {0, 0}}, {"nowhere", {0, 0}}};
  attn_variants variants = {&chosen, list.data(), 3};
  char message[256] = "not written";

  void SetUp() override {
    add(1, kOfEach);
    for (const char *feature : kOfNone)
      add(2, feature);
  }
  void add(size_t variant, const char *feature) {
    int32_t bit = attn_find_feature(feature);
    ASSERT_GE(bit, 0) << feature;
    list[variant].features[bit / 64] |= uint64_t(1) << bit % 64;
  }
};

TEST_F(Variants, TakesTheLastThatRuns) {
  EXPECT_EQ(attn_select_variant(&variants), 1);
  EXPECT_EQ(chosen, 2);
  EXPECT_STREQ(attn_get_target(&variants), "here");
  EXPECT_EQ(attn_check_processor(&variants, message, sizeof(message)), ATTN_OK);
  EXPECT_STREQ(message, "");
}

TEST_F(Variants, ByHand) {
  EXPECT_EQ(attn_use_target(&variants, "all", message, sizeof(message)), ATTN_OK);
  EXPECT_STREQ(message, "");
  EXPECT_STREQ(attn_get_target(&variants), "all");
  EXPECT_EQ(attn_use_target(&variants, nullptr, nullptr, 0), ATTN_OK);
  EXPECT_STREQ(attn_get_target(&variants), "here");
}

TEST_F(Variants, ARefusalChangesNothing) {
  EXPECT_EQ(attn_use_target(&variants, "all", nullptr, 0), ATTN_OK);
  EXPECT_EQ(attn_use_target(&variants, "nowhere", message, sizeof(message)), ATTN_WRONG_PROCESSOR);
  EXPECT_NE(std::string(message).find("nowhere needs"), std::string::npos) << message;
  EXPECT_EQ(attn_use_target(&variants, "al", message, sizeof(message)), ATTN_WRONG_PROCESSOR);
  EXPECT_STREQ(message, "expected one of all, here, nowhere, found 'al'");
  EXPECT_STREQ(attn_get_target(&variants), "all");
}

TEST_F(Variants, NoneRuns) {
  attn_variants none = {&chosen, &list[2], 1};
  EXPECT_EQ(attn_select_variant(&none), -1);
  EXPECT_EQ(attn_get_target(&none), nullptr);
  EXPECT_EQ(attn_check_processor(&none, message, sizeof(message)), ATTN_WRONG_PROCESSOR);
  EXPECT_NE(std::string(message).find("found another: nowhere needs"), std::string::npos) << message;
  EXPECT_EQ(attn_use_target(&none, nullptr, message, sizeof(message)), ATTN_WRONG_PROCESSOR);
}

TEST_F(Variants, FirstCallsOfManyThreads) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { wrong += attn_select_variant(&variants) != 1; });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
