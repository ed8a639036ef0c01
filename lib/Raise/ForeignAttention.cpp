//===- ForeignAttention.cpp - attn.sdpa from foreign attention ops --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ForeignAttention.h"
#include "MaskOperands.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using namespace attn::raise;

Attribute attn::raise::getForeignAttribute(Operation *op, StringRef name) {
  if (Attribute attribute = op->getDiscardableAttr(name))
    return attribute;
  auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  return properties ? properties.get(name) : Attribute();
}

static Value createEmptyLike(OpBuilder &b, Location loc, Value like, Type element) {
  return tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, like), element);
}

Value attn::raise::convertElements(OpBuilder &b, Location loc, Value tensor, Type element) {
  if (getElementTypeOrSelf(tensor.getType()) == element)
    return tensor;
  return mapElements(b, loc, tensor, createEmptyLike(b, loc, tensor, element),
                     [&](OpBuilder &nested, Value value) { return convertFloat(nested, loc, value, element); });
}

/// The widest type of queries, keys, values and result: f32 for f16 and bf16 together.
static FailureOr<FloatType> findComputeType(Operation *op, const ForeignAttention &a) {
  FloatType widest;
  for (Value operand : {a.query, a.key, a.value, a.output}) {
    auto tensor = dyn_cast<RankedTensorType>(operand.getType());
    auto type = tensor ? dyn_cast<FloatType>(tensor.getElementType()) : FloatType();
    if (!type || !(type.isF16() || type.isBF16() || type.isF32() || type.isF64()))
      return op->emitError("expected queries, keys, values and a result that are ranked tensors of f16, bf16, f32 or "
                           "f64, found ")
             << operand.getType();
    if (!widest || type.getWidth() > widest.getWidth())
      widest = type;
    else if (type.getWidth() == widest.getWidth() && type != widest)
      widest = Float32Type::get(op->getContext());
  }
  return widest;
}

/// Takes the region as score_mod, with scores in the accumulation type.
static LogicalResult takeScoreMod(OpBuilder &b, Operation *op, SdpaOp sdpa, Region &region, Type accumulation) {
  Location loc = op->getLoc();
  Block &body = region.front();
  Operation *yield = &body.back();
  if (body.getNumArguments() != 1 || !isa<FloatType>(body.getArgument(0).getType()) || yield->getNumOperands() != 1 ||
      !isa<FloatType>(yield->getOperand(0).getType()))
    return op->emitError("expected a region that takes and yields one score, a float");
  for (Operation &nested : body)
    if (&nested != yield && !nested.isRegistered())
      return nested.emitError("expected ops of arith and math on a score, found ") << nested.getName();
  sdpa.getScoreMod().takeBody(region);
  BlockArgument narrow = body.getArgument(0);
  if (narrow.getType() != accumulation) {
    BlockArgument score = body.addArgument(accumulation, loc);
    b.setInsertionPointToStart(&body);
    narrow.replaceAllUsesWith(convertFloat(b, loc, score, narrow.getType()));
    body.eraseArgument(0);
  }
  b.setInsertionPoint(yield);
  YieldOp::create(b, loc, convertFloat(b, loc, yield->getOperand(0), accumulation));
  yield->erase();
  return success();
}

FailureOr<SdpaValues> attn::raise::createSdpa(OpBuilder &b, Operation *op, ForeignAttention a) {
  Location loc = op->getLoc();
  FailureOr<FloatType> compute = findComputeType(op, a);
  if (failed(compute))
    return failure();
  // 16-bit keys and values are widened where they are read.
  Type keys = getElementTypeOrSelf(a.key.getType());
  bool isNarrow =
      keys == getElementTypeOrSelf(a.value.getType()) && compute->isF32() && (keys.isF16() || keys.isBF16());
  a.query = convertElements(b, loc, a.query, *compute);
  if (!isNarrow) {
    a.key = convertElements(b, loc, a.key, *compute);
    a.value = convertElements(b, loc, a.value, *compute);
  }
  Value destination =
      getElementTypeOrSelf(a.output.getType()) == *compute ? a.output : createEmptyLike(b, loc, a.output, *compute);
  Type accumulation = getAccumulationType(*compute);
  Value lse;
  if (a.lseMap) { // the destination without its last dimension, the values
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, a.output);
    lse = tensor::EmptyOp::create(b, loc, ArrayRef(sizes).drop_back(), accumulation);
  }
  auto sdpa = SdpaOp::create(b, loc, a.query, a.key, a.value, destination, lse, ArrayRef<AffineMap>());
  SmallVector<AffineMap> maps = {a.queryMap, a.keyMap, a.valueMap};
  if (a.mask) {
    maps.push_back(a.maskMap);
    (getElementTypeOrSelf(a.mask.getType()).isInteger(1) ? sdpa.getMaskMutable() : sdpa.getBiasMutable())
        .assign(a.mask);
  }
  maps.push_back(a.outputMap);
  if (a.lseMap)
    maps.push_back(a.lseMap);
  sdpa.setMapsAttr(b.getAffineMapArrayAttr(maps));
  if (a.causal)
    sdpa.setCausalAttr(CausalAlignmentAttr::get(op->getContext(), CausalAlignment::TopLeft));
  FloatAttr constant;
  if (a.scale)
    sdpa.setScaleAttr(b.getF64FloatAttr(*a.scale));
  else if (a.scaleValue && matchPattern(a.scaleValue, m_Constant(&constant)))
    sdpa.setScaleAttr(b.getF64FloatAttr(constant.getValueAsDouble()));
  else if (a.scaleValue) {
    b.setInsertionPoint(sdpa);
    sdpa.getScaleValueMutable().assign(convertFloat(b, loc, a.scaleValue, accumulation));
  }
  if (a.scoreMod && a.scoreMod->front().getOperations().size() > 1 &&
      failed(takeScoreMod(b, op, sdpa, *a.scoreMod, accumulation)))
    return failure();
  b.setInsertionPoint(op);
  return SdpaValues{convertElements(b, loc, sdpa->getResult(0), getElementTypeOrSelf(a.output.getType())),
                    lse ? sdpa->getResult(1) : Value()};
}
