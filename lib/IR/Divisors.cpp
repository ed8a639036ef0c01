//===- Divisors.cpp - what an index is known to be a multiple of ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Divisors.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;

/// Of all results of a map, from the divisors of its operands: each is a multiple of its own.
static int64_t getMapDivisor(AffineMap map, ArrayRef<int64_t> operands) {
  SmallVector<AffineExpr> multiples;
  for (auto [i, divisor] : llvm::enumerate(operands)) {
    bool isDim = i < map.getNumDims();
    AffineExpr expr =
        isDim ? getAffineDimExpr(i, map.getContext()) : getAffineSymbolExpr(i - map.getNumDims(), map.getContext());
    multiples.push_back(expr * divisor);
  }
  ArrayRef<AffineExpr> all(multiples);
  int64_t divisor = 0;
  for (AffineExpr expr : map.getResults()) {
    AffineExpr multiple =
        expr.replaceDimsAndSymbols(all.take_front(map.getNumDims()), all.drop_front(map.getNumDims()));
    auto constant = dyn_cast<AffineConstantExpr>(multiple);
    divisor = std::gcd(divisor, constant ? constant.getValue() : multiple.getLargestKnownDivisor());
  }
  return divisor;
}

int64_t attn::getKnownDivisor(OpFoldResult place, function_ref<int64_t(Operation *)> getOther) {
  if (std::optional<int64_t> constant = getConstantIntValue(place))
    return std::abs(*constant);
  auto value = cast<Value>(place);
  auto get = [&](OpFoldResult inner) { return getKnownDivisor(inner, getOther); };
  auto getCommon = [&](ValueRange values) {
    int64_t divisor = 0;
    for (Value inner : values)
      divisor = std::gcd(divisor, get(inner));
    return divisor;
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
    std::optional<SmallVector<Value>> indices = loop ? loop.getLoopInductionVars() : std::nullopt;
    if (!indices)
      return 1;
    auto index = llvm::find(*indices, value);
    std::optional<SmallVector<OpFoldResult>> firsts = loop.getLoopLowerBounds(), steps = loop.getLoopSteps();
    if (index == indices->end() || !firsts || !steps)
      return 1;
    unsigned position = index - indices->begin();
    return std::gcd(get((*firsts)[position]), get((*steps)[position]));
  }
  return llvm::TypeSwitch<Operation *, int64_t>(value.getDefiningOp())
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(
          [&](Operation *op) { return getCommon(op->getOperands()); })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(
          [&](Operation *op) {
            // Modulo a power of two, only powers of two stay divisors.
            int64_t divisor = get(op->getOperand(0));
            return divisor & -divisor;
          })
      .Case([&](arith::SelectOp op) { return getCommon({op.getTrueValue(), op.getFalseValue()}); })
      .Case([&](arith::MulIOp op) {
        int64_t left = get(op.getLhs()), product;
        return llvm::MulOverflow(left, get(op.getRhs()), product) ? left : product;
      })
      .Case<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>([&](auto op) {
        return getMapDivisor(op.getMap(), llvm::map_to_vector(op->getOperands(), [&](Value x) { return get(x); }));
      })
      .Default([&](Operation *op) { return getOther ? getOther(op) : 1; });
}
