//===- KeyRanges.h - from a predicate to ranges of positions ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_KEYRANGES_H
#define ATTN_ANALYSIS_KEYRANGES_H

#include "attn/IR/Attn.h"

namespace attn {

/// The axis of the score matrix that ranges bound: keys for a tile of queries (the forward pass), or queries for a tile
/// of keys (the backward pass, which loops over key tiles outside).
enum class RangeAxis { Keys, Queries };
inline RangeAxis getOtherAxis(RangeAxis axis) { return axis == RangeAxis::Keys ? RangeAxis::Queries : RangeAxis::Keys; }

/// The upper bound that a region of ranges yields if there is no bound.
constexpr int64_t kNoBound = int64_t(1) << 40;

/// One conjunct of a mask_mod region.
struct Conjunct {
  mlir::Value value;
  /// Holds for every query and key of the problem, as far as its sizes are static.
  bool alwaysHolds = false;
  /// Too large to be analysed; it is tested on every key.
  bool isTooLarge = false;
};

/// Splits the yielded value of a mask_mod region at its conjunctions. No conjunct for an empty region.
llvm::SmallVector<Conjunct> splitPredicate(mlir::Region &maskMod, int64_t numQueries, int64_t numKeys);

/// How many conjuncts buildRanges solved.
struct RangesSummary {
  unsigned numSolved = 0; ///< conjuncts that became bounds
  unsigned numTested = 0; ///< conjuncts that must be evaluated at every position to know where they hold
};

/// Fills the empty region `ranges` with the bounds of a tile. For RangeAxis::Keys this is key_ranges, of the queries
/// [first_query, end_query): no row of the tile keeps a key outside [visited lower, visited upper), every row keeps all
/// keys inside [full lower, full upper). For RangeAxis::Queries queries and keys are exchanged: no key of [first_key,
/// end_key) is kept by a query outside of visited, every one is kept by all queries in full. With `isDense` (there is a
/// boolean mask or a bias beside the predicate), no key is full.
RangesSummary buildRanges(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &maskMod, RangeAxis axis,
                          int64_t numQueries, int64_t numKeys, bool isDense, mlir::Region &ranges);

/// The bounds as constants for the tile [first, end), clamped to the `size` positions of the axis that they bound;
/// nullopt if they depend on run-time values.
struct RangeBounds {
  int64_t visitedLower, visitedUpper, fullLower, fullUpper;
};
std::optional<RangeBounds> evaluateRanges(mlir::Region &ranges, int64_t first, int64_t end, int64_t size);

} // namespace attn

#endif // ATTN_ANALYSIS_KEYRANGES_H
