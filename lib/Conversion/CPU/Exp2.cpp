//===- Exp2.cpp - 2^x as a polynomial, lane by lane -----------------------===//
//
// x = n + f with n the nearest integer, f in [-1/2, 1/2]; 2^f by a polynomial,
// 2^n from its exponent bits. Rounding by adding 1.5 * 2^mantissa needs no
// conversion instruction, so one form serves every x86-64 level.
//
// f32: degree 5, relative error 9.2e-8 (1.7e-7 with rounding).
// f64: minimax of degree 10, relative error 3.1e-16.
// What will be rounded to 16 bits, f16 at 4.9e-4 and bf16 at 3.9e-3: minimax of
// degree 4, relative error 3.5e-6: the row sum, and with it lse, is f32.
// Inputs below the smallest normal exponent give 0, as its exponent bits do:
// a removed key, a score of -inf, has no weight. NaN stays NaN.
//
// Beside AMX tiles a port does no multiply-adds (docs/Rationale.md). There, of
// f32 vectors, f = x - floor(x), in [0, 1], is one instruction (vreduceps), and
// so is 2^floor(x) times the polynomial (vscalefps): 4 instructions fewer.
//
// f32: degree 5, relative error 9.3e-8 (1.5e-7 with rounding).
// What will be rounded to 16 bits: degree 4, relative error 3.0e-6.
// -inf gives 0, NaN stays NaN; below the smallest normal exponent the result is
// a denormal number or 0.
//
// With a table of 2^(i / 64) (TargetInfo::hasPowerTable) f is in [-1/128, 1/128], and of 2^f - 1 a polynomial of degree
// 2 is left:
//
// f32: relative error 1.3e-7. -inf gives 0, NaN stays NaN; below the smallest normal exponent the result is a denormal
// number or 0.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2,
// "VREDUCEPS" and "VSCALEFPS"; Arm Architecture Reference Manual for A-profile architecture, "FEXPA".
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace attn::cpu;

/// The lanes of vscalefps in MLIR's dialect.
static constexpr unsigned kScaleLanes = 16;
/// The operand of vscalefps for the current rounding mode.
static constexpr int64_t kCurrentRounding = 4;
/// The mantissa bits of f32, and the exponent below the smallest one.
static constexpr unsigned kMantissaBits = 23;
static constexpr double kLowest = -127;
/// Lanes of f32 in 128 bits of SVE, and the bits of i in its table of 2^(i / 64).
static constexpr int64_t kPowerLanes = 4, kPowerBits = 6;
/// The coefficient of x^2 in 2^x: ln(2)^2 / 2.
static constexpr double kSecondPower = 0.240226507;

/// Highest degree first; of the smallest largest relative error on [-1/2, 1/2] among those that are exactly 1 at 0: a
/// factor of a maximum that stays is multiplied a thousand times.
static SmallVector<double> getCoefficients(bool isDouble, bool isNarrow) {
  if (isNarrow)
    return {0.00966636837, 0.0559219755, 0.240223497, 0.693121016, 1.0};
  if (!isDouble)
    return {0.00132647272, 0.00967151265, 0.0555073374, 0.240222421, 0.693146978, 1.0};
  return {7.072585949269223e-09,
          1.0208690299958306e-07,
          1.321544258792169e-06,
          1.5252657260200837e-05,
          0.0001540353044173605,
          0.0013333558230164974,
          0.009618129107606888,
          0.05550410866444772,
          0.24022650695910097,
          0.69314718055995,
          1.0};
}

/// The same on [0, 1], for f32.
static SmallVector<double> getFloorCoefficients(bool isNarrow) {
  if (isNarrow)
    return {0.0134266848, 0.0522424728, 0.241280213, 0.693044841, 1.0};
  return {0.00186713145, 0.00901702512, 0.0557999201, 0.240164444, 0.693151295, 1.0};
}

