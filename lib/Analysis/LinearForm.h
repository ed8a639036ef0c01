//===- LinearForm.h - comparisons as linear forms over positions -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_ANALYSIS_LINEARFORM_H
#define ATTN_LIB_ANALYSIS_LINEARFORM_H

#include "attn/Analysis/KeyRanges.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attn {

/// constant + query * i + key * j + sum of factor * term. A term is an integer of the region that does not depend on
/// the axis the form is solved for, and whose extremes over a tile of the other axis are known: a run-time value (a
/// length), or a quotient of the tile's index.
struct LinearForm {
  int64_t constant = 0, query = 0, key = 0;
  int64_t getFactor(RangeAxis axis) const { return axis == RangeAxis::Queries ? query : key; }
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> terms;
  /// Run-time values in the predicate's arithmetic. If one is too large, the predicate wraps, and the form is wrong.
  llvm::SmallVector<mlir::Value, 2> wide;
};

/// An i1: whether an index is so small that arithmetic on it does not wrap.
mlir::Value isWithinRunTimeBits(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value);

/// The positions that a value of a region depends on.
struct Dependence {
  bool query = false, key = false;
  bool isOn(RangeAxis axis) const { return axis == RangeAxis::Queries ? query : key; }
  bool isOnAny() const { return query || key; }
};
Dependence getDependence(mlir::Value value, mlir::Region &region);

/// True where RangeBuilder::getBound of KeyRanges.cpp can bound the value over a tile, and the value does not depend on
/// the axis that the form is solved for.
bool isBoundable(mlir::Value value, mlir::Region &region, RangeAxis axis);

/// x floordiv n (or x div n for an x that is never negative) with a constant n > 0.
struct Quotient {
  mlir::Value dividend;
  int64_t divisor;
};
std::optional<Quotient> matchQuotient(mlir::Value value);

/// Converts comparisons of a mask_mod region to linear forms. Integers narrower than 64 bits wrap where a form does
/// not, so a form exists only if no row and key of the problem exceeds the type.
class LinearForms {
public:
  /// The forms are solved for `axis`.
  LinearForms(mlir::Region &region, RangeAxis axis, int64_t numQueries, int64_t numKeys)
      : region(region), axis(axis), numQueries(numQueries), numKeys(numKeys) {}

  /// Forms that are all >= 0 exactly where `lhs predicate rhs` holds; nullopt where there are none. Not for ne, which
  /// is not a conjunction.
  std::optional<llvm::SmallVector<LinearForm, 2>> get(mlir::arith::CmpIPredicate predicate, mlir::Value lhs,
                                                      mlir::Value rhs) const;

  /// The run-time values that must satisfy isWithinRunTimeBits for the form, and for bounds computed from it.
  llvm::SmallVector<mlir::Value> getWideValues(const LinearForm &form) const;

  /// True where the smallest value over all rows and keys is >= 0, as far as sizes are static.
  bool isAlwaysNonNegative(const LinearForm &form) const;

private:
  std::optional<LinearForm> get(mlir::Value value) const;
  std::optional<LinearForm> getWide(mlir::Value value) const;
  /// lhs <= rhs, where one side may be a quotient that contains the axis.
  std::optional<LinearForm> getLessEqual(mlir::Value lhs, mlir::Value rhs, int64_t slack) const;
  bool staysWithin64Bits(const LinearForm &form) const;
  bool fits(const LinearForm &form, mlir::Type type) const;

  mlir::Region &region;
  RangeAxis axis;
  int64_t numQueries, numKeys;
};

} // namespace attn

#endif // ATTN_LIB_ANALYSIS_LINEARFORM_H
