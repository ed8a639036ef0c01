//===- ScheduleVerifier.h - shared checks of schedules ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_SCHEDULE_SCHEDULEVERIFIER_H
#define ATTN_LIB_SCHEDULE_SCHEDULEVERIFIER_H

#include "attn/Schedule/Schedule.h"

namespace attn {

/// A field with its name in assembly, and its minimum.
struct NumberField {
  llvm::StringLiteral name;
  int64_t number, minimum;
};

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;
/// Verifies that products of fields cannot overflow, and that split_keys is a multiple of the key tile.
mlir::LogicalResult verifyNumbers(EmitError emitError, llvm::ArrayRef<NumberField> fields);
mlir::LogicalResult verifySplit(EmitError emitError, int64_t splitKeys, int64_t keyTile);
/// An error if no schedule can tile `op`.
mlir::LogicalResult verifyTiledOp(mlir::Operation *op);
/// An error if the target is not a CPU, or its vectors of `sum` differ.
mlir::LogicalResult verifyCPUTarget(mlir::Operation *op, ScheduleAttr schedule, mlir::Type sum,
                                    const TargetInfo &target);
/// Verifies an op for a schedule whose tile has all query rows of the heads that share a key head; with `takesDynamic`,
/// also a part of a dynamic number of rows.
mlir::LogicalResult verifySharedKeys(mlir::Operation *op, int64_t queryTile, llvm::StringRef other,
                                     bool takesDynamic = false);

} // namespace attn

#endif // ATTN_LIB_SCHEDULE_SCHEDULEVERIFIER_H
