//===- GpuHost.h - the processor beside a GPU ------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TARGET_GPUHOST_H
#define ATTN_TARGET_GPUHOST_H

#include "attn/Target/TargetInfo.h"

namespace attn {

/// What the host side of GPU kernels is made for: every processor of the architecture that this process runs on, Linux.
TargetInfo getGpuHost();

} // namespace attn

#endif // ATTN_TARGET_GPUHOST_H
