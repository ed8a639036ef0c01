//===- StepPrefetch.h - asking for what later tiles read --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_STEPPREFETCH_H
#define ATTN_LIB_CONVERSION_CPU_STEPPREFETCH_H

#include "VectorTile.h"

namespace attn::cpu {

/// Rows times columns of an operand that are asked for in parts, a cache line at a time.
struct PrefetchTile {
  Operand operand;
  unsigned rowPosition, columnPosition; ///< in the domain of the operand's map
  int64_t rows, columns;
  int64_t rowsAhead = 0, columnsAhead = 0;     ///< where the tile starts
  mlir::Value firstRow = {}, firstColumn = {}; ///< likewise, where that is not static
  unsigned locality = 2;                       ///< of memref.prefetch: 3 for the first-level cache, 2 for the second
};
/// Asks for part number `part` of `parts` parts; what it asks for may lie beyond the operand.
void emitPrefetchPart(VectorBuilder &vb, const PrefetchTile &tile, mlir::Value part, int64_t parts);

/// Asks for the rows of Q, K, V, bias and mask that later tiles read, where the schedule has a distance for it. The
/// products of a step leave memory idle: each of their blocks asks for a small part, since a processor drops most of
/// the requests of a burst. What is packed for a step is asked for where the caller has it, so a step is lowered
/// before its packs are.
class StepPrefetch {
public:
  /// `blocksOfLanes`: how often the products go over the keys and columns.
  StepPrefetch(VectorBuilder &vb, OnlineStepOp step, int64_t maxKeys, int64_t blocksOfLanes);

  /// Its part beside the scores of `key` in a block of lanes: the K at the schedule's distance, and the Q of the next
  /// query tile.
  void besideScores(mlir::Value blockOfLanes, mlir::Value key);
  /// Its part beside the sums of `column`: V, and the bias and mask of the next key tile.
  void besideOutput(mlir::Value blockOfLanes, mlir::Value column);

private:
  /// Where the bias and mask of the next step start: those of the next key tile, or behind the last one those of the
  /// first key tile of the next query tile.
  void startAtNextKeys(PrefetchTile &tile, OnlineStepOp step, int64_t lanes);
  /// The operand, or what is packed into it, with the positions of its rows and columns.
  PrefetchTile findSource(OnlineStepOp step, mlir::Value operand, mlir::AffineMap map, unsigned row, unsigned column);

  VectorBuilder &vb;
  int64_t maxKeys, valueSize, blocksOfLanes;
  llvm::SmallVector<PrefetchTile> tilesOfScores, tilesOfOutput;
};

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_STEPPREFETCH_H
