//===- ExecuteHalf.cpp - f16 and bf16 arithmetic, one or two in a register -===//
//
// Every operation is computed as a double, rounded to odd, and rounded once to its format.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include <cmath>

using namespace attn::ptx;

namespace {

bool isBfloat(Type type) { return type == Type::BF16 || type == Type::BF16x2; }

/// .ftz: subnormal inputs and results become zeros of their sign.
uint32_t flush(uint32_t bits, FloatFormat format) {
  const uint32_t sign = 1u << (format.bits() - 1), exponent = sign - (1u << format.mantissaBits);
  return bits & exponent ? bits : bits & sign;
}

template <typename Word, auto F> void halves(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const FloatFormat format = isBfloat(instruction.type) ? kBF16 : kF16;
  const Word *a = warp.row<Word>(instruction.rows[1]), *b = warp.row<Word>(instruction.rows[2]),
             *c = warp.row<Word>(instruction.rows[3]);
  Word result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    result[lane] = 0;
    for (unsigned shift = 0; shift < 8 * sizeof(Word); shift += 16) {
      auto part = [&](const Word *from) {
        const uint32_t bits = uint16_t(from[lane] >> shift);
        return decode(instruction.ftz ? flush(bits, format) : bits, format);
      };
      double value = F(part(a), part(b), part(c), instruction);
      if (value == value && instruction.saturate)
        value = value < 0 ? 0.0 : value > 1 ? 1.0 : value;
      else if (value != value && instruction.saturate)
        value = 0;
      if (value == value && instruction.relu && value < 0)
        value = 0;
      uint32_t bits = encode(value, format, Rounding::NearestEven);
      if (instruction.ftz)
        bits = flush(bits, format);
      result[lane] |= Word(bits) << shift;
    }
  }
  storeLanes(warp, instruction.rows[0], result, lanes);
}

template <auto F, unsigned Sources> void decodeHalf(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  decoder.takeHints({".rn", ".approx"});
  instruction.ftz = decoder.takeModifier(".ftz");
  instruction.saturate = decoder.takeModifier(".sat");
  instruction.relu = decoder.takeModifier(".relu");
  instruction.propagateNaN = decoder.takeModifier(".NaN");
  instruction.type = decoder.takeType();
  instruction.run = isPair(instruction.type) ? halves<uint32_t, F> : halves<uint16_t, F>;
  decodeOperands(decoder, instruction.type, instruction.type, Sources);
}

using I = const Instruction &;
double pick(double a, double b, bool takesFirst, bool propagateNaN) {
  if (a != a || b != b)
    return propagateNaN || (a != a && b != b) ? NAN : a != a ? b : a;
  return takesFirst ? a : b;
}
constexpr auto kAdd = [](double a, double b, double, I) { return addToOdd(a, b); };
constexpr auto kSub = [](double a, double b, double, I) { return addToOdd(a, -b); };
constexpr auto kMul = [](double a, double b, double, I) { return a * b; };
constexpr auto kFma = [](double a, double b, double c, I) { return fmaToOdd(a, b, c); };
constexpr auto kMin = [](double a, double b, double, I i) {
  return pick(a, b, a < b || (a == b && std::signbit(a)), i.propagateNaN);
};
constexpr auto kMax = [](double a, double b, double, I i) {
  return pick(a, b, a > b || (a == b && std::signbit(b)), i.propagateNaN);
};
constexpr auto kEx2 = [](double a, double, double, I) { return std::exp2(a); };
constexpr auto kTanh = [](double a, double, double, I) { return std::tanh(a); };

/// abs and neg change only the sign bits.
template <bool IsAbs> void changeSign(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const bool pair = isPair(instruction.type);
  uint32_t wide[kLanes];
  uint16_t narrow[kLanes];
  const uint32_t sign = pair ? 0x80008000u : 0x8000u;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint32_t bits =
        pair ? warp.row<uint32_t>(instruction.rows[1])[lane] : warp.row<uint16_t>(instruction.rows[1])[lane];
    wide[lane] = IsAbs ? bits & ~sign : bits ^ sign;
    narrow[lane] = uint16_t(wide[lane]);
  }
  pair ? storeLanes(warp, instruction.rows[0], wide, lanes) : storeLanes(warp, instruction.rows[0], narrow, lanes);
}

template <bool IsAbs> void decodeSign(Decoder &decoder) {
  decoder.instruction.type = decoder.takeType();
  decoder.instruction.run = changeSign<IsAbs>;
  decodeOperands(decoder, decoder.instruction.type, decoder.instruction.type, 1);
}

constexpr InstructionInfo kInstructions[] = {
    {"add", Family::Half, decodeHalf<kAdd, 2>}, {"sub", Family::Half, decodeHalf<kSub, 2>},
    {"mul", Family::Half, decodeHalf<kMul, 2>}, {"fma", Family::Half, decodeHalf<kFma, 3>},
    {"min", Family::Half, decodeHalf<kMin, 2>}, {"max", Family::Half, decodeHalf<kMax, 2>},
    {"ex2", Family::Half, decodeHalf<kEx2, 1>}, {"tanh", Family::Half, decodeHalf<kTanh, 1>},
    {"abs", Family::Half, decodeSign<true>},    {"neg", Family::Half, decodeSign<false>},
};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getHalfInstructions() { return kInstructions; }
