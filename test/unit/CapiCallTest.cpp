//===- CapiCallTest.cpp - what checked entries refuse -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CapiExample.h"

using namespace attn::test;

namespace {

struct CapiCall : testing::Test {
  static void SetUpTestSuite() { module = compile(OneQuery::problem).release(); }
  static void TearDownTestSuite() { attn_module_destroy(module); }

  /// The call is refused with `status` and a message that holds `part`, and writes nothing.
  void expectRefusal(attn_status status, const char *part) {
    std::string message;
    EXPECT_EQ(example.call(module, &message), status) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
    example.checkUntouched();
    // The same without a place for the message, or a small one that is terminated all the same.
    EXPECT_EQ(attn_module_call(module, nullptr, example.arguments.data(), example.arguments.size(), nullptr, 0),
              status);
    char small[4] = {'#', '#', '#', '#'};
    EXPECT_EQ(attn_module_call(module, nullptr, example.arguments.data(), example.arguments.size(), small, 3), status);
    EXPECT_EQ(small[2], '\0');
    EXPECT_EQ(small[3], '#');
  }

  OneQuery example;
  static inline attn_module *module = nullptr;
};

TEST_F(CapiCall, NullTensor) {
  example.arguments[1] = nullptr;
  expectRefusal(ATTN_NULL_ARGUMENT, "'k'");
}

TEST_F(CapiCall, NullData) {
  example.k.view.data = nullptr;
  expectRefusal(ATTN_NULL_ARGUMENT, "'k'");
}

TEST_F(CapiCall, NullShape) {
  example.out.view.shape = nullptr;
  expectRefusal(ATTN_NULL_ARGUMENT, "'out'");
}

TEST_F(CapiCall, NullArray) {
  EXPECT_EQ(attn_module_call(module, nullptr, nullptr, 5, nullptr, 0), ATTN_NULL_ARGUMENT);
  EXPECT_EQ(attn_module_call(module, nullptr, nullptr, 0, nullptr, 0), ATTN_NULL_ARGUMENT);
}

TEST_F(CapiCall, Count) {
  example.arguments.pop_back();
  expectRefusal(ATTN_WRONG_COUNT, "(q, k, v, out, lse), found 4");
  EXPECT_EQ(attn_module_call(module, nullptr, example.arguments.data(), -1, nullptr, 0), ATTN_WRONG_COUNT);
}

TEST_F(CapiCall, Rank) {
  example.q.view.ndim = 3;
  expectRefusal(ATTN_WRONG_RANK, "'q': expected 4 dimensions, found 3");
}

TEST_F(CapiCall, Shape) {
  example.v.shape[2] = 2;
  expectRefusal(ATTN_WRONG_SHAPE, "expected shape [1, 1, 3, 2], found [1, 1, 2, 2]");
}

TEST_F(CapiCall, Type) {
  example.lse.view.dtype = {kDLFloat, 32, 1};
  expectRefusal(ATTN_WRONG_TYPE, "expected type float64, found float32");
}

TEST_F(CapiCall, Strides) {
  example.k.strides = {12, 12, 1, 3};
  example.k.view.strides = example.k.strides.data();
  expectRefusal(ATTN_WRONG_STRIDES, "'k'");
  // Contiguous ones are taken.
  example.k.strides = {12, 12, 4, 1};
  EXPECT_EQ(example.call(module), ATTN_OK);
}

TEST_F(CapiCall, Alignment) {
  example.q.view.byte_offset = 4;
  expectRefusal(ATTN_WRONG_ALIGNMENT, "aligned to 8 bytes, found 4 more");
}

TEST_F(CapiCall, Device) {
  example.q.view.device = {kDLCUDA, 0};
  expectRefusal(ATTN_WRONG_DEVICE, "'q'");
}

TEST_F(CapiCall, Aliasing) {
  example.out.view.data = example.v.data.data() + 1;
  expectRefusal(ATTN_WRONG_ALIASING, "'out'");
}

TEST_F(CapiCall, ByteOffsetMovesTheData) {
  Tensor wide({8}, {9, 9, .1, .2, .3, .4, 9, 9});
  example.q.view.data = wide.data.data();
  example.q.view.byte_offset = 2 * sizeof(double);
  ASSERT_EQ(example.call(module), ATTN_OK);
  example.checkResult();
}

} // namespace
