//===- ExecuteLogic.cpp - bits: logic, shifts, fields, permutations -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include <algorithm>
#include <bit>

using namespace attn::ptx;

namespace {

constexpr auto kAnd = [](auto a, auto b, auto) { return a & b; };
constexpr auto kOr = [](auto a, auto b, auto) { return a | b; };
constexpr auto kXor = [](auto a, auto b, auto) { return a ^ b; };
constexpr auto kNot = [](auto a, auto, auto) { return ~a; };
constexpr auto kCnot = [](auto a, auto, auto) { return a == 0; };

template <auto F, unsigned Sources> void decodeLogic(Decoder &decoder) {
  const Type type = decoder.takeType();
  decoder.instruction.run = pickInteger<F>(type);
  if (!decoder.instruction.run)
    return decoder.unknown("expected .b16, .b32, .b64 or .pred");
  decodeOperands(decoder, type, type, Sources);
}

/// The same on predicates, whose lanes are the bits of one word.
template <auto F> void predicateLogic(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const LaneMask a = loadPredicate(warp, instruction.rows[1], instruction.variant & 1);
  const LaneMask b = loadPredicate(warp, instruction.rows[2], instruction.variant & 2);
  storePredicate(warp, instruction.rows[0], F(a, b, b), lanes);
}

template <auto F, unsigned Sources> void decodePredicateLogic(Decoder &decoder) {
  decoder.takeType();
  if (!decoder.expectOperands(1 + Sources, 1 + Sources))
    return;
  Instruction &instruction = decoder.instruction;
  instruction.run = predicateLogic<F>;
  instruction.rows[0] = decoder.destination(decoder.operand(0), 1);
  bool negated[2] = {};
  for (unsigned i = 0; i < Sources; ++i)
    instruction.rows[1 + i] = decoder.predicateSource(decoder.operand(1 + i), negated[i]);
  if (Sources == 1)
    instruction.rows[2] = instruction.rows[1];
  instruction.variant = negated[0] | negated[1] << 1;
}

/// Shifts: the amount has 32 bits for every type, and is clamped to the type's bits.
template <typename T, bool IsLeft> void shift(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]);
  const uint32_t *amount = warp.row<uint32_t>(instruction.rows[2]);
  constexpr unsigned kBits = 8 * sizeof(T);
  T result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const bool isAll = amount[lane] >= kBits;
    const unsigned by = isAll ? kBits - 1 : amount[lane];
    if constexpr (IsLeft)
      result[lane] = isAll ? T(0) : T(uint64_t(a[lane]) << by);
    else
      result[lane] = isAll && !std::is_signed_v<T> ? T(0) : T(a[lane] >> by);
  }
  storeLanes(warp, instruction.rows[0], result, lanes);
}

template <bool IsLeft> void decodeShift(Decoder &decoder) {
  const Type type = decoder.takeType();
  Handler run = nullptr;
  switch (getBits(type)) {
  case 16: run = isSigned(type) ? shift<int16_t, IsLeft> : shift<uint16_t, IsLeft>; break;
  case 32: run = isSigned(type) ? shift<int32_t, IsLeft> : shift<uint32_t, IsLeft>; break;
  case 64: run = isSigned(type) ? shift<int64_t, IsLeft> : shift<uint64_t, IsLeft>; break;
  default: return decoder.unknown("expected a type of 16, 32 or 64 bits");
  }
  if (!decoder.expectOperands(3, 3))
    return;
  Instruction &instruction = decoder.instruction;
  instruction.run = run;
  instruction.rows[0] = decoder.destination(decoder.operand(0), getBits(type));
  instruction.rows[1] = decoder.source(decoder.operand(1), type);
  instruction.rows[2] = decoder.source(decoder.operand(2), Type::U32);
}

