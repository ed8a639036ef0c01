//===- KeyRanges.h - from a predicate to ranges of positions ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_KEYRANGES_H
#define ATTN_ANALYSIS_KEYRANGES_H

#include "attn/IR/Attn.h"

namespace attn {

/// The axis of the score matrix that ranges bound: keys for a query tile (the forward pass), or queries for a key tile
/// (the backward pass, whose outer loop is over key tiles).
enum class RangeAxis { Keys, Queries };
inline RangeAxis getOtherAxis(RangeAxis axis) { return axis == RangeAxis::Keys ? RangeAxis::Queries : RangeAxis::Keys; }

/// The upper bound that a region of ranges yields for an unbounded side.
constexpr int64_t kNoBound = int64_t(1) << 40;

/// One conjunct of a mask_mod region.
struct Conjunct {
  mlir::Value value;
  /// Holds for every query and key of the problem, as far as its sizes are static.
  bool alwaysHolds = false;
  /// Too large to be analysed; it is tested on every key.
  bool isTooLarge = false;
};

/// Splits the result of a mask_mod region at its conjunctions. An empty region has no conjunct.
llvm::SmallVector<Conjunct> splitPredicate(mlir::Region &maskMod, int64_t numQueries, int64_t numKeys);

/// How many conjuncts buildRanges solved.
struct RangesSummary {
  unsigned numSolved = 0; ///< conjuncts that became bounds
  unsigned numTested = 0; ///< conjuncts that must be evaluated at every position
};

/// Fills the empty region `ranges` with the bounds of a tile. For RangeAxis::Keys this is key_ranges, for the queries
/// [first_query, end_query): no row of the tile keeps a key outside [visited lower, visited upper), and every row keeps
/// all keys in [full lower, full upper). For RangeAxis::Queries, queries and keys are exchanged: no query outside of
/// visited keeps a key of [first_key, end_key), and all queries in full keep every one. With `isDense` (a boolean mask
/// or a bias in addition to the predicate), no key is full.
RangesSummary buildRanges(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &maskMod, RangeAxis axis,
                          int64_t numQueries, int64_t numKeys, bool isDense, mlir::Region &ranges);

/// The bounds as constants for the tile [first, end), clamped to the `size` positions of the bounded axis; nullopt if
/// they depend on run-time values.
struct RangeBounds {
  int64_t visitedLower, visitedUpper, fullLower, fullUpper;
};
std::optional<RangeBounds> evaluateRanges(mlir::Region &ranges, int64_t first, int64_t end, int64_t size);

} // namespace attn

#endif // ATTN_ANALYSIS_KEYRANGES_H
