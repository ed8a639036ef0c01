//===- CheckArgumentsTest.cpp - the argument check of checked entries -----===//
//
// Each test breaks one thing in the arguments of a kernel and expects the code
// and the text that say so.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn-c/attn.h"
#include "attn-c/attn_runtime.h"

#include "gtest/gtest.h"

#include <cstddef>
#include <string>
#include <vector>

namespace {

static_assert(sizeof(attn_argument_spec) == 64 && offsetof(attn_argument_spec, rank) == 32 &&
                  offsetof(attn_argument_spec, type_code) == 48 && sizeof(attn_value_check) == 80,
              "the layout that attn_runtime.h promises to emitters of constants");

/// The arguments q, k, v, mask, out of a small kernel, correct until a test changes them.
struct CheckArguments : testing::Test {
  static constexpr int64_t qShape[] = {2, 3, 4}, kShape[] = {2, 5, 4}, maskShape[] = {3, 5};
  std::vector<attn_argument_spec> specs = {
      {"q", qShape, nullptr, nullptr, 3, 0, 0, 0, kDLFloat, 32, {}, {}, {}, {}},
      {"k", kShape, nullptr, nullptr, 3, 0, 0, 0, kDLFloat, 32, {}, {}, {}, {}},
      {"v", kShape, nullptr, nullptr, 3, 0, 0, 0, kDLFloat, 32, {}, {}, {}, {}},
      {"mask", maskShape, nullptr, nullptr, 2, 0, 0, 0, ATTN_DLPACK_BOOL, 8, {}, {}, {}, {}},
      {"out", qShape, nullptr, nullptr, 3, 0, 1, 0, kDLFloat, 32, {}, {}, {}, {}}};
  std::vector<std::vector<int64_t>> shapes = {{2, 3, 4}, {2, 5, 4}, {2, 5, 4}, {3, 5}, {2, 3, 4}};
  std::vector<std::vector<int64_t>> strides = {{12, 4, 1}, {20, 4, 1}, {20, 4, 1}, {5, 1}, {12, 4, 1}};
  alignas(64) float memory[5][64] = {};
  std::vector<DLTensor> tensors;
  std::vector<const DLTensor *> arguments;
  char message[256] = "not written";

  void SetUp() override {
    for (size_t index = 0; index < specs.size(); ++index) {
      DLDataType type = {index == 3 ? uint8_t(kDLUInt) : uint8_t(kDLFloat), specs[index].bits, 1};
      tensors.push_back(
          {memory[index], {kDLCPU, 0}, specs[index].rank, type, shapes[index].data(), strides[index].data(), 0});
    }
    for (const DLTensor &tensor : tensors)
      arguments.push_back(&tensor);
  }

  int32_t check() {
    return attn_check_arguments(arguments.data(), arguments.size(), specs.data(), specs.size(), message,
                                sizeof(message));
  }

