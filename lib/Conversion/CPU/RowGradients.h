//===- RowGradients.h - weights and gradients of a row ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_ROWGRADIENTS_H
#define ATTN_LIB_CONVERSION_CPU_ROWGRADIENTS_H

#include "BackwardProducts.h"
#include "attn/IR/ScoreFunctions.h"

namespace attn::cpu {

/// The part of a backward step between its products, for one row, with keys in the lanes:
///   P = 2^((score(S) - lse) log2 e), G = scale score_grad(P (weight_mod(dW) - delta))
class RowGradients {
public:
  RowGradients(VectorBuilder &vb, BackwardStepOp step, BackwardProducts &products);

  /// True if G is needed: for dQ, dK, or accumulations of regions and biases.
  bool hasGradients();
  /// weight_mod(P), if dV is requested, and G, if needed, of a row, by vector, from S in `scores` and dW in `dweights`,
  /// both (row, lane).
  std::pair<Values, Values> emit(const Panel &panel, mlir::Value row, mlir::Value scores, mlir::Value dweights);

private:
  mlir::Value loadScalar(mlir::Value memref, mlir::ValueRange indices);
  /// dbias += ds, summed over the keys if they share the bias.
  void addBiasGradient(mlir::Value ds, mlir::Value row, mlir::Value key, mlir::Value mask);

  VectorBuilder &vb;
  mlir::OpBuilder &b;
  mlir::Location loc;
  BackwardStepOp step;
  BackwardProducts &products;
  ScoreFunctions functions;
  LaneCode laneCode;
  LaneRegion scoreGrad;
  Operand dbias;
};

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_ROWGRADIENTS_H
