//===- KeyRanges.h - from a predicate to ranges of keys ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_KEYRANGES_H
#define ATTN_ANALYSIS_KEYRANGES_H

#include "attn/IR/Attn.h"

namespace attn {

/// The upper bound that key_ranges yields where there is none.
constexpr int64_t kNoBound = int64_t(1) << 40;

/// One conjunct of a mask_mod region.
struct Conjunct {
  mlir::Value value;
  /// Holds for every query and key of the problem, as far as its sizes are static.
  bool alwaysHolds = false;
  /// Too large to be analysed: tested on every key.
  bool isTooLarge = false;
};

/// Splits the yielded value of a mask_mod region at its conjunctions. No conjunct for an empty region.
llvm::SmallVector<Conjunct> splitPredicate(mlir::Region &maskMod, int64_t numQueries, int64_t numKeys);

/// What buildKeyRanges found.
struct KeyRangesSummary {
  unsigned numSolved = 0; ///< conjuncts that became bounds of keys
  unsigned numTested = 0; ///< conjuncts that must be evaluated for every key to know where they hold
};

/// Fills the empty region `ranges` with the bounds of a tile of queries [first_query, end_query): no row of the tile
/// keeps a key outside [visited lower, visited upper), every row keeps all keys inside [full lower, full upper). With
/// `isDense` (a boolean mask or a bias stands beside the predicate), no key is full.
KeyRangesSummary buildKeyRanges(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &maskMod, int64_t numQueries,
                                int64_t numKeys, bool isDense, mlir::Region &ranges);

/// The bounds with numbers, for the queries [first, end), clamped to `numKeys` keys; nullopt where they depend on
/// run-time values.
struct KeyBounds {
  int64_t visitedLower, visitedUpper, fullLower, fullUpper;
};
std::optional<KeyBounds> evaluateKeyRanges(mlir::Region &ranges, int64_t first, int64_t end, int64_t numKeys);

} // namespace attn

#endif // ATTN_ANALYSIS_KEYRANGES_H
