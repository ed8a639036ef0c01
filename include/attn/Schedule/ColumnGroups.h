//===- ColumnGroups.h - warpgroups that share rows --------------*- C++ -*-===//
//
// More columns of V than the accumulators of a warpgroup hold, as the 512 of latent heads (DeepSeek-V2,
// arXiv:2405.04434): several warpgroups have the same rows of Q, and each multiplies its part of V's columns. Each
// computes all scores of its rows, so none waits for another one.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_SCHEDULE_COLUMNGROUPS_H
#define ATTN_SCHEDULE_COLUMNGROUPS_H

#include "attn/Schedule/Schedule.h"
#include "llvm/Support/MathExtras.h"

namespace attn {

/// Most warpgroups that share rows: with more, the registers of a multiprocessor do not hold their accumulators.
constexpr int64_t kMaxColumnGroups = 2;

/// The warpgroups of a block with `schedule` that share rows, each with an equal part of `valueSize` columns of V.
inline int64_t getColumnGroups(BlockAttr schedule, int64_t valueSize) {
  bool isShared = schedule.getSharedKeys() && schedule.getInstruction().getInfo().readsPanels();
  return isShared && valueSize > kMaxBlockValueSize ? llvm::divideCeil(valueSize, kMaxBlockValueSize) : 1;
}

/// Rows of the fragments of a block, of which those of warpgroups that share rows count once.
inline int64_t getRowsOfBlock(BlockAttr schedule, int64_t valueSize) {
  return schedule.getBlockRows() / getColumnGroups(schedule, valueSize);
}

/// The heads of a block, of `heads` that share a head of K: all, or of warpgroups that share rows as many as fit.
inline int64_t getHeadsOfBlock(BlockAttr schedule, int64_t heads, int64_t valueSize) {
  int64_t parts = 1, rows = getRowsOfBlock(schedule, valueSize);
  if (getColumnGroups(schedule, valueSize) > 1)
    while (parts < heads && (heads % parts != 0 || heads / parts * schedule.getQueryTile() > rows))
      ++parts;
  return heads / parts;
}

/// True where the slice `part` begins where the slice `rows` of the same tensor, or memref, does.
bool areFirstColumns(mlir::Value part, mlir::Value rows);
/// True where V is the first columns of K, as in a cache of latent heads: a block whose warpgroups share rows copies
/// them once.
bool readsColumnsOfKey(mlir::Operation *op);

} // namespace attn

#endif // ATTN_SCHEDULE_COLUMNGROUPS_H
