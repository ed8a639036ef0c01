//===- ObjectCache.cpp - machine code that was made before ----------------===//
//
// A file is a line with the checksum of what follows: a line a function with its bytes of stack and its name, an empty
// line, the machine code.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ObjectCache.h"
#include "attn/Support/BuildId.h"
#include "attn/Support/OutputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

namespace attn {

/// As pruneCache knows its files.
static constexpr StringLiteral kPrefix = "llvmcache-";
static constexpr uint64_t kMostBytes = uint64_t(1) << 30;

static std::string getChecksum(StringRef text) { return utohexstr(xxh3_64bits(text)); }

CachedObject::CachedObject(StringRef folder, const Module &module, const TargetMachine &machine,
                           ArrayRef<bool> options) {
  static const std::string llvmBuild = getBuildIds({reinterpret_cast<uintptr_t>(&sys::getHostCPUFeatures)});
  SmallVector<char, 0> bitcode;
  raw_svector_ostream stream(bitcode);
  WriteBitcodeToFile(module, stream);
  SHA256 hash;
  const StringRef fields[] = {ATTN_CODEGEN_SOURCES, llvmBuild, machine.getTargetTriple().str(), machine.getTargetCPU(),
                              machine.getTargetFeatureString()};
  for (StringRef field : fields)
    hash.update((field + "\n").str());
  for (bool option : options)
    hash.update(option ? "1" : "0");
  hash.update(StringRef(bitcode.data(), bitcode.size()));
  path = folder;
  sys::path::append(path, kPrefix + toHex(hash.final(), /*LowerCase=*/true));
}

std::optional<std::string> CachedObject::read(StackBytes *stackBytes) const {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(path, /*IsText=*/false, false);
  if (!file)
    return std::nullopt;
  auto [checksum, rest] = (*file)->getBuffer().split('\n');
  if (checksum != getChecksum(rest))
    return std::nullopt;
  for (auto [line, next] = rest.split('\n');; std::tie(line, next) = rest.split('\n')) {
    rest = next;
    if (line.empty())
      return rest.str();
    auto [bytes, function] = line.split(' ');
    if (int64_t value; stackBytes && !bytes.getAsInteger(10, value))
      (*stackBytes)[function] = value;
  }
}

void CachedObject::write(StringRef bytes, const StackBytes &stackBytes) const {
  StringRef folder = sys::path::parent_path(path);
  if (sys::fs::create_directories(folder, /*IgnoreExisting=*/true, sys::fs::owner_all))
    return;
  std::string text;
  for (const auto &entry : stackBytes)
    text += (Twine(entry.getValue()) + " " + entry.getKey() + "\n").str();
  ((text += "\n") += bytes);
  consumeError(writeOutputFile(path, [&](raw_ostream &os) { os << getChecksum(text) << "\n" << text; }));
  CachePruningPolicy policy;
  policy.MaxSizeBytes = kMostBytes;
  pruneCache(folder, policy);
}

} // namespace attn
