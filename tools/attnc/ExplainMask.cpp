//===- ExplainMask.cpp - the tiles of a mask ------------------------------===//
//
// The tiles that a kernel skips, tests and runs through, from the ranges that attn-analyze-mask found: for each tile of
// queries the keys that it visits and those that all of its rows keep; for gradients on a processor, whose outer loop
// is over keys, the other way round.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "attn/Analysis/KeyRanges.h"
#include "attn/IR/Attn.h"
#include "attn/IR/Structure.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;
using mlir::ShapedType;

/// Rows of a picture; a problem of more tiles shows every n-th one.
static constexpr int64_t kMaxRows = 256;

namespace {
/// An op that has a mask, in terms of its outer and its inner loop.
struct MaskedOp {
  mlir::Region *mask, *ranges;
  ScheduleAttr schedule;
  RangeAxis axis; ///< that the ranges bound
  bool isDense;   ///< a tensor removes keys, too
};
} // namespace

static std::optional<MaskedOp> getMaskedOp(mlir::Operation *op) {
  if (auto sdpa = dyn_cast<SdpaOp>(op))
    return MaskedOp{&sdpa.getMaskMod(), &sdpa.getKeyRanges(), sdpa.getScheduleAttr(), RangeAxis::Keys,
                    sdpa.getMask() || sdpa.getBias()};
  if (auto backward = dyn_cast<SdpaBackwardOp>(op))
    return MaskedOp{&backward.getMaskMod(), &backward.getQueryRanges(), backward.getScheduleAttr(), RangeAxis::Queries,
                    backward.getMask() || backward.getBias()};
  return std::nullopt;
}

/// How many tiles of `size` positions lie wholly in [lower, upper), and how many touch it.
static std::pair<int64_t, int64_t> countTiles(int64_t lower, int64_t upper, int64_t size, int64_t tile) {
  if (lower >= upper)
    return {0, 0};
  int64_t first = divideCeil(lower, tile), end = upper == size ? divideCeil(size, tile) : upper / tile;
  return {std::max<int64_t>(end - first, 0), int64_t(divideCeil(upper, tile)) - lower / tile};
}

static std::string print(mlir::Region &region) {
  std::string text;
  raw_string_ostream os(text);
  for (mlir::Operation &op : region.front()) {
    op.print(os, mlir::OpPrintingFlags().useLocalScope());
    os << "\n";
  }
  return text;
}

json::Object driver::describeTiles(mlir::Operation *op) {
  std::optional<MaskedOp> masked = getMaskedOp(op);
  if (!masked || !masked->schedule)
    return {};
  bool boundsKeys = masked->axis == RangeAxis::Keys;
  int64_t queries = getStaticSize(op, DimKind::Query), keys = getStaticSize(op, DimKind::Key);
  auto orNull = [](int64_t size) { return ShapedType::isDynamic(size) ? json::Value(nullptr) : json::Value(size); };
  json::Object tiles{{"queries", orNull(queries)},
                     {"keys", orNull(keys)},
                     {"query_tile", masked->schedule.getQueryTile()},
                     {"key_tile", masked->schedule.getKeyTile()},
                     {"outer", boundsKeys ? "queries" : "keys"}};
  bool hasMask = !masked->mask->empty();
  if (hasMask)
    tiles["predicate"] = describeText(print(*masked->mask), /*limit=*/60);
  auto leaveOut = [&](StringRef why) {
    tiles["unknown"] = why;
    return std::move(tiles);
  };
  if (ShapedType::isDynamic(queries) || ShapedType::isDynamic(keys))
    return leaveOut("a size is known at run time only");
  if (queries == 0 || keys == 0)
    return leaveOut("there are no scores");
  if (hasMask && masked->ranges->empty())
    return leaveOut("the predicate bounds no range: the kind of each tile is found at run time");

  int64_t outer = boundsKeys ? queries : keys, inner = boundsKeys ? keys : queries;
  int64_t outerTile = masked->schedule.getQueryTile(), innerTile = masked->schedule.getKeyTile();
  if (!boundsKeys)
    std::swap(outerTile, innerTile);
  int64_t count = divideCeil(outer, outerTile), every = divideCeil(count, kMaxRows);
  json::Array rows;
  int64_t numFull = 0, numVisited = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t first = i * outerTile, end = std::min(first + outerTile, outer);
    std::optional<RangeBounds> bounds = RangeBounds{0, inner, 0, masked->isDense ? 0 : inner};
    if (hasMask)
      bounds = evaluateRanges(*masked->ranges, first, end, inner);
    if (!bounds)
      return leaveOut("the ranges depend on lengths, offsets or tensors of a call");
    auto [full, touched] = std::pair(countTiles(bounds->fullLower, bounds->fullUpper, inner, innerTile).first,
                                     countTiles(bounds->visitedLower, bounds->visitedUpper, inner, innerTile).second);
    numFull += full;
    numVisited += touched;
    if (i % every == 0)
      rows.push_back(json::Array{first, end, bounds->visitedLower, bounds->visitedUpper, bounds->fullLower,
                                 std::max(bounds->fullLower, bounds->fullUpper)});
  }
  tiles["every"] = every;
  tiles["rows"] = std::move(rows);
  tiles["counts"] = json::Object{{"skipped", count * int64_t(divideCeil(inner, innerTile)) - numVisited},
                                 {"partial", numVisited - numFull},
                                 {"full", numFull}};
  return tiles;
}
