//===- PipelineCopies.cpp - attn-pipeline-copies --------------------------===//
//
// Puts the tiles of a kernel into shared memory, and the copies that fill them
// and the waits where they belong, while loops and key ranges are still known.
// One tile of K and one of V are enough to have a copy under way all the time
// (FlashAttention-2, Dao, arXiv:2307.08691):
//
//   K(0) →
//   each tile n:  wait K(n) | V(n) → | S = Q K^T | wait V(n) | K(n + 1) → | softmax | P V
//
// Before: attn-decompose-step; K and V are slices of global memory, or packed or
// gathered into buffers. After: no product reads global memory.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepTiles.h"
#include "attn/Conversion/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace attn {
#define GEN_PASS_DEF_PIPELINECOPIESPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

namespace {

/// More than any position (attn-select-schedule refuses longer dimensions), and no more than 32 bits hold.
constexpr int64_t kBeyondPositions = int64_t(1) << 29;

/// Builds `value`, computed in `loop` from its induction variable, for another one, in front of the builder's position.
Value cloneFor(OpBuilder &b, Value value, scf::ForOp loop, Value induction) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  if (failed(getBackwardSlice(value, &slice, options)))
    return {};
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), induction);
  for (Operation *op : slice) {
    if (op->getNumRegions() > 0 || !isMemoryEffectFree(op))
      return {};
    b.clone(*op, mapping);
  }
  return mapping.lookupOrDefault(value);
}

/// The keys of a kernel in their order: where they begin, as a view, and where they end.
struct KeyOrder {
  Operation *first; ///< what holds the first step
  Value firstKeys, end;
};

class CopyPlacement {
public:
  CopyPlacement(IRRewriter &rewriter, gpu::GPUFuncOp kernel) : b(rewriter), kernel(kernel), tiles(rewriter, kernel) {}

  LogicalResult run() {
    if (failed(tiles.findSteps()))
      return failure();
    // A kernel of rows alone, or one whose tiles are there already.
    if (tiles.steps.empty() || isInSharedMemory(tiles.steps.front().scores.getLhs()))
      return success();
    if (failed(tiles.createTiles()))
      return failure();
    std::optional<KeyOrder> order = findOrder();
    if (order) {
      pipeline(*order);
      return success();
    }
    tiles.moveBuffers();
    for (Step step : tiles.steps)
      fillTiles(step);
    return success();
  }

private:
  /// Each step fills the tiles at its start.
  void fillTiles(Step step) {
    Location loc = step.scores.getLoc();
    Value keys = step.scores.getRhs(), values = step.values.getRhs();
    SmallVector<Value> arrived = {tiles.queryToken};
    bool isGathered = false;
    // What fills a tile in front of this step, and of no other before.
    llvm::erase_if(tiles.fills, [&](Operation *fill) {
      Operation *ancestor = fill->getBlock()->findAncestorOpInBlock(*step.scores);
      if (!ancestor || !fill->isBeforeInBlock(ancestor))
        return false;
      if (auto copy = dyn_cast<CopyOp>(fill))
        arrived.push_back(copy.getToken());
      isGathered |= isa<GatherPagesOp>(fill);
      return true;
    });
    bool copiesKeys = getRoot(step.scores.getRhs()) != tiles.key;
    bool copiesValues = getRoot(step.values.getRhs()) != tiles.value;
    b.setInsertionPoint(step.scores);
    // Whoever reads the last tiles has to be done.
    if (copiesKeys || copiesValues)
      gpu::BarrierOp::create(b, loc);
    if (copiesKeys) {
      tiles.readTile(step.scores, tiles.key);
      arrived.push_back(tiles.copyRows(step.scores, keys, tiles.key));
    }
    Value token;
    if (copiesValues) {
      tiles.readTile(step.values, tiles.value);
      token = tiles.copyRows(step.values, values, tiles.value);
    }
    if (isGathered && !token)
      WaitOp::create(b, loc, ValueRange());
    else
      WaitOp::create(b, loc, arrived, token ? 1 : 0);
    if (!token)
      return;
    b.setInsertionPointAfter(step.scores);
    WaitOp::create(b, loc, token);
  }

