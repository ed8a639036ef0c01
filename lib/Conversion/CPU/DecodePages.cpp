//===- DecodePages.cpp - decode steps over pages of a cache ---------------===//
//
// A page is too short for hardware prefetchers: what they have learnt of it is of no
// use in the next one, which lies anywhere. So a loop over pages is unrolled, and each
// tile takes its keys from several pages in turn, as from the places of a dense tensor.
// Beside K's products it asks for its rows of V, and beside those for K of the next
// tile; where that lies in other pages, the block table says already where.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeStep.h"
#include "attn/IR/Decompose.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// What may stand between the steps: where their pages are.
static bool findsPages(Operation &op) { return isPure(&op) || isa<memref::LoadOp>(op); }

/// A whole tile of one page, whose keys may come in any order and beside those of others.
static bool isWholePage(OnlineStepOp step) {
  auto schedule = dyn_cast_or_null<DecodeAttr>(step.getScheduleAttr());
  unsigned numBatch = getNumBatchDims(step);
  if (!schedule || !step.getPaged() || getStaticDomain(step)[numBatch + 1] != schedule.getKeyTile() ||
      !step.getMaskMod().empty() || asksForKeys(step))
    return false;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(step->getRegions(), captured);
  return llvm::none_of(captured, [&](Value value) { return value.getParentBlock() == step->getBlock(); }) &&
         getNumPlaces(step) > 1;
}

/// The same but for K and V.
static bool foldsLike(OnlineStepOp step, OnlineStepOp other) {
  auto hasSameOperands = [&] {
    for (auto [x, y] : llvm::zip_equal(step->getOpOperands(), other->getOpOperands()))
      if (x.get() != y.get() && x.get() != step.getKey() && x.get() != step.getValue())
        return false;
    return true;
  };
  auto isSameRegion = [](auto regions) {
    auto [x, y] = regions;
    return OperationEquivalence::isRegionEquivalentTo(&x, &y, OperationEquivalence::IgnoreLocations);
  };
  return step->getAttrDictionary() == other->getAttrDictionary() && step->getNumOperands() == other->getNumOperands() &&
         hasSameOperands() && llvm::all_of(llvm::zip_equal(step->getRegions(), other->getRegions()), isSameRegion);
}

/// The steps that fold as many pages as a tile takes keys from, `first` and those behind it; none where there are
/// fewer.
static SmallVector<OnlineStepOp> getPagesOfTile(OnlineStepOp first) {
  SmallVector<OnlineStepOp> steps{first};
  int64_t places = getNumPlaces(first);
  for (Operation *op = first->getNextNode(); op && int64_t(steps.size()) < places; op = op->getNextNode()) {
    auto step = dyn_cast<OnlineStepOp>(op);
    if (step && isWholePage(step) && foldsLike(step, first))
      steps.push_back(step);
    else if (step || !findsPages(*op))
      return {};
  }
  return int64_t(steps.size()) == places ? steps : SmallVector<OnlineStepOp>();
}

SmallVector<Operand> DecodeStepLowering::findNextPages(OnlineStepOp step, ArrayRef<Operand> pages, int64_t rounds) {
  scf::ForOp loop = getKeyLoop(step);
  if (!loop)
    return {};
  Value next = vb.add(loop.getInductionVar(), vb.multiply(loop.getStep(), rounds));
  Value isThere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, next, loop.getUpperBound());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), vb.select(isThere, next, loop.getInductionVar()));
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  for (const Operand &page : pages)
    if (failed(getBackwardSlice(page.memref, &slice, options)) ||
        !llvm::all_of(slice, [](Operation *op) { return findsPages(*op); }))
      return {};
  for (Operation *op : slice)
    b.clone(*op, mapping);
  return llvm::map_to_vector(
      pages, [&](const Operand &page) { return Operand{mapping.lookupOrDefault(page.memref), page.map}; });
}

void DecodeStepLowering::foldPages() {
  int64_t numPages = keyPages.size(), pageRows = keyTile, tileRows = tileKeys / numPages;
  vb.loop(vb.index(0), vb.index(pageRows), tileRows, {}, [&](Value row, ValueRange) {
    setTile(Values(numPages, row), b.getIndexAttr(tileKeys));
    if (isInterleaved && !nextPages.empty()) {
      nextKeyPages = nextPages;
      nextPlaces = places;
      if (!nextValuePages.empty())
        askedValuePages = nextValuePages;
    } else if (!nextPages.empty()) {
      Value next = vb.add(row, tileRows);
      Value isThere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, next, vb.index(pageRows));
      nextPlaces.assign(numPages, vb.select(isThere, next, vb.index(0)));
      for (auto [page, nextPage] : llvm::zip_equal(keyPages, nextPages))
        nextKeyPages.push_back({vb.select(isThere, page.memref, nextPage.memref), page.map});
    }
    emitTile();
    return Values();
  });
}

/// Loops over heads in a round of an unrolled loop over pages become one: each head folds all pages of the round.
static void fuseHeadLoops(RewriterBase &rewriter, scf::ForOp pages) {
  SmallVector<scf::ForOp> loops(pages.getBody()->getOps<scf::ForOp>());
  if (loops.empty())
    return;
  scf::ForOp fused = loops.front();
  for (scf::ForOp loop : llvm::drop_begin(loops))
    fused = fuseIndependentSiblingForLoops(fused, loop, rewriter);
  // So that the steps are seen to fold into the same state.
  DominanceInfo dominance(pages);
  eliminateCommonSubExpressions(rewriter, dominance, fused);
}

/// Loops over pages, unrolled so that a round has as many of them as a tile takes keys from.
static void unrollPageLoops(RewriterBase &rewriter, Operation *root) {
  SmallVector<std::pair<scf::ForOp, int64_t>> loops;
  root->walk([&](OnlineStepOp step) {
    scf::ForOp loop = isWholePage(step) ? getKeyLoop(step) : scf::ForOp();
    if (!loop || loop.getNumResults() != 0)
      return;
    WalkResult result = loop.getBody()->walk([&](Operation *op) {
      bool isLoop = op != loop.getBody()->getTerminator() && op->isProperAncestor(step);
      return op == step || isLoop || findsPages(*op) || step->isProperAncestor(op) ? WalkResult::advance()
                                                                                   : WalkResult::interrupt();
    });
    if (!result.wasInterrupted())
      loops.emplace_back(loop, getNumPlaces(step));
  });
  for (auto [loop, places] : loops) {
    FailureOr<UnrolledLoopInfo> unrolled = loopUnrollByFactor(loop, places); // a shorter loop stays as it is
    if (succeeded(unrolled) && unrolled->mainLoopOp)
      fuseHeadLoops(rewriter, *unrolled->mainLoopOp);
  }
}

LogicalResult attn::cpu::lowerPageSteps(RewriterBase &rewriter, Operation *root, const TargetInfo &target) {
  unrollPageLoops(rewriter, root);
  SmallVector<SmallVector<OnlineStepOp>> tiles;
  DenseSet<Operation *> taken;
  root->walk([&](OnlineStepOp step) {
    if (taken.contains(step) || !isWholePage(step))
      return;
    SmallVector<OnlineStepOp> steps = getPagesOfTile(step);
    taken.insert(steps.begin(), steps.end());
    if (!steps.empty())
      tiles.push_back(std::move(steps));
  });
  for (ArrayRef<OnlineStepOp> steps : tiles)
    if (failed(lowerDecodeSteps(rewriter, steps, target)))
      return failure();
  return success();
}
