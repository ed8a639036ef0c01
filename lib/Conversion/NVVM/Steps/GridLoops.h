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

/// Puts all tiles of `host` into loops in its entry block, each of which becomes a kernel. Loops of one tile, which
/// have folded away, are restored, and ops that the host cannot compute move into the loops that use them. Emits an
/// error for a tile inside control flow.
mlir::LogicalResult makeGridLoops(mlir::func::FuncOp host);

/// Lowers elementwise ops, copies and attn.kv_append in the block of `host` to loops over elements, one kernel each.
void makeElementLoops(mlir::func::FuncOp host);

/// True where each iteration of a loop is the code of one thread: it has no tiles.
bool isElementLoop(mlir::scf::ForallOp loop);

/// Emits an error for ops outside of loops, which would run on the host but access device memory.
mlir::LogicalResult verifyHost(mlir::func::FuncOp host);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_GRIDLOOPS_H
