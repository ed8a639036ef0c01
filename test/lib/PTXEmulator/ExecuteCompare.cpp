//===- ExecuteCompare.cpp - setp, set, selp, slct, testp ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include <cmath>

using namespace attn::ptx;

namespace {

enum class Comparison : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
constexpr Named<Comparison> kComparisons[] = {
    {".eq", Comparison::Eq},   {".ne", Comparison::Ne},   {".lt", Comparison::Lt},   {".le", Comparison::Le},
    {".gt", Comparison::Gt},   {".ge", Comparison::Ge},   {".lo", Comparison::Lt},   {".ls", Comparison::Le},
    {".hi", Comparison::Gt},   {".hs", Comparison::Ge},   {".equ", Comparison::Equ}, {".neu", Comparison::Neu},
    {".ltu", Comparison::Ltu}, {".leu", Comparison::Leu}, {".gtu", Comparison::Gtu}, {".geu", Comparison::Geu},
    {".num", Comparison::Num}, {".nan", Comparison::Nan}};

enum class Combine : uint8_t { None, And, Or, Xor };
constexpr Named<Combine> kCombines[] = {{".and", Combine::And}, {".or", Combine::Or}, {".xor", Combine::Xor}};

/// Ordered comparisons are false for NaN (and so is .ne, unlike C++'s !=); the …u ones are true.
template <typename T> bool compare(Comparison comparison, T a, T b) {
  const bool isUnordered = a != a || b != b;
  switch (comparison) {
  case Comparison::Eq: return a == b;
  case Comparison::Ne: return !isUnordered && a != b;
  case Comparison::Lt: return a < b;
  case Comparison::Le: return a <= b;
  case Comparison::Gt: return a > b;
  case Comparison::Ge: return a >= b;
  case Comparison::Equ: return isUnordered || a == b;
  case Comparison::Neu: return isUnordered || a != b;
  case Comparison::Ltu: return isUnordered || a < b;
  case Comparison::Leu: return isUnordered || a <= b;
  case Comparison::Gtu: return isUnordered || a > b;
  case Comparison::Geu: return isUnordered || a >= b;
  case Comparison::Num: return !isUnordered;
  case Comparison::Nan: return isUnordered;
  }
  return false;
}

template <typename T> LaneMask compareRows(Warp &warp, const Instruction &instruction) {
  const T *a = warp.row<T>(instruction.rows[2]), *b = warp.row<T>(instruction.rows[3]);
  LaneMask result = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result |= LaneMask(compare(Comparison(instruction.variant), a[lane], b[lane])) << lane;
  return result;
}

LaneMask compareFlushed(Warp &warp, const Instruction &instruction) {
  const float *a = warp.row<float>(instruction.rows[2]), *b = warp.row<float>(instruction.rows[3]);
  auto flush = [](float value) { return std::fabs(value) < 0x1p-126f ? 0.0f : value; };
  LaneMask result = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result |= LaneMask(compare(Comparison(instruction.variant), flush(a[lane]), flush(b[lane]))) << lane;
  return result;
}

/// One half of a register.
template <typename Word> LaneMask compareHalves(Warp &warp, const Instruction &instruction, unsigned shift) {
  const FloatFormat format = instruction.from == Type::BF16 || instruction.from == Type::BF16x2 ? kBF16 : kF16;
  const Word *a = warp.row<Word>(instruction.rows[2]), *b = warp.row<Word>(instruction.rows[3]);
  LaneMask result = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result |= LaneMask(compare(Comparison(instruction.variant), decode(uint16_t(a[lane] >> shift), format),
                               decode(uint16_t(b[lane] >> shift), format)))
              << lane;
  return result;
}

LaneMask compareTyped(Warp &warp, const Instruction &instruction) {
  switch (instruction.from) {
  case Type::B16:
  case Type::U16: return compareRows<uint16_t>(warp, instruction);
  case Type::S16: return compareRows<int16_t>(warp, instruction);
  case Type::B32:
  case Type::U32: return compareRows<uint32_t>(warp, instruction);
  case Type::S32: return compareRows<int32_t>(warp, instruction);
  case Type::B64:
  case Type::U64: return compareRows<uint64_t>(warp, instruction);
  case Type::S64: return compareRows<int64_t>(warp, instruction);
  case Type::F32: return instruction.ftz ? compareFlushed(warp, instruction) : compareRows<float>(warp, instruction);
  case Type::F64: return compareRows<double>(warp, instruction);
  case Type::F16:
  case Type::BF16: return compareHalves<uint16_t>(warp, instruction, 0);
  default: return compareHalves<uint32_t>(warp, instruction, 0);
  }
}

LaneMask combine(const Instruction &instruction, LaneMask result, LaneMask other) {
  switch (Combine(instruction.variant2)) {
  case Combine::None: return result;
  case Combine::And: return result & other;
  case Combine::Or: return result | other;
  case Combine::Xor: return result ^ other;
  }
  return result;
}

/// rows: p, q (of !p, or of the upper half), a, b, c.
void setPredicate(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const LaneMask other = instruction.variant2 ? loadPredicate(warp, instruction.rows[4], instruction.negated) : 0;
  const LaneMask first = compareTyped(warp, instruction);
  const LaneMask second = isPair(instruction.from) ? compareHalves<uint32_t>(warp, instruction, 16) : ~first;
  storePredicate(warp, instruction.rows[0], combine(instruction, first, other), lanes);
  if (instruction.rows[1] != kNoRow)
    storePredicate(warp, instruction.rows[1], combine(instruction, second, other), lanes);
}

bool decodeComparison(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  auto comparison = decoder.takeOne<Comparison>(kComparisons);
  if (!comparison)
    return decoder.unknown("expected a comparison"), false;
  instruction.variant = uint8_t(*comparison);
  instruction.variant2 = uint8_t(decoder.takeOne<Combine>(kCombines).value_or(Combine::None));
  instruction.ftz = decoder.takeModifier(".ftz");
  const size_t operands = 3 + (instruction.variant2 != 0);
  return decoder.expectOperands(operands, operands);
}

void decodeSources(Decoder &decoder, Type type) {
  Instruction &instruction = decoder.instruction;
  instruction.from = type;
  if (getBits(type) < 16)
    return decoder.unknown("expected a type of 16 to 64 bits");
  instruction.rows[2] = decoder.source(decoder.operand(1), type);
  instruction.rows[3] = decoder.source(decoder.operand(2), type);
  if (instruction.variant2)
    instruction.rows[4] = decoder.predicateSource(decoder.operand(3), instruction.negated);
}

void decodeSetp(Decoder &decoder) {
  if (!decodeComparison(decoder))
    return;
  Instruction &instruction = decoder.instruction;
  instruction.run = setPredicate;
  const Operand &result = decoder.operand(0);
  const bool isTwo = result.kind == Operand::Kind::Pair;
  instruction.rows[0] = decoder.destination(isTwo ? result.parts[0] : result, 1);
  instruction.rows[1] = isTwo ? decoder.destination(result.parts[1], 1) : kNoRow;
  decodeSources(decoder, decoder.takeType());
}

/// set: 1.0 or all ones in a register.
void setRegister(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const LaneMask other = instruction.variant2 ? loadPredicate(warp, instruction.rows[4], instruction.negated) : 0;
  const LaneMask result = combine(instruction, compareTyped(warp, instruction), other);
  uint32_t values[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    values[lane] = result >> lane & 1 ? (instruction.type == Type::F32 ? asBits(1.0f) : ~0u) : 0;
  storeLanes(warp, instruction.rows[0], values, lanes);
}

void decodeSet(Decoder &decoder) {
  if (!decodeComparison(decoder))
    return;
  Instruction &instruction = decoder.instruction;
  instruction.run = setRegister;
  instruction.type = decoder.takeType();
  const Type from = decoder.takeType();
  if (getBits(instruction.type) != 32 || isPair(instruction.type) || isPair(from))
    return decoder.unknown("expected a result of 32 bits");
  instruction.rows[0] = decoder.destination(decoder.operand(0), 32);
  decodeSources(decoder, from);
}

template <typename T> void select(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]), *b = warp.row<T>(instruction.rows[2]);
  const LaneMask predicate = loadPredicate(warp, instruction.rows[3], instruction.negated);
  T result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = predicate >> lane & 1 ? a[lane] : b[lane];
  storeLanes(warp, instruction.rows[0], result, lanes);
  if (instruction.isTracked)
    warp.setUndefined(instruction.rows[0],
                      warp.undefinedLanes(instruction.rows[3]) |
                          (predicate & warp.undefinedLanes(instruction.rows[1])) |
                          (~predicate & warp.undefinedLanes(instruction.rows[2])),
                      lanes);
}