/// Evaluates the coefficients in pairs, as a polynomial of x^2: half as many addends are constants.
static Value evaluateByPairs(VectorBuilder &vb, ArrayRef<double> coefficients, Value x) {
  auto takePair = [&] {
    Value pair = vb.multiplyAdd(vb.splat(coefficients[0]), x, vb.splat(coefficients[1]));
    coefficients = coefficients.drop_front(2);
    return pair;
  };
  Value square = arith::MulFOp::create(vb.b, vb.loc, x, x), polynomial;
  if (coefficients.size() % 2 == 0) {
    polynomial = takePair();
  } else {
    polynomial = vb.splat(coefficients.front());
    coefficients = coefficients.drop_front();
  }
  while (!coefficients.empty())
    polynomial = vb.multiplyAdd(polynomial, square, takePair());
  return polynomial;
}

static Value evaluatePolynomial(VectorBuilder &vb, ArrayRef<double> coefficients, Value x) {
  Value polynomial = vb.splat(coefficients.front());
  for (double coefficient : coefficients.drop_front())
    polynomial = vb.multiplyAdd(polynomial, x, vb.splat(coefficient));
  return polynomial;
}

/// x - floor(x), 0 for an infinity. In the immediate, 1 is the rounding direction, and 8 suppresses the exception for
/// inexact results.
static Value emitFraction(VectorBuilder &vb, Value x) {
  return vb.assembly(vb.vectorType, x, "vreduceps $$9, $1, $0", "=v,v");
}

/// 2^floor(x) P(x - floor(x)), P the polynomial.
static Value emitScaledExp2(VectorBuilder &vb, Value x, bool isNarrow) {
  Value polynomial = evaluatePolynomial(vb, getFloorCoefficients(isNarrow), emitFraction(vb, x));
  auto constant = [&](Type type, int64_t value) -> Value {
    return arith::ConstantOp::create(vb.b, vb.loc, vb.b.getIntegerAttr(type, value));
  };
  // As in LLVM's intrinsic, the third operand has the lanes outside the mask.
  return x86vector::MaskScaleFOp::create(vb.b, vb.loc, polynomial, x, polynomial,
                                         constant(vb.b.getIntegerType(kScaleLanes), -1),
                                         constant(vb.b.getI32Type(), kCurrentRounding));
}

/// Not below `lowest`; NaN stays NaN.
static Value clampBelow(VectorBuilder &vb, double lowest, Value x) {
  if (vb.target.hasNumberMax)
    return LLVM::MaximumOp::create(vb.b, vb.loc, x, vb.splat(lowest)); // arith.maximumf is expanded
  // In this order: the instruction returns its second operand where one is NaN.
  return vb.max(vb.splat(lowest), x);
}

/// At most 0; NaN stays NaN.
static Value clampAboveZero(VectorBuilder &vb, Value x) {
  Value zero = vb.splat(0);
  if (vb.target.hasNumberMax)
    return LLVM::MinimumOp::create(vb.b, vb.loc, x, zero);
  return vb.select(arith::CmpFOp::create(vb.b, vb.loc, arith::CmpFPredicate::OLT, zero, x), zero, x);
}

/// x rounded to a multiple of a power of two by adding a large constant; the low bits of the sum are the multiple.
static std::pair<Value, Value> roundByAdding(VectorBuilder &vb, Value x, double magic) {
  Value shifted = arith::AddFOp::create(vb.b, vb.loc, x, vb.splat(magic));
  return {shifted, arith::SubFOp::create(vb.b, vb.loc, shifted, vb.splat(magic))};
}

/// 2^(i / 64), i the lowest bits of a vector of f32 whose exponent is in the bits above.
static Value lookUpPower(VectorBuilder &vb, Value shifted) {
  auto scalable = [&](Type type) { return VectorType::get({kPowerLanes}, type, /*scalableDims=*/true); };
  auto bits = VectorType::get({vb.lanes}, vb.b.getI32Type());
  Value none = LLVM::PoisonOp::create(vb.b, vb.loc, scalable(bits.getElementType()));
  Value index =
      vector::ScalableInsertOp::create(vb.b, vb.loc, arith::BitcastOp::create(vb.b, vb.loc, bits, shifted), none, 0);
  Value power = vb.assembly(scalable(vb.elementType), index, "fexpa $0.s, $1.s", "=w,w");
  return vector::ScalableExtractOp::create(vb.b, vb.loc, vb.vectorType, power, 0);
}