/// shf: 32 of the 64 bits b:a, shifted. variant: left; variant2: wrap, else clamp.
void funnelShift(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const uint32_t *a = warp.row<uint32_t>(instruction.rows[1]), *b = warp.row<uint32_t>(instruction.rows[2]),
                 *c = warp.row<uint32_t>(instruction.rows[3]);
  uint32_t result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned by = instruction.variant2 ? c[lane] & 31 : std::min(c[lane], 32u);
    const uint64_t both = uint64_t(b[lane]) << 32 | a[lane];
    result[lane] = uint32_t(instruction.variant ? (both << by) >> 32 : both >> by);
  }
  storeLanes(warp, instruction.rows[0], result, lanes);
}

void decodeFunnelShift(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  instruction.variant = decoder.takeModifier(".l");
  if (!instruction.variant && !decoder.takeModifier(".r"))
    return decoder.unknown("expected .l or .r");
  instruction.variant2 = decoder.takeModifier(".wrap");
  if (!instruction.variant2 && !decoder.takeModifier(".clamp"))
    return decoder.unknown("expected .wrap or .clamp");
  instruction.run = funnelShift;
  decoder.takeType();
  decodeOperands(decoder, Type::B32, Type::B32, 3);
}

template <typename T> void extractField(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]);
  const uint32_t *b = warp.row<uint32_t>(instruction.rows[2]), *c = warp.row<uint32_t>(instruction.rows[3]);
  constexpr unsigned kBits = 8 * sizeof(T);
  using U = std::make_unsigned_t<T>;
  T result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned start = b[lane] & 0xff, length = c[lane] & 0xff;
    const U value = start < kBits ? U(U(a[lane]) >> start) : U(0);
    const unsigned last = std::min(start + length - 1, kBits - 1);
    const bool sign = std::is_signed_v<T> && length && (U(a[lane]) >> last & 1);
    // Bits from `kept` on are copies of the sign.
    const unsigned kept = start < kBits ? std::min(length, kBits - start) : 0;
    const U mask = kept >= kBits ? U(~U(0)) : U((U(1) << kept) - 1);
    result[lane] = T((value & mask) | (sign ? U(~mask) : U(0)));
  }
  storeLanes(warp, instruction.rows[0], result, lanes);
}

void decodeExtractField(Decoder &decoder) {
  const Type type = decoder.takeType();
  Instruction &instruction = decoder.instruction;
  instruction.run = type == Type::U32   ? extractField<uint32_t>
                    : type == Type::S32 ? extractField<int32_t>
                    : type == Type::U64 ? extractField<uint64_t>
                    : type == Type::S64 ? extractField<int64_t>
                                        : Handler(nullptr);
  if (!instruction.run)
    return decoder.unknown("expected .u32, .s32, .u64 or .s64");
  if (!decoder.expectOperands(4, 4))
    return;
  instruction.rows[0] = decoder.destination(decoder.operand(0), getBits(type));
  instruction.rows[1] = decoder.source(decoder.operand(1), type);
  instruction.rows[2] = decoder.source(decoder.operand(2), Type::U32);
  instruction.rows[3] = decoder.source(decoder.operand(3), Type::U32);
}

template <typename T> void insertField(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]), *b = warp.row<T>(instruction.rows[2]);
  const uint32_t *c = warp.row<uint32_t>(instruction.rows[3]), *d = warp.row<uint32_t>(instruction.rows[4]);
  constexpr unsigned kBits = 8 * sizeof(T);
  T result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned start = c[lane] & 0xff, length = d[lane] & 0xff;
    const T field = length >= kBits ? T(~T(0)) : T((T(1) << length) - 1);
    const T mask = start < kBits ? T(field << start) : T(0);
    result[lane] = (b[lane] & ~mask) | (start < kBits ? T(a[lane] << start) & mask : T(0));
  }
  storeLanes(warp, instruction.rows[0], result, lanes);
}

