//===- Functions.cpp - functions of scores by the special function unit ---===//
//
// Instructions a score: exp 2, log 2, exp2 and log2 1, x / y with a constant x 2, or 1 of 1 / y, x / constant 1, other
// divisions div.full, caps 5 or 14, tanh 14. The relative error of 2^x, log2 x and 1 / x is 2^-22; that of exp x grows
// with |x| 2^-24. Other functions are upstream's approximations (attn-lower-tile-to-nvvm).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpScores.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// The largest cap of 16-bit operands whose error, limit 2^-22 of a score, is left as it is.
static constexpr double kSmallLimit = 64;

/// c tanh(s / c) = c - 2 c / (2^(2 s log2 e / c) + 1): 2^x overflows to inf and underflows to 0, where tanh is 1, -1.
static Value buildLargeTanh(WarpBuilder &wb, double limit, Value score) {
  Value power = wb.exp2(wb.mulf(score, wb.real(2 * std::numbers::log2e / limit)));
  return wb.fma(wb.reciprocal(wb.addf(power, wb.real(1))), wb.real(-2 * limit), wb.real(limit));
}

/// Near 0, where that difference cancels, by a polynomial.
static Value buildTanh(WarpBuilder &wb, double limit, Value score) {
  Value ratio = wb.mulf(score, wb.real(1 / limit)), square = wb.mulf(ratio, ratio);
  Value tanhRatio = buildSmallTanhRatio(
      square, [&](double value) { return wb.real(value); }, [&](Value x, Value y, Value z) { return wb.fma(x, y, z); });
  Value isSmall =
      arith::CmpFOp::create(wb.b, wb.loc, arith::CmpFPredicate::OLT, square, wb.real(kSmallRatio * kSmallRatio));
  return wb.select(isSmall, wb.mulf(score, tanhRatio), buildLargeTanh(wb, limit, score));
}

static std::optional<double> getConstantFloat(Value x) {
  APFloat value(0.0f);
  return matchPattern(x, m_ConstantFloat(&value)) ? std::optional(double(value.convertToFloat())) : std::nullopt;
}

static Value buildQuotient(WarpBuilder &wb, Value x, Value y) {
  if (std::optional<double> divisor = getConstantFloat(y); divisor && std::isnormal(float(1 / *divisor)))
    return wb.mulf(x, wb.real(1 / *divisor));
  if (std::optional<double> dividend = getConstantFloat(x)) {
    Value inverse = wb.reciprocal(y);
    return *dividend == 1 ? inverse : wb.mulf(inverse, x);
  }
  return LLVM::CallIntrinsicOp::create(wb.b, wb.loc, x.getType(), wb.b.getStringAttr("llvm.nvvm.div.full"),
                                       ValueRange{x, y})
      .getResults();
}

Value attn::nvvm::buildFunction(WarpBuilder &wb, Operation *op, ValueRange x) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isF32())
    return {};
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](CapOp cap) {
        double limit = cap.getLimit().convertToDouble();
        bool isRough = wb.instruction.takesNarrow && limit <= kSmallLimit;
        return isRough ? buildLargeTanh(wb, limit, x[0]) : buildTanh(wb, limit, x[0]);
      })
      .Case([&](ScoreFunction function) { return function.buildFormula(wb.b, wb.loc, x[0]); })
      .Case([&](math::TanhOp) { return buildTanh(wb, 1, x[0]); })
      .Case([&](math::ExpOp) { return wb.exp2(wb.mulf(x[0], wb.real(std::numbers::log2e))); })
      .Case([&](math::Exp2Op) { return wb.exp2(x[0]); })
      .Case([&](math::LogOp) { return wb.mulf(wb.log2(x[0]), wb.real(std::numbers::ln2)); })
      .Case([&](math::Log2Op) { return wb.log2(x[0]); })
      .Case([&](arith::DivFOp) { return buildQuotient(wb, x[0], x[1]); })
      .Default([](Operation *) { return Value(); });
}
