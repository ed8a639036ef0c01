//===- MemoryAccess.cpp - checks of every memory access -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Addresses.h"
#include "Block.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace llvm;
using namespace attn::ptx;

namespace {
/// Buffer::readers of bytes that more than one block has read.
constexpr uint32_t kSeveral = ~uint32_t(0);

/// The kind of access in the race detection of shared memory.
Access getWeak(Access access) {
  switch (access) {
  case Access::StrongRead: return Access::Read;
  case Access::StrongWrite: return Access::Write;
  case Access::FloatAdd: return Access::Atomic;
  default: return access;
  }
}
} // namespace

Space Block::resolveGeneric(uint64_t &address) {
  const struct {
    uint64_t start;
    Space space;
  } windows[] = {{kSharedWindow, Space::Shared}, {kLocalWindow, Space::Local}, {kParamWindow, Space::Param}};
  for (auto &window : windows) {
    if (address < window.start || address - window.start >= kWindowBytes)
      continue;
    address -= window.start;
    return window.space;
  }
  return Space::Global;
}

void Block::traceWrite(const Warp &warp, unsigned lane, Space space, uint64_t address, const uint8_t *data,
                       unsigned bytes) {
  if (!launch.tracesWrites)
    return;
  if (space == Space::Generic)
    space = resolveGeneric(address);
  // Buffers have other addresses in each launch.
  const Buffer *buffer = space == Space::Global ? global.findBelow(address) : nullptr;
  report.trace += size_t(hash_combine(number, warp.thread(lane), space, buffer ? address - buffer->address : address,
                                      hash_combine_range(data, data + bytes)));
}

void Block::countAccess(const Instruction &instruction, Space space, ArrayRef<uint64_t> addresses, LaneMask lanes,
                        unsigned bytes) {
  Counters &counter = counters(instruction);
  if (space == Space::Shared) {
    ++counter.sharedAccesses;
    const BankUse use = countBankUse(addresses, lanes, bytes);
    counter.transactions += use.transactions;
    counter.idealTransactions += use.ideal;
  } else if (space == Space::Global) {
    ++counter.globalAccesses;
    counter.sectors += countSectors(addresses, lanes, bytes);
    counter.narrowGlobal += bytes < 16;
  }
}

uint8_t *Block::accessBytes(const Warp &warp, unsigned lane, const Instruction &instruction, StringRef name,
                            uint8_t *memory, uint64_t size, uint64_t offset, unsigned bytes) {
  if (offset < size && bytes <= size - offset)
    return memory + offset;
  find(FindingKind::OutOfBounds, warp, lane, instruction,
       Twine(bytes) + " bytes at offset " + Twine(offset) + " of " + name + ", which has " + Twine(size));
  return nullptr;
}

uint8_t *Block::accessShared(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t offset,
                             unsigned bytes, Access access) {
  uint8_t *data = accessBytes(warp, lane, instruction, "shared memory", shared.data(), shared.size(), offset, bytes);
  if (!data)
    return nullptr;
  const unsigned thread = warp.thread(lane);
  bool isInitialised = true;
  uint32_t pending = 0;
  shadow.forStates(offset, bytes, [&](const ShadowState &state) {
    isInitialised &= state.initialised;
    pending = state.pending ? state.pending : pending;
  });
  const bool isWrite = access == Access::Write || access == Access::AsyncWrite;
  if (pending == kMbarrierByte) {
    find(FindingKind::Mbarrier, warp, lane, instruction,
         Twine(isWrite ? "writes" : "reads") + " shared memory at " + Twine(offset) +
             ", where an mbarrier is: only mbarrier instructions may");
    return nullptr;
  }
  if (pending)
    find(FindingKind::AsyncBeforeWait, warp, lane, instruction,
         Twine(isWrite ? "writes" : "reads") + " shared memory at " + Twine(offset) +
             ", which the asynchronous copy of line " + Twine(async[pending].line) + " by thread " +
             Twine(async[pending].thread) + " is still writing: wait for it first");
  else if (!isWrite && !isInitialised)
    find(FindingKind::UninitialisedRead, warp, lane, instruction,
         "reads shared memory at " + Twine(offset) + ", which nothing has written");
  const Epoch other = shadow.access(clocks, offset, bytes, access, thread, instruction.line);
  if (other.clock && !pending) {
    find(FindingKind::Race, warp, lane, instruction,
         Twine(isWrite                  ? "writes"
               : access == Access::Read ? "reads"
                                        : "changes") +
             " shared memory at " + Twine(offset) + ", which " + describe(other) + "; no barrier is between them");
  }
  return data;
}

/// For a kernel without strong accesses: nothing orders two of its blocks.
void Block::checkOtherBlocks(const Warp &warp, unsigned lane, const Instruction &instruction, Buffer &buffer,
                             uint64_t offset, unsigned bytes, Access access) {
  const bool isWrite = access == Access::Write;
  const uint32_t own = number + 1;
  auto prepare = [&](std::vector<uint32_t> &blocks) {
    if (blocks.empty())
      blocks.assign(buffer.data.size(), 0);
    return &blocks[offset];
  };
  auto findOther = [&](const uint32_t *blocks, const char *did) {
    const uint32_t *other = std::find_if(blocks, blocks + bytes, [&](uint32_t at) { return at != 0 && at != own; });
    if (other == blocks + bytes)
      return;
    find(FindingKind::Race, warp, lane, instruction,
         Twine(isWrite ? "writes " : "reads ") + buffer.name + " at offset " + Twine(offset + (other - blocks)) +
             ", which " + (*other == kSeveral ? "other blocks" : "block " + std::to_string(*other - 1)) +
             " of the launch " + did + "; nothing orders two blocks");
  };
  if (isWrite || !buffer.writers.empty())
    findOther(prepare(buffer.writers), "wrote");
  uint32_t *readers = prepare(buffer.readers);
  if (isWrite) {
    findOther(readers, "read");
    std::fill_n(&buffer.writers[offset], bytes, own);
    return;
  }
  for (unsigned i = 0; i < bytes; ++i)
    readers[i] = readers[i] == 0 || readers[i] == own ? own : kSeveral;
}

