//===- KeyRangesTest.cpp - key ranges of predicates -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KeyRangesCheck.h"

using namespace mlir;
using namespace attn;
using attn::test::Precision;
using attn::test::Predicate;

namespace {

using KeyRanges = attn::test::KeyRangesCheck;

//===----------------------------------------------------------------------===//
// Masks that models use
//===----------------------------------------------------------------------===//

TEST_F(KeyRanges, NoPredicate) {
  for (auto [queries, keys] : sizes) {
    OwningOpRef<ModuleOp> module = build(queries, keys, "");
    Analysis analysis = analyze(*module, queries, keys);
    EXPECT_TRUE(analysis.conjuncts.empty());
    checkTiles(analysis, [](int64_t, int64_t) { return true; }, queries, keys, Precision::Exact);
  }
}

TEST_F(KeyRanges, CausalTopLeft) {
  check("", [](int64_t i, int64_t j) { return j <= i; }, Precision::Exact, "{causal = #attn.causal<top_left>}");
}

TEST_F(KeyRanges, CausalBottomRight) {
  for (auto [queries, keys] : sizes) {
    OwningOpRef<ModuleOp> module = build(queries, keys, "", "{causal = #attn.causal<bottom_right>}");
    int64_t offset = keys - queries;
    auto keep = [&](int64_t i, int64_t j) { return j <= i + offset; };
    Analysis analysis = analyze(*module, queries, keys);
    ASSERT_EQ(analysis.conjuncts.size(), 1u);
    checkTiles(analysis, keep, queries, keys, Precision::Exact);
    checkAlwaysHolds(analysis.conjuncts, keep, queries, keys, Precision::Exact);
  }
}

TEST_F(KeyRanges, CausalAndRegion) {
  check(
      "%keep = arith.cmpi sge, %j, %c2 : index", [](int64_t i, int64_t j) { return j <= i && j >= 2; },
      Precision::Exact, "{causal = #attn.causal<top_left>}");
}

TEST_F(KeyRanges, Window) {
  check(
      "%low = arith.subi %i, %c3 : index\n%high = arith.addi %i, %c2 : index\n"
      "%left = arith.cmpi sge, %j, %low : index\n%right = arith.cmpi sle, %j, %high : index\n"
      "%keep = arith.andi %left, %right : i1",
      [](int64_t i, int64_t j) { return i - 3 <= j && j <= i + 2; }, Precision::Exact);
}

TEST_F(KeyRanges, WindowAsDifference) {
  check(
      "%distance = arith.subi %i, %j : index\n"
      "%left = arith.cmpi slt, %distance, %c4 : index\n%right = arith.cmpi sge, %distance, %c0 : index\n"
      "%keep = arith.andi %left, %right : i1",
      [](int64_t i, int64_t j) { return i - j < 4 && i - j >= 0; }, Precision::Exact);
}

TEST_F(KeyRanges, KeyLength) {
  check("%keep = arith.cmpi slt, %j, %c7 : index", [](int64_t i, int64_t j) { return j < 7; }, Precision::Exact);
}

// Keys of a prefix, or those before the row.
TEST_F(KeyRanges, Prefix) {
  check(
      "%prefix = arith.cmpi slt, %j, %c3 : index\n%before = arith.cmpi sle, %j, %i : index\n"
      "%keep = arith.ori %prefix, %before : i1",
      [](int64_t i, int64_t j) { return j < 3 || j <= i; }, Precision::Tight);
}

TEST_F(KeyRanges, BlockDiagonal) {
  check(
      "%row = arith.divui %i, %c4 : index\n%column = arith.divui %j, %c4 : index\n"
      "%keep = arith.cmpi eq, %row, %column : index",
      [](int64_t i, int64_t j) { return i / 4 == j / 4; }, Precision::Tight);
}

TEST_F(KeyRanges, BlockDiagonalAndCausal) {
  check(
      "%row = arith.divui %i, %c4 : index\n%column = arith.divui %j, %c4 : index\n"
      "%block = arith.cmpi eq, %row, %column : index\n%before = arith.cmpi sle, %j, %i : index\n"
      "%keep = arith.andi %before, %block : i1",
      [](int64_t i, int64_t j) { return i / 4 == j / 4 && j <= i; }, Precision::Tight);
}

// A conjunct that is solved beside one that is not still bounds what is visited; nothing is full.
TEST_F(KeyRanges, DilatedAndCausal) {
  StringRef body = "%step = arith.remsi %j, %c3 : index\n%dilated = arith.cmpi eq, %step, %c0 : index\n"
                   "%before = arith.cmpi sle, %j, %i : index\n%keep = arith.andi %before, %dilated : i1";
  check(body, [](int64_t i, int64_t j) { return j % 3 == 0 && j <= i; }, Precision::Sound);
  OwningOpRef<ModuleOp> module = build(11, 13, body);
  Analysis analysis = analyze(*module, 11, 13);
  EXPECT_EQ(analysis.summary.numSolved, 1u);
  EXPECT_EQ(analysis.summary.numTested, 1u);
  RangeBounds bounds = evaluate(*analysis.ranges, 4, 6, 13);
  EXPECT_EQ(bounds.visitedUpper, 6);
  EXPECT_EQ(bounds.fullLower, bounds.fullUpper);
}

// The negation of a window, a choice by the row, and flags that are the same for all.
TEST_F(KeyRanges, Logic) {
  check(
      "%true = arith.constant true\n%before = arith.cmpi sle, %j, %i : index\n%keep = arith.xori %before, %true : i1",
      [](int64_t i, int64_t j) { return j > i; }, Precision::Exact);
  check(
      "%first = arith.cmpi slt, %i, %c3 : index\n%before = arith.cmpi sle, %j, %i : index\n"
      "%near = arith.cmpi slt, %j, %c5 : index\n%keep = arith.select %first, %near, %before : i1",
      [](int64_t i, int64_t j) { return i < 3 ? j < 5 : j <= i; }, Precision::Sound);
  check(
      "%true = arith.constant true\n%low = arith.cmpi slt, %j, %c2 : index\n%high = arith.cmpi sgt, %j, %c6 : index\n"
      "%outside = arith.ori %low, %high : i1\n%keep = arith.xori %outside, %true : i1",
      [](int64_t i, int64_t j) { return !(j < 2 || j > 6); }, Precision::Exact);
}

TEST_F(KeyRanges, PrefixBesideCausal) {
  for (auto [queries, keys] : sizes) {
    OwningOpRef<ModuleOp> module = build(queries, keys, "", "{causal = #attn.causal<bottom_right>, prefix = 5 : i64}");
    int64_t offset = keys - queries;
    auto keep = [&](int64_t i, int64_t j) { return j <= i + offset || j < 5; };
    checkTiles(analyze(*module, queries, keys), keep, queries, keys, Precision::Tight);
  }
}

TEST_F(KeyRanges, Chunk) {
  for (auto [queries, keys] : sizes) {
    OwningOpRef<ModuleOp> module = build(queries, keys, "", "{causal = #attn.causal<bottom_right>, chunk = 3 : i64}");
    int64_t offset = keys - queries;
    auto keep = [&](int64_t i, int64_t j) {
      return j <= i + offset && llvm::divideFloorSigned(i + offset, 3) == j / 3;
    };
    checkTiles(analyze(*module, queries, keys), keep, queries, keys, Precision::Tight);
  }
}

// Chunks with an offset between rows and keys, and quotients compared with rows.
TEST_F(KeyRanges, Quotients) {
  check(
      "%shifted = arith.addi %i, %c2 : index\n%row = arith.floordivsi %shifted, %c3 : index\n"
      "%column = arith.floordivsi %j, %c3 : index\n%keep = arith.cmpi sge, %row, %column : index",
      [](int64_t i, int64_t j) { return (i + 2) / 3 >= j / 3; }, Precision::Tight);
  check(
      "%half = arith.floordivsi %j, %c2 : index\n%keep = arith.cmpi slt, %half, %i : index",
      [](int64_t i, int64_t j) { return j / 2 < i; }, Precision::Tight);
  check(
      "%far = arith.subi %i, %j : index\n%block = arith.floordivsi %far, %c4 : index\n"
      "%keep = arith.cmpi eq, %block, %c1 : index",
      [](int64_t i, int64_t j) { return i - j >= 4 && i - j < 8; }, Precision::Tight);
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

TEST_F(KeyRanges, Constants) {
  check("%keep = arith.constant true", [](int64_t, int64_t) { return true; }, Precision::Exact);
  check("%keep = arith.constant false", [](int64_t, int64_t) { return false; }, Precision::Exact);
  OwningOpRef<ModuleOp> module = build(5, 9, "%keep = arith.constant false");
  RangeBounds bounds = evaluate(*analyze(*module, 5, 9).ranges, 0, 5, 9);
  EXPECT_EQ(bounds.visitedLower, bounds.visitedUpper) << "nothing is kept, so nothing is visited";
}

TEST_F(KeyRanges, ConjunctsThatAlwaysOrNeverHold) {
  check(
      "%always = arith.cmpi sge, %j, %n1 : index\n%before = arith.cmpi sle, %j, %i : index\n"
      "%keep = arith.andi %always, %before : i1",
      [](int64_t i, int64_t j) { return j <= i; }, Precision::Exact);
  check(
      "%never = arith.cmpi slt, %j, %c0 : index\n%before = arith.cmpi sle, %j, %i : index\n"
      "%keep = arith.andi %before, %never : i1",
      [](int64_t, int64_t) { return false; }, Precision::Exact);
  check(
      "%never = arith.cmpi sgt, %c2, %c5 : index\n%before = arith.cmpi sle, %j, %i : index\n"
      "%keep = arith.andi %before, %never : i1",
      [](int64_t, int64_t) { return false; }, Precision::Exact);
}

TEST_F(KeyRanges, AlwaysHoldsIsAboutEachConjunct) {
  OwningOpRef<ModuleOp> module = build(5, 9,
                                       "%always = arith.cmpi slt, %j, %c9 : index\n"
                                       "%sometimes = arith.cmpi slt, %j, %c8 : index\n"
                                       "%row = arith.cmpi slt, %i, %c5 : index\n"
                                       "%both = arith.andi %always, %sometimes : i1\n"
                                       "%keep = arith.andi %both, %row : i1");
  Analysis analysis = analyze(*module, 5, 9);
  ASSERT_EQ(analysis.conjuncts.size(), 3u);
  EXPECT_TRUE(analysis.conjuncts[0].alwaysHolds);
  EXPECT_FALSE(analysis.conjuncts[1].alwaysHolds);
  EXPECT_TRUE(analysis.conjuncts[2].alwaysHolds);
}

TEST_F(KeyRanges, Coefficients) {
  check(
      "%twice = arith.muli %j, %c2 : index\n%keep = arith.cmpi sle, %twice, %i : index",
      [](int64_t i, int64_t j) { return 2 * j <= i; }, Precision::Exact);
  check(
      "%far = arith.muli %i, %c3 : index\n%keep = arith.cmpi sge, %j, %far : index",
      [](int64_t i, int64_t j) { return j >= 3 * i; }, Precision::Exact);
  check(
      "%left = arith.muli %c3, %j : index\n%right = arith.muli %c2, %i : index\n"
      "%sum = arith.addi %right, %c1 : index\n%keep = arith.cmpi sgt, %left, %sum : index",
      [](int64_t i, int64_t j) { return 3 * j > 2 * i + 1; }, Precision::Exact);
  // j <= 10 - 3 i: the bound falls with i.
  check(
      "%fall = arith.muli %i, %n3 : index\n%sum = arith.addi %fall, %c9 : index\n"
      "%keep = arith.cmpi slt, %j, %sum : index",
      [](int64_t i, int64_t j) { return j < 9 - 3 * i; }, Precision::Exact);
}

TEST_F(KeyRanges, Equality) {
  check("%keep = arith.cmpi eq, %i, %j : index", [](int64_t i, int64_t j) { return i == j; }, Precision::Exact);
  check("%keep = arith.cmpi eq, %j, %c4 : index", [](int64_t, int64_t j) { return j == 4; }, Precision::Exact);
  // No key is right for odd rows; ranges cannot say so, and need not.
  check(
      "%twice = arith.muli %j, %c2 : index\n%keep = arith.cmpi eq, %twice, %i : index",
      [](int64_t i, int64_t j) { return 2 * j == i; }, Precision::Sound);
  check("%keep = arith.cmpi ne, %i, %j : index", [](int64_t i, int64_t j) { return i != j; }, Precision::Sound);
}

// A predicate of rows alone: all keys or none.
TEST_F(KeyRanges, RowsAlone) {
  check("%keep = arith.cmpi slt, %i, %c3 : index", [](int64_t i, int64_t) { return i < 3; }, Precision::Exact);
}

TEST_F(KeyRanges, UnsignedComparisonsAreUnsolved) {
  check(
      "%distance = arith.subi %i, %j : index\n%keep = arith.cmpi ult, %distance, %c4 : index",
      [](int64_t i, int64_t j) { return uint64_t(i - j) < 4; }, Precision::Unsolved);
}

TEST_F(KeyRanges, ProductsOfIndicesAreUnsolved) {
  check(
      "%product = arith.muli %i, %j : index\n%keep = arith.cmpi slt, %product, %c9 : index",
      [](int64_t i, int64_t j) { return i * j < 9; }, Precision::Unsolved);
}

TEST_F(KeyRanges, CastsKeepTheForm) {
  check(
      "%a = arith.index_cast %i : index to i32\n%b = arith.index_cast %j : index to i32\n"
      "%keep = arith.cmpi sle, %b, %a : i32",
      [](int64_t i, int64_t j) { return j <= i; }, Precision::Exact);
}

// 60 j leaves 8 bits at j = 3.
TEST_F(KeyRanges, NarrowIntegersWrap) {
  check(
      "%a = arith.index_cast %j : index to i8\n%sixty = arith.constant 60 : i8\n%b = arith.muli %a, %sixty : i8\n"
      "%zero = arith.constant 0 : i8\n%keep = arith.cmpi sge, %b, %zero : i8",
      [](int64_t, int64_t j) { return int8_t(60 * j) >= 0; }, Precision::Sound);
}

// Constants near the ends of 64 bits are not calculated with.
TEST_F(KeyRanges, LargeConstants) {
  check(
      "%large = arith.constant 9223372036854775807 : index\n%sum = arith.addi %j, %large : index\n"
      "%keep = arith.cmpi sge, %sum, %c0 : index",
      [](int64_t, int64_t j) { return j == 0; }, Precision::Sound);
  check(
      "%large = arith.constant 4611686018427387904 : index\n%product = arith.muli %j, %large : index\n"
      "%keep = arith.cmpi sge, %product, %c0 : index",
      [](int64_t, int64_t j) { return int64_t(uint64_t(j) << 62) >= 0; }, Precision::Sound);
}

TEST_F(KeyRanges, DynamicSizes) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  OwningOpRef<ModuleOp> module = build(dynamic, dynamic,
                                       "%before = arith.cmpi sle, %j, %i : index\n"
                                       "%length = arith.cmpi slt, %j, %c7 : index\n"
                                       "%always = arith.cmpi sge, %j, %c0 : index\n"
                                       "%both = arith.andi %before, %length : i1\n"
                                       "%keep = arith.andi %both, %always : i1");
  Analysis analysis = analyze(*module, dynamic, dynamic);
  ASSERT_EQ(analysis.conjuncts.size(), 3u);
  EXPECT_FALSE(analysis.conjuncts[0].alwaysHolds);
  EXPECT_FALSE(analysis.conjuncts[1].alwaysHolds);
  EXPECT_TRUE(analysis.conjuncts[2].alwaysHolds);
  for (auto [queries, keys] : sizes)
    checkTiles(analysis, [](int64_t i, int64_t j) { return j <= i && j < 7; }, queries, keys, Precision::Exact);
  // Of a narrow type nothing is known before the sizes are.
  module = build(dynamic, dynamic, "%a = arith.index_cast %j : index to i8\n%keep = arith.cmpi sge, %a, %a : i8");
  EXPECT_EQ(analyze(*module, dynamic, dynamic).summary.numTested, 1u);
}

} // namespace
