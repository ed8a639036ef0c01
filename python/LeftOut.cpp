//===- LeftOut.cpp - what lld asks of LLVM that a wheel has not -----------===//
//
// lld is in a wheel's libattn.so to link objects. Its LTO, which compiles bitcode, asks
// for all targets of LLVM and, as Debian builds it, for Polly: a third of the library. No
// bitcode comes there, so these are left out. Targets that attn compiles for are LLVM's
// own.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "llvm/Plugins/PassPlugin.h"

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "polly", "none", [](llvm::PassBuilder &) {}};
}

extern "C" {
// LEFT_OUT(AArch64) LEFT_OUT(ARM) …, by python/CMakeLists.txt.
#define LEFT_OUT(TARGET)                                                                                               \
  void LLVMInitialize##TARGET##TargetInfo() {}                                                                         \
  void LLVMInitialize##TARGET##Target() {}                                                                             \
  void LLVMInitialize##TARGET##TargetMC() {}                                                                           \
  void LLVMInitialize##TARGET##AsmParser() {}                                                                          \
  void LLVMInitialize##TARGET##AsmPrinter() {}
ATTN_TARGETS_LEFT_OUT
}
