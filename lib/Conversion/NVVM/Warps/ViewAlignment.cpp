//===- ViewAlignment.cpp - divisors of a view's offset and strides --------===//
//
// Rows are copied 16 bytes at a time if all of them start at multiples of 16 bytes. Types show this where strides and
// offsets are static; otherwise divisors follow from the chain of views. A buffer itself starts at a multiple of 16
// bytes (docs/GPU.md, "Launching").
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"
#include "attn/IR/Divisors.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <numeric>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Divisors of a contiguous memref's strides: the product of the static sizes of the inner dimensions.
static SmallVector<int64_t> getContiguousDivisors(MemRefType type) {
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t i = type.getRank() - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * (type.isDynamicDim(i + 1) ? 1 : type.getDimSize(i + 1));
  return strides;
}

int64_t attn::nvvm::getKnownPower(Value value) {
  auto getOther = [](Operation *op) {
    auto index = dyn_cast<IndexOp>(op);
    return index && index.getKind() == IndexKind::Key ? 0 : 1;
  };
  return std::gcd(getKnownDivisor(value, getOther), int64_t(64));
}

/// offset + sum of offset(i) * stride(i) of the source; dimensions that a view drops have no stride.
static ViewDivisors getDivisors(memref::SubViewOp view) {
  ViewDivisors source = getViewDivisors(view.getSource()), result{source.offset, {}};
  llvm::SmallBitVector isDropped = view.getDroppedDims();
  for (auto [i, stride] : llvm::enumerate(source.strides)) {
    OpFoldResult first = view.getMixedOffsets()[i];
    int64_t begin = getConstantIntValue(first).value_or(1);
    if (auto value = dyn_cast<Value>(first))
      begin = getKnownPower(value);
    result.offset = std::gcd(result.offset, begin * stride);
    if (!isDropped[i])
      result.strides.push_back(stride * getConstantIntValue(view.getMixedStrides()[i]).value_or(1));
  }
  return result;
}

ViewDivisors attn::nvvm::getViewDivisors(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  ViewDivisors divisors;
  if (auto view = memref.getDefiningOp<memref::SubViewOp>())
    divisors = getDivisors(view);
  else if (auto cast = memref.getDefiningOp<memref::CastOp>(); cast && isa<MemRefType>(cast.getSource().getType()))
    divisors = getViewDivisors(cast.getSource());
  else if (type.getLayout().isIdentity())
    divisors = {0, getContiguousDivisors(type)};
  else
    divisors = {1, SmallVector<int64_t>(type.getRank(), 1)};
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return divisors;
  if (!ShapedType::isDynamic(offset))
    divisors.offset = offset;
  for (auto [known, stride] : llvm::zip(divisors.strides, strides))
    if (!ShapedType::isDynamic(stride))
      known = stride;
  return divisors;
}
