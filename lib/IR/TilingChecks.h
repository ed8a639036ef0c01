//===- TilingChecks.h - what a tile of an attn op may be ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IR_TILINGCHECKS_H
#define ATTN_LIB_IR_TILINGCHECKS_H

#include "mlir/IR/OpDefinition.h"

namespace attn {

/// True if a tile is all batch dimensions, rows and keys: a word may depend on no more.
bool isWholeProblem(mlir::Operation *op, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                    llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// Checks that a tile splits none of: dimensions that the op reduces, except the keys of online_step; the value columns
/// of an op that also writes row statistics, which each tile would write again; groups of heads; rows that attn.pack
/// pads; packed sequences. The error says which.
mlir::LogicalResult checkTile(mlir::Operation *op, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                              llvm::ArrayRef<mlir::OpFoldResult> sizes);

} // namespace attn

#endif // ATTN_LIB_IR_TILINGCHECKS_H