void decodeSelp(Decoder &decoder) {
  const Type type = decoder.takeType();
  if (getBits(type) < 16)
    return decoder.unknown("expected a type of 16 to 64 bits");
  if (!decoder.expectOperands(4, 4))
    return;
  Instruction &instruction = decoder.instruction;
  decoder.setUndefinedUse(UndefinedUse::Own);
  instruction.run = getBits(type) == 16 ? select<uint16_t> : getBits(type) == 32 ? select<uint32_t> : select<uint64_t>;
  instruction.rows[0] = decoder.destination(decoder.operand(0), getBits(type));
  instruction.rows[1] = decoder.source(decoder.operand(1), type);
  instruction.rows[2] = decoder.source(decoder.operand(2), type);
  instruction.rows[3] = decoder.predicateSource(decoder.operand(3), instruction.negated);
}

/// slct: a where c ≥ 0, else b.
template <typename T, typename C> void selectBySign(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]), *b = warp.row<T>(instruction.rows[2]);
  const C *c = warp.row<C>(instruction.rows[3]);
  T result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = c[lane] >= 0 ? a[lane] : b[lane];
  storeLanes(warp, instruction.rows[0], result, lanes);
}

void decodeSlct(Decoder &decoder) {
  const Type type = decoder.takeType(), by = decoder.takeType();
  Instruction &instruction = decoder.instruction;
  const bool isFloat = by == Type::F32;
  if (!isFloat && by != Type::S32)
    return decoder.unknown("expected .s32 or .f32");
  switch (getBits(type)) {
  case 16: instruction.run = isFloat ? selectBySign<uint16_t, float> : selectBySign<uint16_t, int32_t>; break;
  case 32: instruction.run = isFloat ? selectBySign<uint32_t, float> : selectBySign<uint32_t, int32_t>; break;
  case 64: instruction.run = isFloat ? selectBySign<uint64_t, float> : selectBySign<uint64_t, int32_t>; break;
  default: return decoder.unknown("expected a type of 16 to 64 bits");
  }
  if (!decoder.expectOperands(4, 4))
    return;
  instruction.rows[0] = decoder.destination(decoder.operand(0), getBits(type));
  instruction.rows[1] = decoder.source(decoder.operand(1), type);
  instruction.rows[2] = decoder.source(decoder.operand(2), type);
  instruction.rows[3] = decoder.source(decoder.operand(3), by);
}

