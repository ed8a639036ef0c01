//===- ExecuteConvert.cpp - cvt, cvta -------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Addresses.h"
#include "Families.h"
#include "Lanewise.h"

#include <algorithm>
#include <cmath>

using namespace attn::ptx;

namespace {

using Wide = __int128;

bool isFloat(Type type) { return type >= Type::F16; }

/// The format of a float type, or of the parts of a packed one.
FloatFormat formatOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2: return kF16;
  case Type::BF16:
  case Type::BF16x2: return kBF16;
  case Type::TF32: return kTF32;
  case Type::E4M3x2: return kE4M3;
  case Type::E5M2x2: return kE5M2;
  default: return kF32;
  }
}

uint64_t loadBits(Warp &warp, uint32_t row, unsigned registerBytes, unsigned lane) {
  uint64_t bits = 0;
  std::memcpy(&bits, warp.row<uint8_t>(row) + size_t(lane) * registerBytes, registerBytes);
  return bits;
}

void storeBits(Warp &warp, uint32_t row, unsigned registerBytes, unsigned lane, uint64_t bits) {
  std::memcpy(warp.row<uint8_t>(row) + size_t(lane) * registerBytes, &bits, registerBytes);
}

Wide toInteger(uint64_t bits, Type type) {
  switch (type) {
  case Type::U8:
  case Type::B8: return uint8_t(bits);
  case Type::S8: return int8_t(bits);
  case Type::U16:
  case Type::B16: return uint16_t(bits);
  case Type::S16: return int16_t(bits);
  case Type::U32:
  case Type::B32: return uint32_t(bits);
  case Type::S32: return int32_t(bits);
  case Type::S64: return int64_t(bits);
  default: return bits;
  }
}

double toDouble(uint64_t bits, Type type) {
  if (type == Type::F64)
    return __builtin_bit_cast(double, bits);
  if (type == Type::F32)
    return asFloat(uint32_t(bits));
  if (type == Type::TF32)
    return asFloat(uint32_t(bits) & 0xffffe000);
  return decode(uint32_t(bits) & ((1u << formatOf(type).bits()) - 1), formatOf(type));
}

Wide smallest(Type type) { return isSigned(type) ? -(Wide(1) << (getBits(type) - 1)) : 0; }
Wide largest(Type type) { return (Wide(1) << (getBits(type) - isSigned(type))) - 1; }

double roundToInteger(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero: return std::trunc(value);
  case Rounding::Down: return std::floor(value);
  case Rounding::Up: return std::ceil(value);
  case Rounding::NearestAway: return std::round(value);
  case Rounding::NearestEven: break;
  }
  return std::rint(value); // the host rounds to nearest even
}

/// The bits of the register: the ISA extends a narrow integer result by its sign.
uint64_t extendResult(Wide value, Type type) {
  const unsigned bits = getBits(type);
  return bits == 64 || isSigned(type) ? uint64_t(value) : uint64_t(value) & ((uint64_t(1) << bits) - 1);
}

uint64_t floatToInteger(double value, const Instruction &instruction) {
  const Type type = instruction.type;
  if (value != value) // 0, or only the highest bit if 64 bits are involved
    return instruction.from != Type::F64 && getBits(type) != 64 ? 0 : uint64_t(1) << (getBits(type) - 1);
  value = roundToInteger(value, instruction.rounding);
  // Always clamped, with or without .sat.
  if (value <= double(smallest(type)))
    return extendResult(smallest(type), type);
  if (value >= double(largest(type)))
    return extendResult(largest(type), type);
  return extendResult(Wide(value), type);
}

uint64_t fromDouble(double value, const Instruction &instruction) {
  if (instruction.saturate)
    value = value > 0 ? std::min(value, 1.0) : 0.0;
  if (instruction.relu && value < 0)
    value = 0;
  if (instruction.type == Type::F64)
    return __builtin_bit_cast(uint64_t, value);
  uint32_t bits = encode(value, formatOf(instruction.type), instruction.rounding, instruction.propagateNaN);
  if (instruction.type == Type::TF32)
    return uint64_t(bits) << 13;
  if (instruction.ftz && instruction.type == Type::F32 && (bits & 0x7f800000) == 0)
    bits &= 0x80000000;
  return bits;
}

uint64_t convertOne(uint64_t bits, const Instruction &instruction) {
  const Type from = instruction.from, to = instruction.type;
  if (!isFloat(from)) {
    const Wide value = toInteger(bits, from);
    if (!isFloat(to))
      return extendResult(
          instruction.saturate ? std::clamp(value, smallest(to), largest(to)) : toInteger(uint64_t(value), to), to);
    if (to == Type::F64)
      return __builtin_bit_cast(uint64_t, isSigned(from) ? double(int64_t(value)) : double(uint64_t(value)));
    // 64 bits in two parts, each exact in a double.
    return fromDouble(addToOdd(double(int64_t(value >> 32)) * 0x1p32, double(uint32_t(value))), instruction);
  }
  double value = toDouble(bits, from);
  if (instruction.ftz && from == Type::F32 && std::fabs(value) < 0x1p-126)
    value = std::copysign(0.0, value);
  if (!isFloat(to))
    return floatToInteger(value, instruction);
  return fromDouble(instruction.variant ? roundToInteger(value, instruction.rounding) : value, instruction);
}

