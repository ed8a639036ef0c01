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

/// What a row of a backward step is between its products, keys in the lanes:
///   P = 2^((score(S) - lse) log2 e), G = scale score_grad(P (weight_mod(dW) - delta))
class RowGradients {
public:
  RowGradients(VectorBuilder &vb, BackwardStepOp step, BackwardProducts &products);

  /// True where G is asked for: for dQ, dK, or what regions and biases add up.
  bool hasGradients();
  /// weight_mod(P), where dV is asked for, and G, where G is, of a row, by vector, of S in `scores` and dW in
  /// `dweights`, both (row, lane).
  std::pair<Values, Values> emit(const Panel &panel, mlir::Value row, mlir::Value scores, mlir::Value dweights);

private:
  mlir::Value loadScalar(mlir::Value memref, mlir::ValueRange indices);
  /// dbias += ds, summed over the keys where the bias is one for all of them.
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
