//===- CudaTensorMapTest.cpp - maps that the emulated driver encodes ------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CudaEmulator/CudaEmulator.h"
#include "PTXEmulator/TensorMap.h"

#include "gtest/gtest.h"

using namespace attn::ptx;

namespace {

constexpr int kByte = 0, kBFloat16 = 9, kSwizzle128 = 3, kPromotion256 = 3;

struct Request {
  alignas(64) uint8_t bytes[kTensorMapBytes] = {};
  uint64_t address = 0x7f0000000100;
  uint64_t sizes[3] = {128, 1000, 8}, strides[2] = {2048, 256};
  uint32_t box[3] = {64, 128, 1}, elementStrides[3] = {1, 1, 1};
  int type = kBFloat16, interleave = 0, swizzle = kSwizzle128, fill = 0;

  int encode(void *result) {
    testing::internal::CaptureStderr();
    const int code = encodeTiledTensorMap(result, type, 3, reinterpret_cast<void *>(address), sizes, strides, box,
                                          elementStrides, interleave, swizzle, kPromotion256, fill);
    message = testing::internal::GetCapturedStderr();
    return code;
  }
  int encode() { return encode(bytes); }
  std::string message;
};

TEST(CudaTensorMap, Encodes) {
  Request request;
  ASSERT_EQ(request.encode(), 0);
  const auto map = decodeTensorMap(request.bytes);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->rank, 3);
  EXPECT_EQ(map->elementBytes, 2);
  EXPECT_EQ(map->address, request.address);
  EXPECT_EQ(map->sizes[1], 1000u);
  EXPECT_EQ(map->strides[0], 2u);
  EXPECT_EQ(map->strides[2], 256u);
  EXPECT_EQ(map->boxBytes(), 64u * 128 * 2);
  EXPECT_EQ(map->swizzle, TensorSwizzle::Bytes128);
}

// Of a tensor 2 x 3 x 96 whose rows are 256 bytes apart, boxes of 16 rows and a panel: the map has the innermost
// dimension first.
TEST(CudaTensorMap, TheLauncherEncodes) {
  ASSERT_EQ(attn_cuda_use_driver(&getEmulatedDriver()), 0);
  alignas(64) uint8_t bytes[kTensorMapBytes] = {};
  const int64_t sizes[] = {2, 3, 96}, strides[] = {1024, 256}, box[] = {1, 16, 64};
  ASSERT_EQ(attn_cuda_encode_map(bytes, reinterpret_cast<void *>(0x1000), kBFloat16, 3, sizes, strides, box), 0);
  const auto map = decodeTensorMap(bytes);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->rank, 3);
  EXPECT_EQ(map->elementBytes, 2);
  EXPECT_EQ(map->swizzle, TensorSwizzle::Bytes128);
  EXPECT_EQ(map->address, 0x1000u);
  const uint64_t expected[3][3] = {{96, 2, 64}, {3, 256, 16}, {2, 1024, 1}};
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(map->sizes[i], expected[i][0]);
    EXPECT_EQ(map->strides[i], expected[i][1]);
    EXPECT_EQ(map->box[i], expected[i][2]);
  }
  // The swizzle is as wide as the rows of a box: of bytes, as a boolean mask has them, too.
  const int64_t masks[] = {1, 16, 64}, half[] = {1, 16, 16};
  ASSERT_EQ(attn_cuda_encode_map(bytes, reinterpret_cast<void *>(0x1000), kByte, 3, sizes, strides, masks), 0);
  EXPECT_EQ(decodeTensorMap(bytes)->swizzle, TensorSwizzle::Bytes64);
  EXPECT_EQ(decodeTensorMap(bytes)->elementBytes, 1);
  ASSERT_EQ(attn_cuda_encode_map(bytes, reinterpret_cast<void *>(0x1000), kBFloat16, 3, sizes, strides, half), 0);
  EXPECT_EQ(decodeTensorMap(bytes)->swizzle, TensorSwizzle::Bytes32);
  // What has no rows is never copied.
  const int64_t none[] = {2, 0, 96};
  EXPECT_EQ(attn_cuda_encode_map(bytes, nullptr, kBFloat16, 3, none, strides, box), 0);
  // An address, and a stride, that no map takes.
  EXPECT_EQ(attn_cuda_encode_map(bytes, reinterpret_cast<void *>(0x1001), kBFloat16, 3, sizes, strides, box),
            ATTN_CUDA_LAUNCH_FAILED);
  const int64_t odd[] = {1024, 250};
  EXPECT_EQ(attn_cuda_encode_map(bytes, reinterpret_cast<void *>(0x1000), kBFloat16, 3, sizes, odd, box),
            ATTN_CUDA_LAUNCH_FAILED);
}

TEST(CudaTensorMap, Refuses) {
  auto expectRefusal = [](auto change, const char *message) {
    Request request;
    change(request);
    EXPECT_EQ(request.encode(), 1) << message;
    EXPECT_NE(request.message.find(message), std::string::npos) << request.message;
  };
  expectRefusal([](Request &request) { request.address += 8; }, "an address that is a multiple of 16");
  expectRefusal([](Request &request) { request.strides[0] = 2056; }, "a stride that is a multiple of 16");
  expectRefusal([](Request &request) { request.box[1] = 512; }, "a box of 1 to 256");
  expectRefusal([](Request &request) { request.box[0] = 128; }, "at most the 128 bytes of its swizzle, found 256");
  expectRefusal([](Request &request) { request.swizzle = 4; }, "a swizzle of 0, 32, 64 or 128");
  expectRefusal([](Request &request) { request.fill = 1; }, "not emulated");
  expectRefusal([](Request &request) { request.type = 13; }, "a type of elements");
  Request shifted;
  EXPECT_EQ(shifted.encode(shifted.bytes + 16), 1);
}

} // namespace