void Block::checkOrder(const Warp &warp, unsigned lane, const Instruction &instruction, const Buffer &buffer,
                       uint64_t offset, unsigned bytes, Access access) {
  const Epoch other = grid.order.access(clocks, buffer, offset, bytes, access, warp.thread(lane), instruction.line);
  if (!other.clock)
    return;
  const std::string where = buffer.name + " at offset " + std::to_string(offset) + ", which " + describe(other);
  if (access == Access::FloatAdd)
    find(FindingKind::UnorderedAdd, warp, lane, instruction,
         "adds to " + where +
             ", in no order, so that the sum is not always the same; expected a release of that block that this thread "
             "has acquired");
  else
    find(FindingKind::Race, warp, lane, instruction,
         Twine(access == Access::Read || access == Access::StrongRead ? "reads " : "writes ") + where +
             "; nothing orders the two");
}

void Block::order(Warp &warp, const Instruction &instruction, LaneMask lanes, ArrayRef<uint64_t> addresses,
                  Access access) {
  const bool isUpdate = access == Access::Atomic || access == Access::FloatAdd;
  const bool reads = access == Access::StrongRead || (isUpdate && instruction.rows[1] != kNoRow);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned i = 0; (lanes >> lane & 1) && i < instruction.count; ++i) {
      const uint64_t address = addresses[lane] + i * instruction.bytes;
      if (reads)
        grid.order.load(clocks, warp.thread(lane), address, instruction.acquires);
      if (access != Access::StrongRead)
        grid.order.store(clocks, warp.thread(lane), address, instruction.releases, isUpdate);
    }
  }
  if (reads)
    warp.poll(instruction);
  // No other block waits for a sum.
  if (access == Access::FloatAdd)
    return;
  warp.yield();
  hasYielded = true;
}

uint8_t *Block::accessGlobal(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t address,
                             unsigned bytes, Access access) {
  Buffer *buffer = global.find(address);
  if (!buffer) {
    const Buffer *below = global.findBelow(address);
    std::string where = "0x" + utohexstr(address);
    if (below)
      where += ", " + std::to_string(address - below->address - below->data.size()) + " bytes past the end of " +
               below->name + " (" + std::to_string(below->data.size()) + " bytes)";
    find(FindingKind::OutOfBounds, warp, lane, instruction, Twine(bytes) + " bytes at " + where);
    return nullptr;
  }
  const uint64_t offset = address - buffer->address;
  uint8_t *data =
      accessBytes(warp, lane, instruction, buffer->name, buffer->data.data(), buffer->data.size(), offset, bytes);
  if (!data)
    return nullptr;
  if (access != Access::Read && access != Access::StrongRead && buffer->isReadOnly) {
    find(FindingKind::WriteToReadOnly, warp, lane, instruction, "writes " + buffer->name + ", which is an input");
    return nullptr;
  }
  if (program.ordersBlocks)
    checkOrder(warp, lane, instruction, *buffer, offset, bytes, access);
  else
    checkOtherBlocks(warp, lane, instruction, *buffer, offset, bytes, access);
  uint8_t *initialised = &buffer->initialised[offset];
  if (access == Access::Write || access == Access::StrongWrite) {
    std::fill_n(initialised, bytes, 1);
  } else if (std::find(initialised, initialised + bytes, 0) != initialised + bytes) {
    find(FindingKind::UninitialisedRead, warp, lane, instruction,
         "reads " + buffer->name + " at offset " + Twine(offset) + ", which nothing has written");
    std::fill_n(initialised, bytes, 1);
  }
  return data;
}

uint8_t *Block::access(const Warp &warp, unsigned lane, const Instruction &instruction, Space space, uint64_t address,
                       unsigned bytes, Access access, unsigned align) {
  if (space == Space::Generic)
    space = resolveGeneric(address);
  if (space != Space::Global)
    access = getWeak(access);
  if (align == 0)
    align = bytes;
  grid.changes += access == Access::Write || access == Access::StrongWrite || access == Access::AsyncWrite;
  if (address % align != 0) {
    find(FindingKind::Misaligned, warp, lane, instruction,
         "expected an address that is a multiple of " + Twine(align) + ", found 0x" + Twine::utohexstr(address));
    return nullptr;
  }
  switch (space) {
  case Space::Shared: return accessShared(warp, lane, instruction, address, bytes, access);
  case Space::Local:
    return accessBytes(warp, lane, instruction, "local memory", local.data() + program.localBytes * warp.thread(lane),
                       program.localBytes, address, bytes);
  case Space::Param:
    if (access != Access::Read) {
      find(FindingKind::WriteToReadOnly, warp, lane, instruction, "writes a parameter");
      return nullptr;
    }
    return accessBytes(warp, lane, instruction, "the parameters", parameters.data(), parameters.size(), address, bytes);
  default:
    if (address >= kConstWindow && address - kConstWindow < kWindowBytes)
      return accessBytes(warp, lane, instruction, "the module's variables", grid.constants.data(),
                         grid.constants.size(), address - kConstWindow, bytes);
    return accessGlobal(warp, lane, instruction, address, bytes, access);
  }
}
