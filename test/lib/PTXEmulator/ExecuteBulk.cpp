//===- ExecuteBulk.cpp - cp.async.bulk ------------------------------------===//
//
// Linear copies, and boxes of tensors, between global and shared memory (BulkCopy.h).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "MemoryRows.h"
#include "TensorMap.h"

using namespace attn::ptx;

namespace {

constexpr unsigned kAlign = 16;

/// rows: see the decoders. An address with its own offset, as 64 bits in each lane.
uint64_t addressOf(Warp &warp, const Instruction &instruction, unsigned row, unsigned lane) {
  return (instruction.wide >> row & 1 ? warp.row<uint64_t>(instruction.rows[row])[lane]
                                      : warp.row<uint32_t>(instruction.rows[row])[lane]) +
         warp.row<uint64_t>(instruction.rows[row + 1])[lane];
}

/// A generic address of shared memory, or one in its own space.
uint64_t toShared(uint64_t address) {
  Block::resolveGeneric(address);
  return address;
}

/// One thread's copy: its address in shared memory, and for a load its mbarrier.
struct Copy {
  Warp &warp;
  const Instruction &instruction;
  unsigned lane;
  uint64_t shared;
  Mbarrier *barrier = nullptr;
  Block &block = warp.block;

  bool isLoad() const { return barrier; }
  Shadow::AsyncAccess access() const {
    const unsigned thread = warp.thread(lane);
    if (isLoad())
      return {thread, barrier->agent, barrier->clock, true, instruction.line};
    const BulkGroups &groups = block.bulkGroups.at(thread);
    return {thread, groups.agent, groups.open, false, instruction.line};
  }
  /// Moves the bytes. Bytes out of bounds (null) are loaded as 0, and not stored.
  void move(uint8_t *inShared, uint64_t global, bool isInside, unsigned bytes) {
    if (!isInside) {
      if (isLoad())
        std::memset(inShared, 0, bytes);
      return;
    }
    uint8_t *inGlobal =
        block.access(warp, lane, instruction, Space::Global, global, bytes, isLoad() ? Access::Read : Access::Write, 1);
    if (!inGlobal)
      return;
    isLoad() ? std::memcpy(inShared, inGlobal, bytes) : std::memcpy(inGlobal, inShared, bytes);
    if (!isLoad())
      block.traceWrite(warp, lane, Space::Global, global, inGlobal, bytes);
  }
  bool isAligned(uint64_t value, uint64_t align, const char *what) {
    if (value % align == 0)
      return true;
    block.find(FindingKind::Misaligned, warp, lane, instruction,
               llvm::Twine("expected ") + what + " that is a multiple of " + llvm::Twine(align) + ", found 0x" +
                   llvm::Twine::utohexstr(value));
    return false;
  }
};

/// Starts the mbarrier's copy of a load, or the group of a store. False after a finding.
bool start(Copy &copy, bool isLoad, uint64_t barrier) {
  Block &block = copy.block;
  const unsigned thread = copy.warp.thread(copy.lane);
  if (isLoad) {
    copy.barrier = block.mbarriers.startCopy(copy.warp, copy.lane, copy.instruction, toShared(barrier));
    return copy.barrier;
  }
  auto [groups, isNew] = block.bulkGroups.try_emplace(thread);
  if (isNew)
    groups->second.agent = block.addAgent("a bulk store of thread " + std::to_string(thread));
  groups->second.lastStore = groups->second.open;
  groups->second.line = copy.instruction.line;
  return true;
}

void finish(Copy &copy, uint64_t bytes) {
  if (copy.isLoad())
    copy.block.mbarriers.completeCopy(copy.warp, copy.lane, copy.instruction, *copy.barrier, int64_t(bytes));
}

/// rows: shared 0, global 2, mbarrier 4, each before its offset; bytes 6. variant: whether it loads.
void copyLinear(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    if (warp.block.isStopped())
      return;
    Copy copy{warp, instruction, lane, toShared(addressOf(warp, instruction, 0, lane))};
    const uint64_t global = addressOf(warp, instruction, 2, lane);
    const uint32_t bytes = warp.row<uint32_t>(instruction.rows[6])[lane];
    if (!copy.isAligned(copy.shared, kAlign, "an address") || !copy.isAligned(global, kAlign, "an address") ||
        !copy.isAligned(bytes, kAlign, "a number of bytes") ||
        !start(copy, instruction.variant, instruction.variant ? addressOf(warp, instruction, 4, lane) : 0))
      return;
    uint8_t *data = warp.block.accessAsync(warp, lane, instruction, copy.shared, bytes, copy.access());
    if (!data)
      return warp.block.stop();
    copy.move(data, global, true, bytes);
    finish(copy, bytes);
  });
}

