//===- ScaleGradients.cpp - the gradients of scale and kv_scale -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ScaleGradients.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

ScaleGradients::ScaleGradients(OpBuilder &b, SdpaOp sdpa, const WantedGradients &wanted, const IRMapping &mapping)
    : b(b), loc(sdpa.getLoc()), sdpa(sdpa),
      type(cast<FloatType>(getAccumulationType(getElementTypeOrSelf(sdpa.getQuery().getType())))),
      queryGradientType(wanted.inSumType ? type : getElementTypeOrSelf(sdpa.getQuery())),
      hasScale(wanted.contains(OfScale)), hasKvScales(wanted.contains(OfKeyScale) || wanted.contains(OfValueScale)) {
  auto map = [&](Value x) { return x ? mapping.lookup(x) : Value(); };
  taken = given = {map(sdpa.getQuery()),    map(sdpa.getKey()),        map(sdpa.getValue()),
                   map(sdpa.getKeyScale()), map(sdpa.getValueScale()), map(sdpa.getScaleValue())};
  scale = sdpa.getScaleAttr();
}

LogicalResult ScaleGradients::scaleOperands(SdpaResults &results, function_ref<InFlightDiagnostic()> refuse) {
  if (!hasScale && !hasKvScales)
    return success();
  // Q, out and dout have one type.
  taken.query = hasScale ? multiply(taken.query, given.scale, {}, type) : widen(taken.query);
  results.out = widen(results.out);
  results.dout = widen(results.dout);
  if (hasScale) {
    taken.scale = Value();
    scale = b.getF64FloatAttr(1);
  }
  if (!hasKvScales)
    return success();
  AffineMap ofKey = getScaleMap("key"), ofValue = getScaleMap("value");
  if (!ofKey || !ofValue)
    return refuse() << "expected K and V of each batch index and head of their own where their scales have gradients";
  taken.key = multiply(taken.key, given.keyScale, ofKey, type);
  taken.value = multiply(taken.value, given.valueScale, ofValue, type);
  taken.keyScale = taken.valueScale = Value();
  return success();
}

Value ScaleGradients::getGradient(unsigned of, Value dquery, Value dkey, Value dvalue) {
  switch (of) {
  case OfQuery:
    if (hasScale)
      return multiply(dquery, given.scale, {}, queryGradientType);
    return getElementTypeOrSelf(dquery) == queryGradientType ? dquery
                                                             : multiply(dquery, Value(), {}, queryGradientType);
  case OfScale: {
    AffineMap none = AffineMap::get(cast<ShapedType>(dquery.getType()).getRank(), 0, b.getContext());
    return sumProducts(given.query, dquery, none, given.scale);
  }
  case OfKeyScale: return sumProducts(given.key, dkey, getScaleMap("key"), given.keyScale);
  case OfValueScale: return sumProducts(given.value, dvalue, getScaleMap("value"), given.valueScale);
  default: llvm_unreachable("no gradient that scales change");
  }
}

AffineMap ScaleGradients::getScaleMap(StringRef operand) {
  AffineMap map;
  for (auto [each, spec] : llvm::zip(getMaps(sdpa), getOperandSpecs(sdpa)))
    if (spec.name == operand)
      map = each;
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : getKvScaleMap(sdpa).getResults()) {
    const auto *place = llvm::find(map.getResults(), expr);
    if (place != map.getResults().end())
      exprs.push_back(b.getAffineDimExpr(place - map.getResults().begin()));
    else if (isa<AffineConstantExpr>(expr))
      exprs.push_back(expr);
    else
      return {};
  }
  return AffineMap::get(map.getNumResults(), 0, exprs, b.getContext());
}

Value ScaleGradients::widen(Value x) {
  return getElementTypeOrSelf(x.getType()) == type ? x : multiply(x, Value(), {}, type);
}

Value ScaleGradients::multiply(Value x, Value factor, AffineMap map, Type result) {
  unsigned rank = cast<ShapedType>(x.getType()).getRank();
  SmallVector<Value> inputs = {x};
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(rank));
  if (map) {
    inputs.push_back(factor);
    maps.insert(maps.begin() + 1, map);
  }
  Value scalar = map || !factor ? Value() : convertFloat(b, loc, factor, type);
  Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, x), result);
  SmallVector<utils::IteratorType> parallel(rank, utils::IteratorType::parallel);
  auto build = [&](OpBuilder &nested, Location at, ValueRange elements) {
    Value element = isQuantised(elements[0].getType()) ? convertQuantised(nested, at, elements[0], type)
                                                       : convertFloat(nested, at, elements[0], type);
    if (Value by = map ? convertFloat(nested, at, elements[1], type) : scalar)
      element = arith::MulFOp::create(nested, at, element, by);
    linalg::YieldOp::create(nested, at, convertFloat(nested, at, element, result));
  };
  return linalg::GenericOp::create(b, loc, init.getType(), inputs, init, maps, parallel, build).getResult(0);
}

Value ScaleGradients::sumProducts(Value x, Value gradient, AffineMap map, Value like) {
  // In f64: there are many terms, of both signs.
  Type sumType = b.getF64Type(), resultType = getElementTypeOrSelf(like.getType());
  SmallVector<OpFoldResult> sizes;
  if (isa<ShapedType>(like.getType()))
    sizes = tensor::getMixedSizes(b, loc, like);
  Value zero = createFloatConstant(b, loc, sumType, 0);
  Value zeros =
      linalg::FillOp::create(b, loc, zero, tensor::EmptyOp::create(b, loc, sizes, sumType).getResult()).getResult(0);
  unsigned rank = map.getNumDims();
  SmallVector<utils::IteratorType> iterators;
  for (unsigned i = 0; i < rank; ++i)
    iterators.push_back(map.isFunctionOfDim(i) ? utils::IteratorType::parallel : utils::IteratorType::reduction);
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  auto build = [&](OpBuilder &nested, Location at, ValueRange elements) {
    Value element = isQuantised(elements[0].getType()) ? convertQuantised(nested, at, elements[0], type)
                                                       : convertFloat(nested, at, elements[0], type);
    Value factor = convertFloat(nested, at, elements[1], type), none = createFloatConstant(nested, at, type, 0);
    // Elements that no row keeps may be NaN.
    Value isUnused = arith::CmpFOp::create(nested, at, arith::CmpFPredicate::OEQ, factor, none);
    auto wide = [&](Value number) { return convertFloat(nested, at, number, sumType); };
    Value term = arith::MulFOp::create(nested, at, wide(element), wide(factor));
    term = arith::SelectOp::create(nested, at, isUnused, zero, term);
    linalg::YieldOp::create(nested, at, arith::AddFOp::create(nested, at, elements[2], term).getResult());
  };
  Value sum = linalg::GenericOp::create(b, loc, zeros.getType(), ValueRange{x, gradient}, zeros,
                                        ArrayRef<AffineMap>{identity, identity, map}, iterators, build)
                  .getResult(0);
  if (sumType == resultType)
    return sum;
  Value init = tensor::EmptyOp::create(b, loc, sizes, resultType);
  SmallVector<AffineMap> same(2, b.getMultiDimIdentityMap(sizes.size()));
  SmallVector<utils::IteratorType> parallel(sizes.size(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, loc, init.getType(), sum, init, same, parallel,
                                   [&](OpBuilder &nested, Location at, ValueRange elements) {
                                     linalg::YieldOp::create(nested, at,
                                                             convertFloat(nested, at, elements[0], resultType));
                                   })
      .getResult(0);
}
