//===- ScheduleVerifier.h - what the kinds of schedules share ---*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_SCHEDULE_SCHEDULEVERIFIER_H
#define ATTN_LIB_SCHEDULE_SCHEDULEVERIFIER_H

#include "attn/Schedule/Schedule.h"

namespace attn {

/// A field with its name in assembly, and its smallest legal value.
struct NumberField {
  llvm::StringLiteral name;
  int64_t number, minimum;
};

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;
/// Verifies that fields are small enough for their products not to overflow, and that split_keys is whole key tiles.
mlir::LogicalResult verifyNumbers(EmitError emitError, llvm::ArrayRef<NumberField> fields);
mlir::LogicalResult verifySplit(EmitError emitError, int64_t splitKeys, int64_t keyTile);
/// An error if no schedule can tile `op`.
mlir::LogicalResult verifyTiledOp(mlir::Operation *op);
/// An error if the target is no CPU, or has other vectors of `sum`.
mlir::LogicalResult verifyCPUTarget(mlir::Operation *op, ScheduleAttr schedule, mlir::Type sum,
                                    const TargetInfo &target);
/// What an op must be for a schedule whose tile has all query rows of the heads that share a head of K; where it
/// `takesDynamic`, also some of a dynamic number.
mlir::LogicalResult verifySharedKeys(mlir::Operation *op, int64_t queryTile, llvm::StringRef other,
                                     bool takesDynamic = false);

} // namespace attn

#endif // ATTN_LIB_SCHEDULE_SCHEDULEVERIFIER_H
