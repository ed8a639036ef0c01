//===- npy_fuzzer.cpp - .npy files under libFuzzer --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Support/Npy.h"

#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::unique_ptr<llvm::WritableMemoryBuffer> buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(size);
  if (size > 0)
    std::memcpy(buffer->getBufferStart(), data, size);
  llvm::Expected<attn::NpyArray> array = attn::parseNpy(std::move(buffer), "fuzz");
  if (!array)
    llvm::consumeError(array.takeError());
  return 0;
}
