//===- MergeObjects.cpp - many objects as one -----------------------------===//
//
// lld's relocatable link, followed by the equivalent of llvm-objcopy --localize-hidden: symbols shared only by the
// parts become local, so two merged objects in one program do not collide.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Link.h"
#include "attn/CodeGen/CodeGen.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ObjectFile.h"

using namespace llvm;

namespace attn {

/// Of the stack of a module of WebAssembly, 1 MiB.
static constexpr StringLiteral kWebStack = "stack-size=1048576";

/// One archive for lld instead of a file per object.
static Expected<std::unique_ptr<MemoryBuffer>> writeArchive(ArrayRef<std::string> objects) {
  std::vector<std::string> names;
  for (size_t i = 0; i < objects.size(); ++i)
    names.push_back("part" + std::to_string(i) + ".o");
  std::vector<NewArchiveMember> members;
  for (auto [object, name] : zip_equal(objects, names))
    members.emplace_back(MemoryBufferRef(object, name));
  return writeArchiveToBuffer(members, SymtabWritingMode::NormalSymtab, object::Archive::K_GNU, /*Deterministic=*/true,
                              /*Thin=*/false);
}

Expected<std::string> linkWebModule(ArrayRef<std::string> objects) {
  Expected<std::unique_ptr<MemoryBuffer>> archive = writeArchive(objects);
  if (!archive)
    return archive.takeError();
  // The stack lies first in memory: a kernel that needs more of it traps, and writes over no data.
  return linkFile((*archive)->getBuffer(), "a",
                  {"--no-entry", "--export-dynamic", "--stack-first", "-z", kWebStack.str(), "--whole-archive"}, {},
                  "wasm-ld");
}

Expected<std::string> mergeObjects(ArrayRef<std::string> objects) {
  Expected<std::unique_ptr<MemoryBuffer>> archive = writeArchive(objects);
  if (!archive)
    return archive.takeError();
  Expected<std::string> merged =
      linkFile((*archive)->getBuffer(), "a", {"-r", "--whole-archive"}, {"-z", "noexecstack"});
  if (!merged)
    return merged.takeError();

  Expected<std::unique_ptr<object::Binary>> binary = object::createBinary(MemoryBufferRef(*merged, "merged.o"));
  if (!binary)
    return binary.takeError();
  objcopy::ConfigManager config;
  config.Common.DiscardMode = objcopy::DiscardType::Locals;
  config.ELF.LocalizeHidden = true;
  SmallVector<char, 0> bytes;
  raw_svector_ostream os(bytes);
  if (Error error = objcopy::executeObjcopyOnBinary(config, **binary, os))
    return error;
  return std::string(bytes.data(), bytes.size());
}

} // namespace attn
