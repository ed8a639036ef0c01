//===- ExecuteInteger.cpp - integer arithmetic ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include <algorithm>
#include <limits>

using namespace attn::ptx;

namespace {

/// Arithmetic modulo 2^n, without C++'s undefined overflow; uint16_t would promote to int.
template <typename T> using Modulo = std::conditional_t<sizeof(T) < 4, uint32_t, std::make_unsigned_t<T>>;
template <typename T> struct WiderOf {
  using type = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
};
template <> struct WiderOf<int64_t> {
  using type = __int128;
};
template <> struct WiderOf<uint64_t> {
  using type = unsigned __int128;
};
template <typename T> using Wider = typename WiderOf<T>::type;

template <typename T> T multiplyHigh(T a, T b) { return T((Wider<T>(a) * Wider<T>(b)) >> (8 * sizeof(T))); }

constexpr auto kAdd = [](auto a, auto b, auto) { return Modulo<decltype(a)>(a) + Modulo<decltype(a)>(b); };
constexpr auto kSub = [](auto a, auto b, auto) { return Modulo<decltype(a)>(a) - Modulo<decltype(a)>(b); };
constexpr auto kMulLo = [](auto a, auto b, auto) { return Modulo<decltype(a)>(a) * Modulo<decltype(a)>(b); };
constexpr auto kMulHi = [](auto a, auto b, auto) { return multiplyHigh(a, b); };
constexpr auto kMadLo = [](auto a, auto b, auto c) {
  using M = Modulo<decltype(a)>;
  return M(a) * M(b) + M(c);
};
constexpr auto kMadHi = [](auto a, auto b, auto c) {
  using M = Modulo<decltype(a)>;
  return M(multiplyHigh(a, b)) + M(c);
};
/// A division by 0 gives all ones on hardware; PTX leaves it undefined.
constexpr auto kDiv = [](auto a, auto b, auto) {
  using T = decltype(a);
  if (b == 0)
    return T(-1);
  if (std::is_signed_v<T> && b == T(-1))
    return T(Modulo<T>(0) - Modulo<T>(a));
  return T(a / b);
};
constexpr auto kRem = [](auto a, auto b, auto) {
  using T = decltype(a);
  if (b == 0)
    return a;
  if (std::is_signed_v<T> && b == T(-1))
    return T(0);
  return T(a % b);
};
constexpr auto kMin = [](auto a, auto b, auto) { return std::min(a, b); };
constexpr auto kMax = [](auto a, auto b, auto) { return std::max(a, b); };
constexpr auto kNeg = [](auto a, auto, auto) { return Modulo<decltype(a)>(0) - Modulo<decltype(a)>(a); };
constexpr auto kAbs = [](auto a, auto, auto) {
  using M = Modulo<decltype(a)>;
  return a < 0 ? M(0) - M(a) : M(a);
};
constexpr auto kSad = [](auto a, auto b, auto c) {
  using M = Modulo<decltype(a)>;
  return M(c) + (a < b ? M(b) - M(a) : M(a) - M(b));
};

template <auto F, unsigned Sources> void decodeInteger(Decoder &decoder) {
  const Type type = decoder.takeType();
  decoder.instruction.run = pickInteger<F>(type);
  if (!decoder.instruction.run)
    return decoder.unknown("expected an integer type");
  decodeOperands(decoder, type, type, Sources);
}

/// min and max; with .relu, which exists for s32, a negative result becomes 0.
template <auto F> void decodeMinMax(Decoder &decoder) {
  if (!decoder.takeModifier(".relu"))
    return decodeInteger<F, 2>(decoder);
  const Type type = decoder.takeType();
  if (type != Type::S32)
    return decoder.unknown("expected .s32 with .relu");
  constexpr auto kClamped = [](auto a, auto b, auto c) { return std::max(F(a, b, c), decltype(a)(0)); };
  decoder.instruction.run = pickInteger<kClamped>(type);
  decodeOperands(decoder, type, type, 2);
}

// mul and mad: .lo, .hi and .wide

template <typename T, typename W, bool IsMad>
void multiplyWide(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]), *b = warp.row<T>(instruction.rows[2]);
  const W *c = warp.row<W>(instruction.rows[3]);
  W result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    result[lane] = W(a[lane]) * W(b[lane]);
    if constexpr (IsMad)
      result[lane] = W(std::make_unsigned_t<W>(result[lane]) + std::make_unsigned_t<W>(c[lane]));
  }
  storeLanes(warp, instruction.rows[0], result, lanes);
}

