//===- RiscvTarget.h - names and facts of 64-bit RISC-V ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TARGET_RISCVTARGET_H
#define ATTN_LIB_TARGET_RISCVTARGET_H

#include "attn/Target/TargetInfo.h"

namespace attn {

/// True for a name that getRiscvTarget either accepts or refuses with its own message: it begins with a triple, a
/// processor, a profile or an architecture of RISC-V.
bool isRiscvName(llvm::StringRef name);

/// TRIPLE, TRIPLE:PROCESSOR or PROCESSOR, followed by extensions, each after a +. A processor may also be a profile
/// (rva23) or an architecture (rv64gcv).
llvm::Expected<TargetInfo> getRiscvTarget(llvm::StringRef name);

} // namespace attn

#endif // ATTN_LIB_TARGET_RISCVTARGET_H
