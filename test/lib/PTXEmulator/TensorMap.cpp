//===- TensorMap.cpp - the emulator's CUtensorMap -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TensorMap.h"

#include <cstring>

using namespace llvm;
using namespace attn::ptx;

namespace {

constexpr uint32_t kMagic = 0x50414d54; // TMAP
constexpr uint64_t kMostElements = uint64_t(1) << 32, kMostStride = uint64_t(1) << 40;
constexpr uint32_t kLargestBox = 256;
constexpr unsigned kAlign = 16;

/// Sizes are stored minus 1, as 2^32 is allowed. The stride of dimension 0 is implied.
struct Encoded {
  uint32_t magic;
  uint8_t rank, elementBytes, swizzle, unused;
  uint64_t address;
  uint64_t strides[kMostDimensions - 1];
  uint32_t lastIndices[kMostDimensions];
  uint32_t box[kMostDimensions];
};
static_assert(sizeof(Encoded) <= kTensorMapBytes);

} // namespace

uint64_t TensorMap::boxBytes() const {
  uint64_t bytes = elementBytes;
  for (unsigned i = 0; i < rank; ++i)
    bytes *= box[i];
  return bytes;
}

Error attn::ptx::checkTensorMap(const TensorMap &map) {
  if (map.rank < 1 || map.rank > kMostDimensions)
    return createStringError("expected 1 to 5 dimensions, found " + Twine(unsigned(map.rank)));
  if (map.address % kAlign != 0)
    return createStringError("expected an address that is a multiple of 16, found 0x" + Twine::utohexstr(map.address));
  for (unsigned i = 0; i < map.rank; ++i) {
    if (map.sizes[i] < 1 || map.sizes[i] > kMostElements)
      return createStringError("expected 1 to 2^32 elements of dimension " + Twine(i) + ", found " +
                               Twine(map.sizes[i]));
    if (map.box[i] < 1 || map.box[i] > kLargestBox)
      return createStringError("expected a box of 1 to 256 elements of dimension " + Twine(i) + ", found " +
                               Twine(map.box[i]));
    if (i > 0 && (map.strides[i] % kAlign != 0 || map.strides[i] >= kMostStride))
      return createStringError("expected a stride that is a multiple of 16 below 2^40 of dimension " + Twine(i) +
                               ", found " + Twine(map.strides[i]));
  }
  const uint64_t inner = uint64_t(map.box[0]) * map.elementBytes;
  if (inner % kAlign != 0)
    return createStringError("expected rows of the box that are a multiple of 16 bytes, found " + Twine(inner));
  if (map.swizzle != TensorSwizzle::None && inner > getSwizzleSpan(map.swizzle))
    return createStringError("expected rows of the box of at most the " + Twine(getSwizzleSpan(map.swizzle)) +
                             " bytes of its swizzle, found " + Twine(inner));
  return Error::success();
}

std::array<uint8_t, kTensorMapBytes> attn::ptx::encodeTensorMap(const TensorMap &map) {
  Encoded encoded{kMagic, map.rank, map.elementBytes, uint8_t(map.swizzle), 0, map.address, {}, {}, {}};
  for (unsigned i = 0; i < map.rank; ++i) {
    if (i > 0)
      encoded.strides[i - 1] = map.strides[i];
    encoded.lastIndices[i] = uint32_t(map.sizes[i] - 1);
    encoded.box[i] = map.box[i];
  }
  std::array<uint8_t, kTensorMapBytes> bytes{};
  std::memcpy(bytes.data(), &encoded, sizeof(encoded));
  return bytes;
}

std::optional<TensorMap> attn::ptx::decodeTensorMap(const uint8_t *bytes) {
  Encoded encoded;
  std::memcpy(&encoded, bytes, sizeof(encoded));
  if (encoded.magic != kMagic)
    return std::nullopt;
  TensorMap map{encoded.rank, encoded.elementBytes, TensorSwizzle(encoded.swizzle), encoded.address, {}, {}, {}};
  map.strides[0] = map.elementBytes;
  for (unsigned i = 0; i < map.rank; ++i) {
    if (i > 0)
      map.strides[i] = encoded.strides[i - 1];
    map.sizes[i] = uint64_t(encoded.lastIndices[i]) + 1;
    map.box[i] = encoded.box[i];
  }
  return map;
}