enum class Class : uint8_t { Finite, Infinite, Number, NotANumber, Normal, Subnormal };

template <typename T> void testClass(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]);
  LaneMask result = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const int kind = std::fpclassify(a[lane]);
    bool is = false;
    switch (Class(instruction.variant)) {
    case Class::Finite: is = kind != FP_INFINITE && kind != FP_NAN; break;
    case Class::Infinite: is = kind == FP_INFINITE; break;
    case Class::Number: is = kind != FP_NAN; break;
    case Class::NotANumber: is = kind == FP_NAN; break;
    case Class::Normal: is = kind == FP_NORMAL || kind == FP_ZERO; break;
    case Class::Subnormal: is = kind == FP_SUBNORMAL; break;
    }
    result |= LaneMask(is) << lane;
  }
  storePredicate(warp, instruction.rows[0], result, lanes);
}

void decodeTestp(Decoder &decoder) {
  constexpr Named<Class> kClasses[] = {{".finite", Class::Finite}, {".infinite", Class::Infinite},
                                       {".number", Class::Number}, {".notanumber", Class::NotANumber},
                                       {".normal", Class::Normal}, {".subnormal", Class::Subnormal}};
  auto which = decoder.takeOne<Class>(kClasses);
  const Type type = decoder.takeType();
  if (!which || (type != Type::F32 && type != Type::F64))
    return decoder.unknown("expected a class and .f32 or .f64");
  if (!decoder.expectOperands(2, 2))
    return;
  decoder.instruction.variant = uint8_t(*which);
  decoder.instruction.run = type == Type::F32 ? testClass<float> : testClass<double>;
  decoder.instruction.rows[0] = decoder.destination(decoder.operand(0), 1);
  decoder.instruction.rows[1] = decoder.source(decoder.operand(1), type);
}

constexpr InstructionInfo kInstructions[] = {
    {"setp", Family::Any, decodeSetp}, {"set", Family::Any, decodeSet},     {"selp", Family::Any, decodeSelp},
    {"slct", Family::Any, decodeSlct}, {"testp", Family::Any, decodeTestp},
};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getCompareInstructions() { return kInstructions; }
