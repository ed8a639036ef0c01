//===- TensorMap.h - the emulator's CUtensorMap -----------------*- C++ -*-===//
//
// The hardware encoding is not documented: this is our own, of the same size. The emulated driver encodes it
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
  std::array<uint64_t, kMostDimensions> strides{}; ///< bytes; for dimension 0, of an element
  std::array<uint32_t, kMostDimensions> box{};     ///< elements

  uint64_t boxBytes() const;
};

/// Bytes of a row within which chunks are permuted, 0 without swizzle; a period has 8 rows of such spans.
inline unsigned getSwizzleSpan(TensorSwizzle swizzle) {
  return swizzle == TensorSwizzle::None ? 0 : 16u << unsigned(swizzle);
}
/// The swizzled address of a byte in shared memory: its chunk of 16 bytes is permuted by the bits from bit 7 on.
inline uint64_t swizzleAddress(uint64_t address, TensorSwizzle swizzle) {
  const uint64_t chunks = (1u << unsigned(swizzle)) - 1;
  return address ^ ((address >> 7 & chunks) << 4);
}
/// The alignment of a tile in shared memory, so that the pattern starts with it.
inline unsigned getTileAlign(TensorSwizzle swizzle) {
  return swizzle == TensorSwizzle::None ? 128 : 8 * getSwizzleSpan(swizzle);
}

/// Returns the errors that the driver reports.
llvm::Error checkTensorMap(const TensorMap &map);
std::array<uint8_t, kTensorMapBytes> encodeTensorMap(const TensorMap &map);
/// Nothing if the bytes are not a map.
std::optional<TensorMap> decodeTensorMap(const uint8_t *bytes);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_TENSORMAP_H
