//===- GpuHost.cpp - the host processor of a GPU --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Target/GpuHost.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

attn::TargetInfo attn::getGpuHost() {
  const bool isArm = Triple(sys::getProcessTriple()).isAArch64();
  return cantFail(TargetInfo::get(isArm ? "aarch64-linux-gnu" : "x86-64"));
}
