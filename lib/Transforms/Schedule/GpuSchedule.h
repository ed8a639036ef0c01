//===- GpuSchedule.h - which columns of V a block of a GPU holds *- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_SCHEDULE_GPUSCHEDULE_H
#define ATTN_LIB_TRANSFORMS_SCHEDULE_GPUSCHEDULE_H

#include "attn/IR/Attn.h"
#include "attn/Target/TargetInfo.h"

namespace attn {

/// True where warpgroups of a block share the rows of `op`, and hold all columns of V, of which one has too few
/// registers: heads of a head of K fill the 64 rows of a wgmma, as in decode of latent heads.
bool canShareRows(SdpaOp op, const TargetInfo &target);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_SCHEDULE_GPUSCHEDULE_H
