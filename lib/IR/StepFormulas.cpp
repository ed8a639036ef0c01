//===- StepFormulas.cpp - the ops of a step as linalg ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepFormulas.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attn;

using enum DimKind;

/// scale * s; s without a scale
static Value multiplyByScale(Formula &f, OpBuilder &b, Location loc, Value s, std::optional<APFloat> scale) {
  if (!scale || scale->isExactlyValue(1))
    return s;
  return arith::MulFOp::create(b, loc, s, createFloatConstant(b, loc, f.type, scale->convertToDouble()));
}

Values attn::decomposeProduct(Formula &f, ProductOp op) {
  if (op.getContraction() == Contraction::Values) {
    // out[i, e] (+)= sum_j lhs[i, j] * rhs[j, e]
    Value output = op.getAccumulate() ? op.getOutput() : f.fill(op.getOutput(), 0);
    return {buildApply(f, op.getLhs(), f.maps[0], op.getRhs(), f.maps[1], output, f.maps[2])};
  }
  // out[i, j] (+)= sum_d lhs[i, d] * rhs[j, d]
  Value output = op.getAccumulate() ? f.empty({Query, Key}) : op.getOutput();
  AffineMap map = op.getAccumulate() ? f.getMap({Query, Key}) : f.maps[2];
  Value product = buildScores(f, op.getLhs(), f.maps[0], op.getRhs(), f.maps[1], output, map, op.getScoreWeight());
  if (!op.getAccumulate())
    return {product};
  return {f.generic(
      {Query, Key}, {}, {product}, {map}, op.getOutput(), f.maps[2],
      [](OpBuilder &b, Location loc, ValueRange x) -> Value { return arith::AddFOp::create(b, loc, x[1], x[0]); })};
}

Values attn::decomposeRowMax(Formula &f, RowMaxOp op) {
  // n = max(m, scale * s_j) over j
  Value max = f.generic({Query}, {}, {op.getRowMax()}, {f.maps[1]}, op.getOutput(), f.maps[2],
                        [](OpBuilder &, Location, ValueRange x) { return x[0]; });
  return {f.generic({Query, Key}, {Key}, {op.getScores()}, {f.maps[0]}, max, f.maps[2],
                    [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                      return arith::MaximumFOp::create(b, loc, x[1], multiplyByScale(f, b, loc, x[0], op.getScale()));
                    })};
}

Values attn::decomposeRescale(Formula &f, RescaleOp op) {
  // alpha = (m == -inf) ? 0 : exp(m - n)
  Value alpha = buildRescale(f, op.getRowMax(), f.maps[2], op.getNewMax(), f.maps[0]);
  AffineMap rowMap = f.getMap({Query});
  auto multiply = [&](ArrayRef<DimKind> dims, Value output, AffineMap map) {
    return f.generic(dims, {}, {alpha}, {rowMap}, output, map, [](OpBuilder &b, Location loc, ValueRange x) -> Value {
      return arith::MulFOp::create(b, loc, x[0], x[1]);
    });
  };
  // l' = alpha * l, acc' = alpha * acc, m' = n; m is written last, so that a loop can carry the state in place
  Value sum = multiply({Query}, op.getRowSum(), f.maps[3]);
  Value acc = multiply({Query, DimKind::ValueSize}, op.getAcc(), f.maps[1]);
  Value max = f.generic({Query}, {}, {op.getNewMax()}, {f.maps[0]}, op.getRowMax(), f.maps[2],
                        [](OpBuilder &, Location, ValueRange x) { return x[0]; });
  return {acc, max, sum};
}

Values attn::decomposeWeights(Formula &f, WeightsOp op) {
  // p = (m == -inf) ? 0 : exp(scale * s - m)
  Value weights = f.generic({Query, Key}, {}, {op.getScores(), op.getRowMax()}, {f.maps[0], f.maps[1]}, op.getOutput(),
                            f.maps[2], [&](OpBuilder &b, Location loc, ValueRange x) {
                              return guardedExp(f, b, loc, multiplyByScale(f, b, loc, x[0], op.getScale()), x[1]);
                            });
  // l' = l + sum_j p
  Value sum = buildRowSum(f, weights, f.maps[2], op.getRowSum(), f.maps[3]);
  if (op.getWeightMod().empty())
    return {weights, sum};
  auto functions = ScoreFunctions::of(op);
  // p' = weight_mod(p)
  weights = f.generic({Query, Key}, {}, {weights}, {f.maps[2]}, f.empty({Query, Key}), f.getMap({Query, Key}),
                      [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                        FormulaPosition at(f, b, loc, x);
                        return evaluateWeight(at, functions, x[0]);
                      });
  if (f.getMap({Query, Key}) == f.maps[2])
    return {weights, sum};
  return {f.generic({Query, Key}, {}, {weights}, {f.getMap({Query, Key})}, op.getOutput(), f.maps[2],
                    [](OpBuilder &, Location, ValueRange x) { return x[0]; }),
          sum};
}
