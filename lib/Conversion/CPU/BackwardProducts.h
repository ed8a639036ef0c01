//===- BackwardProducts.h - the five products of a backward step -*- C++ -*-===//
//
// S = Q K^T, dW = dO V^T, dV^T += dO^T P, dK^T += Q^T G and dQ += G K, by the instruction of the schedule. Each
// instruction has a class, which knows the layout of its operands and of a panel's scores, weights and gradients.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_BACKWARDPRODUCTS_H
#define ATTN_LIB_CONVERSION_CPU_BACKWARDPRODUCTS_H

#include "VectorTile.h"
#include "attn/Schedule/Schedule.h"
#include <limits>
#include <memory>

namespace attn::cpu {

/// The current panel of keys.
struct Panel {
  mlir::Value index, firstKey;
  mlir::Value lower, upper; ///< the range of rows that it is multiplied with; `lower` is a multiple of blockRows
  mlir::Value keys;         ///< existing keys of the panel; null for all of them
  Values masks;             ///< of the lanes that hold keys, by vector; empty for all of them

  mlir::Value getMask(int64_t v) const { return masks.empty() ? mlir::Value() : masks[v]; }
};

/// Panels of a step and their rows, (panel, 2): lower and upper of each.
struct PanelBounds {
  mlir::Value bounds, numPanels;
};

/// Multiply-adds of a scalar and lanes. Each product is a region that attn-outline-regions makes a function; equal
/// functions are merged.
class BackwardProducts {
public:
  BackwardProducts(VectorBuilder &vb, BackwardStepOp step, mlir::Value numRows, mlir::Value keyCount);
  virtual ~BackwardProducts() = default;

  /// Allocates buffers for `numPanels` panels, and operands in the layout that the products read.
  virtual void allocate(int64_t numPanels);
  /// The first row of a panel is a multiple of this.
  int64_t getRowMultiple() const { return blockRows % depth == 0 ? blockRows : blockRows * depth; }
  /// True where a tile may end in a panel.
  bool hasTail() const;

  /// S and, with `hasGradients`, dW of a panel, to `weights` and `gradients`, (row, lane). Writes whole blocks, also
  /// past the last row.
  void multiplyRows(const Panel &panel, bool hasGradients);
  mlir::Value getWeights() const { return weights; }
  mlir::Value getGradients() const { return gradients; }
  /// Stores P and G in the layout that the products read; `getRow` computes them from a row's S and dW.
  using GetRow = llvm::function_ref<std::pair<Values, Values>(mlir::Value row)>;
  virtual void storeRows(const Panel &panel, GetRow getRow);
  /// dV and dK of a panel.
  void multiplyKeys(const Panel &panel);
  /// Clears the rows past the last one of a panel's block, so that they add nothing to dQ.
  void clearRows(const Panel &panel);
  /// dQ of all panels.
  void multiplyQueries(const PanelBounds &panels);

  mlir::Value isEmptyRow(mlir::Value lse);
  /// body, under a condition.
  void emitIf(mlir::Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise = {});

protected:
  /// The rows of a buffer that blocks may write for `rows` rows, an even number.
  virtual int64_t getPaddedRows(int64_t rows) const;
  /// target[i][j] = sum_d rows[i][d] columns[d][j].
  virtual void emitRowProduct(const Panel &panel, mlir::Value rows, mlir::Value columns, mlir::Value target,
                              int64_t size);
  /// sums[d][j] += sum_i rows[i][d] factors[i][j].
  virtual void emitKeyProduct(const Panel &panel, mlir::Value rows, mlir::Value factors, mlir::Value sums,
                              int64_t columns);
  /// dQ[i][d] += sum_j queryFactors[panel][i][j] keys[j][d]; each panel adds to the rows of its bounds. A row without
  /// keys, whose lse is -inf, stays as it is, whatever `keys` holds.
  virtual void emitQueryProduct(const PanelBounds &panels, int64_t columns);
  /// A factor that is broadcast, indexed by the last index, and a vector of factors, of which `count` lanes exist.
  virtual mlir::Value loadScalar(mlir::Value memref, Values indices) { return load(memref, indices); }
  virtual mlir::Value loadVector(mlir::Value memref, Values indices,
                                 int64_t count = std::numeric_limits<int64_t>::max());
  /// emitRegisterKernel with these loads.
  virtual Values multiply(int64_t rows, int64_t count, mlir::Value size, mlir::ValueRange init,
                          llvm::function_ref<mlir::Value(int64_t, mlir::Value)> scalarAt,
                          llvm::function_ref<mlir::Value(mlir::Value, int64_t)> vectorAt);

