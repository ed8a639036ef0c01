//===- ExecuteMatrix.cpp - ldmatrix and stmatrix --------------------------===//
//
// Lane 8 j + i provides the address of row i (16 bytes) of matrix j, and counts as the lane that reads or writes it.
// Lane l holds, for each matrix, the elements 2 (l mod 4) and the next one of row l / 4; with .trans of column l / 4.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "MemoryRows.h"

using namespace attn::ptx;

namespace {

constexpr unsigned kRows = 8, kRowBytes = 16;

struct Matrix {
  uint16_t at[kRows][kRows];
};

/// The two elements of a lane as a register.
uint32_t fragment(const Matrix &matrix, unsigned lane, bool isTransposed) {
  const unsigned major = lane / 4, minor = 2 * (lane % 4);
  return isTransposed ? matrix.at[minor][major] | uint32_t(matrix.at[minor + 1][major]) << 16
                      : matrix.at[major][minor] | uint32_t(matrix.at[major][minor + 1]) << 16;
}

void setFragment(Matrix &matrix, unsigned lane, bool isTransposed, uint32_t value) {
  const unsigned major = lane / 4, minor = 2 * (lane % 4);
  (isTransposed ? matrix.at[minor][major] : matrix.at[major][minor]) = uint16_t(value);
  (isTransposed ? matrix.at[minor + 1][major] : matrix.at[major][minor + 1]) = uint16_t(value >> 16);
}

/// rows: address, registers. variant: .trans
LaneMask prepare(Warp &warp, const Instruction &instruction, LaneMask lanes, uint64_t *addresses) {
  const LaneMask rowLanes = lanes & LaneMask((uint64_t(1) << (kRows * instruction.count)) - 1);
  const Space space = loadAddresses(warp, instruction, lanes, addresses);
  if (rowLanes)
    warp.block.countAccess(instruction, space, {addresses, kLanes}, rowLanes, kRowBytes);
  return rowLanes;
}

void loadMatrix(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  uint64_t addresses[kLanes];
  Matrix matrices[4] = {};
  forLanes(prepare(warp, instruction, lanes, addresses), [&](unsigned lane) {
    const uint8_t *data =
        warp.block.access(warp, lane, instruction, instruction.space, addresses[lane], kRowBytes, Access::Read);
    if (data)
      std::memcpy(matrices[lane / kRows].at[lane % kRows], data, kRowBytes);
  });
  for (unsigned i = 0; i < instruction.count; ++i) {
    uint32_t result[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane)
      result[lane] = fragment(matrices[i], lane, instruction.variant);
    storeLanes(warp, instruction.rows[1 + i], result, lanes);
  }
}

void storeMatrix(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  uint64_t addresses[kLanes];
  Matrix matrices[4] = {};
  for (unsigned i = 0; i < instruction.count; ++i) {
    const uint32_t *values = warp.row<uint32_t>(instruction.rows[1 + i]);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      setFragment(matrices[i], lane, instruction.variant, values[lane]);
  }
  forLanes(prepare(warp, instruction, lanes, addresses), [&](unsigned lane) {
    uint8_t *data =
        warp.block.access(warp, lane, instruction, instruction.space, addresses[lane], kRowBytes, Access::Write);
    if (!data)
      return;
    std::memcpy(data, matrices[lane / kRows].at[lane % kRows], kRowBytes);
    warp.block.traceWrite(warp, lane, instruction.space, addresses[lane], data, kRowBytes);
  });
}

template <bool IsLoad> void decodeMatrix(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  constexpr Named<uint8_t> kCounts[] = {{".x1", 1}, {".x2", 2}, {".x4", 4}};
  auto count = decoder.takeOne<uint8_t>(kCounts);
  if (!decoder.takeModifier(".sync") || !decoder.takeModifier(".aligned") || !decoder.takeModifier(".m8n8") || !count)
    return decoder.unknown("expected .sync.aligned.m8n8 and .x1, .x2 or .x4");
  instruction.flow = Flow::Aligned;
  instruction.count = *count;
  instruction.variant = decoder.takeModifier(".trans");
  instruction.space = decoder.takeSpace();
  if (instruction.space != Space::Shared && instruction.space != Space::Generic)
    return decoder.unknown("expected .shared");
  if (decoder.takeType() != Type::B16)
    return decoder.unknown("expected .b16");
  if (!decoder.expectOperands(2, 2))
    return;
  const Operand &registers = decoder.operand(IsLoad ? 0 : 1);
  instruction.rows[0] = decoder.address(decoder.operand(IsLoad ? 1 : 0));
  instruction.run = IsLoad ? loadMatrix : storeMatrix;
  decoder.setUndefinedUse(UndefinedUse::Observes);
  const bool isVector = registers.kind == Operand::Kind::Vector;
  if ((isVector ? registers.parts.size() : 1) != instruction.count)
    return decoder.invalid("expected a register for each matrix, " + llvm::Twine(instruction.count));
  for (unsigned i = 0; i < instruction.count; ++i) {
    const Operand &part = isVector ? registers.parts[i] : registers;
    instruction.rows[1 + i] = IsLoad ? decoder.destination(part, 32) : decoder.source(part, Type::B32);
  }
}

constexpr InstructionInfo kInstructions[] = {{"ldmatrix", Family::Any, decodeMatrix<true>},
                                             {"stmatrix", Family::Any, decodeMatrix<false>}};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getMatrixInstructions() { return kInstructions; }
