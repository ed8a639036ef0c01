//===- ExecuteMove.cpp - mov, with packing and unpacking; isspacep --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

using namespace attn::ptx;

namespace {

template <typename T> void move(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  storeLanes(warp, instruction.rows[0], warp.row<T>(instruction.rows[1]), lanes);
}

void movePredicate(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  storePredicate(warp, instruction.rows[0], loadPredicate(warp, instruction.rows[1], instruction.negated), lanes);
}

/// rows: the whole, then its parts, lowest first. bytes: of a part.
void pack(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const unsigned bytes = instruction.bytes, count = instruction.count;
  forLanes(lanes, [&](unsigned lane) {
    uint8_t whole[16];
    for (unsigned i = 0; i < count; ++i)
      std::memcpy(whole + i * bytes, warp.row<uint8_t>(instruction.rows[1 + i]) + lane * bytes, bytes);
    std::memcpy(warp.row<uint8_t>(instruction.rows[0]) + lane * bytes * count, whole, bytes * count);
  });
}

void unpack(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const unsigned bytes = instruction.bytes, count = instruction.count;
  forLanes(lanes, [&](unsigned lane) {
    uint8_t whole[16];
    std::memcpy(whole, warp.row<uint8_t>(instruction.rows[0]) + lane * bytes * count, bytes * count);
    for (unsigned i = 0; i < count; ++i)
      std::memcpy(warp.row<uint8_t>(instruction.rows[1 + i]) + lane * bytes, whole + i * bytes, bytes);
  });
}

Type partOf(unsigned bits) {
  return bits == 8 ? Type::B8 : bits == 16 ? Type::B16 : bits == 32 ? Type::B32 : bits == 64 ? Type::B64 : Type::None;
}

void decodeVector(Decoder &decoder, Type type, bool isPack) {
  Instruction &instruction = decoder.instruction;
  const Operand &whole = decoder.operand(isPack ? 0 : 1), &parts = decoder.operand(isPack ? 1 : 0);
  const unsigned bits = getBits(type) / parts.parts.size();
  const Type part = partOf(bits);
  // An 8-bit part would need an 8-bit register, which is stored in 16 bits.
  if (part == Type::None || part == Type::B8 || bits * parts.parts.size() != getBits(type))
    return decoder.unknown("expected 2 or 4 parts of 16 to 64 bits");
  instruction.count = parts.parts.size();
  instruction.bytes = bits / 8;
  instruction.run = isPack ? pack : unpack;
  instruction.rows[0] = isPack ? decoder.destination(whole, getBits(type)) : decoder.source(whole, type);
  for (size_t i = 0; i < parts.parts.size(); ++i)
    instruction.rows[1 + i] = isPack ? decoder.source(parts.parts[i], part) : decoder.destination(parts.parts[i], bits);
}

void decodeMov(Decoder &decoder) {
  const Type type = decoder.takeType();
  if (!decoder.expectOperands(2, 2))
    return;
  Instruction &instruction = decoder.instruction;
  if (decoder.operand(1).kind == Operand::Kind::Vector)
    return decodeVector(decoder, type, true);
  if (decoder.operand(0).kind == Operand::Kind::Vector)
    return decodeVector(decoder, type, false);
  instruction.rows[0] = decoder.destination(decoder.operand(0), getBits(type));
  if (type == Type::Pred) {
    instruction.run = movePredicate;
    instruction.rows[1] = decoder.predicateSource(decoder.operand(1), instruction.negated);
    return;
  }
  instruction.rows[1] = decoder.source(decoder.operand(1), type);
  switch (getBits(type)) {
  case 16: instruction.run = move<uint16_t>; break;
  case 32: instruction.run = move<uint32_t>; break;
  case 64: instruction.run = move<uint64_t>; break;
  default: decoder.unknown("expected a type of 16, 32 or 64 bits");
  }
}

void isSpace(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const uint64_t *a = warp.row<uint64_t>(instruction.rows[1]);
  LaneMask result = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    uint64_t address = a[lane];
    result |= LaneMask(Block::resolveGeneric(address) == instruction.space) << lane;
  }
  storePredicate(warp, instruction.rows[0], result, lanes);
}

void decodeIsSpace(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  instruction.space = decoder.takeSpace();
  if (instruction.space == Space::Generic || instruction.space == Space::Const)
    return decoder.unknown("expected .global, .shared, .local or .param");
  instruction.run = isSpace;
  decodeOperands(decoder, Type::Pred, Type::U64, 1);
}

constexpr InstructionInfo kInstructions[] = {{"mov", Family::Any, decodeMov}, {"isspacep", Family::Any, decodeIsSpace}};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getMoveInstructions() { return kInstructions; }
