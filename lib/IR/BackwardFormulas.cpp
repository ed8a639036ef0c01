//===- BackwardFormulas.cpp - the ops of the backward pass as linalg ------===//
//
// The formulas of attn.sdpa_backward's documentation, with the matrices of
// weights and of their gradients in memory.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardFormulas.h"
#include "FormulaParts.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace attn;

using enum DimKind;

static const double kInfinity = std::numeric_limits<double>::infinity();

static Value isEqualTo(OpBuilder &b, Location loc, Value x, double value) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, createFloatConstant(b, loc, x.getType(), value));
}

Value attn::zeroWhere(OpBuilder &b, Location loc, Value x, double value, Value y) {
  return arith::SelectOp::create(b, loc, isEqualTo(b, loc, x, value), createFloatConstant(b, loc, y.getType(), 0), y);
}

Value attn::accumulateProduct(Formula &f, Value factor, AffineMap factorMap, Value input, AffineMap inputMap,
                              Value output, AffineMap outputMap) {
  SmallVector<unsigned> kept;
  SmallVector<utils::IteratorType> iterators;
  for (unsigned position = 0; position < f.sizes.size(); ++position) {
    if (!factorMap.isFunctionOfDim(position) && !(input && inputMap.isFunctionOfDim(position)))
      continue;
    kept.push_back(position);
    bool isKept = llvm::is_contained(outputMap.getResults(), getAffineDimExpr(position, f.builder.getContext()));
    iterators.push_back(isKept ? utils::IteratorType::parallel : utils::IteratorType::reduction);
  }
  Values inputs = {factor};
  SmallVector<AffineMap> maps = {restrictDomain(factorMap, kept)};
  if (input) {
    inputs.push_back(input);
    maps.push_back(restrictDomain(inputMap, kept));
  }
  maps.push_back(restrictDomain(outputMap, kept));
  auto build = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value term = f.convert(b, args[0], f.type), sum = f.convert(b, args.back(), f.type);
    if (input)
      term = zeroWhere(b, loc, term, 0, arith::MulFOp::create(b, loc, term, f.convert(b, f.widen(b, args[1]), f.type)));
    linalg::YieldOp::create(b, loc, f.convert(b, arith::AddFOp::create(b, loc, sum, term), args.back().getType()));
  };
  return linalg::GenericOp::create(f.builder, f.loc, output.getType(), inputs, output, maps, iterators, build)
      .getResult(0);
}

Values attn::decomposeRowDelta(Formula &f, RowDeltaOp op) {
  // sum_e dout[i, e] * output[i, e]
  Value sum = f.generic({Query, DimKind::ValueSize}, {DimKind::ValueSize}, {op.getOutput(), op.getDout()},
                        {f.maps[0], f.maps[1]}, f.fill(f.empty({Query}), 0), f.getMap({Query}),
                        [](OpBuilder &b, Location loc, ValueRange x) -> Value {
                          return arith::AddFOp::create(b, loc, x[2], arith::MulFOp::create(b, loc, x[0], x[1]));
                        });
  Values inputs = {sum, op.getLse()};
  SmallVector<AffineMap> maps = {f.getMap({Query}), f.maps[2]};
  if (op.getDlse()) {
    inputs.push_back(op.getDlse());
    maps.push_back(f.maps[3]);
  }
  return {f.generic({Query}, {}, inputs, maps, op.getDelta(), f.maps.back(),
                    [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                      Value delta = op.getDlse() ? arith::SubFOp::create(b, loc, x[0], x[2]).getResult() : x[0];
                      return zeroWhere(b, loc, x[1], -kInfinity, delta);
                    })};
}