template <bool IsMad> void decodeWide(Decoder &decoder, Type type) {
  Type wide = Type::None;
  Handler run = nullptr;
  switch (type) {
  case Type::U16: wide = Type::U32, run = multiplyWide<uint16_t, uint32_t, IsMad>; break;
  case Type::S16: wide = Type::S32, run = multiplyWide<int16_t, int32_t, IsMad>; break;
  case Type::U32: wide = Type::U64, run = multiplyWide<uint32_t, uint64_t, IsMad>; break;
  case Type::S32: wide = Type::S64, run = multiplyWide<int32_t, int64_t, IsMad>; break;
  default: return decoder.unknown("expected a type of 16 or 32 bits");
  }
  decoder.instruction.run = run;
  if (!decoder.expectOperands(IsMad ? 4 : 3, IsMad ? 4 : 3))
    return;
  auto &rows = decoder.instruction.rows;
  rows[0] = decoder.destination(decoder.operand(0), getBits(wide));
  rows[1] = decoder.source(decoder.operand(1), type);
  rows[2] = decoder.source(decoder.operand(2), type);
  rows[3] = IsMad ? decoder.source(decoder.operand(3), wide) : rows[0];
}

template <bool IsMad> void decodeMultiply(Decoder &decoder) {
  const Type type = decoder.takeType();
  const unsigned sources = IsMad ? 3 : 2;
  if (decoder.takeModifier(".wide"))
    return decodeWide<IsMad>(decoder, type);
  if (decoder.takeModifier(".hi"))
    decoder.instruction.run = IsMad ? pickInteger<kMadHi>(type) : pickInteger<kMulHi>(type);
  else if (decoder.takeModifier(".lo"))
    decoder.instruction.run = IsMad ? pickInteger<kMadLo>(type) : pickInteger<kMulLo>(type);
  if (!decoder.instruction.run)
    return decoder.unknown("expected .lo, .hi or .wide");
  decodeOperands(decoder, type, type, sources);
}

/// mul24 and mad24: the low 24 bits of the factors, sign-extended where signed.
template <bool IsMad> void multiply24(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const uint32_t *a = warp.row<uint32_t>(instruction.rows[1]), *b = warp.row<uint32_t>(instruction.rows[2]),
                 *c = warp.row<uint32_t>(instruction.rows[3]);
  const bool isSigned = instruction.type == Type::S32, isHigh = instruction.variant;
  auto extend = [&](uint32_t value) -> int64_t {
    return isSigned ? int64_t(int32_t(value << 8) >> 8) : int64_t(value & 0xffffff);
  };
  uint32_t result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const int64_t product = extend(a[lane]) * extend(b[lane]);
    result[lane] = uint32_t(isHigh ? product >> 16 : product) + (IsMad ? c[lane] : 0);
  }
  storeLanes(warp, instruction.rows[0], result, lanes);
}

template <bool IsMad> void decodeMultiply24(Decoder &decoder) {
  decoder.instruction.type = decoder.takeType();
  decoder.instruction.variant = decoder.takeModifier(".hi");
  decoder.takeModifier(".lo");
  decoder.instruction.run = multiply24<IsMad>;
  decodeOperands(decoder, Type::B32, Type::B32, IsMad ? 3 : 2);
}

// add, addc, sub, subc with .cc: bits 0 and 1 of variant say whether the carry is read and written.

enum : uint8_t { kReadsCarry = 1, kWritesCarry = 2 };

