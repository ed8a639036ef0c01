//===- FloatFormat.cpp - conversion to any binary format ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FloatFormat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

using namespace attn::ptx;

namespace {

/// For a double.
constexpr int kMantissa64 = 52, kBias64 = 1023;

/// Moves `rounded` to its odd neighbour if `error` (exact − rounded) is not 0.
double toOdd(double rounded, double error) {
  if (!std::isfinite(rounded) || !std::isfinite(error) || error == 0)
    return rounded;
  uint64_t bits = std::bit_cast<uint64_t>(rounded);
  if (bits & 1)
    return rounded;
  return std::bit_cast<double>((error > 0) == (rounded > 0) ? bits + 1 : bits - 1);
}

/// `rest` of a unit in the last place, relative to 2 · `half`.
bool roundsUp(Rounding rounding, bool negative, bool odd, uint64_t rest, uint64_t half) {
  switch (rounding) {
  case Rounding::NearestEven: return rest > half || (rest == half && odd);
  case Rounding::NearestAway: return rest >= half;
  case Rounding::Zero: return false;
  case Rounding::Down: return negative && rest > 0;
  case Rounding::Up: return !negative && rest > 0;
  }
  return false;
}

/// 2^exponent, of a normal double.
double powerOfTwo(int exponent) { return std::bit_cast<double>(uint64_t(exponent + kBias64) << kMantissa64); }

} // namespace

uint32_t attn::ptx::encode(double value, FloatFormat format, Rounding rounding, bool saturate) {
  const int mantissa = format.mantissaBits, bias = (1 << (format.exponentBits - 1)) - 1;
  const uint32_t sign = uint32_t(std::signbit(value)) << (format.bits() - 1);
  const uint32_t allOnes = (1u << (format.bits() - 1)) - 1;
  const uint32_t infinity = ((1u << format.exponentBits) - 1) << mantissa;
  const uint32_t largest = format.hasInfinity ? infinity - 1 : allOnes - 1;
  if (std::isnan(value))
    return allOnes;
  const uint32_t overflow = saturate ? largest : format.hasInfinity ? infinity : allOnes;
  if (std::isinf(value))
    return sign | overflow;
  if (value == 0)
    return sign;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const int field = bits >> kMantissa64 & 0x7ff, smallest = 1 - bias;
  const uint64_t significand = (bits & ((uint64_t(1) << kMantissa64) - 1)) | uint64_t(field != 0) << kMantissa64;
  const int exponent = std::max(field, 1) - kBias64, target = std::max(exponent, smallest);
  // |value| = significand · 2^(exponent − 52): its part from 2^(target − mantissa) on is 1.m or (subnormal) 0.m. Bits
  // below the precision of a double are less than half a unit in any case.
  const int shift = std::min(kMantissa64 - mantissa + target - exponent, kMantissa64 + 2);
  uint64_t whole = significand >> shift;
  const bool negative = sign != 0;
  whole +=
      roundsUp(rounding, negative, whole & 1, significand & ((uint64_t(1) << shift) - 1), uint64_t(1) << (shift - 1));
  const uint64_t magnitude = (uint64_t(target - smallest) << mantissa) + whole;
  if (magnitude <= largest)
    return sign | uint32_t(magnitude);
  const bool towardsZero =
      rounding == Rounding::Zero || (rounding == Rounding::Down && !negative) || (rounding == Rounding::Up && negative);
  return sign | (towardsZero ? largest : overflow);
}

double attn::ptx::decode(uint32_t bits, FloatFormat format) {
  const int mantissa = format.mantissaBits, bias = (1 << (format.exponentBits - 1)) - 1;
  const uint32_t magnitude = bits & ((1u << (format.bits() - 1)) - 1);
  const double sign = (bits >> (format.bits() - 1)) & 1 ? -1.0 : 1.0;
  const uint32_t exponent = magnitude >> mantissa, fraction = magnitude & ((1u << mantissa) - 1);
  const uint32_t lastExponent = (1u << format.exponentBits) - 1;
  if (format.hasInfinity && exponent == lastExponent)
    return fraction ? std::nan("") : sign * HUGE_VAL;
  if (!format.hasInfinity && magnitude == (1u << (format.bits() - 1)) - 1)
    return std::nan("");
  if (exponent == 0)
    return sign * double(fraction) * powerOfTwo(1 - bias - mantissa);
  return sign * double(fraction | (1u << mantissa)) * powerOfTwo(int(exponent) - bias - mantissa);
}

float attn::ptx::decodeHalf(uint16_t bits) {
  static const std::vector<float> values = [] {
    std::vector<float> all(1 << 16);
    for (uint32_t i = 0; i < all.size(); ++i)
      all[i] = float(decode(i, kF16));
    return all;
  }();
  return values[bits];
}

double attn::ptx::addToOdd(double a, double b) {
  // Knuth's two-sum: the error of the addition is exact.
  const double sum = a + b, part = sum - a;
  return toOdd(sum, (a - (sum - part)) + (b - part));
}

double attn::ptx::fmaToOdd(double a, double b, double c) { return addToOdd(a * b, c); }

double attn::ptx::divideToOdd(double a, double b) {
  const double quotient = a / b;
  const double remainder = std::fma(-quotient, b, a);
  return toOdd(quotient, b < 0 ? -remainder : remainder);
}

double attn::ptx::sqrtToOdd(double a) {
  const double root = std::sqrt(a);
  return toOdd(root, std::fma(-root, root, a));
}
