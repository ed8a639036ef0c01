//===- LinkBitcode.cpp - links the runtime's code into a module -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/CodeGen/LinkBitcode.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Module.h"

using namespace llvm;

Error attn::linkBitcode(Module &module, StringRef bitcode, unsigned flags) {
  Expected<std::unique_ptr<Module>> part = parseBitcodeFile(MemoryBufferRef(bitcode, "runtime"), module.getContext());
  if (!part)
    return part.takeError();
  (*part)->setTargetTriple(module.getTargetTriple());
  (*part)->setDataLayout(module.getDataLayout());
  if (Linker::linkModules(module, std::move(*part), flags))
    return createStringError("the runtime's code cannot be linked into the module");
  return Error::success();
}