template <typename T, bool IsSub> void addWithCarry(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]), *b = warp.row<T>(instruction.rows[2]);
  T result[kLanes];
  LaneMask out = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned in = instruction.variant & kReadsCarry ? warp.carry >> lane & 1 : 0;
    // a − b = a + ~b + 1; the borrow is the missing carry.
    const unsigned __int128 sum =
        IsSub ? (unsigned __int128)a[lane] + T(~b[lane]) + !in : (unsigned __int128)a[lane] + b[lane] + in;
    result[lane] = T(sum);
    const bool carried = (sum >> (8 * sizeof(T))) & 1;
    out |= LaneMask(IsSub ? !carried : carried) << lane;
  }
  if (instruction.variant & kWritesCarry)
    warp.carry = (warp.carry & ~lanes) | (out & lanes);
  storeLanes(warp, instruction.rows[0], result, lanes);
}

template <bool IsSub, bool ReadsCarry> void decodeAdd(Decoder &decoder) {
  const Type type = decoder.takeType();
  const bool writes = decoder.takeModifier(".cc");
  Instruction &instruction = decoder.instruction;
  if (!writes && !ReadsCarry) {
    if (decoder.takeModifier(".sat")) {
      if (type != Type::S32)
        return decoder.unknown("expected .sat with .s32");
      instruction.run = lanewise<int32_t, int32_t, [](int32_t a, int32_t b, int32_t) {
        const int64_t exact = IsSub ? int64_t(a) - b : int64_t(a) + b;
        return int32_t(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
      }>;
    } else {
      instruction.run = IsSub ? pickInteger<kSub>(type) : pickInteger<kAdd>(type);
    }
  } else {
    instruction.variant = (ReadsCarry ? kReadsCarry : 0) | (writes ? kWritesCarry : 0);
    instruction.run = getBits(type) == 32   ? addWithCarry<uint32_t, IsSub>
                      : getBits(type) == 64 ? addWithCarry<uint64_t, IsSub>
                                            : nullptr;
  }
  if (!instruction.run)
    return decoder.unknown("expected an integer type");
  decodeOperands(decoder, type, type, 2);
}

/// dp4a: four products of bytes; variant: whether a and b are signed.
void dotProduct(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const uint32_t *a = warp.row<uint32_t>(instruction.rows[1]), *b = warp.row<uint32_t>(instruction.rows[2]),
                 *c = warp.row<uint32_t>(instruction.rows[3]);
  auto part = [](uint32_t word, unsigned i, bool isSigned) -> int32_t {
    const uint8_t byte = word >> (8 * i);
    return isSigned ? int32_t(int8_t(byte)) : int32_t(byte);
  };
  uint32_t result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    result[lane] = c[lane];
    for (unsigned i = 0; i < 4; ++i)
      result[lane] += uint32_t(part(a[lane], i, instruction.variant) * part(b[lane], i, instruction.variant2));
  }
  storeLanes(warp, instruction.rows[0], result, lanes);
}

void decodeDotProduct(Decoder &decoder) {
  decoder.instruction.variant = isSigned(decoder.takeType());
  decoder.instruction.variant2 = isSigned(decoder.takeType());
  decoder.instruction.run = dotProduct;
  decodeOperands(decoder, Type::B32, Type::B32, 3);
}

constexpr InstructionInfo kInstructions[] = {
    {"add", Family::Integer, decodeAdd<false, false>},   {"addc", Family::Integer, decodeAdd<false, true>},
    {"sub", Family::Integer, decodeAdd<true, false>},    {"subc", Family::Integer, decodeAdd<true, true>},
    {"mul", Family::Integer, decodeMultiply<false>},     {"mad", Family::Integer, decodeMultiply<true>},
    {"mul24", Family::Integer, decodeMultiply24<false>}, {"mad24", Family::Integer, decodeMultiply24<true>},
    {"div", Family::Integer, decodeInteger<kDiv, 2>},    {"rem", Family::Integer, decodeInteger<kRem, 2>},
    {"min", Family::Integer, decodeMinMax<kMin>},        {"max", Family::Integer, decodeMinMax<kMax>},
    {"neg", Family::Integer, decodeInteger<kNeg, 1>},    {"abs", Family::Integer, decodeInteger<kAbs, 1>},
    {"sad", Family::Integer, decodeInteger<kSad, 3>},    {"dp4a", Family::Integer, decodeDotProduct},
};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getIntegerInstructions() { return kInstructions; }
