//===- RewriteOps.h - patterns on some ops ----------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_REWRITEOPS_H
#define ATTN_IR_REWRITEOPS_H

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attn {

/// Applies patterns to the ops in `root` that `select` returns true for, and to those that are made of them, where
/// applyPatternsGreedily would also fold all others and simplify their regions: of a lowered kernel, most of its time.
inline mlir::LogicalResult rewriteOps(mlir::Operation *root, mlir::RewritePatternSet &&patterns,
                                      llvm::function_ref<bool(mlir::Operation *)> select) {
  llvm::SmallVector<mlir::Operation *> ops;
  root->walk([&](mlir::Operation *op) {
    if (op != root && select(op))
      ops.push_back(op);
  });
  return applyOpPatternsGreedily(ops, std::move(patterns));
}

} // namespace attn

#endif // ATTN_IR_REWRITEOPS_H
