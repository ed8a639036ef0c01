//===- BackwardProducts.h - the five products of a backward step -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_BACKWARDPRODUCTS_H
#define ATTN_LIB_CONVERSION_CPU_BACKWARDPRODUCTS_H

#include "VectorTile.h"
#include "attn/Schedule/Schedule.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

namespace attn::cpu {

/// The rows [lower, upper) of a tile that a panel of keys is multiplied with, `lower` a multiple of a block's rows; the
/// keys of the panel that there are, null for all of them.
struct PanelRange {
  mlir::Value firstKey, lower, upper, keys;
};

/// Each product is a region of its own that attn-outline-regions makes a function: equal ones are one. With
/// instruction = pairs, operands hold pairs of bf16 along the summed dimension, the pairs of vectors innermost:
/// (pair, 2 * lane); those of rows lie in the rows. AMX tiles (BackwardTiles.cpp) take the same operands but for the
/// rows of the products that have keys in their lanes, which are transposed, (column, row).
class BackwardProducts {
public:
  BackwardProducts(VectorBuilder &vb, BackwardAttr schedule, mlir::Value numRows);

  /// Rows of a buffer of `rows` that blocks of rows may write, an even number.
  int64_t getPaddedRows(int64_t rows) const {
    return usesTiles() ? llvm::alignTo(rows, kTileBlock) : llvm::alignTo(rows + tailRows, 2);
  }
  /// Rows that the first row of a panel is a multiple of: whole blocks and pairs.
  int64_t getRowMultiple() const { return blockRows % depth == 0 ? blockRows : blockRows * depth; }
  /// Rows of a block.
  int64_t getBlockRows() const { return blockRows; }
  bool usesTiles() const { return scratch != nullptr; }
  /// Rows, keys and columns of a block of tiles.
  static constexpr int64_t kTileBlock = 32;

  /// target[i][j] = sum_d rows[i][d] columns[d][j], also of rows behind the last one, in whole blocks.
  void emitRowProduct(const PanelRange &panel, mlir::Value rows, mlir::Value columns, mlir::Value target, int64_t size);
  /// sums[d][j] += sum_i rows[i][d] factors[i][j]; rows as pairs are (i floordiv 2, 2 * d + i mod 2).
  void emitKeyProduct(const PanelRange &panel, mlir::Value rows, mlir::Value factors, mlir::Value sums,
                      int64_t columns);
  /// sums[i][d] += sum_j factors[panel][i][j] keys[j][d]; the rows that a panel adds to are those of `bounds`. To a row
  /// without keys, whose lse is -inf, nothing is added, whatever `keys` hold.
  void emitQueryProduct(mlir::Value factors, mlir::Value keys, mlir::Value lse, mlir::Value sums, mlir::Value bounds,
                        mlir::Value numPanels, mlir::Value keyCount, bool hasTail, int64_t columns);

  mlir::Value isEmptyRow(mlir::Value lse);

  /// body, under a condition.
  void emitIf(mlir::Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise = {});

private:
  void emitRowProductByTiles(const PanelRange &panel, mlir::Value rows, mlir::Value columns, mlir::Value target,
                             int64_t size);
  void emitKeyProductByTiles(const PanelRange &panel, mlir::Value rows, mlir::Value factors, mlir::Value sums,
                             int64_t columns);
  void emitQueryProductByTiles(mlir::Value factors, mlir::Value keys, mlir::Value lse, mlir::Value sums,
                               mlir::Value bounds, mlir::Value numPanels, int64_t columns);
  /// body(first) over [lower, upper), block by block.
  void forEachTileBlock(mlir::Value lower, mlir::Value upper, llvm::function_ref<void(mlir::Value)> body);

  void outline(llvm::function_ref<void()> body);
  /// body(first, rows, isWhole) over [lower, upper): whole blocks, then others, the last of which may go beyond.
  void forEachRows(mlir::Value lower, mlir::Value upper, llvm::function_ref<void(mlir::Value, int64_t, bool)> body);
  /// emitRegisterKernel with the instruction of the schedule.
  Values multiply(int64_t rows, int64_t count, mlir::Value size, mlir::ValueRange init,
                  llvm::function_ref<mlir::Value(int64_t, mlir::Value)> scalarAt,
                  llvm::function_ref<mlir::Value(mlir::Value, int64_t)> vectorAt);
  bool usesPairs() const { return depth == 2; }
  /// Steps of the register kernel for so many elements.
  mlir::Value countPairs(mlir::Value count) { return vb.divide(vb.add(count, depth - 1), depth); }
  /// An element or a pair, which the last index counts.
  mlir::Value loadScalar(mlir::Value memref, Values indices);
  /// A vector of them, of which `count` lanes are there.
  mlir::Value loadVector(mlir::Value memref, Values indices, int64_t count = std::numeric_limits<int64_t>::max());
  mlir::Value load(mlir::Value memref, mlir::ValueRange indices) {
    return mlir::memref::LoadOp::create(vb.b, vb.loc, memref, indices);
  }
  Values getZeros(int64_t count) { return Values(count, vb.splat(0)); }
  mlir::Value addTo(mlir::Value old, mlir::Value sum) { return mlir::arith::AddFOp::create(vb.b, vb.loc, old, sum); }

  VectorBuilder &vb;
  int64_t vectors, panelKeys, blockRows, tailRows, depth;
  mlir::Value numRows;
  mlir::Value scratch; ///< a block of sums; null without tiles
};

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_BACKWARDPRODUCTS_H
