//===- Architecture.cpp - the architecture of a processor -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Target/Architecture.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace attn {

StringRef describeArchitecture(const TargetInfo &target) {
  Triple triple(target.triple);
  return triple.isRISCV()     ? "64-bit RISC-V"
         : triple.isAArch64() ? "64-bit Arm"
         : triple.isWasm()    ? "WebAssembly"
                              : "x86-64";
}

bool isForeign(const TargetInfo &target) {
  return !target.gpu && Triple(target.triple).getArch() != Triple(sys::getProcessTriple()).getArch();
}

} // namespace attn
