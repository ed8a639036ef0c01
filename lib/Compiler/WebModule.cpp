//===- WebModule.cpp - an object as a module of WebAssembly ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/WebModule.h"
#include "attn/CodeGen/CodeGen.h"
#include "attn/Compiler/CheckBitcode.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Module.h"

using namespace llvm;

Expected<std::string> attn::createWebModule(StringRef object, const TargetInfo &target) {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> library =
      parseBitcodeFile(MemoryBufferRef(getWebLibraryBitcode(), "library"), context);
  if (!library)
    return library.takeError();
  Expected<std::string> other = compileModule(**library, target, FileKind::Object);
  if (!other)
    return other.takeError();
  return linkWebModule({object.str(), *other});
}
