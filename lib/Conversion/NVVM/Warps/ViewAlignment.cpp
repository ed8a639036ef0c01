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
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static constexpr int64_t kLargestPower = 64;

/// Divisors of a contiguous memref's strides: the product of the static sizes of the inner dimensions.
static SmallVector<int64_t> getContiguousDivisors(MemRefType type) {
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t i = type.getRank() - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * (type.isDynamicDim(i + 1) ? 1 : type.getDimSize(i + 1));
  return strides;
}

static int64_t limitPower(int64_t value) { return value == 0 ? kLargestPower : std::gcd(value, kLargestPower); }

/// Of an expression, from those of its operands.
static int64_t getKnownPower(AffineExpr expr, ArrayRef<int64_t> operands, unsigned numDims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return limitPower(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operands[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return operands[numDims + symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t left = getKnownPower(binary.getLHS(), operands, numDims),
          right = getKnownPower(binary.getRHS(), operands, numDims);
  if (expr.getKind() == AffineExprKind::Add)
    return std::min(left, right);
  return expr.getKind() == AffineExprKind::Mul ? limitPower(left * right) : 1;
}

int64_t attn::nvvm::getKnownPower(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return limitPower(*constant);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    bool isKnown = loop && argument == loop.getInductionVar();
    return isKnown ? std::min(getKnownPower(loop.getLowerBound()), getKnownPower(loop.getStep())) : 1;
  }
  auto getLeast = [](ValueRange operands) {
    int64_t least = kLargestPower;
    for (Value operand : operands)
      least = std::min(least, getKnownPower(operand));
    return least;
  };
  return llvm::TypeSwitch<Operation *, int64_t>(value.getDefiningOp())
      .Case([](IndexOp op) { return op.getKind() == IndexKind::Key ? kLargestPower : 1; })
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp,
            arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(
          [&](Operation *op) { return getLeast(op->getOperands()); })
      .Case([&](arith::SelectOp op) { return getLeast({op.getTrueValue(), op.getFalseValue()}); })
      .Case([](arith::MulIOp op) { return limitPower(getKnownPower(op.getLhs()) * getKnownPower(op.getRhs())); })
      .Case<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>([&](auto op) {
        SmallVector<int64_t> operands =
            llvm::map_to_vector(op->getOperands(), [](Value x) { return getKnownPower(x); });
        int64_t least = kLargestPower;
        for (AffineExpr expr : op.getMap().getResults())
          least = std::min(least, ::getKnownPower(expr, operands, op.getMap().getNumDims()));
        return least;
      })
      .Default([](Operation *) { return 1; });
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
