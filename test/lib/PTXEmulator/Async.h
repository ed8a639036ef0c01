//===- Async.h - deferred writes --------------------------------*- C++ -*-===//
//
// An asynchronous write is started, and completed by a wait. In between, its bytes are pending: any access to them is
// reported. What completes a write is independent of this: groups here (cp.async); an mbarrier's phase (TMA) or a wgmma
// group would hold the same handles.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_ASYNC_H
#define ATTN_TEST_PTXEMULATOR_ASYNC_H

#include "Races.h"

#include "llvm/ADT/ArrayRef.h"

#include <deque>

namespace attn::ptx {

/// ShadowState::pending for the bytes of an mbarrier, which only mbarrier instructions may access.
inline constexpr uint32_t kMbarrierByte = ~uint32_t(0);

struct AsyncWrite {
  unsigned thread; ///< the thread that started it
  uint64_t offset; ///< in shared memory
  llvm::SmallVector<uint8_t, 16> data;
  int line;
};

class AsyncProxy {
public:
  using Handle = uint32_t;
  AsyncProxy(std::vector<uint8_t> &shared, Shadow &shadow, Clocks &clocks)
      : shared(shared), shadow(shadow), clocks(clocks) {}

  Handle start(AsyncWrite write);
  /// Writes the data to memory, as if `thread` had written them.
  void complete(Handle handle, unsigned thread);
  const AsyncWrite &operator[](Handle handle) const { return writes[handle - 1]; }

private:
  std::vector<uint8_t> &shared;
  Shadow &shadow;
  Clocks &clocks;
  std::vector<AsyncWrite> writes;
  std::vector<Handle> freeHandles;
};

/// cp.async groups of one thread.
class CopyGroups {
public:
  void add(AsyncProxy::Handle handle) { open.push_back(handle); }
  void commit() { committed.push_back(std::exchange(open, {})); }
  /// Completes all but the last `pending` groups.
  void wait(AsyncProxy &proxy, unsigned thread, uint64_t pending);
  void waitAll(AsyncProxy &proxy, unsigned thread) {
    commit();
    wait(proxy, thread, 0);
  }

private:
  using Group = llvm::SmallVector<AsyncProxy::Handle, 8>;
  Group open;
  std::deque<Group> committed;
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_ASYNC_H
