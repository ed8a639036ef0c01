//===- ChainGradients.cpp - the gradients of the chain's ops as linalg ----===//
//
// One rule an op, G1 to G13 of docs/Semantics.md, for chains that are no
// attn.sdpa: what attn.reference's scores_backward … apply_backward say.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardFormulas.h"
#include "FormulaParts.h"
#include "attn/IR/Derivative.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace attn;

using enum DimKind;
using EmitError = llvm::function_ref<InFlightDiagnostic()>;

static const double kInfinity = std::numeric_limits<double>::infinity();

/// An empty tensor with the sizes of `like`, in the formula's type.
static Value createEmpty(Formula &f, Value like) {
  return tensor::EmptyOp::create(f.builder, f.loc, tensor::getMixedSizes(f.builder, f.loc, like), f.type);
}
static Value createZeros(Formula &f, Value like) { return f.fill(createEmpty(f, like), 0); }

/// output += sum of body over the batch dimensions and `loops` that the map of the output lacks.
static Value accumulate(Formula &f, ArrayRef<DimKind> loops, ValueRange inputs, ArrayRef<AffineMap> inputMaps,
                        Value output, AffineMap outputMap, BodyFn body) {
  auto kept = llvm::to_vector(llvm::seq<unsigned>(0, f.numBatch));
  for (DimKind kind : loops)
    kept.push_back(getDomainPosition(f.op, kind));
  SmallVector<utils::IteratorType> iterators;
  for (unsigned position : kept)
    iterators.push_back(outputMap.getResultPosition(getAffineDimExpr(position, f.op->getContext()))
                            ? utils::IteratorType::parallel
                            : utils::IteratorType::reduction);
  SmallVector<AffineMap> maps;
  for (AffineMap map : inputMaps)
    maps.push_back(restrictDomain(map, kept));
  maps.push_back(restrictDomain(outputMap, kept));
  auto build = [&](OpBuilder &b, Location loc, ValueRange args) {
    Values elements = llvm::map_to_vector(args, [&](Value arg) { return f.convert(b, arg, f.type); });
    Value term = body(b, loc, elements);
    linalg::YieldOp::create(b, loc, arith::AddFOp::create(b, loc, args.back(), term).getResult());
  };
  return linalg::GenericOp::create(f.builder, f.loc, output.getType(), inputs, output, maps, iterators, build)
      .getResult(0);
}

/// The gradient of an operand that heads share: the sum per head, which is a matrix product, then the sum over the
/// heads of a group.
static Value buildProduct(Formula &f, Value factor, AffineMap factorMap, Value input, AffineMap inputMap,
                          ArrayRef<DimKind> dims, Value operand, AffineMap operandMap) {
  if (operandMap.isProjectedPermutation())
    return accumulateProduct(f, factor, factorMap, input, inputMap, createZeros(f, operand), operandMap);
  Value perHead = accumulateProduct(f, factor, factorMap, input, inputMap, f.filled(dims, 0), f.getMap(dims));
  return accumulateProduct(f, perHead, f.getMap(dims), {}, {}, createZeros(f, operand), operandMap);
}

/// out[i, j] = body(ds, others…)
static Value mapScores(Formula &f, ValueRange inputs, ArrayRef<AffineMap> inputMaps, BodyFn body) {
  return f.generic({Query, Key}, {}, inputs, inputMaps, f.empty({Query, Key}), f.getMap({Query, Key}), body);
}

/// The gradient of scores has the layout of intermediates; this converts it to the layout of an operand.
static Value inLayoutOf(Formula &f, Value gradient, Value operand, AffineMap map) {
  if (map == f.getMap({Query, Key}))
    return gradient;
  return f.generic({Query, Key}, {}, {gradient}, {f.getMap({Query, Key})}, createEmpty(f, operand), map,
                   [](OpBuilder &, Location, ValueRange x) { return x[0]; });
}

