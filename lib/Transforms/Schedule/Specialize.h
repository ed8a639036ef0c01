//===- Specialize.h - branches selected at run time -------------*- C++ -*-===//
//
// Shared parts of attn-specialize-queries and attn-specialize-strides: each makes copies of an sdpa for kinds of calls,
// in the branches of an scf.if.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_SPECIALIZE_H
#define ATTN_LIB_TRANSFORMS_SPECIALIZE_H

#include "attn/IR/Attn.h"
#include "attn/Target/TargetInfo.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace attn {

/// Calls `specialize`, which may replace the op, for each sdpa of `func`; an error where `pass` has no target `target`.
mlir::LogicalResult
specializeAll(mlir::func::FuncOp func, llvm::StringRef pass, llvm::StringRef target,
              llvm::function_ref<mlir::LogicalResult(mlir::RewriterBase &, SdpaOp, const TargetInfo &)> specialize);

/// The dimension of an operand for dimension `position` of the domain; nullopt where it has none.
std::optional<unsigned> findDim(mlir::AffineMap map, unsigned position);

/// Gives each result of `op` that is computed in an empty tensor a destination of its own, shared by all branches.
void giveOwnDestinations(mlir::OpBuilder &b, SdpaOp op);

/// Clones `op` with this schedule at the builder's position; returns the results.
llvm::SmallVector<mlir::Value> cloneWithSchedule(mlir::OpBuilder &b, SdpaOp op, ScheduleAttr schedule);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_SPECIALIZE_H
