//===- Matmul.h - contractions of matmul form -------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_MATMUL_H
#define ATTN_LIB_CONVERSION_CPU_MATMUL_H

#include "VectorTile.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace attn::cpu {

/// Rows of a tile: copying its panel of B is then a hundredth of its work.
constexpr int64_t kTileRows = 128;
/// With fewer rows, B is read once, in place.
constexpr int64_t kMinPackedRows = 16;
/// Multiply-adds below which starting threads costs more than it saves.
constexpr int64_t kMinParallelWork = 1 << 20;
/// Vectors of columns in a panel of B, for sums of so many bits; `columns` may be dynamic.
int64_t getPanelVectors(const TargetInfo &target, unsigned bits, int64_t columns);
/// Rows of a register kernel beside so many vectors of columns.
int64_t getRegisterRows(const TargetInfo &target, int64_t panelVectors);

/// What a contraction's operands and dimensions are for C[i][j] += A[i][k] B[k][j].
struct Matmul {
  Operand a, b, c;
  std::optional<unsigned> row; ///< i; none for a product of a vector and a matrix
  unsigned column = 0, depth = 0;
  llvm::SmallVector<unsigned> batch; ///< all others, a loop each
  bool isGathered = false;           ///< indices of B are calculated from column, depth and batch, as of a convolution
  bool skipsZeros = false;           ///< a zero of A skips its row of B, which may hold NaN there
  std::optional<Operand> scale;      ///< B is of integers, times a float of a block of its rows
  bool hasNibbles = false;           ///< a byte of B has rows 2k and 2k + 1 in its low and high 4 bits
};

/// True for a sum of a * (float(b) * scale) with b of 8 bits, or of 4 as attn-pack-weights writes them: a product with
/// quantised weights.
bool hasScaledWeights(mlir::linalg::LinalgOp op);

/// The matmul form of a contraction on memrefs; failure if it has none.
mlir::FailureOr<Matmul> matchMatmul(mlir::linalg::LinalgOp op);

/// Collapses dimensions of rows that are contiguous in A and C, such as (batch, sequence), into one. Failure if there
/// are none; otherwise `op` is replaced.
mlir::FailureOr<mlir::linalg::LinalgOp> collapseRows(mlir::RewriterBase &rewriter, mlir::linalg::LinalgOp op,
                                                     const Matmul &matmul);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_MATMUL_H
