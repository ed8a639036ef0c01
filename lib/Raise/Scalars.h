//===- Scalars.h - expressions as ops in a region ---------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_SCALARS_H
#define ATTN_LIB_RAISE_SCALARS_H

#include "Domain.h"

namespace attn::raise {

/// True where `expr` is computed from the position of the score.
bool hasPosition(Elements &elements, ExprRef expr);

/// Builds expressions in a region of an attn op, with `type` for every float type. Elements of tensors become reads
/// (tensor.extract) of the last tensor on the way that does not depend on a position.
class ScalarBuilder {
public:
  ScalarBuilder(mlir::OpBuilder &builder, mlir::Location loc, Elements &elements, const Domain &domain, mlir::Type type)
      : builder(builder), loc(loc), elements(elements), domain(domain), type(type) {}

  /// Uses `value` for `expr`, and for expressions computed from it.
  void set(ExprRef expr, mlir::Value value) {
    known = expr;
    values[expr] = value;
  }
  mlir::FailureOr<mlir::Value> build(ExprRef expr);

private:
  bool dependsOnKnown(ExprRef expr);
  mlir::FailureOr<mlir::Value> buildNew(ExprRef unexpanded, ExprRef expr);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  Elements &elements;
  const Domain &domain;
  mlir::Type type;
  ExprRef known = nullptr;
  llvm::DenseMap<ExprRef, mlir::Value> values;
  llvm::DenseMap<ExprRef, bool> dependent;
};

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_SCALARS_H
