//===- ScoreOperands.h - biases and masks in stages -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_SCOREOPERANDS_H
#define ATTN_LIB_CONVERSION_NVVM_SCOREOPERANDS_H

#include "CopyBoxes.h"

namespace attn::nvvm {

/// Brings the dense operands of scores to shared memory, by copies that join `boxes`, where tensor maps can describe
/// them and `largestBytes` of shared memory hold their stages. The others stay in global memory, with a remark.
void stageScoreOperands(mlir::gpu::GPUFuncOp kernel, BlockAttr schedule, int64_t largestBytes, CopyBoxes &boxes);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_SCOREOPERANDS_H
