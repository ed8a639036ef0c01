//===- StepPrefetch.h - prefetch instructions beside products ----*- C++ -*-===//
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
  mlir::Value firstRow, firstColumn; ///< where the tile starts
  unsigned locality = 2;             ///< of memref.prefetch: 3 for the first-level cache, 2 for the second
};
/// Asks for part number `part` of `parts` parts; what it asks for may lie beyond the operand.
void emitPrefetchPart(VectorBuilder &vb, const PrefetchTile &tile, mlir::Value part, int64_t parts);

/// What attn.prefetch ops in front of a step name for its two products. The products of a step leave memory idle: each
/// of their blocks asks for a small part, since a processor drops most of the requests of a burst.
class StepPrefetches {
public:
  /// Takes the ops.
  StepPrefetches(VectorBuilder &vb, OnlineStepOp step);
  llvm::ArrayRef<PrefetchTile> get(Product product) const { return tiles[unsigned(product)]; }

private:
  std::array<llvm::SmallVector<PrefetchTile>, 2> tiles;
};

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_STEPPREFETCH_H
