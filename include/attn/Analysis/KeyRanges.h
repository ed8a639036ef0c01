//===- KeyRanges.h - from a predicate to ranges of keys ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_KEYRANGES_H
#define ATTN_ANALYSIS_KEYRANGES_H

#include "attn/IR/Attn.h"

namespace attn {

/// `constant + query * i + key * j` as a form over the query and key index.
struct LinearForm {
  int64_t constant = 0, query = 0, key = 0;
};

/// One conjunct of a mask_mod region.
struct Conjunct {
  mlir::Value value;
  /// The conjunct holds iff every one of these forms is >= 0; nullopt where it is not affine in query and key.
  std::optional<llvm::SmallVector<LinearForm, 2>> forms;
  /// Holds for every query and key of the problem, as far as its sizes are static.
  bool alwaysHolds = false;
};

/// Splits the yielded value of a mask_mod region at its conjunctions and solves each part.
llvm::SmallVector<Conjunct> analyzePredicate(mlir::Region &maskMod, int64_t numQueries, int64_t numKeys);

/// The key ranges of a tile of queries under the given conjuncts. With `isDense` (a boolean mask or a bias stands
/// beside the predicate), no key is full.
KeyRangesAttr getKeyRanges(mlir::MLIRContext *ctx, llvm::ArrayRef<Conjunct> conjuncts, bool isDense);

/// The ranges with numbers, for the queries [first, end) and `numKeys` keys.
struct KeyBounds {
  int64_t visitedLower, visitedUpper, fullLower, fullUpper;
};
KeyBounds evaluateKeyRanges(KeyRangesAttr ranges, int64_t first, int64_t end, int64_t numKeys);

} // namespace attn

#endif // ATTN_ANALYSIS_KEYRANGES_H
