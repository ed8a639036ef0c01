//===- MatrixDescriptor.h - matrix descriptors of wgmma ---------*- C++ -*-===//
//
// A factor of wgmma in shared memory, 16 deep (K) and M or N wide, is read in chunks of 16 bytes, 8 elements. With S
// the bytes of the swizzle's span and LBO, SBO the descriptor's two offsets, the address of a chunk before the swizzle
// is
//
//   K-major   8 elements along K: (row, half)      S (row mod 8) + SBO (row / 8) + 16 half         half = k / 8
//             no swizzle                          16 (row mod 8) + SBO (row / 8) + LBO half
//   MN-major  8 elements along M or N: (c, k)      S (k mod 8) + SBO (k / 8) + 16 (c mod S/16) + LBO (c / (S/16))
//             no swizzle                          16 (k mod 8) + LBO (k / 8) + SBO c
//
// as in the canonical layouts of CUTLASS (mma_sm90_desc.hpp) and in the ISA's "matrix descriptor".
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_MATRIXDESCRIPTOR_H
#define ATTN_TEST_PTXEMULATOR_MATRIXDESCRIPTOR_H

#include "TensorMap.h"

#include <string>

namespace attn::ptx {

struct MatrixDescriptor {
  uint64_t start, leading, stride; ///< bytes
  TensorSwizzle swizzle;

  explicit MatrixDescriptor(uint64_t bits);
  /// The error in the bits; empty if there is none.
  static std::string check(uint64_t bits);
  uint64_t findKMajor(unsigned row, unsigned half) const;
  uint64_t findMNMajor(unsigned chunk, unsigned k) const;
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_MATRIXDESCRIPTOR_H
