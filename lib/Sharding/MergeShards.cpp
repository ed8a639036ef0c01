//===- MergeShards.cpp - attention over keys of several devices -----------===//
//
// Each device has out and, for its own keys, m, the largest score, and ln l. With M the largest m of the devices,
//
//   w = l exp(m - M), 0 where m is -inf;  W = sum of w over the devices
//   out = sum of (w / W) out, 0 where W is 0;  max = M;  log_sum = ln W
//
// In a single value lse = m + ln l, a large m would leave no bits for ln l.
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

/// `local` with max and log_sum instead of its own row results, and with an output that is not rounded yet.
static SdpaOp createPartial(OpBuilder &b, SdpaOp local, Type accumulation) {
  Location loc = local.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, local.getOutput());
  Value output = local.getOutput();
  if (cast<ShapedType>(output.getType()).getElementType() != accumulation)
    output = tensor::EmptyOp::create(b, loc, sizes, accumulation);
  sizes.pop_back();
  Value max = tensor::EmptyOp::create(b, loc, sizes, accumulation);
  Value logSum = tensor::EmptyOp::create(b, loc, sizes, accumulation);
  SmallVector<Value> operands;
  SmallVector<int32_t> segments;
  for (unsigned i = 0; i < local.getProperties().operandSegmentSizes.size(); ++i) {
    SmallVector<Value> segment(local.getODSOperands(i));
    if (i == SdpaOp::odsIndex_output)
      segment = {output};
    else if (i == SdpaOp::odsIndex_lse)
      segment.clear();
    else if (i == SdpaOp::odsIndex_max)
      segment = {max};
    else if (i == SdpaOp::odsIndex_log_sum)
      segment = {logSum};
    segments.push_back(segment.size());
    llvm::append_range(operands, segment);
  }
  NamedAttrList attributes(local->getAttrs());
  attributes.set(local.getOperandSegmentSizesAttrName(), b.getDenseI32ArrayAttr(segments));
  return SdpaOp::create(b, loc, TypeRange{output.getType(), max.getType(), logSum.getType()}, operands,
                        attributes.getAttrs());
}

SmallVector<Value> attn::mergeShards(OpBuilder &b, SdpaOp local, const DeviceGroup &group) {
  Location loc = local.getLoc();
  Type accumulation = getAccumulationType(cast<ShapedType>(local.getQuery().getType()).getElementType());
  b.setInsertionPointAfter(local);
  SdpaOp partial = createPartial(b, local, accumulation);
  Value out = partial->getResult(0), max = partial->getResult(1), logSum = partial->getResult(2);
  auto wideType = cast<RankedTensorType>(out.getType()), rowType = cast<RankedTensorType>(max.getType());
  SmallVector<Value> dynamic;
  std::tie(std::ignore, dynamic) = decomposeMixedValues(tensor::getMixedSizes(b, loc, max));
  auto splat = [&](double value) -> Value {
    Value scalar = arith::ConstantOp::create(b, loc, b.getFloatAttr(accumulation, value));
    return tensor::SplatOp::create(b, loc, rowType, scalar, dynamic);
  };

  // w = exp((m - M) + ln l); -inf - -inf is NaN, and a select replaces it.
  Value largest = group.reduce(b, loc, max, ReductionKind::Max), zero = splat(0);
  Value isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, max, splat(-INFINITY));
  Value exponent = arith::AddFOp::create(b, loc, arith::SubFOp::create(b, loc, max, largest), logSum);
  Value weight = arith::SelectOp::create(b, loc, isEmpty, zero, math::ExpOp::create(b, loc, exponent));
  Value sum = group.reduce(b, loc, weight, ReductionKind::Sum);
  Value hasNoKey = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, zero);
  Value factor = arith::DivFOp::create(b, loc, weight, sum);
  factor = arith::SelectOp::create(b, loc, hasNoKey, zero, factor);

  // out = sum of (w / W) out, in the accumulation type, rounded once.
  Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, out), accumulation);
  Value wideFactor =
      linalg::BroadcastOp::create(b, loc, factor, init, ArrayRef<int64_t>{wideType.getRank() - 1})->getResult(0);
  Value merged = group.reduce(b, loc, arith::MulFOp::create(b, loc, out, wideFactor), ReductionKind::Sum);
  if (Type outType = local.getOutput().getType(); outType != wideType)
    merged = arith::TruncFOp::create(b, loc, outType, merged);

  SmallVector<Value> results = {merged};
  Value mergedLogSum = math::LogOp::create(b, loc, sum);
  if (local.getLse())
    results.push_back(arith::AddFOp::create(b, loc, largest, mergedLogSum));
  if (local.getMax())
    results.push_back(largest);
  if (local.getLogSum())
    results.push_back(mergedLogSum);
  local.erase();
  return results;
}