  /// The scores of a panel, in a type that all panels share.
  mlir::Value getRows(mlir::Value panel);
  void outline(llvm::function_ref<void()> body);
  /// body(first, rows, isWhole) over [lower, upper): whole blocks, then others, the last of which may go beyond.
  void forEachRows(mlir::Value lower, mlir::Value upper, llvm::function_ref<void(mlir::Value, int64_t, bool)> body);
  /// The steps of the register kernel for `count` elements.
  mlir::Value countSteps(mlir::Value count) { return vb.divide(vb.add(count, depth - 1), depth); }
  mlir::Value load(mlir::Value memref, mlir::ValueRange indices) {
    return mlir::memref::LoadOp::create(vb.b, vb.loc, memref, indices);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate is, mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(vb.b, vb.loc, is, x, y);
  }
  Values getZeros(int64_t count) { return Values(count, vb.splat(0)); }
  mlir::Value addTo(mlir::Value old, mlir::Value sum) { return mlir::arith::AddFOp::create(vb.b, vb.loc, old, sum); }

  VectorBuilder &vb;
  BackwardStepOp step;
  BackwardAttr schedule;
  int64_t vectors, panelKeys;
  int64_t blockRows, tailRows; ///< of a block, and of a block at the end
  int64_t depth;               ///< elements of a scalar factor
  mlir::Value numRows, keyCount;

  mlir::Value scores;             ///< (panel, row, key): S and dW
  mlir::Value weights, gradients; ///< of the current panel
  /// The operands of products: K and V as (column, key); Q and dO, with G and P; G of all panels, with K.
  mlir::Value keyColumns, valueColumns, query, dout, gradientFactors, weightFactors, queryFactors, keys;

private:
  virtual void beginPanel(const Panel &panel);
};

/// Pairs of bf16 along the summed dimension: (pair, 2 * lane) for vectors; scalar factors are adjacent in rows.
class BackwardPairs : public BackwardProducts {
public:
  using BackwardProducts::BackwardProducts;

  void allocate(int64_t numPanels) override;
  void storeRows(const Panel &panel, GetRow getRow) override;

protected:
  mlir::Value loadScalar(mlir::Value memref, Values indices) override;
  mlir::Value loadVector(mlir::Value memref, Values indices, int64_t count) override;
  Values multiply(int64_t rows, int64_t count, mlir::Value size, mlir::ValueRange init,
                  llvm::function_ref<mlir::Value(int64_t, mlir::Value)> scalarAt,
                  llvm::function_ref<mlir::Value(mlir::Value, int64_t)> vectorAt) override;
  virtual mlir::Value makePairs(mlir::Value even, mlir::Value odd) { return vb.makePairs(even, odd); }
  /// Q or dO, for `number` 0 or 1, as (i floordiv 2, 2 * d + i mod 2).
  virtual mlir::Value getPairsOfRows(unsigned number);

private:
  void beginPanel(const Panel &panel) override;
  /// P and G of two rows, or of one beside zeros, as pairs of rows; G also as rows.
  void storeRowPair(const Panel &panel, mlir::Value row, bool hasOdd, GetRow getRow);
};

/// AMX tiles, in blocks of 32 x 32 sums (BackwardTiles.cpp). Operands as in BackwardPairs, except that the rows of
/// products with keys in lanes are transposed, (column, row).
class BackwardTiles final : public BackwardPairs {
public:
  BackwardTiles(VectorBuilder &vb, BackwardStepOp step, mlir::Value numRows, mlir::Value keyCount);

  void storeRows(const Panel &panel, GetRow getRow) override;

private:
  int64_t getPaddedRows(int64_t rows) const override;
  void emitRowProduct(const Panel &panel, mlir::Value rows, mlir::Value columns, mlir::Value target,
                      int64_t size) override;
  void emitKeyProduct(const Panel &panel, mlir::Value rows, mlir::Value factors, mlir::Value sums,
                      int64_t columns) override;
  void emitQueryProduct(const PanelBounds &panels, int64_t columns) override;
  mlir::Value makePairs(mlir::Value even, mlir::Value odd) override { return vb.makePairsByIntegers(even, odd); }
  mlir::Value getPairsOfRows(unsigned number) override { return step.getTransposed()[3 + number]; }
  /// body(first) over [lower, upper), block by block.
  void forEachBlock(mlir::Value lower, mlir::Value upper, llvm::function_ref<void(mlir::Value)> body);

  mlir::Value scratch; ///< a block of sums
};

std::unique_ptr<BackwardProducts> createBackwardProducts(VectorBuilder &vb, BackwardStepOp step, mlir::Value numRows,
                                                         mlir::Value keyCount);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_BACKWARDPRODUCTS_H