/// The tensor map that a thread passes; nothing after a finding.
std::optional<TensorMap> loadMap(Copy &copy, uint64_t address) {
  const uint8_t *bytes = copy.block.access(copy.warp, copy.lane, copy.instruction, Space::Generic, address,
                                           kTensorMapBytes, Access::Read, kTensorMapAlign);
  if (!bytes)
    return std::nullopt;
  auto map = decodeTensorMap(bytes);
  const unsigned rank = copy.instruction.count;
  if (!map)
    copy.block.find(FindingKind::InvalidValue, copy.warp, copy.lane, copy.instruction,
                    "expected a tensor map, found other bytes");
  else if (map->rank != rank)
    copy.block.find(FindingKind::InvalidValue, copy.warp, copy.lane, copy.instruction,
                    "expected a tensor map of " + llvm::Twine(rank) + " dimensions, found " +
                        llvm::Twine(unsigned(map->rank)));
  else if (map->swizzle != TensorSwizzle::None && map->box[0] * map->elementBytes != getSwizzleSpan(map->swizzle))
    copy.block.find(FindingKind::InvalidValue, copy.warp, copy.lane, copy.instruction,
                    "expected rows of the box as long as the swizzle; others are not emulated");
  else
    return map;
  return std::nullopt;
}

/// Copies the rows of the box, which are contiguous in shared memory.
void copyBox(Copy &copy, const TensorMap &map, const int32_t *start, uint8_t *data) {
  const unsigned inner = map.box[0] * map.elementBytes;
  const uint64_t rows = map.boxBytes() / inner;
  const int64_t innerEnd = std::min<int64_t>(int64_t(start[0]) + map.box[0], int64_t(map.sizes[0]));
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t rest = row, global = map.address;
    bool isInside = true;
    for (unsigned i = 1; i < map.rank; ++i) {
      const int64_t index = int64_t(start[i]) + int64_t(rest % map.box[i]);
      rest /= map.box[i];
      isInside &= index >= 0 && index < int64_t(map.sizes[i]);
      global += uint64_t(index) * map.strides[i];
    }
    for (unsigned at = 0; at < inner; at += kAlign) {
      uint8_t *to = data + swizzleAddress(copy.shared + row * inner + at, map.swizzle) - copy.shared;
      const unsigned elements = kAlign / map.elementBytes;
      const int64_t first = int64_t(start[0]) + at / map.elementBytes;
      if (!isInside || first + elements <= 0 || first >= innerEnd) {
        copy.move(to, 0, false, kAlign);
        continue;
      }
      // Elements of a chunk beyond the tensor's edge are 0.
      const int64_t from = std::max<int64_t>(first, 0), end = std::min<int64_t>(first + elements, innerEnd);
      const unsigned before = unsigned(from - first) * map.elementBytes,
                     bytes = unsigned(end - from) * map.elementBytes;
      copy.move(to, 0, false, before);
      copy.move(to + before, global + uint64_t(from) * map.elementBytes, true, bytes);
      copy.move(to + before + bytes, 0, false, kAlign - before - bytes);
    }
  }
}

/// rows: shared 0, map 2, mbarrier 4, each before its offset; coordinates 6 and on. count: dimensions.
void copyTensor(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    if (warp.block.isStopped())
      return;
    Copy copy{warp, instruction, lane, toShared(addressOf(warp, instruction, 0, lane))};
    const auto map = loadMap(copy, addressOf(warp, instruction, 2, lane));
    if (!map)
      return warp.block.stop();
    if (!copy.isAligned(copy.shared, getTileAlign(map->swizzle), "a tile's address") ||
        !start(copy, instruction.variant, instruction.variant ? addressOf(warp, instruction, 4, lane) : 0))
      return warp.block.stop();
    int32_t coordinates[kMostDimensions];
    for (unsigned i = 0; i < map->rank; ++i)
      coordinates[i] = int32_t(warp.row<uint32_t>(instruction.rows[6 + i])[lane]);
    uint8_t *data = warp.block.accessAsync(warp, lane, instruction, copy.shared, map->boxBytes(), copy.access());
    if (!data)
      return warp.block.stop();
    copyBox(copy, *map, coordinates, data);
    finish(copy, map->boxBytes());
  });
}

