//===- MergeShards.cpp - attention over keys of several devices -----------===//
//
// Each device has (out, lse) of its own keys. With M the largest lse,
//
//   w = exp(lse - M), 0 where lse is -inf;  W = sum of w over the devices
//   out = sum of (w / W) out, 0 where W is 0;  lse = M + ln W
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MergeShards.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;
using shard::ReductionKind;

/// `local` with an lse, and with an output that is not rounded yet.
static SdpaOp addPartialResults(OpBuilder &b, SdpaOp local, Type accumulation) {
  auto type = cast<RankedTensorType>(local.getOutput().getType());
  if (local.getLse() && type.getElementType() == accumulation)
    return local;
  Location loc = local.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, local.getOutput());
  Value output = local.getOutput(), lse = local.getLse();
  if (type.getElementType() != accumulation)
    output = tensor::EmptyOp::create(b, loc, sizes, accumulation);
  if (!lse)
    lse = tensor::EmptyOp::create(b, loc, ArrayRef(sizes).drop_back(), accumulation);
  auto both =
      SdpaOp::create(b, loc, local.getQuery(), local.getKey(), local.getValue(), output, lse, ArrayRef<AffineMap>());
  for (auto [to, from] : {std::pair(both.getBiasMutable(), local.getBias()),
                          {both.getMaskMutable(), local.getMask()},
                          {both.getCausalOffsetMutable(), local.getCausalOffset()},
                          {both.getScaleValueMutable(), local.getScaleValue()}})
    if (from)
      to.assign(from);
  for (NamedAttribute attribute : local->getAttrs())
    if (attribute.getName() != local.getOperandSegmentSizesAttrName())
      both->setAttr(attribute.getName(), attribute.getValue());
  local.erase();
  return both;
}

SmallVector<Value> attn::mergeShards(OpBuilder &b, SdpaOp local, const DeviceGroup &group) {
  Location loc = local.getLoc();
  Type accumulation = getAccumulationType(cast<ShapedType>(local.getQuery().getType()).getElementType());
  auto outType = cast<RankedTensorType>(local.getOutput().getType());
  bool wantsLse = local.getLse() != Value();
  b.setInsertionPoint(local);
  SdpaOp both = addPartialResults(b, local, accumulation);
  b.setInsertionPointAfter(both);
  Value out = both->getResult(0), lse = both->getResult(1);
  auto wideType = cast<RankedTensorType>(out.getType()), lseType = cast<RankedTensorType>(lse.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, lse);
  SmallVector<Value> dynamic;
  std::tie(std::ignore, dynamic) = decomposeMixedValues(sizes);
  auto splat = [&](double value) -> Value {
    Value scalar = arith::ConstantOp::create(b, loc, b.getFloatAttr(accumulation, value));
    return tensor::SplatOp::create(b, loc, lseType, scalar, dynamic);
  };

  // w = exp(lse - M); -inf - -inf is NaN, and selected away.
  Value largest = group.reduce(b, loc, lse, ReductionKind::Max), zero = splat(0);
  Value isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, lse, splat(-INFINITY));
  Value weight = math::ExpOp::create(b, loc, arith::SubFOp::create(b, loc, lse, largest));
  weight = arith::SelectOp::create(b, loc, isEmpty, zero, weight);
  Value sum = group.reduce(b, loc, weight, ReductionKind::Sum);
  Value hasNoKey = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, zero);
  Value factor = arith::DivFOp::create(b, loc, weight, sum);
  factor = arith::SelectOp::create(b, loc, hasNoKey, zero, factor);

  // out = sum of (w / W) out, in the type of the accumulation, rounded once.
  Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, out), accumulation);
  Value wideFactor =
      linalg::BroadcastOp::create(b, loc, factor, init, ArrayRef<int64_t>{outType.getRank() - 1})->getResult(0);
  Value merged = group.reduce(b, loc, arith::MulFOp::create(b, loc, out, wideFactor), ReductionKind::Sum);
  if (outType != wideType)
    merged = arith::TruncFOp::create(b, loc, outType, merged);
  if (!wantsLse)
    return {merged};
  return {merged, arith::AddFOp::create(b, loc, largest, math::LogOp::create(b, loc, sum))};
}
