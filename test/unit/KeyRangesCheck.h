//===- KeyRangesCheck.h - key ranges against brute force --------*- C++ -*-===//
//
// Takes a mask_mod region as text and the same predicate in C++. Over every tile
// of several problems, what the analysis says of the region must agree with the
// predicate on every row and key.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_KEYRANGESCHECK_H
#define ATTN_TEST_UNIT_KEYRANGESCHECK_H

#include "ParseIR.h"
#include "attn/Analysis/KeyRanges.h"
#include "attn/IR/Decompose.h"

#include "llvm/Support/FormatVariadic.h"
#include <functional>

namespace attn::test {

using Predicate = std::function<bool(int64_t i, int64_t j)>;

/// How much of the predicate the ranges are to say.
enum class Precision {
  Sound,    ///< nothing wrong, and that is all
  Tight,    ///< the tightest ranges there are, where each row of a tile keeps some key
  Exact,    ///< and each linear comparison that holds everywhere is known to
  Unsolved, ///< visited is everything, full is empty
};

class KeyRangesCheck : public IRTest {
protected:
  /// An sdpa over the given sizes with `attributes` and, if not empty, a region in which %i, %j and the constants %c-9
  /// to %c9 are defined.
  static mlir::OwningOpRef<mlir::ModuleOp> build(int64_t queries, int64_t keys, llvm::StringRef body,
                                                 llvm::StringRef attributes = "") {
    std::string region;
    if (!body.empty()) {
      region = "mask_mod {\n%i = attn.index query : index\n%j = attn.index key : index\n";
      for (int value = -9; value <= 9; ++value)
        region +=
            llvm::formatv("%{0}{1} = arith.constant {2} : index\n", value < 0 ? "n" : "c", std::abs(value), value);
      region += body.str() + "\nattn.yield %keep : i1\n}";
    }
    auto type = [](int64_t rows) {
      return mlir::ShapedType::isDynamic(rows) ? std::string("tensor<?x4xf32>")
                                               : llvm::formatv("tensor<{0}x4xf32>", rows).str();
    };
    std::string q = type(queries), k = type(keys);
    return parse(llvm::formatv("func.func @f(%q: {0}, %k: {1}, %v: {1}, %o: {0}) -> {0} {{\n"
                               "%r = attn.sdpa ins(%q, %k, %v : {0}, {1}, {1}) outs(%o : {0}) {2} {3} -> {0}\n"
                               "return %r : {0}\n}",
                               q, k, attributes, region)
                     .str());
  }

  /// What the analysis says of the only sdpa of a module.
  struct Analysis {
    llvm::SmallVector<Conjunct> conjuncts;
    std::unique_ptr<mlir::Region> ranges, dense; ///< alone, and beside a dense mask
    std::unique_ptr<mlir::Region> ofQueries;     ///< the other axis, for tiles of keys
    RangesSummary summary;
  };

  static Analysis analyze(mlir::ModuleOp module, int64_t queries, int64_t keys) {
    SdpaOp sdpa = getOnly<SdpaOp>(module);
    mlir::OpBuilder builder(sdpa);
    // Spelled-out masks first become a region, as attn-analyze-mask does it.
    expandWords(builder, sdpa, sdpa);
    Analysis analysis;
    analysis.conjuncts = splitPredicate(sdpa.getMaskMod(), queries, keys);
    auto getRanges = [&](RangeAxis axis, bool isDense) {
      auto region = std::make_unique<mlir::Region>();
      analysis.summary = buildRanges(builder, sdpa.getLoc(), sdpa.getMaskMod(), axis, queries, keys, isDense, *region);
      return region;
    };
    analysis.dense = getRanges(RangeAxis::Keys, /*isDense=*/true);
    analysis.ofQueries = getRanges(RangeAxis::Queries, /*isDense=*/false);
    analysis.ranges = getRanges(RangeAxis::Keys, /*isDense=*/false);
    return analysis;
  }

  static RangeBounds evaluate(mlir::Region &ranges, int64_t first, int64_t end, int64_t keys) {
    std::optional<RangeBounds> bounds = evaluateRanges(ranges, first, end, keys);
    EXPECT_TRUE(bounds) << "nothing here depends on run-time values";
    return bounds.value_or(RangeBounds{});
  }

