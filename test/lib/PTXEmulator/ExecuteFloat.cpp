//===- ExecuteFloat.cpp - f32 and f64 arithmetic --------------------------===//
//
// Round to nearest is the host's own rounding; the other modes use a double that is rounded to odd. The .approx
// instructions have an error of about half a unit in the last place, far within the bounds that the ISA documents.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"
#include "VectorCode.h"

#include <cmath>

using namespace attn::ptx;

namespace {

float flush(float value) { return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; }

/// The last step of every f32 result: canonical NaN, .ftz, .sat.
float finish(float value, const Instruction &instruction) {
  if (value != value)
    return instruction.saturate ? 0.0f : asFloat(kCanonicalNaN);
  if (instruction.ftz)
    value = flush(value);
  if (instruction.saturate)
    value = value < 0 ? 0.0f : value > 1 ? 1.0f : value;
  return value;
}

void finishLanes(float *values, const Instruction &instruction) {
  if (instruction.ftz || instruction.saturate)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      values[lane] = finish(values[lane], instruction);
  else
    for (unsigned lane = 0; lane < kLanes; ++lane)
      values[lane] = values[lane] != values[lane] ? asFloat(kCanonicalNaN) : values[lane];
}

// PTX: −0 < +0; for a NaN, the result is the other operand, or with .NaN a NaN.
template <typename T> T minimum(T a, T b, bool propagateNaN) {
  if (a != a || b != b)
    return propagateNaN || (a != a && b != b) ? T(NAN) : a != a ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <typename T> T maximum(T a, T b, bool propagateNaN) {
  if (a != a || b != b)
    return propagateNaN || (a != a && b != b) ? T(NAN) : a != a ? b : a;
  return a > b || (a == b && std::signbit(b)) ? a : b;
}

/// An operation: to nearest, and as a double rounded to odd for the other modes.
struct Add {
  static float nearest(float a, float b, float) { return a + b; }
  static double odd(double a, double b, double) { return addToOdd(a, b); }
};
struct Sub {
  static float nearest(float a, float b, float) { return a - b; }
  static double odd(double a, double b, double) { return addToOdd(a, -b); }
};
struct Mul {
  static float nearest(float a, float b, float) { return a * b; }
  static double odd(double a, double b, double) { return a * b; } // exact
};
struct Fma {
  static double odd(double a, double b, double c) { return fmaToOdd(a, b, c); }
};
struct Div {
  static float nearest(float a, float b, float) { return a / b; }
  static double odd(double a, double b, double) { return divideToOdd(a, b); }
};
struct Rcp {
  static float nearest(float a, float, float) { return 1.0f / a; }
  static double odd(double a, double, double) { return divideToOdd(1.0, a); }
};
struct Sqrt {
  static float nearest(float a, float, float) { return std::sqrt(a); }
  static double odd(double a, double, double) { return sqrtToOdd(a); }
};

template <typename Op> void rounded(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const float *sources[3];
  float flushed[3][kLanes], result[kLanes];
  for (unsigned i = 0; i < 3; ++i) {
    // Of .f32.bf16 and .f32.f16, all but the last operand are narrow.
    if (instruction.from != Type::None && i < (std::is_same_v<Op, Fma> ? 2u : 1u)) {
      const auto *narrow = warp.row<uint16_t>(instruction.rows[1 + i]);
      for (unsigned lane = 0; lane < kLanes; ++lane)
        flushed[i][lane] = float(decode(narrow[lane], instruction.from == Type::BF16 ? kBF16 : kF16));
      sources[i] = flushed[i];
      continue;
    }
    sources[i] = warp.row<float>(instruction.rows[1 + i]);
    if (!instruction.ftz)
      continue;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      flushed[i][lane] = flush(sources[i][lane]);
    sources[i] = flushed[i];
  }
  const auto [a, b, c] = sources;
  if (instruction.rounding != Rounding::NearestEven)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      result[lane] = asFloat(encode(Op::odd(a[lane], b[lane], c[lane]), kF32, instruction.rounding));
  else if constexpr (std::is_same_v<Op, Fma>)
    fmaLanes(result, a, b, c);
  else
    for (unsigned lane = 0; lane < kLanes; ++lane)
      result[lane] = Op::nearest(a[lane], b[lane], c[lane]);
  finishLanes(result, instruction);
  storeLanes(warp, instruction.rows[0], result, lanes);
}

/// F(a, b, c, instruction) on f32, without a rounding mode.
template <auto F> void plain(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const float *a = warp.row<float>(instruction.rows[1]), *b = warp.row<float>(instruction.rows[2]),
              *c = warp.row<float>(instruction.rows[3]);
  float result[kLanes];
  const bool ftz = instruction.ftz;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] =
        F(ftz ? flush(a[lane]) : a[lane], ftz ? flush(b[lane]) : b[lane], ftz ? flush(c[lane]) : c[lane], instruction);
  finishLanes(result, instruction);
  storeLanes(warp, instruction.rows[0], result, lanes);
}

void takeFlags(Decoder &decoder) {
  decoder.instruction.ftz = decoder.takeModifier(".ftz");
  decoder.instruction.saturate = decoder.takeModifier(".sat");
}

template <typename Op, unsigned Sources> void decodeRounded(Decoder &decoder) {
  decoder.takeRounding();
  takeFlags(decoder);
  // Approximations (div.full, rcp.approx, sqrt.approx): the exact result is within their bounds.
  decoder.takeHints({".approx", ".full"});
  Instruction &instruction = decoder.instruction;
  instruction.run = rounded<Op>;
  const Type type = decoder.takeType();
  instruction.from = decoder.takeModifier(".bf16") ? Type::BF16 : decoder.takeModifier(".f16") ? Type::F16 : Type::None;
  if (instruction.from == Type::None)
    return decodeOperands(decoder, type, type, Sources);
  if (!decoder.expectOperands(1 + Sources, 1 + Sources))
    return;
  auto &rows = instruction.rows;
  rows[0] = decoder.destination(decoder.operand(0), getBits(type));
  for (unsigned i = 1; i < 4; ++i)
    rows[i] = i > Sources ? rows[Sources] : decoder.source(decoder.operand(i), i < Sources ? instruction.from : type);
}

template <auto F, unsigned Sources> void decodePlain(Decoder &decoder) {
  takeFlags(decoder);
  decoder.takeHints({".approx"});
  decoder.instruction.propagateNaN = decoder.takeModifier(".NaN");
  decoder.instruction.run = plain<F>;
  const Type type = decoder.takeType();
  decodeOperands(decoder, type, type, Sources);
}

using I = const Instruction &;
constexpr auto kMin = [](float a, float b, float, I i) { return minimum(a, b, i.propagateNaN); };
constexpr auto kMax = [](float a, float b, float, I i) { return maximum(a, b, i.propagateNaN); };
constexpr auto kMin3 = [](float a, float b, float c, I i) {
  return minimum(minimum(a, b, i.propagateNaN), c, i.propagateNaN);
};
constexpr auto kMax3 = [](float a, float b, float c, I i) {
  return maximum(maximum(a, b, i.propagateNaN), c, i.propagateNaN);
};
constexpr auto kAbs = [](float a, float, float, I) { return std::fabs(a); };
constexpr auto kNeg = [](float a, float, float, I) { return -a; };
constexpr auto kEx2 = [](float a, float, float, I) { return std::exp2(a); };
constexpr auto kLg2 = [](float a, float, float, I) { return std::log2(a); };
constexpr auto kSin = [](float a, float, float, I) { return float(std::sin(double(a))); };
constexpr auto kCos = [](float a, float, float, I) { return float(std::cos(double(a))); };
constexpr auto kTanh = [](float a, float, float, I) { return float(std::tanh(double(a))); };
constexpr auto kRsqrt = [](float a, float, float, I) { return float(1.0 / std::sqrt(double(a))); };
/// The sign of a on the magnitude of b.
constexpr auto kCopysign = [](float a, float b, float, I) { return std::copysign(b, a); };

template <bool IsMax> void decodeMinMax(Decoder &decoder) {
  if (decoder.operandCount() == 4)
    return decodePlain<IsMax ? kMax3 : kMin3, 3>(decoder);
  decodePlain<IsMax ? kMax : kMin, 2>(decoder);
}

// f64: to nearest only.

template <auto F, unsigned Sources> void decodeDouble(Decoder &decoder) {
  decoder.takeHints({".rn"});
  decoder.instruction.run = lanewise<double, double, F>;
  const Type type = decoder.takeType();
  decodeOperands(decoder, type, type, Sources);
}

constexpr auto kAdd64 = [](double a, double b, double) { return a + b; };
constexpr auto kSub64 = [](double a, double b, double) { return a - b; };
constexpr auto kMul64 = [](double a, double b, double) { return a * b; };
constexpr auto kFma64 = [](double a, double b, double c) { return std::fma(a, b, c); };
constexpr auto kDiv64 = [](double a, double b, double) { return a / b; };
constexpr auto kRcp64 = [](double a, double, double) { return 1.0 / a; };
constexpr auto kSqrt64 = [](double a, double, double) { return std::sqrt(a); };
constexpr auto kMin64 = [](double a, double b, double) { return minimum(a, b, false); };
constexpr auto kMax64 = [](double a, double b, double) { return maximum(a, b, false); };
constexpr auto kAbs64 = [](double a, double, double) { return std::fabs(a); };
constexpr auto kNeg64 = [](double a, double, double) { return -a; };
constexpr auto kCopysign64 = [](double a, double b, double) { return std::copysign(b, a); };

constexpr InstructionInfo kInstructions[] = {
    {"add", Family::F32, decodeRounded<Add, 2>},
    {"sub", Family::F32, decodeRounded<Sub, 2>},
    {"mul", Family::F32, decodeRounded<Mul, 2>},
    {"fma", Family::F32, decodeRounded<Fma, 3>},
    {"mad", Family::F32, decodeRounded<Fma, 3>},
    {"div", Family::F32, decodeRounded<Div, 2>},
    {"rcp", Family::F32, decodeRounded<Rcp, 1>},
    {"sqrt", Family::F32, decodeRounded<Sqrt, 1>},
    {"min", Family::F32, decodeMinMax<false>},
    {"max", Family::F32, decodeMinMax<true>},
    {"abs", Family::F32, decodePlain<kAbs, 1>},
    {"neg", Family::F32, decodePlain<kNeg, 1>},
    {"ex2", Family::F32, decodePlain<kEx2, 1>},
    {"lg2", Family::F32, decodePlain<kLg2, 1>},
    {"sin", Family::F32, decodePlain<kSin, 1>},
    {"cos", Family::F32, decodePlain<kCos, 1>},
    {"tanh", Family::F32, decodePlain<kTanh, 1>},
    {"rsqrt", Family::F32, decodePlain<kRsqrt, 1>},
    {"copysign", Family::F32, decodePlain<kCopysign, 2>},
    {"add", Family::F64, decodeDouble<kAdd64, 2>},
    {"sub", Family::F64, decodeDouble<kSub64, 2>},
    {"mul", Family::F64, decodeDouble<kMul64, 2>},
    {"fma", Family::F64, decodeDouble<kFma64, 3>},
    {"mad", Family::F64, decodeDouble<kFma64, 3>},
    {"div", Family::F64, decodeDouble<kDiv64, 2>},
    {"rcp", Family::F64, decodeDouble<kRcp64, 1>},
    {"sqrt", Family::F64, decodeDouble<kSqrt64, 1>},
    {"min", Family::F64, decodeDouble<kMin64, 2>},
    {"max", Family::F64, decodeDouble<kMax64, 2>},
    {"abs", Family::F64, decodeDouble<kAbs64, 1>},
    {"neg", Family::F64, decodeDouble<kNeg64, 1>},
    {"copysign", Family::F64, decodeDouble<kCopysign64, 2>},
};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getFloatInstructions() { return kInstructions; }
