//===- Cost.cpp - the work of a problem -----------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Cost.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Most query rows per row of K for which memory is expected to be the limit.
static constexpr int64_t kMaxDecodeRows = 16;

namespace {
/// The share of keys that a query keeps, and the share that any query keeps.
struct Shares {
  double scores = 1, keys = 1;
};
} // namespace

/// The part of a rectangle of queries and keys below a diagonal from one of its corners: half of a square.
static double getCausalShare(double sq, double sk, bool isBottomRight) {
  double triangle = std::min(sq, sk) / (2 * std::max(sq, sk));
  // The diagonal ends on the longer side: the triangle, or everything else.
  return isBottomRight == (sk > sq) ? 1 - triangle : triangle;
}

/// A causal square has half of the scores; a window bounded on both sides, its share of the keys (docs/Performance.md).
/// A single query keeps the keys of its window, or all keys of a causal mask at the bottom right.
static Shares getShares(const Problem &problem) {
  Shares shares;
  double sk = std::max<int64_t>(problem.sizes.sk, 1);
  std::optional<int64_t> left, right;
  const auto *causal = problem.words.get<Alignment>(Word::causal);
  if (const auto *window = problem.words.get<KeyBounds>(Word::window)) {
    left = window->left;
    right = causal ? 0 : window->right;
  }
  if (left && right) {
    shares.scores = std::min(1.0, double(*left + *right + 1) / sk);
    shares.keys = std::min(1.0, double(*left + *right + problem.sizes.sq) / sk);
  } else if (causal && problem.sizes.sq > 1) {
    bool isCorner = *causal != Alignment::Offset, isTopLeft = *causal == Alignment::TopLeft;
    shares.scores = isCorner ? getCausalShare(problem.sizes.sq, sk, !isTopLeft) : 0.5;
    shares.keys = isTopLeft ? std::min(1.0, problem.sizes.sq / sk) : 1;
  }
  return shares;
}

/// The columns of the products of a backward pass: scores; their gradients, unless only dv is requested; and the
/// requested ones of dq, dk and dv. Gradients of scales are sums of these.
static int64_t getBackwardColumns(const Problem &problem) {
  auto asks = [&](std::initializer_list<StringRef> names) {
    return any_of(names, [&](StringRef name) { return is_contained(problem.grad, name); });
  };
  auto isOfWeights = [](StringRef name) { return name == "v" || name == "v_scale"; };
  int64_t columns = problem.sizes.d + (all_of(problem.grad, isOfWeights) ? 0 : problem.sizes.dv);
  columns += asks({"q", "scale"}) ? problem.sizes.d : 0;
  columns += asks({"k", "k_scale"}) ? problem.sizes.d : 0;
  return columns + (asks({"v", "v_scale"}) ? problem.sizes.dv : 0);
}

/// Tokens of a chunk for which operations are counted.
static constexpr int64_t kChunkTokens = 32;
/// Most tokens of a call of linear attention for which memory is expected to be the limit.
static constexpr int64_t kMaxStepTokens = 8;

/// A token reads a state for the output, writes it and, where there is something to erase, reads it for that. Half of
/// the products of a chunk's tokens with each other exist, and heads of a group share those of keys and queries.
static double getLinearFlops(const Problem &problem) {
  const Problem::Sizes &size = problem.sizes;
  double sequences = problem.layout == Problem::Layout::Varlen ? 1 : size.b;
  bool erases = problem.linear->beta || problem.linear->erase;
  double passes = erases ? 3 : 2;
  if (!problem.grad.empty()) // and those of the states that the backward pass computes again
    passes = erases ? 8 : 5;
  double others = (passes - 1) * double(std::min(size.sq, kChunkTokens)) / 2;
  return 2.0 * sequences * size.sq * (size.hq * size.dv * (passes * size.d + others) + size.hkv * size.d * others);
}

bool driver::isDecodeOf(int64_t queries, int64_t groupSize) { return queries * groupSize <= kMaxDecodeRows; }

double driver::getFlops(const Problem &problem) {
  if (problem.linear)
    return getLinearFlops(problem);
  bool isPacked = problem.layout == Problem::Layout::Varlen;
  double sequences = isPacked ? 1.0 / std::max<int64_t>(problem.sizes.b, 1) : problem.sizes.b;
  int64_t columns = problem.grad.empty() ? problem.sizes.d + problem.sizes.dv : getBackwardColumns(problem);
  return 2.0 * sequences * problem.sizes.hq * problem.sizes.sq * problem.sizes.sk * columns * getShares(problem).scores;
}

Cost driver::getCost(const Problem &problem, const Kernel &kernel, ArrayRef<NpyArray> arguments) {
  Shares shares = getShares(problem);
  Cost cost;
  cost.flops = getFlops(problem);
  if (problem.linear) {
    cost.isDecode = problem.sizes.sq <= kMaxStepTokens;
    for (auto [argument, array] : zip_equal(kernel.arguments, arguments)) // the state is read and written
      cost.bytes += (argument.isUpdated ? 2.0 : 1.0) * getNpyTypeSize(array.type) * getNumElements(array.shape);
    return cost;
  }
  cost.isDecode = isDecodeOf(problem.sizes.sq, problem.sizes.hq / std::max<int64_t>(problem.sizes.hkv, 1));
  for (auto [argument, array] : zip_equal(kernel.arguments, arguments)) {
    double bytes = double(getNpyTypeSize(array.type));
    bool isKey = argument.name == "k", isValue = argument.name == "v";
    if ((isKey || isValue) && problem.paged) // a cache has pages that no table references
      bytes *=
          double(problem.sizes.b * problem.sizes.hkv * problem.sizes.sk) * (isKey ? problem.sizes.d : problem.sizes.dv);
    else
      bytes *= getNumElements(array.shape);
    cost.bytes += bytes * (isKey || isValue ? shares.keys : 1);
  }
  return cost;
}