  static void checkTile(mlir::Region &ranges, const Predicate &keep, int64_t first, int64_t end, int64_t keys,
                        Precision precision) {
    RangeBounds bounds = evaluate(ranges, first, end, keys);
    for (int64_t bound : {bounds.visitedLower, bounds.visitedUpper, bounds.fullLower, bounds.fullUpper}) {
      ASSERT_GE(bound, 0);
      ASSERT_LE(bound, keys);
    }
    int64_t lowest = keys, highest = -1; // keys that some row keeps
    int64_t numFull = 0;                 // keys that all rows keep
    bool everyRowKeeps = true;
    for (int64_t i = first; i < end; ++i) {
      bool keepsAny = false;
      for (int64_t j = 0; j < keys; ++j) {
        bool isVisited = bounds.visitedLower <= j && j < bounds.visitedUpper;
        bool isFull = bounds.fullLower <= j && j < bounds.fullUpper;
        if (keep(i, j)) {
          ASSERT_TRUE(isVisited) << "key " << j << " of row " << i << " is kept and not visited";
          keepsAny = true;
          lowest = std::min(lowest, j);
          highest = std::max(highest, j);
        } else {
          ASSERT_FALSE(isFull) << "key " << j << " of row " << i << " is removed and in the full range";
        }
      }
      everyRowKeeps &= keepsAny;
    }
    for (int64_t j = 0; j < keys; ++j) {
      bool isKept = true;
      for (int64_t i = first; i < end; ++i)
        isKept &= keep(i, j);
      numFull += isKept;
    }
    int64_t full = std::max<int64_t>(0, bounds.fullUpper - bounds.fullLower);
    if (precision == Precision::Unsolved) {
      EXPECT_EQ(bounds.visitedLower, 0);
      EXPECT_EQ(bounds.visitedUpper, keys);
      EXPECT_EQ(full, 0);
    } else if (precision == Precision::Tight || precision == Precision::Exact) {
      EXPECT_EQ(full, numFull);
      if (everyRowKeeps && highest >= 0) {
        EXPECT_EQ(bounds.visitedLower, lowest);
        EXPECT_EQ(bounds.visitedUpper, highest + 1);
      }
    }
  }

  static void checkTiles(const Analysis &analysis, const Predicate &keep, int64_t queries, int64_t keys,
                         Precision precision) {
    for (int64_t first = 0; first < queries; ++first)
      for (int64_t end = first + 1; end <= queries; ++end) {
        SCOPED_TRACE(llvm::formatv("{0} queries, {1} keys, rows {2} to {3}", queries, keys, first, end - 1).str());
        checkTile(*analysis.ranges, keep, first, end, keys, precision);
        RangeBounds alone = evaluate(*analysis.ranges, first, end, keys);
        RangeBounds bounds = evaluate(*analysis.dense, first, end, keys);
        EXPECT_EQ(bounds.visitedLower, alone.visitedLower);
        EXPECT_EQ(bounds.visitedUpper, alone.visitedUpper);
        EXPECT_LE(bounds.fullUpper, bounds.fullLower) << "beside a dense mask no key is full";
        if (HasFailure())
          return; // one tile is enough to read
      }
    // The same for tiles of keys: queries and keys exchanged.
    for (int64_t first = 0; first < keys; ++first)
      for (int64_t end = first + 1; end <= keys; ++end) {
        SCOPED_TRACE(llvm::formatv("{0} queries, {1} keys, keys {2} to {3}", queries, keys, first, end - 1).str());
        checkTile(
            *analysis.ofQueries, [&](int64_t j, int64_t i) { return keep(i, j); }, first, end, queries, precision);
        if (HasFailure())
          return;
      }
  }

  /// A conjunct that "always holds" does so for every row and key.
  static void checkAlwaysHolds(llvm::ArrayRef<Conjunct> conjuncts, const Predicate &keep, int64_t queries, int64_t keys,
                               Precision precision) {
    bool holds = llvm::all_of(conjuncts, [](const Conjunct &conjunct) { return conjunct.alwaysHolds; });
    bool isKept = true;
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j)
        isKept &= keep(i, j);
    if (holds)
      EXPECT_TRUE(isKept);
    if (precision == Precision::Exact && isKept && queries > 0 && keys > 0)
      EXPECT_TRUE(holds);
  }

  static constexpr std::pair<int64_t, int64_t> sizes[] = {{1, 1}, {1, 7}, {7, 1}, {5, 9}, {9, 5}, {11, 13}, {4, 0}};

  static void check(llvm::StringRef body, const Predicate &keep, Precision precision, llvm::StringRef attributes = "") {
    for (auto [queries, keys] : sizes) {
      mlir::OwningOpRef<mlir::ModuleOp> module = build(queries, keys, body, attributes);
      ASSERT_TRUE(module);
      Analysis analysis = analyze(*module, queries, keys);
      checkTiles(analysis, keep, queries, keys, precision);
      checkAlwaysHolds(analysis.conjuncts, keep, queries, keys, precision);
    }
  }
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_KEYRANGESCHECK_H
