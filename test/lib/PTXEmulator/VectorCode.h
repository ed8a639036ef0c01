//===- VectorCode.h - loops that use the host's vectors ---------*- C++ -*-===//
//
// The hottest loops have a version for each level of x86-64, selected when the program starts. All give the same bits:
// no product is contracted with a sum, and each sum has a fixed order.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_VECTORCODE_H
#define ATTN_TEST_PTXEMULATOR_VECTORCODE_H

namespace attn::ptx {

/// sum[row][column] += a[row][k] · b[k][column], k from 0 on; `strideA` and `strideB` elements from row to row, of the
/// sums as of b. `columns` is a multiple of 8.
void multiplyAdd(double *sum, const double *a, const double *b, unsigned rows, unsigned depth, unsigned columns,
                 unsigned strideA, unsigned strideB);

/// d = a · b + c for 32 lanes, rounded once.
void fmaLanes(float *d, const float *a, const float *b, const float *c);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_VECTORCODE_H
