//===- GridLoops.h - one scf.forall for each kernel -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_GRIDLOOPS_H
#define ATTN_LIB_CONVERSION_NVVM_GRIDLOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attn::nvvm {

/// Lowers ops without tiles to loops over elements, so that each scf.forall in the entry block of `host` becomes a
/// kernel. Emits an error for a tile outside of these loops, or inside control flow.
mlir::LogicalResult makeGridLoops(mlir::func::FuncOp host);

/// Lowers elementwise ops, copies and attn.kv_append in the block of `host` to loops over elements, one kernel each.
void makeElementLoops(mlir::func::FuncOp host);

/// True where each iteration of a loop is the code of one thread: it has no tiles.
bool isElementLoop(mlir::scf::ForallOp loop);

/// Emits an error for ops outside of loops, which would run on the host but access device memory.
mlir::LogicalResult verifyHost(mlir::func::FuncOp host);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_GRIDLOOPS_H