namespace {
/// The maps of a step by operand.
struct BackwardMaps {
  BackwardMaps(BackwardStepOp op, ArrayRef<AffineMap> maps) {
    unsigned next = 6;
    query = maps[0], key = maps[1], value = maps[2], lse = maps[3], dout = maps[4], delta = maps[5];
    for (auto [operand, map] :
         {std::pair(op.getLogSum(), &logSum), std::pair(op.getBias(), &bias), std::pair(op.getMask(), &mask)})
      if (operand)
        *map = maps[next++];
    for (auto [operand, map] : {std::pair(op.getDquery(), &dquery), std::pair(op.getDkey(), &dkey),
                                std::pair(op.getDvalue(), &dvalue), std::pair(op.getDbias(), &dbias)})
      if (operand)
        *map = maps[next++];
  }
  AffineMap query, key, value, lse, dout, delta, logSum, bias, mask, dquery, dkey, dvalue, dbias;
};

/// The position of the body of a generic over products; `bias` and `mask` are its elements of bias and mask.
class BackwardPosition : public FormulaPosition {
public:
  BackwardPosition(Formula &f, OpBuilder &b, Location loc, Value biasOperand = {}, Value bias = {}, Value mask = {})
      : FormulaPosition(f, b, loc, {}), biasOperand(biasOperand), bias(bias), mask(mask) {}
  Value load(const ScoreOperand &operand) override { return operand.value == biasOperand ? bias : mask; }

private:
  Value biasOperand, bias, mask;
};

/// The products Q K^T and dO V^T of an op, their map, and the maps of its other operands.
struct ScoreMatrices {
  Value products, weightGradients;
  AffineMap map, bias, mask, lse, delta, logSum;
};
} // namespace

/// p = exp(min(s - lse, 0) - log_sum), and 0 where the key is removed or the row is empty.
template <typename OpTy> static Value buildProbabilities(Formula &f, OpTy op, const ScoreMatrices &matrices) {
  // The order of the operands of score functions: score, bias, mask.
  Values inputs = {matrices.products};
  SmallVector<AffineMap> inputMaps = {matrices.map};
  for (auto [operand, map] : {std::pair(op.getBias(), matrices.bias), std::pair(op.getMask(), matrices.mask),
                              std::pair(op.getLse(), matrices.lse), std::pair(op.getLogSum(), matrices.logSum)})
    if (operand) {
      inputs.push_back(operand);
      inputMaps.push_back(map);
    }
  auto functions = ScoreFunctions::of(op);
  return f.generic({Query, Key}, {}, inputs, inputMaps, f.empty({Query, Key}), f.getMap({Query, Key}),
                   [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                     unsigned next = 1;
                     Value bias = op.getBias() ? x[next++] : Value(), mask = op.getMask() ? x[next++] : Value();
                     BackwardPosition at(f, b, loc, op.getBias(), bias, mask);
                     Value s = evaluateScore(at, functions, x[0]), lse = x[next];
                     Value p = buildWeight(b, loc, s, lse, op.getLogSum() ? x[next + 1] : Value());
                     return zeroWhere(b, loc, s, -kInfinity, zeroWhere(b, loc, lse, -kInfinity, p));
                   });
}

/// weight_mod of x where the weight is not 0: what the region reads for a removed key may be NaN.
static Value modifyWeight(Formula &f, OpBuilder &b, Location loc, Region &weightMod, Value weight, Value x) {
  if (weightMod.empty())
    return x;
  BackwardPosition at(f, b, loc);
  Value argument = f.convert(b, x, weightMod.getArgument(0).getType());
  return zeroWhere(b, loc, weight, 0, f.convert(b, at.evaluate(weightMod, argument), f.type));
}

/// p := weight_mod(p)
template <typename OpTy> static Value modifyWeights(Formula &f, OpTy op, Value weights) {
  if (op.getWeightMod().empty())
    return weights;
  AffineMap tile = f.getMap({Query, Key});
  return f.generic(
      {Query, Key}, {}, {weights}, {tile}, f.empty({Query, Key}), tile,
      [&](OpBuilder &b, Location loc, ValueRange x) { return modifyWeight(f, b, loc, op.getWeightMod(), x[0], x[0]); });
}

/// ds = p * (weight_mod(dw) - delta)
template <typename OpTy>
static Value buildScoreGradients(Formula &f, OpTy op, const ScoreMatrices &matrices, Value weights) {
  AffineMap tile = f.getMap({Query, Key});
  return f.generic({Query, Key}, {}, {weights, matrices.weightGradients, op.getDelta()},
                   {tile, matrices.map, matrices.delta}, f.empty({Query, Key}), tile,
                   [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                     Value dp = modifyWeight(f, b, loc, op.getWeightMod(), x[0], x[1]);
                     Value ds = arith::MulFOp::create(b, loc, x[0], arith::SubFOp::create(b, loc, dp, x[2]));
                     return zeroWhere(b, loc, x[0], 0, ds);
                   });
}