static void differentiateScores(Formula &f, ScoresOp op, GradientFlow &flow) {
  Value ds = flow.cotangents[0], query = op.getQuery(), key = op.getKey();
  AffineMap tile = f.maps[2];
  auto fill = [&](unsigned i, function_ref<Value()> build) {
    if (flow.wanted[i])
      flow.gradients[i] = build();
  };
  if (op.getWeights().empty()) {
    // dq = ds K, dk = dsᵀ Q
    fill(0, [&] { return buildProduct(f, ds, tile, key, f.maps[1], {Query, HeadSize}, query, f.maps[0]); });
    fill(1, [&] { return buildProduct(f, ds, tile, query, f.maps[0], {Key, HeadSize}, key, f.maps[1]); });
    return;
  }
  // u = tanh(q + k):  d(q + k) = ds w (1 − u²),  dw = Σ ds u
  AffineMap weightMap = AffineMap::get(
      f.sizes.size(), 0, {getAffineDimExpr(getDomainPosition(op, HeadSize), op.getContext())}, op.getContext());
  Values inputs = {ds, op.getWeights().front(), query, key};
  SmallVector<AffineMap> maps = {tile, weightMap, f.maps[0], f.maps[1]};
  auto ofRows = [](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Value slope = buildTanhSlope(b, loc, arith::AddFOp::create(b, loc, x[2], x[3]));
    Value product = arith::MulFOp::create(b, loc, x[0], arith::MulFOp::create(b, loc, x[1], slope));
    return zeroWhere(b, loc, x[0], 0, product);
  };
  auto ofWeight = [](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Value u = math::TanhOp::create(b, loc, arith::AddFOp::create(b, loc, x[2], x[3]));
    return zeroWhere(b, loc, x[0], 0, arith::MulFOp::create(b, loc, x[0], u));
  };
  auto sum = [&](Value operand, AffineMap map, BodyFn body) {
    return accumulate(f, {Query, Key, HeadSize}, inputs, maps, createZeros(f, operand), map, body);
  };
  fill(0, [&] { return sum(query, f.maps[0], ofRows); });
  fill(1, [&] { return sum(key, f.maps[1], ofRows); });
  fill(3, [&] { return sum(op.getWeights().front(), weightMap, ofWeight); });
}

/// ds (1 − t²), t = tanh(s / c)
static Value differentiateSoftcap(Formula &f, SoftcapOp op, Value ds) {
  double cap = op.getSoftcap().convertToDouble();
  return mapScores(f, {ds, op.getInput()}, {f.maps[1], f.maps[0]}, [&](OpBuilder &b, Location loc, ValueRange x) {
    Value ratio = arith::DivFOp::create(b, loc, x[1], createFloatConstant(b, loc, f.type, cap));
    return zeroWhere(b, loc, x[0], 0, arith::MulFOp::create(b, loc, x[0], buildTanhSlope(b, loc, ratio)));
  });
}

/// score_grad(s, ds)
static FailureOr<Value> differentiateModify(Formula &f, ModifyOp op, Value ds, EmitError emitError) {
  Region grad;
  if (failed(buildScoreGradient(f.builder, f.loc, op.getScoreMod(), grad, {}, {}, emitError)))
    return failure();
  Type type = grad.getArgument(0).getType();
  return mapScores(f, {ds, op.getInput()}, {f.maps[1], f.maps[0]}, [&](OpBuilder &b, Location, ValueRange x) {
    Values arguments = {f.convert(b, x[1], type), f.convert(b, x[0], type)};
    Value g = inlineRegion(b, grad, arguments, [&](IndexOp index) { return f.getIndex(b, index); }).front();
    return f.convert(b, g, f.type);
  });
}

/// ds where the key is kept, summed over the dimensions that the bias broadcasts.
static void differentiateMask(Formula &f, MaskOp op, GradientFlow &flow) {
  AffineMap out = f.maps.back();
  Value ds =
      mapScores(f, {flow.cotangents[0], flow.results[0]}, {out, out},
                [&](OpBuilder &b, Location loc, ValueRange x) { return zeroWhere(b, loc, x[1], -kInfinity, x[0]); });
  AffineMap tile = f.getMap({Query, Key});
  if (flow.wanted[0])
    flow.gradients[0] = inLayoutOf(f, ds, op.getInput(), f.maps[0]);
  if (op.getBias() && flow.wanted[1])
    flow.gradients[1] = accumulateProduct(f, ds, tile, {}, {}, createZeros(f, op.getBias()), f.maps[1]);
}

