//===- ObjectCache.h - machine code that was made before --------*- C++ -*-===//
//
// A folder of files, each named by a hash of all that its machine code is a function of: the module in front of LLVM's
// passes, the target, the options, LLVM's build and the code around it. A file has a checksum and appears by a rename,
// whole. Whatever is wrong with a file, the folder or the disk means a compilation, and no message.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_OBJECTCACHE_H
#define ATTN_LIB_CODEGEN_OBJECTCACHE_H

#include "attn/CodeGen/CodeGen.h"
#include "llvm/ADT/SmallString.h"

namespace attn {

/// The entry of one module in a folder. Attributes of the module's functions name the processor and its features.
class CachedObject {
public:
  CachedObject(llvm::StringRef folder, const llvm::Module &module, const llvm::TargetMachine &machine,
               llvm::ArrayRef<bool> options);

  /// The bytes of an entry that is whole, and the stack that its functions take.
  std::optional<std::string> read(StackBytes *stackBytes) const;
  /// Keeps an entry, and removes those that were not read for a week, or the oldest beyond the size.
  void write(llvm::StringRef bytes, const StackBytes &stackBytes) const;

private:
  llvm::SmallString<128> path;
};

} // namespace attn

#endif // ATTN_LIB_CODEGEN_OBJECTCACHE_H
