//===- GpuHost.h - the host processor of a GPU ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TARGET_GPUHOST_H
#define ATTN_TARGET_GPUHOST_H

#include "attn/Target/TargetInfo.h"

namespace attn {

/// The target of the host code of GPU kernels: every processor of this process' architecture, on Linux.
TargetInfo getGpuHost();

} // namespace attn

#endif // ATTN_TARGET_GPUHOST_H
