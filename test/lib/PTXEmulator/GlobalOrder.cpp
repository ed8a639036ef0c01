//===- GlobalOrder.cpp - memory order through global memory ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "GlobalOrder.h"

using namespace attn::ptx;

Epoch GlobalOrder::access(const Clocks &clocks, const Buffer &buffer, uint64_t offset, unsigned bytes, Access access,
                          unsigned thread, int line) {
  Shadow &shadow = touched.try_emplace(buffer.address, buffer.data.size(), /*betweenBlocks=*/true).first->second;
  return shadow.access(clocks, offset, bytes, access, thread, line);
}

GlobalOrder::Fenced &GlobalOrder::of(const Clocks &clocks, unsigned thread) {
  return fenced[{clocks.now(thread, 0).block, thread}];
}

void GlobalOrder::load(Clocks &clocks, unsigned thread, uint64_t address, bool acquires) {
  const auto found = released.find(address);
  if (found == released.end())
    return;
  if (acquires)
    clocks.acquireFromBlocks(thread, found->second);
  else
    join(of(clocks, thread).loaded, found->second);
}

void GlobalOrder::store(Clocks &clocks, unsigned thread, uint64_t address, bool releases, bool isUpdate) {
  BlockClocks &at = released[address];
  if (!isUpdate)
    at.clear();
  join(at, releases ? clocks.releaseToBlocks(thread) : of(clocks, thread).released);
}

void GlobalOrder::fence(Clocks &clocks, unsigned thread) {
  Fenced &own = of(clocks, thread);
  clocks.acquireFromBlocks(thread, std::exchange(own.loaded, {}));
  own.released = clocks.releaseToBlocks(thread);
}
