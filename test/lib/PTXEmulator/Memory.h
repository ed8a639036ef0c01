//===- Memory.h - global memory ---------------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_MEMORY_H
#define ATTN_TEST_PTXEMULATOR_MEMORY_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn::ptx {

/// A buffer passed to a kernel. The addresses between two buffers are unmapped.
struct Buffer {
  std::string name;
  uint64_t address;
  std::vector<uint8_t> data;
  std::vector<uint8_t> initialised; ///< by byte
  bool isReadOnly = false;
  /// By byte: the index + 1 of the block that wrote or read it in this launch; or empty. For kernels that do not order
  /// blocks.
  std::vector<uint32_t> writers = {}, readers = {};
};

class GlobalMemory {
public:
  GlobalMemory();
  /// `data` are the first bytes; the others are uninitialised, and reads of them before the kernel wrote them are
  /// reported.
  uint64_t allocate(std::string name, uint64_t bytes, llvm::ArrayRef<uint8_t> data = {});
  template <typename T> uint64_t allocate(std::string name, const std::vector<T> &values) {
    return allocate(std::move(name), values.size() * sizeof(T),
                    {reinterpret_cast<const uint8_t *>(values.data()), values.size() * sizeof(T)});
  }
  /// Unmaps the buffer that begins at `address`; false if there is none. Its addresses are not reused.
  bool release(uint64_t address);
  /// The buffer that contains the address; null if there is none.
  Buffer *find(uint64_t address);
  Buffer &at(uint64_t address) { return *find(address); }
  /// Covers all bytes of all buffers.
  uint64_t hash() const;
  /// Resets which blocks have written.
  void startLaunch();
  /// The nearest buffer below the address, for messages.
  const Buffer *findBelow(uint64_t address) const;
  template <typename T> std::vector<T> read(uint64_t address) {
    const Buffer &buffer = at(address);
    const T *values = reinterpret_cast<const T *>(buffer.data.data());
    return std::vector<T>(values, values + buffer.data.size() / sizeof(T));
  }

private:
  std::vector<Buffer> buffers; ///< by address
  uint64_t next;               ///< where the next buffer may begin
  size_t last = 0;
};

/// Passes over the banks of shared memory that an access of the lanes takes, and the fewest possible for its bytes.
/// There are 32 banks of 4 bytes; lanes that read the same word share it. Accesses of 8 bytes per lane are done by half
/// warps, of 16 by quarters.
struct BankUse {
  unsigned transactions = 0, ideal = 0;
};
BankUse countBankUse(llvm::ArrayRef<uint64_t> offsets, uint32_t lanes, unsigned bytes);

/// Sectors of 32 bytes that the lanes access.
unsigned countSectors(llvm::ArrayRef<uint64_t> addresses, uint32_t lanes, unsigned bytes);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_MEMORY_H
