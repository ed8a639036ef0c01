//===- VectorCode.cpp - loops that use the host's vectors -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorCode.h"
#include "Program.h"

#include <cmath>

#if defined(__x86_64__)
#define ATTN_FOR_EACH_LEVEL __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ATTN_FOR_EACH_LEVEL
#endif

/// Columns of the sums that stay in registers over the depth.
static constexpr unsigned kColumns = 8;

ATTN_FOR_EACH_LEVEL
void attn::ptx::multiplyAdd(double *sum, const double *a, const double *b, unsigned rows, unsigned depth,
                            unsigned columns, unsigned strideA, unsigned strideB) {
  for (unsigned first = 0; first < columns; first += kColumns) {
    for (unsigned row = 0; row < rows; ++row) {
      double *to = sum + row * strideB + first;
      double part[kColumns];
      for (unsigned i = 0; i < kColumns; ++i)
        part[i] = to[i];
      for (unsigned k = 0; k < depth; ++k)
        for (unsigned i = 0; i < kColumns; ++i)
          part[i] += a[row * strideA + k] * b[k * strideB + first + i];
      for (unsigned i = 0; i < kColumns; ++i)
        to[i] = part[i];
    }
  }
}

ATTN_FOR_EACH_LEVEL
void attn::ptx::fmaLanes(float *d, const float *a, const float *b, const float *c) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    d[lane] = std::fma(a[lane], b[lane], c[lane]);
}
