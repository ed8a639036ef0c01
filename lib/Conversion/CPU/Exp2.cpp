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
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace attn::cpu;

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

Value VectorBuilder::exp2(Value x, Type roundedTo) {
  bool isDouble = elementType.isF64(), isNarrow = roundedTo && roundedTo.getIntOrFloatBitWidth() <= 16;
  unsigned mantissaBits = isDouble ? 52 : 23;
  double lowest = isDouble ? -1023 : -127, bias = -lowest;
  double magic = 1.5 * std::ldexp(1.0, mantissaBits) + bias;
  auto bits = VectorType::get({lanes}, b.getIntegerType(elementType.getWidth()));

  // max(lowest, x) in this order: the instruction returns its second operand where one is NaN.
  x = max(splat(lowest), x);
  // n = round(x), f = x - n
  Value shifted = arith::AddFOp::create(b, loc, x, splat(magic));
  Value rounded = arith::SubFOp::create(b, loc, shifted, splat(magic));
  Value fraction = arith::SubFOp::create(b, loc, x, rounded);
  SmallVector<double> coefficients = getCoefficients(isDouble, isNarrow);
  Value polynomial = splat(coefficients.front());
  for (double coefficient : ArrayRef(coefficients).drop_front())
    polynomial = multiplyAdd(polynomial, fraction, splat(coefficient));
  // 2^n: the low bits of the shifted number hold n + bias, which moved up are its exponent.
  Value exponent = arith::BitcastOp::create(b, loc, bits, shifted);
  Value shift = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(bits, b.getIntegerAttr(bits.getElementType(), mantissaBits)));
  Value power = arith::BitcastOp::create(b, loc, vectorType, arith::ShLIOp::create(b, loc, exponent, shift));
  // 2^f * 2^n. Adding n to the exponent bits of 2^f would make a number of a NaN with low payload bits.
  return arith::MulFOp::create(b, loc, polynomial, power);
}

Value VectorBuilder::expDifference(Value x, Value max, Type roundedTo, Value logSum) {
  Value difference = arith::SubFOp::create(b, loc, x, max), log2e = splat(std::numbers::log2e);
  if (!logSum)
    return exp2(arith::MulFOp::create(b, loc, difference, log2e), roundedTo);
  // The product with log2 e of what a row subtracts is made once a row.
  Value subtracted = arith::MulFOp::create(b, loc, logSum, splat(-std::numbers::log2e));
  return exp2(math::FmaOp::create(b, loc, difference, log2e, subtracted), roundedTo);
}
