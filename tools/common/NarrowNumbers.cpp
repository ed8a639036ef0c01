//===- NarrowNumbers.cpp - float16, bfloat16 and float8 as doubles --------===//
//
// Arrays are compared element by element. Most are of 16 bits and are converted by their bits; APFloat converts the
// others, including subnormal and large values.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "llvm/ADT/APFloat.h"
#include <bit>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

namespace {

constexpr int kMantissa64 = 52, kBias64 = 1023;
constexpr unsigned kSign16 = 15;

/// A 16-bit type.
struct Format16 {
  int mantissaBits, bias;
  int getExponentBits() const { return kSign16 - mantissaBits; }
};
constexpr Format16 kFloat16{10, 15}, kBFloat16{7, 127};

Format16 getFormat16(NpyType type) { return type == NpyType::BFloat16 ? kBFloat16 : kFloat16; }

const fltSemantics &getSemantics(NpyType type) {
  switch (type) {
  case NpyType::BFloat16: return APFloat::BFloat();
  case NpyType::Float8E4M3FN: return APFloat::Float8E4M3FN();
  case NpyType::Float8E5M2: return APFloat::Float8E5M2();
  default: return APFloat::IEEEhalf();
  }
}

bool is16Bit(NpyType type) { return type == NpyType::BFloat16 || type == NpyType::Float16; }

} // namespace

uint16_t driver::toNarrowFloat(NpyType type, double value) {
  const Format16 format = getFormat16(type);
  const uint64_t bits = std::bit_cast<uint64_t>(value), magnitude = bits & ~(uint64_t(1) << 63);
  const int exponent = int(magnitude >> kMantissa64) - kBias64;
  // Below the last exponent, so that rounding up stays finite.
  if (is16Bit(type) && exponent > -format.bias && exponent < format.bias) {
    const int shift = kMantissa64 - format.mantissaBits;
    const uint64_t isOdd = magnitude >> shift & 1, belowHalf = (uint64_t(1) << (shift - 1)) - 1;
    const uint64_t rounded = (magnitude + belowHalf + isOdd) >> shift;
    return uint16_t(rounded - (uint64_t(kBias64 - format.bias) << format.mantissaBits) | bits >> 63 << kSign16);
  }
  APFloat number(value);
  bool losesInfo;
  number.convert(getSemantics(type), APFloat::rmNearestTiesToEven, &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

double driver::fromNarrowFloat(NpyType type, uint16_t bits) {
  const Format16 format = getFormat16(type);
  const unsigned exponent = bits >> format.mantissaBits & ((1u << format.getExponentBits()) - 1);
  if (is16Bit(type) && exponent != 0 && exponent != (1u << format.getExponentBits()) - 1) {
    const uint64_t magnitude = uint64_t(bits & ((1u << kSign16) - 1)) << (kMantissa64 - format.mantissaBits);
    return std::bit_cast<double>(magnitude + (uint64_t(kBias64 - format.bias) << kMantissa64) |
                                 uint64_t(bits >> kSign16) << 63);
  }
  const fltSemantics &semantics = getSemantics(type);
  return APFloat(semantics, APInt(APFloat::getSizeInBits(semantics), bits)).convertToDouble();
}
