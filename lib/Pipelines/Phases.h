//===- Phases.h - phases in files of their own ------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_PIPELINES_PHASES_H
#define ATTN_LIB_PIPELINES_PHASES_H

#include "attn/Pipelines.h"

namespace attn {

std::unique_ptr<mlir::Pass> createCanonicalizer();

/// For a GPU, the host code: its entries, which launch the kernels (LlvmPhase.cpp).
void buildLlvmPhase(mlir::OpPassManager &pm, const PhaseOptions &options);

} // namespace attn

#endif // ATTN_LIB_PIPELINES_PHASES_H
