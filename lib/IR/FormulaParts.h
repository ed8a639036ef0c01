//===- FormulaParts.h - what several ops are decomposed into ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IR_FORMULAPARTS_H
#define ATTN_LIB_IR_FORMULAPARTS_H

#include "Formula.h"
#include "attn/IR/Decompose.h"
#include "attn/IR/ScoreFunctions.h"

namespace attn {

/// out[i, j] += sum_d q[i, d] * k[j, d], or with a weight sum_d w[d] * tanh(q[i, d] + k[j, d])
mlir::Value buildScores(Formula &f, mlir::Value query, mlir::AffineMap queryMap, mlir::Value key,
                        mlir::AffineMap keyMap, mlir::Value output, mlir::AffineMap outputMap, mlir::Value weight = {});

/// out[i, e] += sum_j p[i, j] * v[j, e]
mlir::Value buildApply(Formula &f, mlir::Value weights, mlir::AffineMap weightsMap, mlir::Value value,
                       mlir::AffineMap valueMap, mlir::Value output, mlir::AffineMap outputMap);

/// The position of the body of a generic, for score functions; `elements` are those of the op's inputs.
class FormulaPosition : public ScorePosition {
public:
  FormulaPosition(Formula &f, mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange elements)
      : ScorePosition(b, loc, f.type), f(f), elements(elements) {}
  mlir::Value load(const ScoreOperand &operand) override;
  mlir::Value evaluate(mlir::Region &region, mlir::ValueRange arguments) override;

private:
  Formula &f;
  mlir::ValueRange elements;
};

/// Applies the score functions of an op to a tensor of scores, its first operand, or of weights.
mlir::Value buildElementwise(
    Formula &f, const ScoreFunctions &functions,
    llvm::function_ref<mlir::Value(ScorePosition &, const ScoreFunctions &, mlir::Value)> evaluate = evaluateScore);

/// (m == -inf) ? 0 : exp(x - m)
mlir::Value guardedExp(Formula &f, mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value m);

/// exp(min(score - max, 0) - logSum): the weight of a key, from the row's max and logSum of an earlier pass. The score
/// may be rounded differently than in that pass, hence the min. logSum may be null for 0; NaN stays NaN.
mlir::Value buildWeight(mlir::OpBuilder &b, mlir::Location loc, mlir::Value score, mlir::Value max, mlir::Value logSum);

/// The factor of a sum over keys when its maximum rises from `old` to `max`: (old == -inf) ? 0 : exp(old - max)
mlir::Value buildRescale(Formula &f, mlir::Value old, mlir::AffineMap oldMap, mlir::Value max, mlir::AffineMap maxMap);

/// max_j s[i, j], into `init`
mlir::Value buildRowMax(Formula &f, mlir::Value scores, mlir::AffineMap scoresMap, mlir::Value init,
                        mlir::AffineMap initMap);

/// init[i] + sum_j p[i, j]
mlir::Value buildRowSum(Formula &f, mlir::Value weights, mlir::AffineMap weightsMap, mlir::Value init,
                        mlir::AffineMap initMap);

/// buildRowResult for tensors of rows.
mlir::Value buildRowResults(Formula &f, RowResult kind, mlir::Value max, mlir::AffineMap maxMap, mlir::Value sum,
                            mlir::AffineMap sumMap, mlir::Value output, mlir::AffineMap map);

} // namespace attn

#endif // ATTN_LIB_IR_FORMULAPARTS_H