/// Clones score_grad without its accumulations into captured tensors.
static void cloneWithoutAccumulations(Region &region, Region &copy) {
  IRMapping mapping;
  region.cloneInto(&copy, mapping);
  for (AccumulateOp op : llvm::make_early_inc_range(copy.front().getOps<AccumulateOp>()))
    op.erase();
}

/// A sequential loop over all scores that does the accumulations of score_grad into captured tensors: the region
/// computes their positions.
static Values accumulateCaptures(Formula &f, BackwardStepOp op, Value products, Value gradients) {
  OpBuilder &b = f.builder;
  Location loc = f.loc;
  Region &region = op.getScoreGrad();
  if (op.getDcaptures().empty() || region.empty())
    return Values(op.getDcaptures());
  unsigned numLoops = f.numBatch + 2;
  Values lowers(numLoops, arith::ConstantIndexOp::create(b, loc, 0)), uppers,
      steps(numLoops, arith::ConstantIndexOp::create(b, loc, 1));
  for (OpFoldResult size : ArrayRef(f.sizes).take_front(numLoops))
    uppers.push_back(getValueOrCreateConstantIndexOp(b, loc, size));
  auto getPosition = [&](OpBuilder &nested, IndexKind kind, ValueRange ivs) -> Value {
    switch (kind) {
    case IndexKind::Batch: return ivs[0];
    case IndexKind::Head: return ivs[f.numBatch - 1];
    case IndexKind::KvHead:
      return affine::AffineApplyOp::create(nested, loc, getKvHeadMap(op), ValueRange{ivs[f.numBatch - 1]});
    case IndexKind::Query: return ivs[f.numBatch];
    default: return ivs[f.numBatch + 1];
    }
  };
  auto addScore = [&](OpBuilder &nested, Location at, ValueRange ivs, ValueRange sums) {
    IRMapping mapping;
    Values captures(sums);
    for (auto [argument, tensor] : llvm::zip(region.getArguments(), Values{products, gradients})) {
      Value element = tensor::ExtractOp::create(nested, at, tensor, ivs);
      mapping.map(argument, f.convert(nested, element, argument.getType()));
    }
    for (Operation &inner : region.front().without_terminator()) {
      if (auto index = dyn_cast<IndexOp>(inner)) {
        mapping.map(index.getResult(), getPosition(nested, index.getKind(), ivs));
        continue;
      }
      auto accumulate = dyn_cast<AccumulateOp>(inner);
      if (!accumulate) {
        nested.clone(inner, mapping);
        continue;
      }
      Value &sum = captures[llvm::find(op.getDcaptures(), accumulate.getDestination()) - op.getDcaptures().begin()];
      Values position =
          llvm::map_to_vector(accumulate.getIndices(), [&](Value index) { return mapping.lookupOrDefault(index); });
      Value old = tensor::ExtractOp::create(nested, at, sum, position);
      Value term = f.convert(nested, mapping.lookupOrDefault(accumulate.getValue()), old.getType());
      sum = tensor::InsertOp::create(nested, at, arith::AddFOp::create(nested, at, old, term), sum, position);
    }
    return scf::ValueVector(captures.begin(), captures.end());
  };
  scf::LoopNest nest = scf::buildLoopNest(b, loc, lowers, uppers, steps, op.getDcaptures(), addScore);
  return Values(nest.results);
}

/// scale * x, the scale of the scores of `op`
template <typename OpTy> static Value multiplyByScale(Formula &f, OpTy op, Value x, AffineMap map) {
  AffineMap tile = f.getMap({Query, Key});
  ScoreFunctions factor;
  factor.scale = ScoreFunctions::of(op).scale;
  factor.scaleValue = op.getScaleValue();
  return f.generic({Query, Key}, {}, {x}, {map}, f.empty({Query, Key}), tile,
                   [&](OpBuilder &b, Location loc, ValueRange e) -> Value {
                     BackwardPosition at(f, b, loc);
                     return scaleScore(at, factor, e[0]);
                   });
}

