//===- MemoryAccess.cpp - every access of memory is checked here ----------===//
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
  // Buffers lie elsewhere in each launch.
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
  const Epoch other = shadow.access(offset, bytes, access, thread, instruction.line);
  if (other.clock && !pending) {
    find(FindingKind::Race, warp, lane, instruction,
         Twine(isWrite                  ? "writes"
               : access == Access::Read ? "reads"
                                        : "changes") +
             " shared memory at " + Twine(offset) + ", which " + describe(other) + "; no barrier is between them");
  }
  return data;
}

/// Nothing orders two blocks of a launch, unless the kernel has fences, acquires or releases: then nothing is said.
void Block::checkOtherBlocks(const Warp &warp, unsigned lane, const Instruction &instruction, Buffer &buffer,
                             uint64_t offset, unsigned bytes, Access access) {
  const bool isWrite = access == Access::Write;
  if (program.ordersBlocks || access == Access::Atomic || (!isWrite && buffer.writers.empty()))
    return;
  if (buffer.writers.empty())
    buffer.writers.assign(buffer.data.size(), 0);
  uint32_t *writers = &buffer.writers[offset];
  for (unsigned i = 0; i < bytes; ++i) {
    if (writers[i] == 0 || writers[i] == number + 1)
      continue;
    find(FindingKind::Race, warp, lane, instruction,
         Twine(isWrite ? "writes " : "reads ") + buffer.name + " at offset " + Twine(offset + i) + ", which block " +
             Twine(writers[i] - 1) + " of the launch wrote; nothing orders two blocks");
    break;
  }
  if (isWrite)
    std::fill_n(writers, bytes, number + 1);
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
  if (access != Access::Read && buffer->isReadOnly) {
    find(FindingKind::WriteToReadOnly, warp, lane, instruction, "writes " + buffer->name + ", which is an input");
    return nullptr;
  }
  checkOtherBlocks(warp, lane, instruction, *buffer, offset, bytes, access);
  uint8_t *initialised = &buffer->initialised[offset];
  if (access == Access::Write) {
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
  if (align == 0)
    align = bytes;
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
      return accessBytes(warp, lane, instruction, "the module's variables", constants.data(), constants.size(),
                         address - kConstWindow, bytes);
    return accessGlobal(warp, lane, instruction, address, bytes, access);
  }
}
