//===- Sharding.h - attention on upstream's shard dialect -------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_SHARDING_H
#define ATTN_SHARDING_SHARDING_H

#include "mlir/IR/DialectRegistry.h"

namespace attn {

/// Upstream's ShardingInterface for attn.sdpa and attn.sdpa_backward, used by sharding-propagation and shard-partition.
void registerShardingModels(mlir::DialectRegistry &registry);

} // namespace attn

#endif // ATTN_SHARDING_SHARDING_H
