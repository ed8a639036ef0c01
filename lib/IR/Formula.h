//===- Formula.h - formulas over an op's domain as linalg -------*- C++ -*-===//
//
// The builder of the decompositions: one linalg.generic per step, over named
// dimensions of the op's iteration domain.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IR_FORMULA_H
#define ATTN_LIB_IR_FORMULA_H

#include "attn/IR/Decompose.h"

namespace attn {

using BodyFn = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;
using Values = llvm::SmallVector<mlir::Value>;

/// The scale of the scores of a sdpa or sdpa_backward: as written, or the default 1 / sqrt(D), where D is the head size
/// of Q and K; null if D is dynamic.
mlir::FloatAttr getStaticScale(mlir::Operation *op);

/// Builds linalg over a part of one op's iteration domain. Intermediate tensors hold (batch…, named dimensions…).
class Formula {
public:
  Formula(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Type type);

  /// The identity map of an intermediate with the given dimensions, over the whole domain.
  mlir::AffineMap getMap(llvm::ArrayRef<DimKind> dims);

  mlir::Value empty(llvm::ArrayRef<DimKind> dims, mlir::Type elementType = {});
  mlir::Value fill(mlir::Value tensor, double value);
  mlir::Value filled(llvm::ArrayRef<DimKind> dims, double value) { return fill(empty(dims), value); }

  /// One generic over the dimensions `loops` (of which `reduced` are a reduction). Maps are over the whole domain. The
  /// body gets its elements in the formula's type, the output's last, and returns the new element.
  mlir::Value generic(llvm::ArrayRef<DimKind> loops, llvm::ArrayRef<DimKind> reduced, mlir::ValueRange inputs,
                      llvm::ArrayRef<mlir::AffineMap> inputMaps, mlir::Value output, mlir::AffineMap outputMap,
                      BodyFn body);

  /// The linalg.index of attn.index inside a generic's body. kv_head is head floordiv G, with G from the map of the
  /// first operand that shares heads.
  mlir::Value getIndex(mlir::OpBuilder &nested, IndexOp index);

  mlir::Value convert(mlir::OpBuilder &nested, mlir::Value value, mlir::Type to) {
    return convertFloat(nested, loc, value, to);
  }

  /// An element of K or V in the formula's type. An i8 is converted here and not by `generic`, as it may be a boolean.
  mlir::Value widen(mlir::OpBuilder &nested, mlir::Value value) {
    return value.getType().isInteger(8) ? convertQuantised(nested, loc, value, mlir::cast<mlir::FloatType>(type))
                                        : value;
  }

  mlir::OpBuilder &builder;
  mlir::Operation *op;
  mlir::Location loc;
  mlir::Type type;
  unsigned numBatch;
  llvm::SmallVector<mlir::OpFoldResult> sizes;
  llvm::SmallVector<mlir::AffineMap> maps;

private:
  /// Positions of the batch dimensions, then of `dims`.
  llvm::SmallVector<unsigned> getPositions(llvm::ArrayRef<DimKind> dims);

  llvm::SmallVector<unsigned> domain; // of the generic being built
};

} // namespace attn

#endif // ATTN_LIB_IR_FORMULA_H