  //===--------------------------------------------------------------------===//
  // Copies one tile ahead
  //===--------------------------------------------------------------------===//

  /// Key tiles follow each other where each begins where the last one ends, whatever loop has it. Where tiles may be
  /// skipped (block maps), or rows are packed or come from pages, each step copies its own: nothing.
  std::optional<KeyOrder> findOrder() {
    Block &body = kernel.getBody().front();
    Type elementType = getElementTypeOrSelf(tiles.query.getType());
    for (Step step : tiles.steps) {
      auto loop = dyn_cast<scf::ForOp>(step.scores->getParentOp());
      bool isInOrder = step.scores->getBlock() == &body || (loop && loop->getBlock() == &body);
      auto view = step.scores.getRhs().getDefiningOp<memref::SubViewOp>();
      if (!isInOrder || !view || !tiles.getKeyDim(step.scores) || isBuffer(getRoot(view).getDefiningOp()) ||
          isBuffer(getRoot(step.values.getRhs()).getDefiningOp()) || view.getType().getElementType() != elementType ||
          view.getSourceType().getRank() != view.getType().getRank())
        return std::nullopt;
    }
    KeyOrder order;
    order.first = body.findAncestorOpInBlock(*tiles.steps.front().scores);
    b.setInsertionPoint(order.first);
    // Where the keys end: where the last loop does, or after the last step.
    ProductOp last = tiles.steps.back().scores;
    unsigned lastDim = *tiles.getKeyDim(last);
    auto lastView = last.getRhs().getDefiningOp<memref::SubViewOp>();
    OpFoldResult offset = lastView.getMixedOffsets()[lastDim];
    if (auto loop = dyn_cast<scf::ForOp>(last->getParentOp())) {
      if (auto position = dyn_cast<Value>(offset))
        order.end = cloneFor(b, position, loop, loop.getUpperBound());
    } else {
      OpFoldResult size = lastView.getMixedSizes()[lastDim];
      order.end = b.createOrFold<arith::AddIOp>(last.getLoc(), toValue(offset), toValue(size));
    }
    // K(0), with the first loop's first key.
    ProductOp product = tiles.steps.front().scores;
    order.firstKeys = product.getRhs();
    if (auto loop = dyn_cast<scf::ForOp>(product->getParentOp()))
      order.firstKeys = cloneFor(b, order.firstKeys, loop, loop.getLowerBound());
    DominanceInfo dominance(kernel);
    auto isKnown = [&](Value value) {
      Operation *op = value ? value.getDefiningOp() : nullptr;
      return value && (!op || llvm::all_of(op->getOperands(),
                                           [&](Value operand) { return dominance.properlyDominates(operand, op); }));
    };
    return isKnown(order.end) && isKnown(order.firstKeys) ? std::optional(order) : std::nullopt;
  }

  Value toValue(OpFoldResult number) { return getValueOrCreateConstantIndexOp(b, kernel.getLoc(), number); }

  /// The first key of a view of K.
  Value getBegin(ProductOp product, memref::SubViewOp view) {
    return toValue(view.getMixedOffsets()[*tiles.getKeyDim(product)]);
  }

  /// A position in 32 bits, of which a thread keeps fewer registers than of an index.
  Value narrow(Value position) { return b.createOrFold<arith::IndexCastOp>(kernel.getLoc(), b.getI32Type(), position); }

  /// Where keys begin or end, in 32 bits. Offsets of a call take it anywhere, where the loop is empty: beyond all keys,
  /// or below 0, it is as good at the nearest position.
  Value narrowAny(Value end) {
    Location loc = kernel.getLoc();
    end = b.createOrFold<arith::MinSIOp>(loc, end, toValue(b.getIndexAttr(kBeyondPositions)));
    return narrow(b.createOrFold<arith::MaxSIOp>(loc, end, toValue(b.getIndexAttr(0))));
  }

