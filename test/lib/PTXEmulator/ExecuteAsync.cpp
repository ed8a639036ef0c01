//===- ExecuteAsync.cpp - cp.async ----------------------------------------===//
//
// The source is read when the copy starts; the data are written when the thread waits for the group (Async.h).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "MemoryRows.h"

#include <algorithm>

using namespace attn::ptx;

namespace {

/// rows: destination, source, bytes of the source (or kNoRow), predicate "ignore the source" (or kNoRow). bytes: of the
/// copy. variant: whether the destination's address is wide; wideAddress: the same for the source.
void copy(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  Block &block = warp.block;
  const unsigned bytes = instruction.bytes;
  uint64_t destinations[kLanes], sources[kLanes];
  LaneMask reading = 0;
  const LaneMask ignored =
      instruction.rows[3] == kNoRow ? 0 : loadPredicate(warp, instruction.rows[3], instruction.negated);
  auto sourceBytes = [&](unsigned lane) -> unsigned {
    if (ignored >> lane & 1)
      return 0;
    return instruction.rows[2] == kNoRow ? bytes : warp.row<uint32_t>(instruction.rows[2])[lane];
  };
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    destinations[lane] = loadAddress(warp, instruction, lane, instruction.variant);
    sources[lane] = warp.row<uint64_t>(instruction.rows[1])[lane] + warp.row<uint64_t>(instruction.rows[4])[lane];
    reading |= LaneMask(sourceBytes(lane) > 0) << lane;
  }
  reading &= lanes;
  block.countAccess(instruction, Space::Shared, destinations, lanes, bytes);
  if (reading)
    block.countAccess(instruction, Space::Global, sources, reading, bytes);
  forLanes(lanes, [&](unsigned lane) {
    AsyncWrite write{warp.thread(lane), destinations[lane], {}, instruction.line};
    write.data.assign(bytes, 0); // the rest is zero
    const unsigned given = sourceBytes(lane);
    if (given > bytes)
      return block.find(FindingKind::InvalidValue, warp, lane, instruction,
                        "expected at most " + llvm::Twine(bytes) + " bytes of the source, found " + llvm::Twine(given));
    if (given) {
      const uint8_t *data =
          block.access(warp, lane, instruction, Space::Global, sources[lane], given, Access::Read, bytes);
      if (data)
        std::copy_n(data, given, write.data.begin());
    }
    if (!block.access(warp, lane, instruction, Space::Shared, destinations[lane], bytes, Access::AsyncWrite))
      return;
    block.traceWrite(warp, lane, Space::Shared, destinations[lane], write.data.data(), bytes);
    block.copyGroups[warp.thread(lane)].add(block.async.start(std::move(write)));
  });
}

void decodeCopy(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  const bool isGlobalLevel = decoder.takeModifier(".cg");
  if (!isGlobalLevel && !decoder.takeModifier(".ca"))
    return decoder.unknown("expected .ca, .cg, .commit_group, .wait_group or .wait_all");
  decoder.takeHints({".L2::64B", ".L2::128B", ".L2::256B"});
  const bool hasPolicy = decoder.takeModifier(".L2::cache_hint");
  if (!(decoder.takeModifier(".shared") || decoder.takeModifier(".shared::cta")) || !decoder.takeModifier(".global"))
    return decoder.unknown("expected .shared.global");
  if (!decoder.expectOperands(3 + hasPolicy, 4 + hasPolicy))
    return;
  auto bytes = decoder.constantOperand(decoder.operand(2));
  if (!bytes || (*bytes != 16 && (isGlobalLevel || (*bytes != 4 && *bytes != 8))))
    return decoder.invalid(isGlobalLevel ? "expected a copy of 16 bytes" : "expected a copy of 4, 8 or 16 bytes");
  instruction.bytes = uint8_t(*bytes);
  instruction.run = copy;
  decoder.setUndefinedUse(UndefinedUse::Observes);
  instruction.rows[1] = decoder.address(decoder.operand(1));
  if (!instruction.wideAddress)
    return decoder.invalid("expected a global address of 64 bits");
  instruction.rows[4] = decoder.constant(uint64_t(instruction.offset), 8);
  instruction.rows[0] = decoder.address(decoder.operand(0));
  instruction.variant = instruction.wideAddress;
  instruction.rows[2] = instruction.rows[3] = kNoRow;
  if (decoder.operandCount() < 4u + hasPolicy)
    return;
  const Operand &last = decoder.operand(3);
  if (decoder.registerBits(last) == 1)
    instruction.rows[3] = decoder.predicateSource(last, instruction.negated);
  else
    instruction.rows[2] = decoder.source(last, Type::B32);
}

void commit(Warp &warp, const Instruction &, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) { warp.block.copyGroups[warp.thread(lane)].commit(); });
}

void wait(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    const unsigned thread = warp.thread(lane);
    if (instruction.variant)
      warp.block.copyGroups[thread].waitAll(warp.block.async, thread);
    else
      warp.block.copyGroups[thread].wait(warp.block.async, thread, uint64_t(instruction.offset));
  });
}

void decodeAsync(Decoder &decoder) {
  if (!decoder.takeModifier(".async"))
    return decoder.unknown("expected cp.async");
  if (decoder.takeModifier(".bulk"))
    return decodeBulk(decoder);
  Instruction &instruction = decoder.instruction;
  if (decoder.takeModifier(".commit_group")) {
    instruction.run = commit;
  } else if (decoder.takeModifier(".wait_all")) {
    instruction.variant = true;
    instruction.run = wait;
  } else if (decoder.takeModifier(".wait_group")) {
    auto pending = decoder.operandCount() == 1 ? decoder.constantOperand(decoder.operand(0)) : std::nullopt;
    if (!pending)
      return decoder.invalid("expected a constant number of groups");
    instruction.offset = int64_t(*pending);
    instruction.run = wait;
  } else {
    decodeCopy(decoder);
  }
}

constexpr InstructionInfo kInstructions[] = {{"cp", Family::Any, decodeAsync}};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getAsyncInstructions() { return kInstructions; }
