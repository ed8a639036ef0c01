//===- ExecuteControl.cpp - branches, exits, barriers, fences -------------===//
//
// Most of these act through Instruction::flow, in Warp.cpp and Block.cpp.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

using namespace attn::ptx;

namespace {

void nothing(Warp &, const Instruction &, LaneMask) {}

void decodeBranch(Decoder &decoder) {
  decoder.takeHints({".uni"});
  decoder.instruction.flow = Flow::Branch;
  decoder.instruction.targets = decoder.statement().targets;
}

void decodeBranchTable(Decoder &decoder) {
  decoder.takeHints({".uni"});
  if (!decoder.takeModifier(".idx"))
    return decoder.unknown("expected .idx");
  decoder.instruction.flow = Flow::BranchTable;
  decoder.setUndefinedUse(UndefinedUse::Observes);
  decoder.instruction.targets = decoder.statement().targets;
  decoder.instruction.rows[0] = decoder.source(decoder.operand(0), Type::U32);
}

void decodeExit(Decoder &decoder) {
  decoder.takeHints({".uni"});
  decoder.instruction.flow = Flow::Exit;
}

void decodeTrap(Decoder &decoder) { decoder.instruction.flow = Flow::Trap; }

/// bar is barrier.aligned by another name.
template <bool IsBar> void decodeBarrier(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  decoder.setUndefinedUse(UndefinedUse::Observes);
  decoder.takeHints({".cta"});
  if (decoder.takeModifier(".warp")) {
    if (!decoder.takeModifier(".sync") || !decoder.expectOperands(1, 1))
      return decoder.unknown("expected bar.warp.sync MASK");
    instruction.flow = Flow::Collective;
    instruction.members = decoder.source(decoder.operand(0), Type::B32);
    instruction.run = [](Warp &warp, const Instruction &, LaneMask lanes) { warp.block.syncWarp(warp, lanes); };
    return;
  }
  instruction.flow = Flow::Barrier;
  instruction.variant2 = IsBar | decoder.takeModifier(".aligned");
  const auto &operands = decoder.statement().operands;
  auto number = [&](size_t index) { return decoder.source(operands[index], Type::U32); };
  instruction.rows[2] = kNoRow;
  if (decoder.takeModifier(".red")) {
    constexpr Named<BarrierKind> kReductions[] = {
        {".popc", BarrierKind::Popc}, {".and", BarrierKind::And}, {".or", BarrierKind::Or}};
    auto kind = decoder.takeOne<BarrierKind>(kReductions);
    if (!kind || !decoder.expectOperands(3, 4))
      return decoder.unknown("expected .popc, .and or .or");
    decoder.takeType();
    instruction.variant = uint8_t(*kind);
    instruction.rows[0] = decoder.destination(operands[0], *kind == BarrierKind::Popc ? 32 : 1);
    instruction.rows[1] = number(1);
    if (operands.size() == 4)
      instruction.rows[2] = number(2);
    instruction.rows[3] = decoder.predicateSource(operands.back(), instruction.negated);
    return;
  }
  const bool isArrive = decoder.takeModifier(".arrive");
  if (!isArrive && !decoder.takeModifier(".sync"))
    return decoder.unknown("expected .sync, .arrive or .red");
  instruction.variant = uint8_t(isArrive ? BarrierKind::Arrive : BarrierKind::Sync);
  if (!decoder.expectOperands(isArrive ? 2 : 1, 2))
    return;
  instruction.rows[1] = number(0);
  if (operands.size() == 2)
    instruction.rows[2] = number(1);
}

void fenceProxy(Warp &warp, const Instruction &, LaneMask lanes) {
  if (warp.block.program.hasAsyncProxy)
    forLanes(lanes, [&](unsigned lane) { warp.block.clocks.fenceProxy(warp.thread(lane)); });
}

void announceMbarriers(Warp &warp, const Instruction &, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) { warp.block.mbarriers.announce(warp.thread(lane)); });
}

void fenceBlocks(Warp &warp, const Instruction &, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) { warp.block.grid.order.fence(warp.block.clocks, warp.thread(lane)); });
}

/// Every access is performed immediately, in one order, so a fence matters only for the race checks. For shared memory,
/// it orders the proxies (Races.h).
void decodeFence(Decoder &decoder) {
  if (decoder.takeModifier(".proxy")) {
    decoder.instruction.run = nothing;
    if (decoder.takeModifier(".async")) {
      // For global memory only: nothing to order, as above.
      decoder.instruction.run = decoder.takeModifier(".global") ? nothing : fenceProxy;
      decoder.takeHints({".shared::cta", ".shared::cluster"});
    } else if (!decoder.takeModifier(".alias")) {
      decoder.unknown("expected .proxy.async or .proxy.alias");
    }
    return;
  }
  if (decoder.takeModifier(".mbarrier_init")) {
    decoder.takeHints({".release", ".cluster"});
    decoder.instruction.run = announceMbarriers;
    return;
  }
  decoder.takeOrder(/*isStrong=*/false);
  decoder.instruction.run = decoder.instruction.acquires ? fenceBlocks : nothing;
}

void decodeMembar(Decoder &decoder) {
  decoder.instruction.acquires = !decoder.takeModifier(".cta");
  decoder.takeHints({".gl", ".sys"});
  decoder.instruction.run = decoder.instruction.acquires ? fenceBlocks : nothing;
}

/// Dependent launches: each launch runs alone, so its dependencies are complete, and it starts no other.
void decodeDependency(Decoder &decoder) {
  if (!decoder.takeModifier(".wait") && !decoder.takeModifier(".launch_dependents"))
    return decoder.unknown("expected .wait or .launch_dependents");
  decoder.instruction.run = nothing;
}

void decodeSleep(Decoder &decoder) {
  decoder.takeType();
  decoder.instruction.run = nothing;
}

constexpr InstructionInfo kInstructions[] = {
    {"bra", Family::Any, decodeBranch},
    {"brx", Family::Any, decodeBranchTable},
    {"ret", Family::Any, decodeExit},
    {"exit", Family::Any, decodeExit},
    {"trap", Family::Any, decodeTrap},
    {"bar", Family::Any, decodeBarrier<true>},
    {"barrier", Family::Any, decodeBarrier<false>},
    {"membar", Family::Any, decodeMembar},
    {"fence", Family::Any, decodeFence},
    {"nanosleep", Family::Any, decodeSleep},
    {"griddepcontrol", Family::Any, decodeDependency},
};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getControlInstructions() { return kInstructions; }
