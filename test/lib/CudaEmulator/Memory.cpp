//===- Memory.cpp - the emulated driver's buffers -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace llvm;
using namespace attn::ptx;

int attn::ptx::memAlloc(unsigned long long *address, size_t bytes) {
  std::lock_guard guard(CudaEmulator::get().mutex);
  if (bytes == 0)
    return InvalidValue;
  *address = CudaEmulator::get().memory.allocate("a buffer of " + std::to_string(bytes) + " bytes", bytes);
  return Success;
}

int attn::ptx::memFree(unsigned long long address) {
  std::lock_guard guard(CudaEmulator::get().mutex);
  return address == 0 || CudaEmulator::get().memory.release(address) ? Success : InvalidValue;
}

/// The buffer, or null if the bytes are not all in one.
static Buffer *findBytes(unsigned long long address, size_t bytes) {
  Buffer *buffer = CudaEmulator::get().memory.find(address);
  return buffer && bytes <= buffer->data.size() - (address - buffer->address) ? buffer : nullptr;
}

int attn::ptx::memcpyHtoD(unsigned long long target, const void *source, size_t bytes) {
  std::lock_guard guard(CudaEmulator::get().mutex);
  if (bytes == 0)
    return Success;
  Buffer *buffer = findBytes(target, bytes);
  if (!buffer)
    return IllegalAddress;
  std::memcpy(buffer->data.data() + (target - buffer->address), source, bytes);
  std::fill_n(buffer->initialised.begin() + (target - buffer->address), bytes, 1);
  return Success;
}

int attn::ptx::memcpyDtoH(void *target, unsigned long long source, size_t bytes) {
  std::lock_guard guard(CudaEmulator::get().mutex);
  if (bytes == 0)
    return Success;
  const Buffer *buffer = findBytes(source, bytes);
  if (!buffer)
    return IllegalAddress;
  const ArrayRef<uint8_t> written = ArrayRef(buffer->initialised).slice(source - buffer->address, bytes);
  const size_t missing = bytes - count_if(written, [](uint8_t byte) { return byte != 0; });
  if (missing != 0 && CudaEmulator::get().readsOnlyWritten) {
    errs() << "emulated driver: expected " << buffer->name << " to be written before it is copied to the host, found "
           << missing << " bytes that are not, the first at offset " << (find(written, 0) - written.begin()) << "\n";
    return IllegalAddress;
  }
  std::memcpy(target, buffer->data.data() + (source - buffer->address), bytes);
  return Success;
}