  void expect(attn_status status, const char *text) {
    EXPECT_EQ(check(), status);
    EXPECT_STREQ(message, text);
  }
};

TEST_F(CheckArguments, AcceptsWhatTheKernelWants) { expect(ATTN_OK, ""); }

TEST_F(CheckArguments, NullArray) {
  EXPECT_EQ(attn_check_arguments(nullptr, 5, specs.data(), 5, message, sizeof(message)), ATTN_NULL_ARGUMENT);
  EXPECT_STREQ(message, "expected an array of 5 arguments, found a null pointer");
}

TEST_F(CheckArguments, NullTensor) {
  arguments[1] = nullptr;
  expect(ATTN_NULL_ARGUMENT, "argument 1 'k': expected a tensor, found a null pointer");
}

TEST_F(CheckArguments, NullData) {
  tensors[2].data = nullptr;
  expect(ATTN_NULL_ARGUMENT, "argument 2 'v': expected data, found a null pointer");
}

TEST_F(CheckArguments, NullShape) {
  tensors[2].shape = nullptr;
  expect(ATTN_NULL_ARGUMENT, "argument 2 'v': expected a shape, found a null pointer");
}

TEST_F(CheckArguments, Count) {
  arguments.pop_back();
  expect(ATTN_WRONG_COUNT, "expected 5 arguments (q, k, v, mask, out), found 4");
  EXPECT_EQ(attn_check_arguments(arguments.data(), -1, specs.data(), 5, message, sizeof(message)), ATTN_WRONG_COUNT);
}

TEST_F(CheckArguments, Rank) {
  tensors[0].ndim = 4;
  shapes[0].push_back(1);
  expect(ATTN_WRONG_RANK, "argument 0 'q': expected 3 dimensions, found 4");
  tensors[0].ndim = -1;
  expect(ATTN_WRONG_RANK, "argument 0 'q': expected 3 dimensions, found -1");
}

TEST_F(CheckArguments, Shape) {
  shapes[2][2] = 3;
  expect(ATTN_WRONG_SHAPE, "argument 2 'v': expected shape [2, 5, 4], found [2, 5, 3]");
}

TEST_F(CheckArguments, Type) {
  tensors[1].dtype.bits = 64;
  expect(ATTN_WRONG_TYPE, "argument 1 'k': expected type float32, found float64");
  tensors[1].dtype = {kDLBfloat, 16, 1};
  expect(ATTN_WRONG_TYPE, "argument 1 'k': expected type float32, found bfloat16");
  tensors[1].dtype = {kDLUInt, 32, 1};
  expect(ATTN_WRONG_TYPE, "argument 1 'k': expected type float32, found uint32");
  tensors[1].dtype = {kDLFloat, 32, 2};
  expect(ATTN_WRONG_TYPE, "argument 1 'k': expected type float32, found float32 of 2 lanes");
  tensors[1].dtype = {200, 32, 1};
  expect(ATTN_WRONG_TYPE, "argument 1 'k': expected type float32, found type code 200 with 32 bits");
}

TEST_F(CheckArguments, Float8HasACodeOfItsOwn) {
  specs[1].type_code = ATTN_DLPACK_FLOAT8_E4M3FN;
  specs[1].bits = 8;
  tensors[1].dtype = {kDLUInt, 8, 1};
  expect(ATTN_WRONG_TYPE, "argument 1 'k': expected type float8_e4m3fn, found uint8");
  tensors[1].dtype = {ATTN_DLPACK_FLOAT8_E5M2, 8, 1};
  expect(ATTN_WRONG_TYPE, "argument 1 'k': expected type float8_e4m3fn, found float8_e5m2");
  tensors[1].dtype = {ATTN_DLPACK_FLOAT8_E4M3FN, 8, 1};
  expect(ATTN_OK, "");
}

TEST_F(CheckArguments, BooleansAreBoolOrUInt8) {
  tensors[3].dtype.code = ATTN_DLPACK_BOOL;
  expect(ATTN_OK, "");
  tensors[3].dtype.code = kDLInt;
  expect(ATTN_WRONG_TYPE, "argument 3 'mask': expected type bool or uint8, found int8");
  tensors[3].dtype = {ATTN_DLPACK_BOOL, 1, 1};
  expect(ATTN_WRONG_TYPE, "argument 3 'mask': expected type bool or uint8, found bool1");
  // A kernel on integers does not take booleans in exchange.
  specs[3].type_code = kDLUInt;
  tensors[3].dtype = {ATTN_DLPACK_BOOL, 8, 1};
  expect(ATTN_WRONG_TYPE, "argument 3 'mask': expected type uint8, found bool");
}

TEST_F(CheckArguments, Strides) {
  strides[1] = {20, 1, 5};
  expect(ATTN_WRONG_STRIDES, "argument 1 'k': expected C-contiguous strides (1 in dimension 2), found [20, 1, 5]");
  strides[1] = {24, 4, 1};
  expect(ATTN_WRONG_STRIDES, "argument 1 'k': expected C-contiguous strides (20 in dimension 0), found [24, 4, 1]");
  tensors[1].strides = nullptr;
  expect(ATTN_OK, "");
}

TEST_F(CheckArguments, StridesOfTheCall) {
  specs[1].is_strided = specs[2].is_strided = 1;
  strides[1] = {24, 4, 1};
  strides[2] = {0, -4, 1};
  tensors[2].byte_offset = 4 * 4 * sizeof(float);
  expect(ATTN_OK, "");
  EXPECT_EQ(attn_get_stride(&tensors[1], 0), 24);
  strides[1] = {20, 1, 5};
  expect(ATTN_WRONG_STRIDES, "argument 1 'k': expected row-contiguous strides (1 in dimension 2), found [20, 1, 5]");
  tensors[1].strides = nullptr;
  expect(ATTN_OK, "");
  EXPECT_EQ(attn_get_stride(&tensors[1], 0), 20);
}

TEST_F(CheckArguments, GapsOfStridedInputsAreTheirs) {
  specs[1].is_strided = specs[2].is_strided = 1;
  std::vector<float> whole(200);
  tensors[1].data = whole.data();
  strides[1] = {100, 4, 1}; // elements 0 to 19 and 100 to 119
  tensors[4].data = whole.data() + 119;
  expect(ATTN_WRONG_ALIASING, "argument 4 'out': expected memory of its own, found an overlap with argument 1 'k'");
  tensors[4].data = whole.data() + 120;
  expect(ATTN_OK, "");
  tensors[1].byte_offset = 100 * sizeof(float); // backwards: the same elements
  strides[1] = {-100, 4, 1};
  expect(ATTN_OK, "");
  tensors[4].data = whole.data();
  expect(ATTN_WRONG_ALIASING, "argument 4 'out': expected memory of its own, found an overlap with argument 1 'k'");
}

TEST_F(CheckArguments, StridesOfSizeOneAreFree) {
  static constexpr int64_t one[] = {2, 1, 4};
  specs[0].shape = one;
  shapes[0] = {2, 1, 4};
  tensors[0].shape = shapes[0].data();
  strides[0] = {4, -77, 1};
  tensors[0].strides = strides[0].data();
  expect(ATTN_OK, "");
}

TEST_F(CheckArguments, EmptyTensorsMayHaveAnyStridesAndNoData) {
  static constexpr int64_t empty[] = {2, 0, 4};
  specs[0].shape = empty;
  shapes[0][1] = 0;
  strides[0] = {9, 8, 7};
  tensors[0].data = nullptr;
  expect(ATTN_OK, "");
  tensors[0].data = reinterpret_cast<char *>(memory[4]) + 1;
  expect(ATTN_OK, "");
}

TEST_F(CheckArguments, Alignment) {
  tensors[0].byte_offset = 2;
  expect(ATTN_WRONG_ALIGNMENT, "argument 0 'q': expected data aligned to 4 bytes, found 2 more");
  tensors[0].byte_offset = 4;
  expect(ATTN_OK, "");
  specs[0].alignment = 64;
  expect(ATTN_WRONG_ALIGNMENT, "argument 0 'q': expected data aligned to 64 bytes, found 4 more");
}

TEST_F(CheckArguments, Device) {
  tensors[0].device.device_type = kDLCUDA;
  expect(ATTN_WRONG_DEVICE, "argument 0 'q': expected device type 1 (CPU), found 2");
}

TEST_F(CheckArguments, AliasingOfOutputs) {
  // The last element of k is the first of out.
  tensors[4].data = &memory[1][39];
  expect(ATTN_WRONG_ALIASING, "argument 4 'out': expected memory of its own, found an overlap with argument 1 'k'");
  tensors[4].data = &memory[1][40];
  expect(ATTN_OK, "");
  // The last byte of out is the first of the mask.
  tensors[4].data = memory[4];
  tensors[3].data = reinterpret_cast<char *>(memory[4]) + 95;
  expect(ATTN_WRONG_ALIASING, "argument 4 'out': expected memory of its own, found an overlap with argument 3 'mask'");
  tensors[3].data = reinterpret_cast<char *>(memory[4]) + 96;
  expect(ATTN_OK, "");
}

TEST_F(CheckArguments, AliasingOfTwoOutputs) {
  specs[1].is_output = 1;
  tensors[4].data = memory[1];
  expect(ATTN_WRONG_ALIASING, "argument 4 'out': expected memory of its own, found an overlap with argument 1 'k'");
}

TEST_F(CheckArguments, InputsMayOverlap) {
  tensors[2].data = memory[1];
  tensors[0].data = memory[1];
  expect(ATTN_OK, "");
}

TEST_F(CheckArguments, TheCodesAreTestedInTheirOrder) {
  tensors[1].device.device_type = kDLCUDA;
  tensors[1].dtype.bits = 64;
  strides[1] = {1, 1, 1};
  EXPECT_EQ(check(), ATTN_WRONG_TYPE);
  shapes[1][0] = 7;
  EXPECT_EQ(check(), ATTN_WRONG_SHAPE);
  tensors[1].ndim = 2;
  EXPECT_EQ(check(), ATTN_WRONG_RANK);
  tensors[1].data = nullptr;
  EXPECT_EQ(check(), ATTN_NULL_ARGUMENT);
}

TEST_F(CheckArguments, DynamicSizes) {
  static constexpr int64_t q[] = {-1, 3, 4}, k[] = {-1, -1, 4};
  static constexpr int32_t qSymbols[] = {0, -1, -1}, kSymbols[] = {0, 1, -1};
  specs[0] = {"q", q, qSymbols, nullptr, 3, 0, 0, 0, kDLFloat, 32, {}, {}, {}, {}};
  specs[1] = {"k", k, kSymbols, nullptr, 3, 0, 0, 0, kDLFloat, 32, {}, {}, {}, {}};
  specs[2] = {"v", k, kSymbols, nullptr, 3, 0, 0, 0, kDLFloat, 32, {}, {}, {}, {}};
  expect(ATTN_OK, "");
  shapes[2][1] = 6;
  strides[2] = {24, 4, 1};
  expect(ATTN_WRONG_SHAPE, "argument 2 'v': expected size 5 in dimension 1, as an earlier dimension has, found 6");
  specs[2].symbols = nullptr;
  expect(ATTN_OK, "");
  shapes[2][2] = 5;
  expect(ATTN_WRONG_SHAPE, "argument 2 'v': expected shape [?, ?, 4], found [2, 6, 5]");
  shapes[2] = {2, -5, 4};
  tensors[2].shape = shapes[2].data();
  expect(ATTN_WRONG_SHAPE, "argument 2 'v': expected shape [?, ?, 4], found [2, -5, 4]");
}

/// The size of a result is (rows of q) * (rows of k) + 1; the rows of k are at most 7, and those of both at most 9.
TEST_F(CheckArguments, SizesThatFollowFromOthers) {
  static constexpr int64_t any[] = {-1, -1, -1}, one[] = {-1};
  static constexpr attn_size_word limits[] = {
      {ATTN_SIZE_DIM, 1, 1},     {ATTN_SIZE_NUMBER, -1, 7},  {ATTN_SIZE_AT_MOST, 1, 1},
      {ATTN_SIZE_DIM, 0, 1},     {ATTN_SIZE_DIM, 1, 1},      {ATTN_SIZE_ADD, -1, 0},
      {ATTN_SIZE_NUMBER, -1, 9}, {ATTN_SIZE_AT_MOST, -1, 0}, {ATTN_SIZE_END, -1, 0}};
  static constexpr attn_size_word product[] = {
      {ATTN_SIZE_DIM, 0, 1},  {ATTN_SIZE_DIM, 1, 1},     {ATTN_SIZE_MULTIPLY, -1, 0}, {ATTN_SIZE_NUMBER, -1, 1},
      {ATTN_SIZE_ADD, -1, 0}, {ATTN_SIZE_EQUALS, -1, 0}, {ATTN_SIZE_END, -1, 0}};
  specs[0].shape = specs[1].shape = any;
  specs[1].sizes = limits;
  specs[4].shape = one;
  specs[4].rank = tensors[4].ndim = 1;
  specs[4].sizes = product;
  shapes[4] = {3 * 5 + 1};
  strides[4] = {1};
  expect(ATTN_OK, "");
  shapes[4] = {3 * 5};
  expect(ATTN_WRONG_SHAPE,
         "argument 4 'out': expected size 16 in dimension 0, as sizes of other arguments make it, found 15");
  shapes[1][1] = 8;
  tensors[1].strides = nullptr;
  expect(ATTN_WRONG_SHAPE, "argument 1 'k': expected a size of at most 7 in dimension 1, found 8");
  shapes[1][1] = 7;
  expect(ATTN_WRONG_SHAPE, "argument 1 'k': expected sizes that make one of at most 9, found 10");
}

TEST_F(CheckArguments, SizesThatOverflow) {
  static constexpr int64_t q[] = {-1, -1, 4};
  specs[0].shape = q;
  shapes[0] = {int64_t(1) << 40, int64_t(1) << 40, 4};
  tensors[0].shape = shapes[0].data();
  expect(ATTN_WRONG_SHAPE,
         "argument 0 'q': expected less than 2^63 bytes, found shape [1099511627776, 1099511627776, 4]");
}

TEST_F(CheckArguments, Scalars) {
  specs[0].rank = 0;
  specs[0].shape = nullptr;
  tensors[0].ndim = 0;
  tensors[0].shape = nullptr;
  tensors[0].strides = nullptr;
  expect(ATTN_OK, "");
  tensors[0].byte_offset = 1;
  expect(ATTN_WRONG_ALIGNMENT, "argument 0 'q': expected data aligned to 4 bytes, found 1 more");
  tensors[0].data = nullptr;
  expect(ATTN_NULL_ARGUMENT, "argument 0 'q': expected data, found a null pointer");
}

TEST_F(CheckArguments, TheMessageIsCutToItsBuffer) {
  arguments.pop_back();
  for (size_t size : {1, 2, 10, 47, 48, 49}) {
    std::string buffer(256, '#');
    EXPECT_EQ(attn_check_arguments(arguments.data(), 4, specs.data(), 5, buffer.data(), size), ATTN_WRONG_COUNT);
    EXPECT_EQ(buffer.substr(size), std::string(256 - size, '#'));
    std::string whole = "expected 5 arguments (q, k, v, mask, out), found 4";
    EXPECT_EQ(std::string(buffer.c_str()), whole.substr(0, size - 1));
  }
  EXPECT_EQ(attn_check_arguments(arguments.data(), 4, specs.data(), 5, nullptr, 100), ATTN_WRONG_COUNT);
  char untouched = '#';
  EXPECT_EQ(attn_check_arguments(arguments.data(), 4, specs.data(), 5, &untouched, 0), ATTN_WRONG_COUNT);
  EXPECT_EQ(untouched, '#');
}

} // namespace
