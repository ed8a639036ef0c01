//===- MergeShards.h - attention over keys of several devices ---*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_SHARDING_MERGESHARDS_H
#define ATTN_LIB_SHARDING_MERGESHARDS_H

#include "attn/IR/Attn.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace attn {

/// The devices along these axes of a grid.
struct DeviceGroup {
  llvm::StringRef grid;
  llvm::ArrayRef<mlir::shard::GridAxis> axes;

  mlir::Value reduce(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::shard::ReductionKind kind) const {
    return mlir::shard::AllReduceOp::create(b, loc, value.getType(), grid, axes, value, kind);
  }
};

/// Replaces `local`, attention over the keys of this device, by attention over those of all devices of the group. It
/// has the default layout. Returns one value per result.
llvm::SmallVector<mlir::Value> mergeShards(mlir::OpBuilder &b, SdpaOp local, const DeviceGroup &group);

} // namespace attn

#endif // ATTN_LIB_SHARDING_MERGESHARDS_H
