//===- FloatFormat.h - binary formats and their rounding --------*- C++ -*-===//
//
// Values are passed as doubles. A result that is not exact in a double is first rounded to odd (its last bit then means
// "inexact"), so that the single rounding to the narrow format is correct in every mode: Boldo and Melquiond, 2008.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_FLOATFORMAT_H
#define ATTN_TEST_PTXEMULATOR_FLOATFORMAT_H

#include <cstdint>

namespace attn::ptx {

/// IEEE-like: a sign bit, then these fields. Without infinities (e4m3) only the all-ones pattern is NaN.
struct FloatFormat {
  int exponentBits;
  int mantissaBits;
  bool hasInfinity = true;
  constexpr int bits() const { return 1 + exponentBits + mantissaBits; }
};
inline constexpr FloatFormat kF16{5, 10};
inline constexpr FloatFormat kBF16{8, 7};
/// Stored in the upper 19 bits of a 32-bit register.
inline constexpr FloatFormat kTF32{8, 10};
inline constexpr FloatFormat kF32{8, 23};
inline constexpr FloatFormat kE4M3{4, 3, false};
inline constexpr FloatFormat kE5M2{5, 2};

enum class Rounding : uint8_t { NearestEven, Zero, Down, Up, NearestAway };

/// The bits of `value` in `format`; NaN becomes the canonical one (sign 0, all other bits 1). `saturate`: values that
/// are too large, including infinities, become the largest finite value.
uint32_t encode(double value, FloatFormat format, Rounding rounding, bool saturate = false);
double decode(uint32_t bits, FloatFormat format);
/// decode() of kF16, by a table, as products need it often.
float decodeHalf(uint16_t bits);

/// The sum, product-sum, quotient and root, rounded to odd.
double addToOdd(double a, double b);
double fmaToOdd(double a, double b, double c); ///< a·b must be exact in a double, as it is for f32 factors
double divideToOdd(double a, double b);
double sqrtToOdd(double a);

inline float asFloat(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint32_t asBits(float value) { return __builtin_bit_cast(uint32_t, value); }
inline constexpr uint32_t kCanonicalNaN = 0x7fffffff;

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_FLOATFORMAT_H
