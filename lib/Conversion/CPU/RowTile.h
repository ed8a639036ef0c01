//===- RowTile.h - tiles whose rows lie as they are -------------*- C++ -*-===//
//
// What the lowerings of a decode tile share: lanes are columns of K, V and the
// state; a row is a query row of one of the heads that share a head of K.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_ROWTILE_H
#define ATTN_LIB_CONVERSION_CPU_ROWTILE_H

#include "VectorTile.h"

namespace attn::cpu {

/// The rows of a tile, counted through its heads: row = head * queries + query. Where the number of queries is dynamic,
/// row = query * heads + head, so that no row is divided by it.
class TileRows {
public:
  /// `op` has the domain (batch…, query, …), with static heads; an online_step has static query rows, or at most those
  /// of its schedule's tile.
  TileRows(VectorBuilder &vb, mlir::Operation *op);
  bool isStatic() const { return !count; }
  /// The number of rows, at most; and as a value.
  int64_t getMaxCount() const { return heads * queries; }
  mlir::Value getCount() const { return count ? count : vb.index(getMaxCount()); }
  /// Calls `body` for each row.
  Values forEach(mlir::ValueRange init, llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body) const;
  /// The head of a row within the tile; null where there is one head.
  mlir::Value getHead(mlir::Value row) const;
  mlir::Value getQuery(mlir::Value row) const;
  /// A position in the op's domain: the row, and then whatever dimensions follow the query.
  Values getDomain(mlir::Value row, mlir::ValueRange tail) const;

private:
  VectorBuilder &vb;
  unsigned numBatch;
  int64_t heads = 1, queries;
  mlir::Value count; ///< null where it is static
};

/// for each vector of `columns` columns: body(column, mask, carried), the last with a mask where it is short.
Values forEachVector(VectorBuilder &vb, int64_t columns, mlir::ValueRange init,
                     llvm::function_ref<Values(mlir::Value column, mlir::Value mask, mlir::ValueRange)> body);

/// A vector whose lane i is the sum of the lanes of vector i; there are as many vectors as lanes.
mlir::Value sumLanes(VectorBuilder &vb, Values vectors);
/// combine(…) over all lanes of one vector, in every lane.
mlir::Value reduceLanes(VectorBuilder &vb, mlir::Value vector,
                        llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

/// The element of a row statistic as a scalar of the builder's type, in every lane.
mlir::Value loadRowScalar(VectorBuilder &vb, const Operand &statistic, mlir::ArrayRef<mlir::Value> domain);
/// Stores lane 0 of `vector`.
void storeRowScalar(VectorBuilder &vb, mlir::Value vector, const Operand &statistic,
                    mlir::ArrayRef<mlir::Value> domain);

/// True for a state whose value columns are innermost.
bool isRowMajorState(mlir::Operation *op, mlir::Value acc, mlir::AffineMap map);

/// True for a step with products of bytes: Q and the weights as integers, K and V of int8 unchanged.
bool usesByteDot(OnlineStepOp step);
mlir::LogicalResult verifyDecodeStep(OnlineStepOp op);

/// For a finalize with `accumulate`: writes the row results at `domain`, and returns the factors of its acc and its old
/// output.
std::pair<mlir::Value, mlir::Value> mergeOldRow(VectorBuilder &vb, FinalizeOp op, llvm::ArrayRef<mlir::Value> domain);
/// output = getNew(column, mask) + oldFactor * output for each column of a row; a factor of 0 ignores the old output.
void addOldOutput(VectorBuilder &vb, const Operand &output, int64_t columns, bool isContiguous,
                  llvm::function_ref<Values(mlir::Value column)> getDomain, mlir::Value oldFactor,
                  llvm::function_ref<mlir::Value(mlir::Value column, mlir::Value mask)> getNew);

mlir::LogicalResult lowerRowInit(mlir::RewriterBase &rewriter, InitStateOp op, const TargetInfo &target);
mlir::LogicalResult lowerRowFinalize(mlir::RewriterBase &rewriter, FinalizeOp op, const TargetInfo &target);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_ROWTILE_H
