//===- CapiImageTest.cpp - modules as bytes, and keys ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CapiExample.h"

#include "attn-c/attn_image.h"
#include <cstring>

using namespace attn::test;

namespace {

/// The image of a module, empty where it has none.
std::string takeImage(attn_module *module) {
  size_t size = 77;
  char *image = attn_module_take_image(module, &size);
  std::string result(image ? image : "", image ? size : 0);
  EXPECT_EQ(size, result.size());
  attn_free_string(image);
  return result;
}

Module load(const std::string &image, attn_status *status = nullptr, std::string *text = nullptr) {
  attn_module *module = nullptr;
  char *message = nullptr;
  attn_status result = attn_module_load(image.data(), image.size(), &module, &message);
  EXPECT_EQ(result == ATTN_OK, module != nullptr);
  EXPECT_EQ(result == ATTN_OK, message == nullptr);
  if (status)
    *status = result;
  if (text)
    *text = message ? message : "";
  attn_free_string(message);
  return Module(module, attn_module_destroy);
}

std::string getKey(attn_compile_options options, std::string source = OneQuery::problem,
                   attn_source_kind kind = ATTN_SOURCE_PROBLEM) {
  char key[ATTN_KEY_SIZE] = "";
  EXPECT_EQ(attn_compile_key(kind, source.data(), source.size(), &options, key, nullptr), ATTN_OK);
  EXPECT_EQ(std::strlen(key), size_t(ATTN_KEY_SIZE - 1));
  return key;
}

TEST(CapiImage, ALoadedModuleIsTheCompiledOne) {
  for (const char *target : {"host", kLowest})
    for (int reference : {0, 1}) {
      Module compiled = compile(OneQuery::problem, nullptr, {target, nullptr, reference, 0});
      ASSERT_TRUE(compiled);
      std::string image = takeImage(compiled.get());
      ASSERT_FALSE(image.empty());
      EXPECT_TRUE(takeImage(compiled.get()).empty()) << "it is taken once";
      Module loaded = load(image);
      ASSERT_TRUE(loaded);
      EXPECT_STREQ(attn_module_manifest(loaded.get()), attn_module_manifest(compiled.get()));
      EXPECT_TRUE(takeImage(loaded.get()).empty());
      compiled.reset(); // nothing of it is used
      OneQuery example;
      example.call(loaded.get());
      example.checkResult();
      std::string message;
      EXPECT_EQ(example.call(loaded.get(), &message, "nothing"), ATTN_NO_SUCH_KERNEL);
    }
}

TEST(CapiImage, OfAGpu) {
  Module compiled = compile("sq16 d64 f16", nullptr, {"sm_80", nullptr, 0, 0});
  ASSERT_TRUE(compiled);
  Module loaded = load(takeImage(compiled.get()));
  ASSERT_TRUE(loaded);
  char message[512] = "";
  EXPECT_EQ(attn_module_call_cuda(loaded.get(), nullptr, nullptr, 0, nullptr, 0, nullptr, message, sizeof(message)),
            ATTN_NULL_ARGUMENT)
      << message;
  EXPECT_EQ(attn_module_call(loaded.get(), nullptr, nullptr, 0, message, sizeof(message)), ATTN_WRONG_DEVICE);
}

TEST(CapiImage, DamagedBytesAreRefused) {
  Module compiled = compile(OneQuery::problem);
  ASSERT_TRUE(compiled);
  std::string image = takeImage(compiled.get());
  attn_status status;
  std::string message;
  // Each byte of the header and the manifest's start, then some of all the rest.
  for (size_t place = 0; place < image.size(); place += place < 128 ? 1 : 97) {
    std::string damaged = image;
    damaged[place] ^= 1 << place % 8;
    EXPECT_FALSE(load(damaged, &status, &message)) << place;
    EXPECT_EQ(status, ATTN_WRONG_VALUE) << place;
    EXPECT_NE(message.find("expected an image"), std::string::npos) << message;
  }
  for (size_t length = 0; length < image.size(); length += length < 128 ? 1 : 97)
    EXPECT_FALSE(load(image.substr(0, length), &status)) << length;
  EXPECT_FALSE(load(image + '\0', &status));
}

TEST(CapiImage, KeysDifferWhereCodeMay) {
  std::vector<std::string> keys = {
      getKey(ATTN_DEFAULT_OPTIONS),
      getKey({"x86-64", nullptr, 0, 0}),
      getKey({"x86-64-v3", nullptr, 0, 0}),
      getKey({"znver4", nullptr, 0, 0}),
      getKey({"sm_80", nullptr, 0, 0}),
      getKey({nullptr, "none", 0, 0}),
      getKey({nullptr, nullptr, 1, 0}),
      getKey({nullptr, nullptr, 0, 1}),
      getKey(ATTN_DEFAULT_OPTIONS, "sq1 sk3 d4 dv2 f64"),
      getKey(ATTN_DEFAULT_OPTIONS, OneQuery::problem, ATTN_SOURCE_MLIR),
      getKey(ATTN_DEFAULT_OPTIONS, std::string("a\0b", 3)),
      getKey(ATTN_DEFAULT_OPTIONS, std::string("a\0c", 3)),
  };
  for (size_t i = 0; i < keys.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(keys[i], keys[j]) << i << " " << j;
  EXPECT_EQ(getKey({"host", "openmp", 0, 0}), keys[0]) << "null is the default";
}

TEST(CapiImage, WhatIsNoOptionHasNoKey) {
  char key[ATTN_KEY_SIZE], *message = nullptr;
  for (attn_compile_options options : {attn_compile_options{"z80", nullptr, 0, 0}, {nullptr, "threads", 0, 0}}) {
    EXPECT_EQ(attn_compile_key(ATTN_SOURCE_PROBLEM, "", 0, &options, key, &message), ATTN_COMPILE_ERROR);
    EXPECT_NE(message, nullptr);
    attn_free_string(message);
  }
}

TEST(CapiImage, NullArguments) {
  char key[ATTN_KEY_SIZE];
  size_t size;
  attn_module *module = nullptr;
  EXPECT_EQ(attn_compile_key(ATTN_SOURCE_PROBLEM, nullptr, 0, nullptr, key, nullptr), ATTN_NULL_ARGUMENT);
  EXPECT_EQ(attn_compile_key(ATTN_SOURCE_PROBLEM, "", 0, nullptr, nullptr, nullptr), ATTN_NULL_ARGUMENT);
  EXPECT_EQ(attn_module_take_image(nullptr, &size), nullptr);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(attn_module_take_image(nullptr, nullptr), nullptr);
  EXPECT_EQ(attn_module_load(nullptr, 0, &module, nullptr), ATTN_NULL_ARGUMENT);
  EXPECT_EQ(attn_module_load("", 0, nullptr, nullptr), ATTN_NULL_ARGUMENT);
  EXPECT_EQ(attn_module_load("", 0, &module, nullptr), ATTN_WRONG_VALUE);
  EXPECT_EQ(module, nullptr);
}

} // namespace
