//===- StepPrefetch.h - prefetches beside the products ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_STEPPREFETCH_H
#define ATTN_LIB_CONVERSION_CPU_STEPPREFETCH_H

#include "VectorTile.h"

namespace attn::cpu {

/// Rows times columns of an operand that are prefetched in parts, a cache line at a time.
struct PrefetchTile {
  Operand operand;
  unsigned rowPosition, columnPosition; ///< in the domain of the operand's map
  int64_t rows, columns;
  mlir::Value firstRow, firstColumn; ///< where the tile starts
  unsigned locality = 2;             ///< of memref.prefetch: 3 for the first-level cache, 2 for the second
};
/// Prefetches part `part` of `parts` parts. Its lines may be outside the operand.
void emitPrefetchPart(VectorBuilder &vb, const PrefetchTile &tile, mlir::Value part, int64_t parts);

/// The tiles of attn.prefetch ops before a step, for each of its two products. The products leave memory idle, and a
/// processor drops most requests of a burst. So each block of products prefetches a small part.
class StepPrefetches {
public:
  /// Takes the attn.prefetch ops before the step.
  StepPrefetches(VectorBuilder &vb, OnlineStepOp step);
  llvm::ArrayRef<PrefetchTile> get(Contraction product) const { return tiles[unsigned(product)]; }

private:
  std::array<llvm::SmallVector<PrefetchTile>, 2> tiles;
};

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_STEPPREFETCH_H
