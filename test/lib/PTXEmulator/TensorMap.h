//===- TensorMap.h - what a CUtensorMap holds here --------------*- C++ -*-===//
//
// The machine's encoding is not documented: here it is our own, in as many bytes. The emulated driver encodes it
// (cuTensorMapEncodeTiled); bulk copies decode it. Dimension 0 is the innermost one.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_TENSORMAP_H
#define ATTN_TEST_PTXEMULATOR_TENSORMAP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <optional>

namespace attn::ptx {

inline constexpr unsigned kTensorMapBytes = 128, kTensorMapAlign = 64, kMostDimensions = 5;

/// The value is CU_TENSOR_MAP_SWIZZLE_….
enum class TensorSwizzle : uint8_t { None, Bytes32, Bytes64, Bytes128 };

struct TensorMap {
  uint8_t rank = 0, elementBytes = 0;
  TensorSwizzle swizzle = TensorSwizzle::None;
  uint64_t address = 0;
  std::array<uint64_t, kMostDimensions> sizes{};   ///< elements
  std::array<uint64_t, kMostDimensions> strides{}; ///< bytes; of dimension 0: those of an element
  std::array<uint32_t, kMostDimensions> box{};     ///< elements

  uint64_t boxBytes() const;
};

/// Bytes of a row within which chunks are exchanged, 0 without swizzle; the rows of a period are 8 such spans.
inline unsigned getSwizzleSpan(TensorSwizzle swizzle) {
  return swizzle == TensorSwizzle::None ? 0 : 16u << unsigned(swizzle);
}
/// Where the byte at a place of shared memory is stored: its chunk of 16 bytes is exchanged by the bits above 7.
inline uint64_t swizzleAddress(uint64_t address, TensorSwizzle swizzle) {
  const uint64_t chunks = (1u << unsigned(swizzle)) - 1;
  return address ^ ((address >> 7 & chunks) << 4);
}
/// Where a tile in shared memory must start, so that the pattern starts with it.
inline unsigned getTileAlign(TensorSwizzle swizzle) {
  return swizzle == TensorSwizzle::None ? 128 : 8 * getSwizzleSpan(swizzle);
}

/// What the driver refuses.
llvm::Error checkTensorMap(const TensorMap &map);
std::array<uint8_t, kTensorMapBytes> encodeTensorMap(const TensorMap &map);
/// Nothing where the bytes are no map.
std::optional<TensorMap> decodeTensorMap(const uint8_t *bytes);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_TENSORMAP_H
