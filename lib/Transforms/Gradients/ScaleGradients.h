//===- ScaleGradients.h - the gradients of scale and kv_scale ---*- C++ -*-===//
//
// Where scales of an sdpa have gradients, its backward form has scaled operands: q' = scale q with scale 1, and K and V
// times their scales. Then
//   dq = scale dq',  dscale = sum q dq',  dkey_scale = sum k dk',  V likewise.
// No scale is a divisor, so a scale of 0 has a correct gradient. The scaled operands are in memory, in the accumulation
// type.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_SCALEGRADIENTS_H
#define ATTN_LIB_TRANSFORMS_SCALEGRADIENTS_H

#include "SdpaGradient.h"

namespace attn {

/// The operands that scales multiply, and the scales that are operands.
struct ScaledOperands {
  mlir::Value query, key, value, keyScale, valueScale, scale;
};

/// Builds the operands of the backward form of `sdpa` that scales change, at the builder's position.
class ScaleGradients {
public:
  ScaleGradients(mlir::OpBuilder &b, SdpaOp sdpa, const WantedGradients &wanted, const mlir::IRMapping &mapping);

  /// Fails where a scale is not aligned with K and V.
  mlir::LogicalResult scaleOperands(SdpaResults &results, llvm::function_ref<mlir::InFlightDiagnostic()> refuse);

  /// The operands of the backward form, and its scale if that is an attribute.
  const ScaledOperands &getOperands() const { return taken; }
  mlir::FloatAttr getScale() const { return scale; }

  /// The gradient of input `of`, given those of the backward form with these operands.
  mlir::Value getGradient(unsigned of, mlir::Value dquery, mlir::Value dkey, mlir::Value dvalue);

private:
  /// The map of the scales over the dimensions of K or V; null where they have a dimension that K or V lacks.
  mlir::AffineMap getScaleMap(llvm::StringRef operand);
  mlir::Value widen(mlir::Value x);
  /// x times a scalar, or times the elements of a tensor that `map` selects, in type `result`.
  mlir::Value multiply(mlir::Value x, mlir::Value factor, mlir::AffineMap map, mlir::Type result);
  /// The sum of x gradient over the dimensions that `map` drops. A term is 0 where gradient is 0, whatever x is.
  mlir::Value sumProducts(mlir::Value x, mlir::Value gradient, mlir::AffineMap map, mlir::Value like);

  mlir::OpBuilder &b;
  mlir::Location loc;
  SdpaOp sdpa;
  mlir::FloatType type; ///< of the accumulation
  mlir::Type queryGradientType;
  bool hasScale, hasKvScales;
  ScaledOperands given, taken; ///< those of sdpa; of the backward form
  mlir::FloatAttr scale;
};

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_SCALEGRADIENTS_H