  /// Starts the copy of the keys that follow the first `skipped` ones of `view`, up to the end of all. Null where it is
  /// known that there is none; the view begins at `begin`. The view stays that of the step: its addresses are those of
  /// V's copy.
  Value copyKeysAfter(ProductOp product, memref::SubViewOp view, Value begin, OpFoldResult skipped, Value end) {
    unsigned dim = *tiles.getKeyDim(product);
    Location loc = product.getLoc();
    SmallVector<OpFoldResult> sizes = view.getMixedSizes();
    Value rest = b.createOrFold<arith::SubIOp>(loc, end, begin);
    sizes[dim] = getAsOpFoldResult(b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), rest));
    std::optional<int64_t> left = getConstantIntValue(sizes[dim]), less = getConstantIntValue(skipped);
    if (left && less && *left <= *less)
      return {};
    Value keys =
        memref::SubViewOp::create(b, loc, view.getSource(), view.getMixedOffsets(), sizes, view.getMixedStrides());
    return tiles.copyRows(product, keys, tiles.key, toValue(skipped));
  }

  void pipeline(const KeyOrder &order) {
    for (Step step : tiles.steps) {
      views[step.scores] = step.scores.getRhs();
      views[step.values] = step.values.getRhs();
      tiles.readTile(step.scores, tiles.key);
      tiles.readTile(step.values, tiles.value);
    }
    b.setInsertionPoint(order.first);
    Value end = narrowAny(order.end);
    ProductOp product = tiles.steps.front().scores;
    auto firstKeys = order.firstKeys.getDefiningOp<memref::SubViewOp>();
    Value token = copyKeysAfter(product, firstKeys, narrowAny(getBegin(product, firstKeys)), b.getIndexAttr(0), end);
    if (!token) // loops without rounds
      token = tiles.queryToken;
    for (size_t i = 0; i < tiles.steps.size(); ++i) {
      auto loop = dyn_cast<scf::ForOp>(tiles.steps[i].scores->getParentOp());
      if (!loop || loop->getBlock() != &kernel.getBody().front()) {
        token = copyAhead(tiles.steps[i], token, end);
        continue;
      }
      // The token of the keys to come goes from round to round.
      FailureOr<LoopLikeOpInterface> replaced =
          loop.replaceWithAdditionalYields(b, token, /*replaceInitOperandUsesInLoop=*/false,
                                           [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
                                             return llvm::to_vector_of<Value>(arguments);
                                           });
      auto carried = cast<scf::ForOp>(replaced->getOperation()); // does not fail
      Value next = carried.getRegionIterArgs().back();
      for (; i < tiles.steps.size() && tiles.steps[i].scores->getParentOp() == carried; ++i)
        next = copyAhead(tiles.steps[i], next, end);
      --i;
      carried.getBody()->getTerminator()->setOperand(carried.getNumRegionIterArgs() - 1, next);
      token = carried.getResults().back();
    }
  }

  /// A step whose keys are those of `token`. The token of the next one's.
  Value copyAhead(Step step, Value token, Value end) {
    Location loc = step.scores.getLoc();
    auto view = views.lookup(step.scores).getDefiningOp<memref::SubViewOp>();
    unsigned dim = *tiles.getKeyDim(step.scores);
    // K is there, and whoever reads the last V is done.
    b.setInsertionPoint(step.scores);
    WaitOp::create(b, loc, ValueRange{tiles.queryToken, token});
    Value values = tiles.copyRows(step.values, views.lookup(step.values), tiles.value);
    // V is there, and whoever reads this K is done.
    b.setInsertionPointAfter(step.scores);
    WaitOp::create(b, loc, values);
    Value ahead = copyKeysAfter(step.scores, view, narrow(getBegin(step.scores, view)), view.getMixedSizes()[dim], end);
    return ahead ? ahead : token;
  }

  IRRewriter &b;
  gpu::GPUFuncOp kernel;
  StepTiles tiles;
  llvm::DenseMap<Operation *, Value> views; ///< of K and V in global memory, by product
};

struct PipelineCopiesPass : public attn::impl::PipelineCopiesPassBase<PipelineCopiesPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!kernel->hasAttr(kScheduleAttr))
        continue;
      WalkResult gradients = kernel.walk([](ScoreGradientsOp) { return WalkResult::interrupt(); });
      if (failed(gradients.wasInterrupted() ? placeGradientCopies(rewriter, kernel)
                                            : CopyPlacement(rewriter, kernel).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