/// 2^(i / 64) + (2^f - 1) 2^(i / 64)
static Value emitTabledExp2(VectorBuilder &vb, Value x) {
  x = clampBelow(vb, kLowest, x);
  auto [shifted, rounded] = roundByAdding(vb, x, 1.5 * (1 << (kMantissaBits - kPowerBits)) - kLowest);
  Value fraction = arith::SubFOp::create(vb.b, vb.loc, x, rounded);
  Value slope = vb.multiplyAdd(vb.splat(kSecondPower), fraction, vb.splat(std::numbers::ln2));
  Value power = lookUpPower(vb, shifted);
  return vb.multiplyAdd(arith::MulFOp::create(vb.b, vb.loc, slope, fraction), power, power);
}

Value VectorBuilder::exp2(Value x, Type roundedTo) {
  bool isDouble = elementType.isF64(), isNarrow = roundedTo && roundedTo.getIntOrFloatBitWidth() <= 16;
  if (target.hasTiles() && elementType.isF32() && lanes == kScaleLanes)
    return emitScaledExp2(*this, x, isNarrow);
  if (target.hasPowerTable && elementType.isF32() && lanes == target.getLanes(32))
    return emitTabledExp2(*this, x);
  unsigned mantissaBits = isDouble ? 52 : kMantissaBits;
  double lowest = isDouble ? -1023 : kLowest, bias = -lowest;
  auto bits = VectorType::get({lanes}, b.getIntegerType(elementType.getWidth()));

  x = clampBelow(*this, lowest, x);
  // n = round(x), f = x - n
  auto [shifted, rounded] = roundByAdding(*this, x, 1.5 * std::ldexp(1.0, mantissaBits) + bias);
  Value fraction = arith::SubFOp::create(b, loc, x, rounded);
  SmallVector<double> all = getCoefficients(isDouble, isNarrow);
  ArrayRef<double> coefficients = all;
  Value polynomial = target.overwritesAddend ? evaluateByPairs(*this, coefficients.drop_back(), fraction)
                                             : evaluatePolynomial(*this, coefficients, fraction);
  // 2^n: the low bits of the shifted number hold n + bias, which moved up are its exponent.
  Value exponent = arith::BitcastOp::create(b, loc, bits, shifted);
  Value shift = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(bits, b.getIntegerAttr(bits.getElementType(), mantissaBits)));
  Value power = arith::BitcastOp::create(b, loc, vectorType, arith::ShLIOp::create(b, loc, exponent, shift));
  // 2^n + f (2^f - 1) / f 2^n: the addend is not a constant.
  if (target.overwritesAddend)
    return multiplyAdd(arith::MulFOp::create(b, loc, fraction, power), polynomial, power);
  // 2^f * 2^n. Adding n to the exponent bits of 2^f would make a number of a NaN with low payload bits.
  return arith::MulFOp::create(b, loc, polynomial, power);
}

Value VectorBuilder::expDifference(Value x, Value max, Type roundedTo) {
  Value difference = arith::SubFOp::create(b, loc, x, max);
  return exp2(arith::MulFOp::create(b, loc, difference, splat(std::numbers::log2e)), roundedTo);
}

Value VectorBuilder::weightOf(Value score, Value max, Value logSum) {
  Value difference = clampAboveZero(*this, arith::SubFOp::create(b, loc, score, max));
  Value log2e = splat(std::numbers::log2e);
  if (!logSum)
    return exp2(arith::MulFOp::create(b, loc, difference, log2e));
  // The product of the subtrahend with log2 e is computed once per row.
  Value subtracted = arith::MulFOp::create(b, loc, logSum, splat(-std::numbers::log2e));
  return exp2(math::FmaOp::create(b, loc, difference, log2e, subtracted));
}
