//===- BlockOrder.h - which tile a block of a grid computes -----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_BLOCKORDER_H
#define ATTN_LIB_CONVERSION_NVVM_BLOCKORDER_H

#include "attn/Target/TargetInfo.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace attn::nvvm {

/// The round of `forall` that block `block`, an index, computes. `mapping` maps the values from outside that the loop
/// reads. `turnsGroups` is for blocks that may take several tiles (attn-make-persistent).
mlir::Value createRoundOfBlock(mlir::OpBuilder &b, mlir::scf::ForallOp forall, mlir::Value block,
                               const mlir::IRMapping &mapping, const GpuInfo &gpu, bool turnsGroups);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_BLOCKORDER_H