void decodeInsertField(Decoder &decoder) {
  const Type type = decoder.takeType();
  Instruction &instruction = decoder.instruction;
  if (type != Type::B32 && type != Type::B64)
    return decoder.unknown("expected .b32 or .b64");
  if (!decoder.expectOperands(5, 5))
    return;
  instruction.run = type == Type::B32 ? insertField<uint32_t> : insertField<uint64_t>;
  instruction.rows[0] = decoder.destination(decoder.operand(0), getBits(type));
  for (unsigned i = 1; i < 5; ++i)
    instruction.rows[i] = decoder.source(decoder.operand(i), i < 3 ? type : Type::U32);
}

// Instructions whose result has 32 bits for every type: popc, clz, bfind.

template <typename T, auto F> void toWord(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]);
  uint32_t result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = F(a[lane]);
  storeLanes(warp, instruction.rows[0], result, lanes);
}

constexpr auto kPopc = [](auto a) -> uint32_t { return std::popcount(std::make_unsigned_t<decltype(a)>(a)); };
constexpr auto kClz = [](auto a) -> uint32_t { return std::countl_zero(std::make_unsigned_t<decltype(a)>(a)); };
/// The position of the highest bit that differs from the sign; −1 if there is none.
constexpr auto kBfind = [](auto a) -> uint32_t {
  using U = std::make_unsigned_t<decltype(a)>;
  return 8 * sizeof(a) - 1 - std::countl_zero(U(a < 0 ? ~a : a));
};
constexpr auto kBfindShift = [](auto a) -> uint32_t {
  const uint32_t position = kBfind(a);
  return position == ~0u ? position : 8 * sizeof(a) - 1 - position;
};

template <auto F> Handler pickToWord(Type type) {
  switch (type) {
  case Type::B32:
  case Type::U32: return toWord<uint32_t, F>;
  case Type::S32: return toWord<int32_t, F>;
  case Type::B64:
  case Type::U64: return toWord<uint64_t, F>;
  case Type::S64: return toWord<int64_t, F>;
  default: return nullptr;
  }
}

void finishToWord(Decoder &decoder, Type type, Handler run) {
  if (!run)
    return decoder.unknown("expected a type of 32 or 64 bits");
  decoder.instruction.run = run;
  if (!decoder.expectOperands(2, 2))
    return;
  decoder.instruction.rows[0] = decoder.destination(decoder.operand(0), 32);
  decoder.instruction.rows[1] = decoder.source(decoder.operand(1), type);
}

template <auto F> void decodeToWord(Decoder &decoder) {
  const Type type = decoder.takeType();
  finishToWord(decoder, type, pickToWord<F>(type));
}

void decodeBfind(Decoder &decoder) {
  const Type type = decoder.takeType();
  finishToWord(decoder, type,
               decoder.takeModifier(".shiftamt") ? pickToWord<kBfindShift>(type) : pickToWord<kBfind>(type));
}

constexpr auto kBrev = [](auto a, auto, auto) {
  decltype(a) result = 0;
  for (unsigned i = 0; i < 8 * sizeof(a); ++i)
    result |= (a >> i & 1) << (8 * sizeof(a) - 1 - i);
  return result;
};

/// Any function of three bits: the table's bit number abc.
void lop3(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const uint32_t *a = warp.row<uint32_t>(instruction.rows[1]), *b = warp.row<uint32_t>(instruction.rows[2]),
                 *c = warp.row<uint32_t>(instruction.rows[3]);
  uint32_t result[kLanes] = {};
  for (unsigned term = 0; term < 8; ++term) {
    if (!(instruction.variant >> term & 1))
      continue;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      result[lane] |=
          (term & 4 ? a[lane] : ~a[lane]) & (term & 2 ? b[lane] : ~b[lane]) & (term & 1 ? c[lane] : ~c[lane]);
  }
  storeLanes(warp, instruction.rows[0], result, lanes);
}

