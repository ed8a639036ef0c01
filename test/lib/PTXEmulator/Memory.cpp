//===- Memory.cpp - global memory -----------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "Addresses.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace attn::ptx;

namespace {
/// The alignment of cudaMalloc.
constexpr uint64_t kBufferAlign = 256;
/// Unmapped bytes between two buffers, so that an access beyond an end never hits another buffer.
constexpr uint64_t kGap = uint64_t(1) << 20;
constexpr unsigned kBanks = 32, kBankBytes = 4, kSectorBytes = 32, kLanesAtMost = 32;
} // namespace

GlobalMemory::GlobalMemory() : next(kGlobalStart) {}

bool GlobalMemory::release(uint64_t address) {
  const Buffer *found = findBelow(address);
  if (!found || found->address != address)
    return false;
  buffers.erase(buffers.begin() + (found - buffers.data()));
  last = 0;
  return true;
}

uint64_t GlobalMemory::allocate(std::string name, uint64_t bytes, ArrayRef<uint8_t> data) {
  const uint64_t address = next;
  next = (address + bytes + kGap + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
  Buffer buffer{std::move(name), address, std::vector<uint8_t>(bytes, 0xff), std::vector<uint8_t>(bytes, 0)};
  std::copy(data.begin(), data.end(), buffer.data.begin());
  std::fill_n(buffer.initialised.begin(), data.size(), 1);
  buffers.push_back(std::move(buffer));
  return address;
}

uint64_t GlobalMemory::hash() const {
  hash_code code = 0;
  for (const Buffer &buffer : buffers)
    code = hash_combine(code, hash_combine_range(buffer.data.begin(), buffer.data.end()));
  return size_t(code);
}

void GlobalMemory::startLaunch() {
  for (Buffer &buffer : buffers) {
    buffer.writers.clear();
    buffer.readers.clear();
  }
}

const Buffer *GlobalMemory::findBelow(uint64_t address) const {
  auto above =
      llvm::upper_bound(buffers, address, [](uint64_t value, const Buffer &buffer) { return value < buffer.address; });
  return above == buffers.begin() ? nullptr : &*std::prev(above);
}

Buffer *GlobalMemory::find(uint64_t address) {
  auto holds = [&](const Buffer &buffer) {
    return address >= buffer.address && address - buffer.address < buffer.data.size();
  };
  if (last < buffers.size() && holds(buffers[last]))
    return &buffers[last];
  const Buffer *below = findBelow(address);
  if (!below || !holds(*below))
    return nullptr;
  last = below - buffers.data();
  return &buffers[last];
}

BankUse attn::ptx::countBankUse(ArrayRef<uint64_t> offsets, uint32_t lanes, unsigned bytes) {
  const unsigned lanesAtOnce = bytes <= 4 ? 32 : 128 / bytes;
  BankUse use;
  for (unsigned first = 0; first < offsets.size(); first += lanesAtOnce) {
    // The different words of each bank, usually one.
    uint64_t words[kBanks][kLanesAtMost];
    uint8_t counts[kBanks] = {};
    unsigned most = 0;
    for (unsigned lane = first; lane < std::min<size_t>(first + lanesAtOnce, offsets.size()); ++lane) {
      if (!(lanes >> lane & 1))
        continue;
      for (unsigned byte = 0; byte < std::max(bytes, 1u); byte += kBankBytes) {
        const uint64_t word = (offsets[lane] + byte) / kBankBytes;
        uint64_t *own = words[word % kBanks];
        uint8_t &count = counts[word % kBanks];
        if (std::find(own, own + count, word) == own + count)
          own[count++] = word;
        most = std::max<unsigned>(most, count);
      }
    }
    use.transactions += most;
    use.ideal += most > 0;
  }
  return use;
}

unsigned attn::ptx::countSectors(ArrayRef<uint64_t> addresses, uint32_t lanes, unsigned bytes) {
  // Adjacent lanes access the same sector, or the next one.
  SmallVector<uint64_t, 64> sectors;
  bool isSorted = true;
  for (unsigned lane = 0; lane < addresses.size(); ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    for (uint64_t at = addresses[lane] / kSectorBytes; at <= (addresses[lane] + bytes - 1) / kSectorBytes; ++at) {
      if (!sectors.empty() && at == sectors.back())
        continue;
      isSorted &= sectors.empty() || at > sectors.back();
      sectors.push_back(at);
    }
  }
  if (isSorted)
    return sectors.size();
  llvm::sort(sectors);
  return std::unique(sectors.begin(), sectors.end()) - sectors.begin();
}
