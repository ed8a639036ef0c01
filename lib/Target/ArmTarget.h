//===- ArmTarget.h - names and facts of 64-bit Arm --------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TARGET_ARMTARGET_H
#define ATTN_LIB_TARGET_ARMTARGET_H

#include "attn/Target/TargetInfo.h"

namespace attn {

/// True for a name that getArmTarget either accepts or refuses with its own message: it begins with a triple, a
/// processor or an architecture of 64-bit Arm.
bool isArmName(llvm::StringRef name);

/// TRIPLE, TRIPLE:PROCESSOR or PROCESSOR, followed by features, each after a +.
llvm::Expected<TargetInfo> getArmTarget(llvm::StringRef name);

/// The processor of this process, which is 64-bit Arm.
llvm::Expected<TargetInfo> getArmHost();

} // namespace attn

#endif // ATTN_LIB_TARGET_ARMTARGET_H