void decodeLop3(Decoder &decoder) {
  decoder.takeType();
  if (!decoder.expectOperands(5, 5))
    return;
  Instruction &instruction = decoder.instruction;
  instruction.run = lop3;
  instruction.rows[0] = decoder.destination(decoder.operand(0), 32);
  for (unsigned i = 1; i < 4; ++i)
    instruction.rows[i] = decoder.source(decoder.operand(i), Type::B32);
  auto table = decoder.constantOperand(decoder.operand(4));
  if (!table || *table > 0xff)
    return decoder.invalid("expected a table from 0 to 0xff");
  instruction.variant = uint8_t(*table);
}

enum class Permute : uint8_t { General, F4e, B4e, Rc8, Ecl, Ecr, Rc16 };

/// prmt: which of the 8 bytes b:a each byte is; bit 3 of a selector replicates its sign.
void permute(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const uint32_t *a = warp.row<uint32_t>(instruction.rows[1]), *b = warp.row<uint32_t>(instruction.rows[2]),
                 *c = warp.row<uint32_t>(instruction.rows[3]);
  uint32_t result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint64_t bytes = uint64_t(b[lane]) << 32 | a[lane];
    const unsigned select = c[lane] & 3;
    result[lane] = 0;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned from = 0;
      bool isSign = false;
      switch (Permute(instruction.variant)) {
      case Permute::General:
        from = c[lane] >> (4 * i) & 7;
        isSign = c[lane] >> (4 * i + 3) & 1;
        break;
      case Permute::F4e: from = select + i; break;
      case Permute::B4e: from = (8 + select - i) % 8; break;
      case Permute::Rc8: from = select; break;
      case Permute::Ecl: from = std::max(i, select); break;
      case Permute::Ecr: from = std::min(i, select); break;
      case Permute::Rc16: from = (select & 1) * 2 + (i & 1); break;
      }
      uint8_t byte = uint8_t(bytes >> (8 * from));
      if (isSign)
        byte = byte & 0x80 ? 0xff : 0;
      result[lane] |= uint32_t(byte) << (8 * i);
    }
  }
  storeLanes(warp, instruction.rows[0], result, lanes);
}

void decodePermute(Decoder &decoder) {
  constexpr Named<Permute> kModes[] = {{".f4e", Permute::F4e}, {".b4e", Permute::B4e}, {".rc8", Permute::Rc8},
                                       {".ecl", Permute::Ecl}, {".ecr", Permute::Ecr}, {".rc16", Permute::Rc16}};
  decoder.takeType();
  decoder.instruction.variant = uint8_t(decoder.takeOne<Permute>(kModes).value_or(Permute::General));
  decoder.instruction.run = permute;
  decodeOperands(decoder, Type::B32, Type::B32, 3);
}

constexpr InstructionInfo kInstructions[] = {
    {"and", Family::Integer, decodeLogic<kAnd, 2>},
    {"and", Family::Predicate, decodePredicateLogic<kAnd, 2>},
    {"or", Family::Integer, decodeLogic<kOr, 2>},
    {"or", Family::Predicate, decodePredicateLogic<kOr, 2>},
    {"xor", Family::Integer, decodeLogic<kXor, 2>},
    {"xor", Family::Predicate, decodePredicateLogic<kXor, 2>},
    {"not", Family::Integer, decodeLogic<kNot, 1>},
    {"not", Family::Predicate, decodePredicateLogic<kNot, 1>},
    {"cnot", Family::Integer, decodeLogic<kCnot, 1>},
    {"shl", Family::Integer, decodeShift<true>},
    {"shr", Family::Integer, decodeShift<false>},
    {"shf", Family::Integer, decodeFunnelShift},
    {"bfe", Family::Integer, decodeExtractField},
    {"bfi", Family::Integer, decodeInsertField},
    {"popc", Family::Integer, decodeToWord<kPopc>},
    {"clz", Family::Integer, decodeToWord<kClz>},
    {"bfind", Family::Integer, decodeBfind},
    {"brev", Family::Integer, decodeLogic<kBrev, 1>},
    {"lop3", Family::Integer, decodeLop3},
    {"prmt", Family::Integer, decodePermute},
};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getLogicInstructions() { return kInstructions; }
