//===- KeyRangesPropertiesTest.cpp - key ranges of many predicates ----------===//
//
// Random conjunctions of comparisons, and every mask word beside every other.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KeyRangesCheck.h"

#include <random>

using namespace mlir;
using namespace attn;
using attn::test::Precision;
using attn::test::Predicate;

namespace {

using KeyRangesProperties = attn::test::KeyRangesCheck;

TEST_F(KeyRangesProperties, RandomConjunctions) {
  std::mt19937 random(7);
  auto draw = [&](int64_t low, int64_t high) { return low + int64_t(random() % uint64_t(high - low + 1)); };
  auto constant = [](int64_t value) { return (value < 0 ? "%n" : "%c") + std::to_string(std::abs(value)); };
  struct Part {
    int64_t constant, query, key;
    unsigned comparison;
  };
  constexpr const char *comparisons[] = {"sge", "sgt", "sle", "slt", "eq", "ne"};
  for (int repeat = 0; repeat < 150; ++repeat) {
    std::vector<Part> parts(draw(1, 3));
    std::string body;
    for (auto [n, part] : llvm::enumerate(parts)) {
      part = {draw(-9, 9), draw(-3, 3), draw(-3, 3), unsigned(draw(0, 5))};
      body += llvm::formatv("%a{0} = arith.muli %i, {1} : index\n%b{0} = arith.muli {2}, %j : index\n"
                            "%s{0} = arith.addi %a{0}, %b{0} : index\n%p{0} = arith.cmpi {3}, %s{0}, {4} : index\n",
                            n, constant(part.query), constant(part.key), comparisons[part.comparison],
                            constant(part.constant));
      body += n == 0 ? "%k0 = arith.andi %p0, %p0 : i1\n"
                     : llvm::formatv("%k{0} = arith.andi %k{1}, %p{0} : i1\n", n, n - 1).str();
    }
    body += llvm::formatv("%keep = arith.andi %k{0}, %k{0} : i1", parts.size() - 1);
    auto keep = [&](int64_t i, int64_t j) {
      return llvm::all_of(parts, [&](const Part &part) {
        int64_t sum = part.query * i + part.key * j;
        bool results[] = {sum >= part.constant, sum > part.constant,  sum <= part.constant,
                          sum < part.constant,  sum == part.constant, sum != part.constant};
        return results[part.comparison];
      });
    };
    SCOPED_TRACE(body);
    int64_t queries = draw(1, 9), keys = draw(1, 11);
    OwningOpRef<ModuleOp> module = build(queries, keys, body);
    ASSERT_TRUE(module);
    Analysis analysis = analyze(*module, queries, keys);
    checkTiles(analysis, keep, queries, keys, Precision::Sound);
    checkAlwaysHolds(analysis.conjuncts, keep, queries, keys, Precision::Sound);
    if (HasFailure())
      return;
  }
}

// Every mask word alone and in pairs, for both axes. Lengths and offsets are constants that fold.
TEST_F(KeyRangesProperties, WordsAloneAndInPairs) {
  using Word = std::pair<std::string, Predicate>;
  for (auto [queries, keys] : {std::pair<int64_t, int64_t>{5, 9}, {9, 5}, {7, 7}})
    for (int64_t offset : {-3, 0, 4})
      for (int64_t length : {0, 3, 5}) {
        auto compare = [&](StringRef text, Predicate keep) { return Word(text.str(), keep); };
        std::vector<Word> words = {
            compare("kv_lengths", [=](int64_t, int64_t j) { return j < length; }),
            compare("q_lengths", [=](int64_t i, int64_t) { return i < length; }),
            compare("causal", [=](int64_t i, int64_t j) { return j <= i + offset; }),
            compare("window", [=](int64_t i, int64_t j) { return i + offset - 2 <= j && j <= i + offset + 1; }),
            compare("chunk", [=](int64_t i, int64_t j) { return llvm::divideFloorSigned(i + offset, 3) == j / 3; }),
            compare("mod", [=](int64_t i, int64_t j) { return 2 * j <= i + 6; }),
            compare("unsolved", [=](int64_t i, int64_t j) { return i * j < 9; })};
        for (size_t x = 0; x < words.size(); ++x)
          for (size_t y = x; y < words.size(); ++y) {
            auto has = [&](StringRef word) { return words[x].first == word || words[y].first == word; };
            if (has("mod") && has("unsolved"))
              continue; // there is one region
            SCOPED_TRACE(words[x].first + " and " + words[y].first +
                         llvm::formatv(", offset {0}, length {1}", offset, length).str());
            std::string operands, attributes, region;
            if (has("q_lengths"))
              operands += " q_lengths(%n : tensor<1xi32>)";
            if (has("kv_lengths"))
              operands += " kv_lengths(%n : tensor<1xi32>)";
            if (has("causal") || has("window") || has("chunk"))
              operands += " causal_offset(%off : tensor<1xi32>)";
            auto add = [&](StringRef attribute) { attributes += (attributes.empty() ? "" : ", ") + attribute.str(); };
            if (has("causal"))
              add("causal = #attn.causal<offset>");
            else if (has("window") || has("chunk"))
              add("align = #attn.causal<offset>");
            if (has("window"))
              add("window = #attn.window<left = 2, right = 1>");
            if (has("chunk"))
              add("chunk = 3 : i64");
            if (has("mod") || has("unsolved"))
              region = llvm::formatv("mask_mod {{\n%i = attn.index query : index\n%j = attn.index key : index\n"
                                     "%two = arith.constant 2 : index\n%six = arith.constant 6 : index\n"
                                     "%nine = arith.constant 9 : index\n{0}\nattn.yield %keep : i1\n}",
                                     has("mod") ? "%a = arith.muli %j, %two : index\n%b = arith.addi %i, %six : index\n"
                                                  "%keep = arith.cmpi sle, %a, %b : index"
                                                : "%a = arith.muli %i, %j : index\n"
                                                  "%keep = arith.cmpi slt, %a, %nine : index")
                           .str();
            std::string q = llvm::formatv("tensor<1x1x{0}x4xf32>", queries),
                        k = llvm::formatv("tensor<1x1x{0}x4xf32>", keys);
            OwningOpRef<ModuleOp> module = parse(
                llvm::formatv("func.func @f(%q: {0}, %k: {1}, %v: {1}, %o: {0}) -> {0} {{\n"
                              "%n = arith.constant dense<{2}> : tensor<1xi32>\n"
                              "%off = arith.constant dense<{3}> : tensor<1xi32>\n"
                              "%r = attn.sdpa ins(%q, %k, %v : {0}, {1}, {1}) {4} outs(%o : {0}) {{{5}} {6} -> {0}\n"
                              "return %r : {0}\n}",
                              q, k, length, offset, operands, attributes, region)
                    .str());
            ASSERT_TRUE(module);
            Analysis analysis = analyze(*module, queries, keys);
            // One batch index and head: what is read there is known.
            for (Region *ranges : {analysis.ranges.get(), analysis.dense.get(), analysis.ofQueries.get()})
              ranges->walk([&](IndexOp index) {
                if (index.getKind() != IndexKind::Batch)
                  return;
                OpBuilder builder(index);
                index.replaceAllUsesWith(arith::ConstantIndexOp::create(builder, index.getLoc(), 0).getResult());
                index.erase();
              });
            auto keep = [&](int64_t i, int64_t j) { return words[x].second(i, j) && words[y].second(i, j); };
            checkTiles(analysis, keep, queries, keys,
                       x == y ? has("unsolved") ? Precision::Unsolved : Precision::Tight : Precision::Sound);
            if (HasFailure())
              return;
          }
      }
}

} // namespace
