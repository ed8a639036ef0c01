//===- MatrixDescriptor.cpp - matrix descriptors of wgmma -----------------===//
//
// Bits: start 0 to 13, LBO 16 to 29, SBO 32 to 45, each in 16 bytes; base offset 49 to 51; swizzle 62 and 63.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MatrixDescriptor.h"

using namespace attn::ptx;

namespace {
constexpr unsigned kChunk = 16, kGroup = 8;
constexpr uint64_t kField = 0x3fff;
constexpr uint64_t kUsed = kField | kField << 16 | kField << 32 | uint64_t(7) << 49 | uint64_t(3) << 62;
constexpr TensorSwizzle kSwizzles[] = {TensorSwizzle::None, TensorSwizzle::Bytes128, TensorSwizzle::Bytes64,
                                       TensorSwizzle::Bytes32};
} // namespace

MatrixDescriptor::MatrixDescriptor(uint64_t bits)
    : start((bits & kField) * kChunk), leading((bits >> 16 & kField) * kChunk), stride((bits >> 32 & kField) * kChunk),
      swizzle(kSwizzles[bits >> 62]) {}

std::string MatrixDescriptor::check(uint64_t bits) {
  const MatrixDescriptor descriptor(bits);
  if (bits & ~kUsed)
    return "expected a matrix descriptor, found bits that it has not, 0x" + llvm::Twine::utohexstr(bits).str();
  if (bits >> 49 & 7)
    return "expected a base offset of 0; others are not emulated";
  // Within the first row, any start is allowed: this is how a start advances along K.
  const unsigned period = getTileAlign(descriptor.swizzle);
  if (descriptor.swizzle != TensorSwizzle::None && descriptor.start % period >= 128)
    return "expected a start in the first 128 bytes of a multiple of " + std::to_string(period) + ", found " +
           std::to_string(descriptor.start);
  return "";
}

uint64_t MatrixDescriptor::findKMajor(unsigned row, unsigned half) const {
  const bool isPlain = swizzle == TensorSwizzle::None;
  const uint64_t at = start + row % kGroup * uint64_t(isPlain ? kChunk : getSwizzleSpan(swizzle)) +
                      row / kGroup * stride + half * (isPlain ? leading : kChunk);
  return swizzleAddress(at, swizzle);
}

uint64_t MatrixDescriptor::findMNMajor(unsigned chunk, unsigned k) const {
  if (swizzle == TensorSwizzle::None)
    return start + k % kGroup * uint64_t(kChunk) + k / kGroup * leading + chunk * stride;
  const unsigned chunks = getSwizzleSpan(swizzle) / kChunk;
  return swizzleAddress(start + k % kGroup * uint64_t(getSwizzleSpan(swizzle)) + k / kGroup * stride +
                            chunk % chunks * uint64_t(kChunk) + chunk / chunks * leading,
                        swizzle);
}
