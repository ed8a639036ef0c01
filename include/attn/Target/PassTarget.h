//===- PassTarget.h - the target that a pass's option names -----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TARGET_PASSTARGET_H
#define ATTN_TARGET_PASSTARGET_H

#include "attn/Target/TargetInfo.h"
#include "mlir/IR/Operation.h"

namespace attn {

/// The facts of target `name`. For an unknown target, an error at `op`, on which `pass` runs.
inline mlir::FailureOr<TargetInfo> getTarget(mlir::Operation *op, llvm::StringRef pass, llvm::StringRef name) {
  llvm::Expected<TargetInfo> target = TargetInfo::get(name);
  if (target)
    return std::move(*target);
  op->emitError() << pass << ": " << llvm::toString(target.takeError());
  return mlir::failure();
}

/// The same for a pass on GPU targets.
inline mlir::FailureOr<TargetInfo> getGpuTarget(mlir::Operation *op, llvm::StringRef pass, llvm::StringRef name) {
  mlir::FailureOr<TargetInfo> target = getTarget(op, pass, name);
  if (failed(target) || target->gpu)
    return target;
  op->emitError() << pass << ": expected a GPU as target, found '" << name << "'";
  return mlir::failure();
}

} // namespace attn

#endif // ATTN_TARGET_PASSTARGET_H
