//===- AsyncAccess.cpp - accesses to shared memory by the asynchronous proxy -===//
//
// Bulk copies and wgmma access shared memory asynchronously. A thread's write must be ordered before them, and fenced
// by fence.proxy.async. Before they overwrite data, its reads must be ordered before them by a barrier, of either kind.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Block.h"

using namespace llvm;
using namespace attn::ptx;

uint8_t *Block::accessAsync(const Warp &warp, unsigned lane, const Instruction &instruction, uint64_t offset,
                            unsigned bytes, const Shadow::AsyncAccess &access) {
  uint8_t *data = accessBytes(warp, lane, instruction, "shared memory", shared.data(), shared.size(), offset, bytes);
  if (!data)
    return nullptr;
  grid.changes += access.isWrite;
  const char *does = access.isWrite ? "writes" : "reads";
  bool isInitialised = true;
  uint32_t pending = 0;
  shadow.forStates(offset, bytes, [&](const ShadowState &state) {
    isInitialised &= state.initialised;
    pending = state.pending ? state.pending : pending;
  });
  if (pending == kMbarrierByte) {
    find(FindingKind::Mbarrier, warp, lane, instruction,
         Twine(does) + " " + Twine(bytes) + " bytes of shared memory at " + Twine(offset) +
             ", and an mbarrier is there");
    return nullptr;
  }
  if (pending)
    find(FindingKind::AsyncBeforeWait, warp, lane, instruction,
         Twine(does) + " shared memory at " + Twine(offset) + ", which the asynchronous copy of line " +
             Twine(async[pending].line) + " by thread " + Twine(async[pending].thread) + " is still writing");
  else if (!access.isWrite && !isInitialised)
    find(FindingKind::UninitialisedRead, warp, lane, instruction,
         "reads shared memory at " + Twine(offset) + " and on, of which nothing has written a part");
  const Shadow::AsyncConflict conflict = shadow.accessAsync(clocks, offset, bytes, access);
  if (!conflict.other.clock || pending)
    return data;
  const std::string text = (Twine(does) + " " + Twine(bytes) + " bytes of shared memory at " + Twine(offset) +
                            ", which " + describe(conflict.other))
                               .str();
  if (conflict.isFenceMissing)
    find(FindingKind::ProxyFence, warp, lane, instruction, text + "; expected fence.proxy.async between them");
  else
    find(FindingKind::Race, warp, lane, instruction, text + "; no barrier is between them");
  return data;
}
