//===- ExecuteMbarrier.cpp - mbarrier -------------------------------------===//
//
// The objects are in Mbarrier.cpp. Waits are implemented by Flow::Phase, as they may suspend a path.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "MemoryRows.h"

using namespace attn::ptx;

namespace {

void execute(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  Block &block = warp.block;
  uint64_t addresses[kLanes];
  loadAddresses(warp, instruction, lanes, addresses);
  forLanes(lanes, [&](unsigned lane) {
    if (block.isStopped())
      return;
    auto operand = [&](unsigned i) -> uint32_t {
      return instruction.rows[i] == kNoRow ? 1 : warp.row<uint32_t>(instruction.rows[i])[lane];
    };
    const uint64_t address = addresses[lane];
    uint64_t state = 0;
    switch (MbarrierKind(instruction.variant)) {
    case MbarrierKind::Init: return block.mbarriers.init(warp, lane, instruction, address, operand(2));
    case MbarrierKind::Invalidate: return block.mbarriers.invalidate(warp, lane, instruction, address);
    case MbarrierKind::Expect: return block.mbarriers.expect(warp, lane, instruction, address, operand(2));
    case MbarrierKind::Complete: return block.mbarriers.expect(warp, lane, instruction, address, -int64_t(operand(2)));
    case MbarrierKind::ArriveExpect:
      block.mbarriers.expect(warp, lane, instruction, address, operand(2));
      state = block.mbarriers.arrive(warp, lane, instruction, address, 1, !instruction.variant2);
      break;
    case MbarrierKind::Arrive:
      state = block.mbarriers.arrive(warp, lane, instruction, address, operand(2), !instruction.variant2);
      break;
    case MbarrierKind::TestWait:
    case MbarrierKind::TryWait: return;
    }
    if (instruction.rows[1] != kNoRow)
      warp.row<uint64_t>(instruction.rows[1])[lane] = state;
  });
}

/// [address], operand
void decodeOperand(Decoder &decoder, size_t address, size_t operand) {
  Instruction &instruction = decoder.instruction;
  instruction.rows[0] = decoder.address(decoder.operand(address));
  if (operand < decoder.operandCount())
    instruction.rows[2] = decoder.source(decoder.operand(operand), Type::U32);
}

/// mbarrier.arrive _, [address], count; also without a result. With .expect_tx the count is in bytes.
void decodeArrive(Decoder &decoder, bool isExpecting) {
  Instruction &instruction = decoder.instruction;
  const bool hasResult = decoder.operandCount() > 0 && decoder.operand(0).kind != Operand::Kind::Address;
  if (!decoder.expectOperands(1 + hasResult + isExpecting, 2 + hasResult))
    return;
  if (hasResult && decoder.operand(0).kind != Operand::Kind::Sink)
    instruction.rows[1] = decoder.destination(decoder.operand(0), 64);
  decodeOperand(decoder, hasResult, hasResult + 1);
}

/// mbarrier.try_wait.parity p, [address], parity; an optional time hint is ignored.
void decodeWait(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  instruction.flow = Flow::Phase;
  instruction.negated = decoder.takeModifier(".parity");
  if (!decoder.expectOperands(3, 4))
    return;
  instruction.rows[1] = decoder.destination(decoder.operand(0), 1);
  instruction.rows[0] = decoder.address(decoder.operand(1));
  instruction.rows[2] = decoder.source(decoder.operand(2), instruction.negated ? Type::U32 : Type::B64);
  if (decoder.operandCount() == 4)
    decoder.source(decoder.operand(3), Type::U32);
}

void decodeMbarrier(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  constexpr Named<MbarrierKind> kKinds[] = {{".init", MbarrierKind::Init},
                                            {".inval", MbarrierKind::Invalidate},
                                            {".arrive", MbarrierKind::Arrive},
                                            {".expect_tx", MbarrierKind::Expect},
                                            {".complete_tx", MbarrierKind::Complete},
                                            {".test_wait", MbarrierKind::TestWait},
                                            {".try_wait", MbarrierKind::TryWait}};
  auto kind = decoder.takeOne<MbarrierKind>(kKinds);
  if (!kind)
    return decoder.unknown("expected .init, .inval, .arrive, .expect_tx, .complete_tx, .test_wait or .try_wait");
  const bool isExpecting = *kind == MbarrierKind::Arrive && decoder.takeModifier(".expect_tx");
  instruction.variant = uint8_t(isExpecting ? MbarrierKind::ArriveExpect : *kind);
  instruction.variant2 = decoder.takeModifier(".relaxed");
  // .noComplete promises that the arrival is not the last one: nothing depends on it here.
  decoder.takeHints({".release", ".acquire", ".noComplete", ".cta", ".cluster"});
  instruction.space = decoder.takeSpace();
  if (instruction.space != Space::Shared && instruction.space != Space::Generic)
    return decoder.unknown("expected .shared::cta");
  if (decoder.takeType() != Type::B64)
    return decoder.unknown("expected .b64");
  instruction.run = execute;
  instruction.rows[1] = instruction.rows[2] = kNoRow;
  decoder.setUndefinedUse(UndefinedUse::Observes);
  switch (*kind) {
  case MbarrierKind::TestWait:
  case MbarrierKind::TryWait: return decodeWait(decoder);
  case MbarrierKind::Arrive: return decodeArrive(decoder, isExpecting);
  case MbarrierKind::Invalidate: return decoder.expectOperands(1, 1) ? decodeOperand(decoder, 0, 1) : void();
  default: return decoder.expectOperands(2, 2) ? decodeOperand(decoder, 0, 1) : void();
  }
}

constexpr InstructionInfo kInstructions[] = {{"mbarrier", Family::Any, decodeMbarrier}};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getMbarrierInstructions() { return kInstructions; }
