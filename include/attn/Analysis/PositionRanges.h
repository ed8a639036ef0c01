//===- PositionRanges.h - ranges of the integers in a region ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_POSITIONRANGES_H
#define ATTN_ANALYSIS_POSITIONRANGES_H

#include "attn/IR/Attn.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace attn {

/// A superset of the values that an integer of a region may have.
struct PositionRange {
  mlir::ConstantIntRanges values;
  /// True if it follows from attn.index, static sizes and constants alone.
  bool isStatic;

  bool isInside(int64_t size) const { return values.smin().isNonNegative() && values.smax().slt(size); }
  bool isOutside(int64_t size) const { return values.smax().isNegative() || values.smin().sge(size); }
  /// True for the full range of 64 bits: its arithmetic may wrap.
  bool mayWrap() const { return values.smin().isMinSignedValue() && values.smax().isMaxSignedValue(); }
};

/// The ranges of all integers of one region of an attn op, by interval arithmetic from its first op to the last. In a
/// branch of arith.select, its condition is assumed.
class PositionRanges {
public:
  PositionRanges(mlir::Operation *op, mlir::Region &region);

  PositionRange get(mlir::Value value) const;

private:
  using Ranges = llvm::SmallDenseMap<mlir::Value, mlir::ConstantIntRanges, 4>;

  PositionRange getIndex(IndexOp op) const;
  std::optional<PositionRange> infer(mlir::Operation *op) const;
  mlir::ConstantIntRanges inferSelect(mlir::arith::SelectOp op) const;
  /// The range of `value` under the assumptions `known`, looking through at most `depth` ops.
  mlir::ConstantIntRanges refine(mlir::Value value, const Ranges &known, unsigned depth) const;

  mlir::Operation *op;
  llvm::SmallVector<int64_t> domain;
  unsigned numBatch = 0;
  mlir::AffineMap kvHeadMap;
  llvm::DenseMap<mlir::Value, PositionRange> ranges;
};

} // namespace attn

#endif // ATTN_ANALYSIS_POSITIONRANGES_H
