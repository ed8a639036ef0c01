//===- AnalyzeMask.cpp - attn-analyze-mask --------------------------------===//
//
// Before: sdpa with masks spelled out in attributes. After: one mask_mod region without the conjuncts that always hold,
// and the key ranges that lib/Analysis derives for a query tile.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Analysis/KeyRanges.h"
#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"

namespace attn {
#define GEN_PASS_DEF_ANALYZEMASKPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Yields the conjunction of `conjuncts` and erases ops without uses.
static void rebuildConjunction(RewriterBase &rewriter, Region &region, ArrayRef<Conjunct> conjuncts) {
  Block &block = region.front();
  Operation *yield = block.getTerminator();
  rewriter.setInsertionPoint(yield);
  Value keep = conjuncts.front().value;
  for (const Conjunct &conjunct : conjuncts.drop_front())
    keep = arith::AndIOp::create(rewriter, yield->getLoc(), keep, conjunct.value);
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, keep); });
  SmallVector<Operation *> ops = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      rewriter.eraseOp(op);
}

void attn::analyzeMask(RewriterBase &rewriter, SdpaOp op) {
  rewriter.setInsertionPoint(op);
  rewriter.modifyOpInPlace(op, [&] { expandWords(rewriter, op, op); });
  int64_t numQueries = getStaticSize(op, DimKind::Query), numKeys = getStaticSize(op, DimKind::Key);
  SmallVector<Conjunct> conjuncts = splitPredicate(op.getMaskMod(), numQueries, numKeys);
  unsigned numBefore = conjuncts.size();
  llvm::erase_if(conjuncts, [](const Conjunct &conjunct) { return conjunct.alwaysHolds; });
  bool isDense = op.getMask() || op.getBias();
  if (!conjuncts.empty() && conjuncts.size() < numBefore)
    rebuildConjunction(rewriter, op.getMaskMod(), conjuncts);
  RangesSummary summary;
  rewriter.modifyOpInPlace(op, [&] {
    if (conjuncts.empty() && !op.getMaskMod().empty()) {
      Region empty;
      op.getMaskMod().takeBody(empty);
    }
    Region ranges;
    summary =
        buildRanges(rewriter, op.getLoc(), op.getMaskMod(), RangeAxis::Keys, numQueries, numKeys, isDense, ranges);
    op.getKeyRanges().takeBody(ranges);
    op.setBlockMap(summary.numTested > 0);
  });
  if (numBefore || isDense)
    emitRemark(op, RemarkOutcome::Analysis, "mask-analyzed")
        << llvm::formatv(
               "predicate: {0} conjuncts always hold, {1} became key ranges, {2} are tested on every key{3}{4}",
               numBefore - conjuncts.size(), summary.numSolved, summary.numTested,
               summary.numTested ? ", once a call, for a map of the tiles that they keep" : "",
               isDense ? "; the dense mask or bias is read on every visited tile" : "")
               .str();
}

void attn::analyzeMask(RewriterBase &rewriter, SdpaBackwardOp op) {
  rewriter.setInsertionPoint(op);
  rewriter.modifyOpInPlace(op, [&] {
    expandWords(rewriter, op, op);
    Region ranges;
    buildRanges(rewriter, op.getLoc(), op.getMaskMod(), RangeAxis::Queries, getStaticSize(op, DimKind::Query),
                getStaticSize(op, DimKind::Key), op.getMask() || op.getBias(), ranges);
    op.getQueryRanges().takeBody(ranges);
  });
}

/// A remark for each tile of `keyTile` keys.
static void reportQueryRanges(RewriterBase &rewriter, SdpaOp op, int64_t keyTile) {
  int64_t numQueries = getStaticSize(op, DimKind::Query), numKeys = getStaticSize(op, DimKind::Key);
  if (ShapedType::isDynamic(numQueries) || ShapedType::isDynamic(numKeys)) {
    op.emitRemark("query ranges depend on sizes at run time");
    return;
  }
  Region ranges;
  buildRanges(rewriter, op.getLoc(), op.getMaskMod(), RangeAxis::Queries, numQueries, numKeys,
              op.getMask() || op.getBias(), ranges);
  for (int64_t first = 0; first < numKeys; first += keyTile) {
    int64_t end = std::min(first + keyTile, numKeys);
    std::optional<RangeBounds> bounds = evaluateRanges(ranges, first, end, numQueries);
    if (!bounds) {
      op.emitRemark("query ranges depend on run-time values");
      return;
    }
    op.emitRemark() << llvm::formatv("keys [{0}, {1}): visited by queries [{2}, {3}), full for [{4}, {5})", first, end,
                                     bounds->visitedLower, bounds->visitedUpper, bounds->fullLower, bounds->fullUpper)
                           .str();
  }
}

namespace {
struct AnalyzeMaskPass : public attn::impl::AnalyzeMaskPassBase<AnalyzeMaskPass> {
  using AnalyzeMaskPassBase::AnalyzeMaskPassBase;

  void runOnOperation() override {
    SmallVector<SdpaOp> ops;
    getOperation().walk([&](SdpaOp op) {
      if (op.getKeyRanges().empty())
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (SdpaOp op : ops)
      analyzeMask(rewriter, op);
    SmallVector<SdpaBackwardOp> gradients;
    getOperation().walk([&](SdpaBackwardOp op) {
      if (op.getQueryRanges().empty())
        gradients.push_back(op);
    });
    for (SdpaBackwardOp op : gradients)
      analyzeMask(rewriter, op);
    if (queryRanges > 0)
      getOperation().walk([&](SdpaOp op) { reportQueryRanges(rewriter, op, queryRanges); });
  }
};
} // namespace
