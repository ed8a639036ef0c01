//===- MatmulPanel.h - a block of the right matrix of a product -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_MATMULPANEL_H
#define ATTN_LIB_CONVERSION_CPU_MATMULPANEL_H

#include "VectorTile.h"

namespace attn::cpu {

/// Element k of row `row` of the left matrix, or the bits of its elements k and k + 1.
using ScalarAt = std::function<mlir::Value(int64_t row, mlir::Value k, bool isPair)>;

/// sums[r][v] = sum_k scalarAt(r, k) vectorAt(k, v), for k in [0, count). With `skipsZeros`, a zero scalar skips its
/// vector, which may hold NaN.
Values emitProducts(VectorBuilder &vb, int64_t rows, int64_t vectors, mlir::Value count, const ScalarAt &scalarAt,
                    llvm::function_ref<mlir::Value(mlir::Value k, int64_t v)> vectorAt, bool skipsZeros);

/// `depth` rows by `vectors` vectors of columns of a matrix, copied to the stack, where they are contiguous and stay in
/// the first-level cache for all rows of the left matrix. In the element type of the product.
class MatmulPanel {
public:
  /// Indices of the element of `source` in a row and a column of the panel.
  using At = std::function<Values(mlir::Value row, mlir::Value column)>;
  /// Vector `v` of the elements of `source` in a row of the panel, 0 in lanes without a column.
  using VectorAt = std::function<mlir::Value(mlir::Value row, int64_t v)>;
  /// `isTransposed`: rows of the panel lie along the contiguous dimension of `source`.
  MatmulPanel(VectorBuilder &vb, const Operand &source, bool isTransposed, int64_t depth, int64_t vectors)
      : vb(vb), source(source), isTransposed(isTransposed), depth(depth), vectors(vectors) {}
  virtual ~MatmulPanel() = default;

  virtual void allocate();
  /// Copies `rows` rows, with 0 in columns from `columns` on.
  void pack(mlir::Value rows, mlir::Value columns, const At &at, const VectorAt &vectorAt);
  /// True if the first `rows` rows hold no NaN and no infinity: only those times 0 are not 0.
  mlir::Value isFinite(mlir::Value rows);
  /// emitProducts with the panel's vectors.
  virtual Values multiply(int64_t rows, mlir::Value count, const ScalarAt &scalarAt, bool skipsZeros = false);

protected:
  virtual void packTransposed(mlir::Value rows, mlir::Value columns, const At &at);
  virtual void packRows(mlir::Value rows, const VectorAt &vectorAt);
  /// The element type of the panel, (row, column).
  virtual mlir::Type getElementType() { return vb.elementType; }

  VectorBuilder &vb;
  Operand source;
  bool isTransposed;
  int64_t depth, vectors;
  mlir::Value buffer;
};

/// The same for bf16, in pairs of rows as VectorBuilder::multiplyAddPairs reads them; an even number of rows if they
/// are transposed.
class MatmulPairs final : public MatmulPanel {
public:
  using MatmulPanel::MatmulPanel;

  void allocate() override;
  Values multiply(int64_t rows, mlir::Value count, const ScalarAt &scalarAt, bool skipsZeros) override;

private:
  void packTransposed(mlir::Value rows, mlir::Value columns, const At &at) override;
  void packRows(mlir::Value rows, const VectorAt &vectorAt) override;
  mlir::Type getElementType() override { return vb.b.getBF16Type(); }
};

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_MATMULPANEL_H