/// Δ = Σ_j p dp − dlse, ds = p (dp − Δ), dsink = −Σ exp(min(sink − lse, 0)) Δ
static void differentiateSoftmax(Formula &f, SoftmaxOp op, GradientFlow &flow) {
  Value weights = flow.results[0], dweights = flow.cotangents[0], dlse = op.getLse() ? flow.cotangents[1] : Value();
  AffineMap tile = f.maps[1], row = f.getMap({Query}), lseMap = op.getLse() ? f.maps[2] : AffineMap();
  Value delta = f.filled({Query}, 0);
  if (dweights)
    delta = f.generic({Query, Key}, {Key}, {weights, dweights}, {tile, tile}, delta, row,
                      [](OpBuilder &b, Location loc, ValueRange x) -> Value {
                        Value product = zeroWhere(b, loc, x[0], 0, arith::MulFOp::create(b, loc, x[0], x[1]));
                        return arith::AddFOp::create(b, loc, x[2], product);
                      });
  if (dlse)
    delta = f.generic(
        {Query}, {}, {delta, dlse}, {row, lseMap}, f.empty({Query}), row,
        [](OpBuilder &b, Location loc, ValueRange x) -> Value { return arith::SubFOp::create(b, loc, x[0], x[1]); });
  if (flow.wanted[0]) {
    Values inputs = {weights, delta};
    SmallVector<AffineMap> maps = {tile, row};
    if (dweights) {
      inputs.push_back(dweights);
      maps.push_back(tile);
    }
    Value ds = mapScores(f, inputs, maps, [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
      Value difference = dweights ? arith::SubFOp::create(b, loc, x[2], x[1]).getResult()
                                  : arith::NegFOp::create(b, loc, x[1]).getResult();
      return zeroWhere(b, loc, x[0], 0, arith::MulFOp::create(b, loc, x[0], difference));
    });
    flow.gradients[0] = inLayoutOf(f, ds, op.getInput(), f.maps[0]);
  }
  if (!op.getSink() || !flow.wanted[op.getSinkMutable().begin()->getOperandNumber()])
    return;
  AffineMap perHead =
      AffineMap::get(f.sizes.size(), 0, {getAffineDimExpr(f.numBatch - 1, op.getContext())}, op.getContext());
  flow.gradients[op.getSinkMutable().begin()->getOperandNumber()] =
      accumulate(f, {Query}, {op.getSink(), flow.results[1], delta}, {perHead, lseMap, row},
                 createZeros(f, op.getSink()), perHead, [](OpBuilder &b, Location loc, ValueRange x) -> Value {
                   Value share = buildWeight(b, loc, x[0], x[1], /*logSum=*/{});
                   Value term = arith::NegFOp::create(b, loc, arith::MulFOp::create(b, loc, share, x[2]));
                   return zeroWhere(b, loc, x[1], -kInfinity, term);
                 });
}

/// dp = dout Vᵀ, dv = Pᵀ dout
static void differentiateApply(Formula &f, ApplyOp op, GradientFlow &flow) {
  Value dout = flow.cotangents[0];
  if (flow.wanted[0])
    flow.gradients[0] =
        accumulateProduct(f, dout, f.maps[2], op.getValue(), f.maps[1], createZeros(f, op.getWeights()), f.maps[0]);
  if (flow.wanted[1])
    flow.gradients[1] = buildProduct(f, op.getWeights(), f.maps[0], dout, f.maps[2], {Key, DimKind::ValueSize},
                                     op.getValue(), f.maps[1]);
}

/// The op is linear: its gradient is the op itself applied to the cotangent.
template <typename OpTy> static Value applyAgain(Formula &f, OpTy op, Value ds) {
  IRMapping mapping;
  mapping.map(op.getInput(), ds);
  mapping.map(op.getOutput(), createEmpty(f, op.getInput()));
  auto again = cast<OpTy>(f.builder.clone(*op, mapping));
  again->getResult(0).setType(cast<RankedTensorType>(again.getOutput().getType()));
  // Swapped maps: from the layout of the output to that of the input.
  if (getExplicitMaps(op))
    again.setMapsAttr(f.builder.getAffineMapArrayAttr({f.maps[1], f.maps[0]}));
  return again->getResult(0);
}

LogicalResult attn::buildChainGradients(OpBuilder &builder, GradientFlow &flow, EmitError emitError) {
  Operation *op = flow.op;
  if (!isChainOp(op))
    return emitError() << "expected ops that have a gradient, found " << op->getName()
                       << ", which has none; pass what it computes as an argument";
  auto isWanted = [&](Value operand) {
    return operand && flow.wanted[llvm::find(op->getOperands(), operand) - op->operand_begin()];
  };
  if (auto scale = dyn_cast<ScaleOp>(op); scale && isWanted(scale.getScaleValue()))
    return emitError() << "expected a scale without a gradient in a chain that does not fuse, found one asked for; "
                          "leave it out";
  Formula f(builder, op, getAccumulationType(getElementTypeOrSelf(op->getOperand(0).getType())));
  Value cotangent = flow.cotangents[0];
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ScoresOp scores) { return differentiateScores(f, scores, flow), success(); })
      .Case([&](ScaleOp scale) { return flow.gradients[0] = applyAgain(f, scale, cotangent), success(); })
      .Case([&](DropoutOp dropout) { return flow.gradients[0] = applyAgain(f, dropout, cotangent), success(); })
      .Case([&](SoftcapOp softcap) {
        flow.gradients[0] = inLayoutOf(f, differentiateSoftcap(f, softcap, cotangent), softcap.getInput(), f.maps[0]);
        return success();
      })
      .Case([&](ModifyOp modify) -> LogicalResult {
        FailureOr<Value> ds = differentiateModify(f, modify, cotangent, emitError);
        if (failed(ds))
          return failure();
        flow.gradients[0] = inLayoutOf(f, *ds, modify.getInput(), f.maps[0]);
        return success();
      })
      .Case([&](MaskOp mask) { return differentiateMask(f, mask, flow), success(); })
      .Case([&](SoftmaxOp softmax) { return differentiateSoftmax(f, softmax, flow), success(); })
      .Case([&](ApplyOp apply) { return differentiateApply(f, apply, flow), success(); })
      .Default([](Operation *) { return failure(); });
}
