//===- Async.cpp - writes that happen later -------------------------------===//
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
  for (size_t i = 0; i < started.data.size(); ++i)
    shadow[started.offset + i].pending = handle;
  return handle;
}

void AsyncProxy::complete(Handle handle, unsigned thread) {
  const AsyncWrite &write = writes[handle - 1];
  std::memcpy(&shared[write.offset], write.data.data(), write.data.size());
  for (size_t i = 0; i < write.data.size(); ++i) {
    ShadowByte &byte = shadow[write.offset + i];
    if (byte.pending != handle) // overwritten by a later copy, which was reported
      continue;
    byte.pending = 0;
    byte.initialised = true;
    byte.write = {clocks.now(thread), uint16_t(thread), write.line};
  }
  freeHandles.push_back(handle);
}

void CopyGroups::wait(AsyncProxy &proxy, unsigned thread, uint64_t pending) {
  while (committed.size() > pending) {
    for (AsyncProxy::Handle handle : committed.front())
      proxy.complete(handle, thread);
    committed.pop_front();
  }
}
