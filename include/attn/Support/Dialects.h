//===- Dialects.h - the dialect of an op ------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_DIALECTS_H
#define ATTN_SUPPORT_DIALECTS_H

#include "mlir/IR/Operation.h"

namespace attn {

/// True where `op` is of one of the dialects. An unregistered op has none: its getDialect() is null.
template <typename... Dialects> bool isOfDialect(mlir::Operation *op) {
  return llvm::isa_and_nonnull<Dialects...>(op->getDialect());
}

/// For lowerings of everything in `root`: an error at an unregistered op, which has no lowering. Upstream's conversions
/// that follow dereference each op's dialect.
inline llvm::LogicalResult verifyRegistered(mlir::Operation *root) {
  mlir::WalkResult result = root->walk([](mlir::Operation *op) {
    if (op->getDialect())
      return mlir::WalkResult::advance();
    op->emitOpError("expected ops of registered dialects, which alone have code, found one that nobody registered");
    return mlir::WalkResult::interrupt();
  });
  return llvm::failure(result.wasInterrupted());
}

} // namespace attn

#endif // ATTN_SUPPORT_DIALECTS_H
