//===- CapiExample.h - a worked example for the C API -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_CAPIEXAMPLE_H
#define ATTN_TEST_UNIT_CAPIEXAMPLE_H

#include "attn-c/attn.h"

#include "gtest/gtest.h"
#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace attn::test {

/// Every processor of this machine's architecture.
#if defined(__aarch64__)
inline constexpr const char *kLowest = "aarch64-linux-gnu";
#else
inline constexpr const char *kLowest = "x86-64";
#endif

using Module = std::unique_ptr<attn_module, decltype(&attn_module_destroy)>;

/// A compiled module, or null with the message in `*message`.
inline Module compile(const char *text, std::string *message = nullptr,
                      attn_compile_options options = ATTN_DEFAULT_OPTIONS,
                      attn_source_kind kind = ATTN_SOURCE_PROBLEM) {
  attn_module *module = nullptr;
  char *diagnostics = nullptr;
  attn_status status = attn_compile(kind, text, &options, &module, &diagnostics);
  EXPECT_EQ(status == ATTN_OK, module != nullptr);
  EXPECT_EQ(status == ATTN_OK, diagnostics == nullptr);
  if (status != ATTN_OK)
    EXPECT_EQ(status, ATTN_COMPILE_ERROR);
  if (message)
    *message = diagnostics ? diagnostics : "";
  else if (diagnostics)
    ADD_FAILURE() << diagnostics;
  attn_free_string(diagnostics);
  return Module(module, attn_module_destroy);
}

/// An f64 tensor that owns its elements.
struct Tensor {
  std::vector<int64_t> shape, strides;
  std::vector<double> data;
  DLTensor view;

  Tensor(std::vector<int64_t> sizes, std::vector<double> values = {}) : shape(sizes), data(values) {
    size_t count = 1;
    for (int64_t size : shape)
      count *= size;
    data.resize(count, kUntouched);
    view = {data.data(), {kDLCPU, 0}, int32_t(shape.size()), {kDLFloat, 64, 1}, shape.data(), nullptr, 0};
  }
  Tensor(const Tensor &) = delete;

  static constexpr double kUntouched = -77;
};

/// The first worked example: one query, three keys.
struct OneQuery {
  // The default scale: 1 / sqrt(4).
  static constexpr const char *problem = "sq1 sk3 d4 dv2 f64 out=lse";
  Tensor q{{1, 1, 1, 4}, {.1, .2, .3, .4}};
  Tensor k{{1, 1, 3, 4}, {0, .1, 0, .1, .2, .1, 0, 0, .1, 0, .3, .1}};
  Tensor v{{1, 1, 3, 2}, {1, 0, 0, 1, 1, 1}};
  Tensor out{{1, 1, 1, 2}}, lse{{1, 1, 1}};
  std::vector<const DLTensor *> arguments = {&q.view, &k.view, &v.view, &out.view, &lse.view};

  attn_status call(const attn_module *module, std::string *message = nullptr, const char *kernel = nullptr) {
    char text[512] = "not written";
    attn_status status = attn_module_call(module, kernel, arguments.data(), arguments.size(), text, sizeof(text));
    if (message)
      *message = text;
    else
      EXPECT_EQ(status, ATTN_OK) << text;
    return status;
  }

  void checkResult() const {
    EXPECT_NEAR(out.data[0], 0.673344, 5e-7);
    EXPECT_NEAR(out.data[1], 0.670061, 5e-7);
    EXPECT_NEAR(lse.data[0], std::log(std::exp(.03) + std::exp(.02) + std::exp(.07)), 1e-12);
  }

  void checkUntouched() const {
    for (double value : out.data)
      EXPECT_EQ(value, Tensor::kUntouched);
    EXPECT_EQ(lse.data[0], Tensor::kUntouched);
  }
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_CAPIEXAMPLE_H
