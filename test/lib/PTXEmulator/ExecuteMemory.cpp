//===- ExecuteMemory.cpp - ld, ldu, st, prefetch --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "MemoryRows.h"

using namespace attn::ptx;

namespace {

/// rows: address, then the registers. variant: bytes of a lane of a register, which may be wider than an element.
void load(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  uint64_t addresses[kLanes];
  const Space space = loadAddresses(warp, instruction, lanes, addresses);
  const unsigned bytes = instruction.bytes, total = bytes * instruction.count;
  warp.block.countAccess(instruction, space, addresses, lanes, total);
  // Most elements are as wide as their 32-bit registers.
  const bool isWord = bytes == sizeof(uint32_t) && instruction.variant == sizeof(uint32_t);
  const Access access = instruction.isStrong ? Access::StrongRead : Access::Read;
  forLanes(lanes, [&](unsigned lane) {
    const uint8_t *data = warp.block.access(warp, lane, instruction, instruction.space, addresses[lane], total, access);
    if (isWord) {
      for (unsigned i = 0; i < instruction.count; ++i) {
        uint32_t &word = warp.row<uint32_t>(instruction.rows[1 + i])[lane];
        data ? void(std::memcpy(&word, data + i * sizeof(word), sizeof(word))) : void(word = 0);
      }
      return;
    }
    for (unsigned i = 0; i < instruction.count; ++i) {
      uint64_t value = 0;
      if (data)
        std::memcpy(&value, data + i * bytes, bytes);
      if (isSigned(instruction.type) && bytes < 8 && (value >> (8 * bytes - 1) & 1))
        value |= ~uint64_t(0) << (8 * bytes);
      std::memcpy(warp.row<uint8_t>(instruction.rows[1 + i]) + lane * instruction.variant, &value, instruction.variant);
    }
  });
  if (access == Access::StrongRead && space == Space::Global)
    warp.block.order(warp, instruction, lanes, addresses, access);
}

void store(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  uint64_t addresses[kLanes];
  const Space space = loadAddresses(warp, instruction, lanes, addresses);
  const unsigned bytes = instruction.bytes, total = bytes * instruction.count;
  warp.block.countAccess(instruction, space, addresses, lanes, total);
  const Access access = instruction.isStrong ? Access::StrongWrite : Access::Write;
  forLanes(lanes, [&](unsigned lane) {
    uint8_t *data = warp.block.access(warp, lane, instruction, instruction.space, addresses[lane], total, access);
    for (unsigned i = 0; data && i < instruction.count; ++i)
      std::memcpy(data + i * bytes, warp.row<uint8_t>(instruction.rows[1 + i]) + lane * instruction.variant, bytes);
    if (data)
      warp.block.traceWrite(warp, lane, instruction.space, addresses[lane], data, total);
  });
  if (access == Access::StrongWrite && space == Space::Global)
    warp.block.order(warp, instruction, lanes, addresses, access);
}

/// Caches are not modelled.
void takeCacheHints(Decoder &decoder) {
  decoder.takeHints({".nc", ".ca", ".cg", ".cs", ".lu", ".cv", ".wb", ".wt", ".L1::evict_normal",
                     ".L1::evict_unchanged", ".L1::evict_first", ".L1::evict_last", ".L1::no_allocate",
                     ".L2::evict_normal", ".L2::evict_first", ".L2::evict_last", ".L2::64B", ".L2::128B", ".L2::256B"});
}

template <bool IsLoad> void decodeAccess(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  takeCacheHints(decoder);
  const bool hasPolicy = decoder.takeModifier(".L2::cache_hint");
  instruction.space = decoder.takeSpace();
  decoder.takeOrder(/*isStrong=*/false);
  constexpr Named<uint8_t> kVectors[] = {{".v2", 2}, {".v4", 4}, {".v8", 8}};
  instruction.count = decoder.takeOne<uint8_t>(kVectors).value_or(1);
  instruction.type = decoder.takeType();
  instruction.bytes = getBytes(instruction.type);
  if (instruction.type == Type::Pred || isPair(instruction.type) || instruction.bytes > 8)
    return decoder.unknown("expected a type of 8 to 64 bits");
  if (instruction.bytes * instruction.count > 32)
    return decoder.unknown("expected at most 32 bytes");
  if (!decoder.expectOperands(2 + hasPolicy, 2 + hasPolicy))
    return;
  const Operand &registers = decoder.operand(IsLoad ? 0 : 1);
  instruction.rows[0] = decoder.address(decoder.operand(IsLoad ? 1 : 0));
  instruction.run = IsLoad ? load : store;
  decoder.setUndefinedUse(UndefinedUse::Observes);
  const bool isVector = registers.kind == Operand::Kind::Vector;
  if ((isVector ? registers.parts.size() : 1) != instruction.count)
    return decoder.invalid("expected as many registers as the vector has elements, " + llvm::Twine(instruction.count));
  for (unsigned i = 0; i < instruction.count; ++i) {
    const Operand &part = isVector ? registers.parts[i] : registers;
    unsigned bits = instruction.bytes == 1 ? 16 : 8 * instruction.bytes;
    uint32_t row;
    if (part.kind == Operand::Kind::Register)
      row = IsLoad ? decoder.looseDestination(part, 8 * instruction.bytes, bits)
                   : decoder.looseSource(part, 8 * instruction.bytes, bits);
    else if (IsLoad)
      row = decoder.destination(part, bits);
    else
      row = decoder.source(part, instruction.bytes == 1 ? Type::B16 : instruction.type);
    if (i > 0 && bits != 8u * instruction.variant)
      return decoder.invalid("expected registers of one size");
    instruction.variant = bits / 8;
    instruction.rows[1 + i] = row;
  }
}

void decodePrefetch(Decoder &decoder) {
  decoder.takeSpace();
  decoder.takeHints({".tensormap", ".L1", ".L2", ".L2::evict_last", ".L2::evict_normal"});
  if (!decoder.expectOperands(1, 1))
    return;
  decoder.address(decoder.operand(0));
  decoder.instruction.run = [](Warp &, const Instruction &, LaneMask) {};
}

constexpr InstructionInfo kInstructions[] = {
    {"ld", Family::Any, decodeAccess<true>},    {"ldu", Family::Any, decodeAccess<true>},
    {"st", Family::Any, decodeAccess<false>},   {"prefetch", Family::Any, decodePrefetch},
    {"prefetchu", Family::Any, decodePrefetch},
};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getMemoryInstructions() { return kInstructions; }
