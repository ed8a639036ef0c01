//===- ExecuteAtomic.cpp - atom and red -----------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "MemoryRows.h"

#include <algorithm>
#include <cmath>

using namespace attn::ptx;

namespace {

enum class Operation : uint8_t { Add, Min, Max, And, Or, Xor, Exchange, CompareAndSwap, Increment, Decrement };
constexpr Named<Operation> kOperations[] = {{".add", Operation::Add},       {".min", Operation::Min},
                                            {".max", Operation::Max},       {".and", Operation::And},
                                            {".or", Operation::Or},         {".xor", Operation::Xor},
                                            {".exch", Operation::Exchange}, {".cas", Operation::CompareAndSwap},
                                            {".inc", Operation::Increment}, {".dec", Operation::Decrement}};

template <typename T> T applyInteger(Operation operation, T old, T b, T c) {
  using U = std::make_unsigned_t<T>;
  switch (operation) {
  case Operation::Add: return T(U(old) + U(b));
  case Operation::Min: return std::min(old, b);
  case Operation::Max: return std::max(old, b);
  case Operation::And: return old & b;
  case Operation::Or: return old | b;
  case Operation::Xor: return old ^ b;
  case Operation::Exchange: return b;
  case Operation::CompareAndSwap: return old == b ? c : old;
  case Operation::Increment: return old >= b ? T(0) : T(old + 1);
  case Operation::Decrement: return old == 0 || old > b ? b : T(old - 1);
  }
  return old;
}

uint32_t addHalves(uint32_t old, uint32_t b, FloatFormat format, unsigned bits) {
  uint32_t result = 0;
  for (unsigned shift = 0; shift < bits; shift += 16)
    result |= encode(addToOdd(decode(old >> shift & 0xffff, format), decode(b >> shift & 0xffff, format)), format,
                     Rounding::NearestEven)
              << shift;
  return result;
}

uint64_t apply(const Instruction &instruction, uint64_t old, uint64_t b, uint64_t c) {
  const auto operation = Operation(instruction.variant);
  switch (instruction.type) {
  case Type::S32: return uint32_t(applyInteger<int32_t>(operation, int32_t(old), int32_t(b), int32_t(c)));
  case Type::S64: return uint64_t(applyInteger<int64_t>(operation, int64_t(old), int64_t(b), int64_t(c)));
  case Type::B16: return uint16_t(applyInteger<uint16_t>(operation, uint16_t(old), uint16_t(b), uint16_t(c)));
  case Type::B32:
  case Type::U32: return applyInteger<uint32_t>(operation, uint32_t(old), uint32_t(b), uint32_t(c));
  case Type::F32: return asBits(asFloat(uint32_t(old)) + asFloat(uint32_t(b)));
  case Type::F64: return __builtin_bit_cast(uint64_t, __builtin_bit_cast(double, old) + __builtin_bit_cast(double, b));
  case Type::F16: return addHalves(uint32_t(old), uint32_t(b), kF16, 16);
  case Type::F16x2: return addHalves(uint32_t(old), uint32_t(b), kF16, 32);
  case Type::BF16: return addHalves(uint32_t(old), uint32_t(b), kBF16, 16);
  case Type::BF16x2: return addHalves(uint32_t(old), uint32_t(b), kBF16, 32);
  default: return applyInteger<uint64_t>(operation, old, b, c);
  }
}

// rows: address, d of each element or kNoRow, b of each, c.
constexpr unsigned kMostElements = 8, kResultRow = 1, kSourceRow = kResultRow + kMostElements,
                   kLastRow = kSourceRow + kMostElements;
constexpr unsigned kMostBytes = 16;

/// Lane after lane: one of the allowed orders.
void atomic(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  uint64_t addresses[kLanes];
  const Space space = loadAddresses(warp, instruction, lanes, addresses);
  const unsigned bytes = instruction.bytes, total = bytes * instruction.count;
  const Access access = instruction.type >= Type::F16 ? Access::FloatAdd : Access::Atomic;
  warp.block.countAccess(instruction, space, addresses, lanes, total);
  forLanes(lanes, [&](unsigned lane) {
    uint8_t *data = warp.block.access(warp, lane, instruction, instruction.space, addresses[lane], total, access);
    for (unsigned i = 0; i < instruction.count; ++i) {
      const uint32_t resultRow = instruction.rows[kResultRow + i];
      uint64_t old = 0, b = 0, c = 0;
      std::memcpy(&b, warp.row<uint8_t>(instruction.rows[kSourceRow + i]) + lane * bytes, bytes);
      std::memcpy(&c, warp.row<uint8_t>(instruction.rows[kLastRow]) + lane * bytes, bytes);
      if (data) {
        std::memcpy(&old, data + i * bytes, bytes);
        const uint64_t result = apply(instruction, old, b, c);
        std::memcpy(data + i * bytes, &result, bytes);
        warp.block.grid.changes += result != old;
      }
      if (resultRow != kNoRow)
        std::memcpy(warp.row<uint8_t>(resultRow) + lane * bytes, &old, bytes);
    }
    if (data)
      warp.block.traceWrite(warp, lane, instruction.space, addresses[lane], data, total);
  });
  if (instruction.isStrong && space == Space::Global)
    warp.block.order(warp, instruction, lanes, addresses, access);
}

template <bool HasResult> void decodeAtomic(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  decoder.takeHints({".noftz"});
  instruction.space = decoder.takeSpace();
  decoder.takeOrder(/*isStrong=*/true);
  auto operation = decoder.takeOne<Operation>(kOperations);
  constexpr Named<uint8_t> kVectors[] = {{".v2", 2}, {".v4", 4}, {".v8", 8}};
  instruction.count = decoder.takeOne<uint8_t>(kVectors).value_or(1);
  instruction.type = decoder.takeType();
  if (!operation)
    return decoder.unknown("expected an operation");
  const bool isFloat = instruction.type >= Type::F16;
  const bool isSmall = getBits(instruction.type) < 32 && !isFloat;
  if ((isFloat && *operation != Operation::Add) || instruction.type == Type::TF32 || instruction.type > Type::F64 ||
      (isSmall && (instruction.type != Type::B16 || *operation != Operation::CompareAndSwap)))
    return decoder.unknown("expected an operation that the type has");
  instruction.variant = uint8_t(*operation);
  instruction.bytes = getBytes(instruction.type);
  if (instruction.count > 1 &&
      (!isFloat || instruction.space != Space::Global || instruction.bytes * instruction.count > kMostBytes))
    return decoder.unknown("expected a vector of floats of global memory, of at most 16 bytes");
  const size_t operands = 2 + HasResult + (*operation == Operation::CompareAndSwap);
  if (!decoder.expectOperands(operands, operands))
    return;
  instruction.run = atomic;
  decoder.setUndefinedUse(UndefinedUse::Observes);
  instruction.rows[0] = decoder.address(decoder.operand(HasResult));
  for (unsigned i = 0; i < instruction.count; ++i) {
    auto element = [&](const Operand &operand) -> const Operand & {
      const bool fits = instruction.count == 1 || operand.parts.size() == instruction.count;
      if (!fits)
        decoder.invalid("expected " + llvm::Twine(unsigned(instruction.count)) + " registers");
      return instruction.count == 1 || !fits ? operand : operand.parts[i];
    };
    instruction.rows[kResultRow + i] =
        HasResult ? decoder.destination(element(decoder.operand(0)), getBits(instruction.type)) : kNoRow;
    instruction.rows[kSourceRow + i] = decoder.source(element(decoder.operand(1 + HasResult)), instruction.type);
  }
  instruction.rows[kLastRow] = *operation == Operation::CompareAndSwap
                                   ? decoder.source(decoder.operand(2 + HasResult), instruction.type)
                                   : instruction.rows[kSourceRow];
}

constexpr InstructionInfo kInstructions[] = {{"atom", Family::Any, decodeAtomic<true>},
                                             {"red", Family::Any, decodeAtomic<false>}};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getAtomicInstructions() { return kInstructions; }