/// g = score_grad(t, ds), where p is not 0
template <typename OpTy>
static Value differentiateScores(Formula &f, OpTy op, Value products, Value gradients, Value weights) {
  if (op.getScoreGrad().empty())
    return gradients;
  AffineMap tile = f.getMap({Query, Key});
  Region grad;
  cloneWithoutAccumulations(op.getScoreGrad(), grad);
  Type type = grad.getArgument(0).getType();
  return f.generic({Query, Key}, {}, {products, gradients, weights}, {tile, tile, tile}, f.empty({Query, Key}), tile,
                   [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                     Values arguments = {f.convert(b, x[0], type), f.convert(b, x[1], type)};
                     Value g =
                         inlineRegion(b, grad, arguments, [&](IndexOp index) { return f.getIndex(b, index); }).front();
                     return zeroWhere(b, loc, x[2], 0, f.convert(b, g, f.type));
                   });
}

Values attn::decomposeBackwardStep(Formula &f, BackwardStepOp op) {
  BackwardMaps maps(op, f.maps);
  AffineMap tile = f.getMap({Query, Key});
  // p = exp(min(s(q k^T) - lse, 0) - log_sum), t = scale * q k^T
  ScoreMatrices matrices{{}, {}, tile, maps.bias, maps.mask, maps.lse, maps.delta, maps.logSum};
  matrices.products = buildScores(f, op.getQuery(), maps.query, op.getKey(), maps.key, f.empty({Query, Key}), tile);
  Value weights = buildProbabilities(f, op, matrices), products = multiplyByScale(f, op, matrices.products, tile);
  // dw = dout v^T, ds = p (z dw - delta)
  matrices.weightGradients =
      accumulateProduct(f, op.getDout(), maps.dout, op.getValue(), maps.value, f.filled({Query, Key}, 0), tile);
  Value scoreGradients = buildScoreGradients(f, op, matrices, weights);
  Value dbias = op.getDbias();
  if (dbias)
    dbias = accumulateProduct(f, scoreGradients, tile, {}, {}, dbias, maps.dbias);
  Value gradients = differentiateScores(f, op, products, scoreGradients, weights);
  Values captures = accumulateCaptures(f, op, products, scoreGradients);
  gradients = multiplyByScale(f, op, gradients, tile);
  weights = modifyWeights(f, op, weights);
  // dq += scale g k, dk += scale g^T q, dv += (p z)^T dout
  Values results;
  if (Value dquery = op.getDquery())
    results.push_back(accumulateProduct(f, gradients, tile, op.getKey(), maps.key, dquery, maps.dquery));
  if (Value dkey = op.getDkey())
    results.push_back(accumulateProduct(f, gradients, tile, op.getQuery(), maps.query, dkey, maps.dkey));
  if (Value dvalue = op.getDvalue())
    results.push_back(accumulateProduct(f, weights, tile, op.getDout(), maps.dout, dvalue, maps.dvalue));
  if (dbias)
    results.push_back(dbias);
  llvm::append_range(results, captures);
  return results;
}

Values attn::decomposeScoreGradients(Formula &f, ScoreGradientsOp op) {
  ScoreMatrices matrices{op.getScores(), op.getDweights(), f.maps[0], {}, {}, f.maps[1], {}, {}};
  for (auto [map, spec] : llvm::zip(f.maps, getOperandSpecs(op))) {
    if (spec.name == "delta")
      matrices.delta = map;
    else if (spec.name == "log_sum")
      matrices.logSum = map;
    else if (spec.name == "bias")
      matrices.bias = map;
    else if (spec.name == "mask")
      matrices.mask = map;
  }
  AffineMap tile = f.getMap({Query, Key});
  auto copy = [&](Value x, Value output) {
    return f.generic({Query, Key}, {}, {x}, {tile}, output, matrices.map,
                     [](OpBuilder &, Location, ValueRange e) { return e[0]; });
  };
  Value weights = buildProbabilities(f, op, matrices);
  Values results;
  if (op.getWeights())
    results.push_back(copy(modifyWeights(f, op, weights), op.getWeights()));
  if (op.getGradients()) {
    Value ds = buildScoreGradients(f, op, matrices, weights),
          t = multiplyByScale(f, op, matrices.products, matrices.map);
    Value gradients = multiplyByScale(f, op, differentiateScores(f, op, t, ds, weights), tile);
    results.push_back(copy(gradients, op.getGradients()));
  }
  return results;
}
