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

/// All tiles of `host` in loops of its own block, each of which becomes a kernel: loops of one tile, which have folded
/// away, are made again, and what the host cannot compute goes into the loops that use it. An error where a tile is in
/// control flow.
mlir::LogicalResult makeGridLoops(mlir::func::FuncOp host);

/// Elementwise ops, copies and attn.kv_append in the block of `host` become loops over elements, a kernel each.
void makeElementLoops(mlir::func::FuncOp host);

/// True where each round of a loop is the code of one thread: it has no tiles.
bool isElementLoop(mlir::scf::ForallOp loop);

/// An error for what is left outside of loops and would run on the host, on the device's memory.
mlir::LogicalResult verifyHost(mlir::func::FuncOp host);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_GRIDLOOPS_H