void commit(Warp &warp, const Instruction &, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    auto groups = warp.block.bulkGroups.find(warp.thread(lane));
    if (groups != warp.block.bulkGroups.end())
      ++groups->second.open;
  });
}

/// offset: number of groups that may be pending.
void wait(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    const unsigned thread = warp.thread(lane);
    auto groups = warp.block.bulkGroups.find(thread);
    if (groups == warp.block.bulkGroups.end() || groups->second.open <= 1 + uint64_t(instruction.offset))
      return;
    groups->second.complete = groups->second.open - 1 - uint32_t(instruction.offset);
    SyncPoint point;
    warp.block.clocks.releaseAgent(groups->second.agent, groups->second.complete, point);
    warp.block.clocks.acquire(thread, point);
  });
}

void decodeGroup(Decoder &decoder, bool isWait) {
  Instruction &instruction = decoder.instruction;
  instruction.run = isWait ? wait : commit;
  if (!isWait)
    return;
  decoder.takeModifier(".read"); // stores take effect immediately
  auto pending = decoder.operandCount() == 1 ? decoder.constantOperand(decoder.operand(0)) : std::nullopt;
  if (!pending)
    return decoder.invalid("expected a constant number of groups");
  instruction.offset = int64_t(*pending);
}

/// The address and its offset, from `row` on.
void decodeAddress(Decoder &decoder, size_t operand, unsigned row, bool isTensor = false) {
  Instruction &instruction = decoder.instruction;
  instruction.rows[row] = decoder.address(decoder.operand(operand), isTensor);
  instruction.wide |= uint8_t(instruction.wideAddress) << row;
  instruction.rows[row + 1] = decoder.constant(uint64_t(instruction.offset), 8);
}

} // namespace

void attn::ptx::decodeBulk(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  const bool isWait = decoder.takeModifier(".wait_group");
  if (isWait || decoder.takeModifier(".commit_group"))
    return decodeGroup(decoder, isWait);
  const bool isTensor = decoder.takeModifier(".tensor");
  constexpr Named<uint8_t> kRanks[] = {{".1d", 1}, {".2d", 2}, {".3d", 3}, {".4d", 4}, {".5d", 5}};
  const auto rank = decoder.takeOne<uint8_t>(kRanks);
  decoder.takeHints({".tile"});
  const bool isLoad = !llvm::is_contained(decoder.statement().modifiers, ".bulk_group");
  const bool hasPolicy = decoder.takeModifier(".L2::cache_hint");
  const bool isShared = decoder.takeModifier(isLoad ? ".shared::cluster" : ".shared::cta") ||
                        (isLoad && decoder.takeModifier(".shared::cta"));
  if (!isShared || !decoder.takeModifier(".global") ||
      !decoder.takeModifier(isLoad ? ".mbarrier::complete_tx::bytes" : ".bulk_group") || (isTensor && !rank))
    return decoder.unknown("expected .shared::cluster.global.mbarrier::complete_tx::bytes or "
                           ".global.shared::cta.bulk_group");
  const size_t operands = 2 + isLoad + !isTensor + hasPolicy;
  if (!decoder.expectOperands(operands, operands))
    return;
  instruction.variant = isLoad;
  instruction.space = Space::Shared; // of the mbarrier
  instruction.run = isTensor ? copyTensor : copyLinear;
  decoder.setUndefinedUse(UndefinedUse::Observes);
  const size_t global = isLoad ? 1 : 0;
  decodeAddress(decoder, 1 - global, 0);
  decodeAddress(decoder, global, 2, isTensor);
  if (isLoad)
    decodeAddress(decoder, isTensor ? 2 : 3, 4);
  if (!isTensor) {
    instruction.rows[6] = decoder.source(decoder.operand(2), Type::U32);
    return;
  }
  instruction.count = *rank;
  const Operand &address = decoder.operand(global);
  if (address.parts.size() != 2 || address.parts[1].kind != Operand::Kind::Vector ||
      address.parts[1].parts.size() != *rank)
    return decoder.invalid("expected [map, {coordinates}], one for each of " + llvm::Twine(*rank) + " dimensions");
  for (unsigned i = 0; i < *rank; ++i)
    instruction.rows[6 + i] = decoder.source(address.parts[1].parts[i], Type::S32);
}
