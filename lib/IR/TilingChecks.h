//===- TilingChecks.h - what a tile of an attn op may be ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IR_TILINGCHECKS_H
#define ATTN_LIB_IR_TILINGCHECKS_H

#include "mlir/IR/OpDefinition.h"

namespace attn {

/// True where a tile is all batch dimensions, rows and keys: all that a word may ask for.
bool isWholeProblem(mlir::Operation *op, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                    llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// Dimensions that no tile may split: those that the op reduces, but for the keys of online_step; the value columns of
/// an op that also writes row statistics (each tile would write them again); groups of heads across their borders; rows
/// that attn.pack pads; packed sequences. Says which it is.
mlir::LogicalResult checkTile(mlir::Operation *op, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                              llvm::ArrayRef<mlir::OpFoldResult> sizes);

} // namespace attn

#endif // ATTN_LIB_IR_TILINGCHECKS_H