/// count and bytes: bytes of a lane of the destination and of the source registers, which may be wider than the types.
void convert(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    const uint64_t bits = loadBits(warp, instruction.rows[1], instruction.bytes, lane);
    storeBits(warp, instruction.rows[0], instruction.count, lane, convertOne(bits, instruction));
  });
}

/// Two floats, the first into the upper half.
void packTwo(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const float *upper = warp.row<float>(instruction.rows[1]), *lower = warp.row<float>(instruction.rows[2]);
  const unsigned half = getBits(instruction.type) / 2;
  forLanes(lanes, [&](unsigned lane) {
    const uint64_t bits = fromDouble(upper[lane], instruction) << half | fromDouble(lower[lane], instruction);
    storeBits(warp, instruction.rows[0], instruction.count, lane, bits);
  });
}

/// A pair into a pair of another format.
void convertPair(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const unsigned fromHalf = getBits(instruction.from) / 2, toHalf = getBits(instruction.type) / 2;
  forLanes(lanes, [&](unsigned lane) {
    const uint64_t bits = loadBits(warp, instruction.rows[1], instruction.bytes, lane);
    const uint64_t lower = fromDouble(toDouble(bits, instruction.from), instruction);
    const uint64_t upper = fromDouble(toDouble(bits >> fromHalf, instruction.from), instruction);
    storeBits(warp, instruction.rows[0], instruction.count, lane, upper << toHalf | lower);
  });
}

void decodeCvt(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  constexpr Named<Rounding> kToInteger[] = {
      {".rni", Rounding::NearestEven}, {".rzi", Rounding::Zero}, {".rmi", Rounding::Down}, {".rpi", Rounding::Up}};
  decoder.takeRounding();
  if (auto rounding = decoder.takeOne<Rounding>(kToInteger)) {
    instruction.rounding = *rounding;
    instruction.variant = true;
  }
  instruction.ftz = decoder.takeModifier(".ftz");
  instruction.saturate = decoder.takeModifier(".sat");
  instruction.relu = decoder.takeModifier(".relu");
  instruction.propagateNaN = decoder.takeModifier(".satfinite");
  instruction.type = decoder.takeType();
  instruction.from = decoder.takeType();
  const bool isPacked = isPair(instruction.type) && !isPair(instruction.from);
  if (isPair(instruction.from) && !isPair(instruction.type))
    return decoder.unknown("expected a packed result of a packed operand");
  if (isPacked && instruction.from != Type::F32)
    return decoder.unknown("expected .f32 operands of a packed result");
  if (!decoder.expectOperands(isPacked ? 3 : 2, isPacked ? 3 : 2))
    return;
  unsigned bits = 0;
  instruction.rows[0] = decoder.looseDestination(decoder.operand(0), getBits(instruction.type), bits);
  instruction.count = bits / 8;
  if (isPacked) {
    instruction.run = packTwo;
    instruction.rows[1] = decoder.source(decoder.operand(1), Type::F32);
    instruction.rows[2] = decoder.source(decoder.operand(2), Type::F32);
    return;
  }
  instruction.run = isPair(instruction.type) ? convertPair : convert;
  if (decoder.operand(1).kind == Operand::Kind::Register) {
    instruction.rows[1] = decoder.looseSource(decoder.operand(1), getBits(instruction.from), bits);
    instruction.bytes = bits / 8;
    return;
  }
  const bool isByte = getBits(instruction.from) == 8;
  instruction.rows[1] = decoder.source(decoder.operand(1), isByte ? Type::B16 : instruction.from);
  instruction.bytes = isByte ? 2 : getBytes(instruction.from);
}

/// cvta: adds the base of the space's window, or with .to subtracts it.
template <typename T> void convertAddress(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]);
  const uint64_t window = uint64_t(instruction.offset);
  T result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = T(instruction.variant ? a[lane] - window : a[lane] + window);
  storeLanes(warp, instruction.rows[0], result, lanes);
}

void decodeCvta(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  instruction.variant = decoder.takeModifier(".to");
  switch (decoder.takeSpace()) {
  case Space::Shared: instruction.offset = int64_t(kSharedWindow); break;
  case Space::Local: instruction.offset = int64_t(kLocalWindow); break;
  case Space::Param: instruction.offset = int64_t(kParamWindow); break;
  case Space::Global:
  case Space::Const: break;
  case Space::Generic: return decoder.unknown("expected a space");
  }
  const Type type = decoder.takeType();
  if (type != Type::U64)
    return decoder.unknown("expected .u64");
  instruction.run = convertAddress<uint64_t>;
  decodeOperands(decoder, type, type, 1);
}

constexpr InstructionInfo kInstructions[] = {{"cvt", Family::Any, decodeCvt}, {"cvta", Family::Any, decodeCvta}};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getConvertInstructions() { return kInstructions; }
