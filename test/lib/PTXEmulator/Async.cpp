//===- Async.cpp - deferred writes ----------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Async.h"

#include <cstring>

using namespace attn::ptx;

AsyncProxy::Handle AsyncProxy::start(AsyncWrite write) {
  Handle handle;
  if (freeHandles.empty()) {
    writes.push_back(std::move(write));
    handle = writes.size();
  } else {
    handle = freeHandles.back();
    freeHandles.pop_back();
    writes[handle - 1] = std::move(write);
  }
  const AsyncWrite &started = writes[handle - 1];
  shadow.forStates(started.offset, started.data.size(), [&](ShadowState &state) { state.pending = handle; });
  return handle;
}

void AsyncProxy::complete(Handle handle, unsigned thread) {
  const AsyncWrite &write = writes[handle - 1];
  std::memcpy(&shared[write.offset], write.data.data(), write.data.size());
  const Epoch now = clocks.now(thread, write.line);
  shadow.forStates(write.offset, write.data.size(), [&](ShadowState &state) {
    if (state.pending != handle) // overwritten by a later copy, which was reported
      return;
    state.pending = 0;
    state.initialised = true;
    state.write = now;
  });
  freeHandles.push_back(handle);
}

void CopyGroups::wait(AsyncProxy &proxy, unsigned thread, uint64_t pending) {
  while (committed.size() > pending) {
    for (AsyncProxy::Handle handle : committed.front())
      proxy.complete(handle, thread);
    committed.pop_front();
  }
}
