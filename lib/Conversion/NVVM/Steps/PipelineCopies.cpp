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
// With s stages of each there are 2 s - 1 of them under way:
//
//   K(0) → V(0) → … K(s - 1) →
//   each tile n:  wait K(n) | V(n + s - 1) → | S = Q K^T | wait V(n) | K(n + s) → | softmax | P V
//
// Then all tiles but the last one are whole: attn-tile makes them so.
//
// Before: attn-decompose-step; K and V are slices of global memory, or packed or
// gathered into buffers. After: no product reads global memory.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepTiles.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/LoopAttrs.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
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

/// The keys of a kernel in their order: where they begin, as a view, and where they end.
struct KeyOrder {
  Operation *first;             ///< what holds the first step
  Value firstKeys, firstValues; ///< views
  Value end;
};

/// What goes from step to step where copies run ahead.
struct CopiesAhead {
  SmallVector<Value> keys, values; ///< tokens of the copies under way; of the next step first
  Value stage;                     ///< of the next step; null where there is one

  SmallVector<Value> flatten() const {
    SmallVector<Value> all(keys);
    llvm::append_range(all, values);
    if (stage)
      all.push_back(stage);
    return all;
  }
  /// The same, of other values.
  CopiesAhead with(ValueRange all) const {
    CopiesAhead other;
    llvm::append_range(other.keys, all.take_front(keys.size()));
    llvm::append_range(other.values, all.slice(keys.size(), values.size()));
    if (stage)
      other.stage = all.back();
    return other;
  }
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
    if (failed(tiles.createQueryTile()))
      return failure();
    // Stages of a producer are not in the IR.
    auto schedule = kernel->getAttrOfType<BlockAttr>(kScheduleAttr);
    int64_t stages = schedule.getProducer() ? 1 : schedule.getStages();
    std::optional<KeyOrder> order = findOrder(stages > 1);
    tiles.createKeyTiles(order ? stages : 1);
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
      arrived.clear(); // pages have no token
    waitInTurn(b, step.scores, arrived, token);
  }

  //===--------------------------------------------------------------------===//
  // Copies ahead
  //===--------------------------------------------------------------------===//

  /// The product reads a slice of K or V itself, whose rows can be those of another tile.
  bool readsSlice(ProductOp product) {
    auto view = product.getRhs().getDefiningOp<memref::SubViewOp>();
    return view && tiles.getKeyDim(product) &&
           view.getType().getElementType() == getElementTypeOrSelf(tiles.query.getType()) &&
           view.getSourceType().getRank() == view.getType().getRank();
  }

  /// The loops of attn-tile say that key tiles follow each other; a short last tile stands behind them. Where tiles may
  /// be skipped (block maps), or rows are packed or come from pages, each step copies its own: nothing.
  std::optional<KeyOrder> findOrder(bool hasStages) {
    Block &body = kernel.getBody().front();
    for (Step step : tiles.steps) {
      Operation *loop = step.scores->getParentOp();
      bool isConsecutive = loop == kernel || (loop->getBlock() == &body && loop->hasAttr(kConsecutiveAttr));
      if (!isConsecutive || !readsSlice(step.scores) || (hasStages && !readsSlice(step.values)) ||
          isBuffer(getRoot(step.scores.getRhs()).getDefiningOp()) ||
          isBuffer(getRoot(step.values.getRhs()).getDefiningOp()))
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
    order.firstValues = tiles.steps.front().values.getRhs();
    if (auto loop = dyn_cast<scf::ForOp>(product->getParentOp())) {
      order.firstKeys = cloneFor(b, order.firstKeys, loop, loop.getLowerBound());
      if (hasStages)
        order.firstValues = cloneFor(b, order.firstValues, loop, loop.getLowerBound());
    }
    // Addresses of pages are not known in front of the loop.
    bool areKnown = order.end && order.firstKeys && (!hasStages || order.firstValues);
    return areKnown ? std::optional(order) : std::nullopt;
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
  Value copyKeysAfter(ProductOp product, memref::SubViewOp view, Value begin, OpFoldResult skipped, Value end,
                      Value stage) {
    Location loc = product.getLoc();
    Value rest = b.createOrFold<arith::SubIOp>(loc, end, begin);
    OpFoldResult size = getAsOpFoldResult(b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), rest));
    std::optional<int64_t> left = getConstantIntValue(size), less = getConstantIntValue(skipped);
    // Waits count copies: with stages there is one in each step.
    if (left && less && *left <= *less && tiles.stages == 1)
      return {};
    bool isKey = product.getContraction() == Contraction::Scores;
    ColumnOperand operand{isKey ? tiles.key : tiles.value, tiles.getCopyMaps(product), *tiles.getKeyDim(product)};
    return copyColumns(b, operand, view, size, toValue(skipped), stage);
  }

  Value getConstant(int64_t number) { return arith::ConstantIndexOp::create(b, kernel.getLoc(), number); }

  /// The stage `distance`, 1 or -1, after `stage`.
  Value getStageAfter(Value stage, int64_t distance) {
    Location loc = kernel.getLoc();
    int64_t last = tiles.stages - 1;
    Value end = getConstant(distance > 0 ? last : 0), start = getConstant(distance > 0 ? 0 : last);
    Value isEnd = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stage, end);
    Value next = arith::AddIOp::create(b, loc, stage, getConstant(distance));
    return arith::SelectOp::create(b, loc, isEnd, start, next);
  }

  /// K(0) V(0) K(1) … K(stages - 1), in front of the first step.
  CopiesAhead startCopies(const KeyOrder &order, Value end) {
    Step step = tiles.steps.front();
    auto keys = order.firstKeys.getDefiningOp<memref::SubViewOp>();
    Value begin = narrowAny(getBegin(step.scores, keys));
    CopiesAhead ahead;
    if (tiles.stages > 1)
      ahead.stage = getConstant(0);
    for (int64_t n = 0; n < tiles.stages; ++n) {
      Value stage = tiles.stages > 1 ? getConstant(n) : Value();
      OpFoldResult skipped = b.getIndexAttr(n * tiles.keyTile);
      Value token = copyKeysAfter(step.scores, keys, begin, skipped, end, stage);
      ahead.keys.push_back(token ? token : tiles.queryToken); // loops without rounds
      if (n + 1 == tiles.stages)
        break;
      auto values = order.firstValues.getDefiningOp<memref::SubViewOp>();
      ahead.values.push_back(copyKeysAfter(step.values, values, begin, skipped, end, stage));
    }
    return ahead;
  }

  void pipeline(const KeyOrder &order) {
    b.setInsertionPoint(order.first);
    Value end = narrowAny(order.end);
    CopiesAhead ahead = startCopies(order, end);
    for (Step step : tiles.steps) {
      auto loop = dyn_cast<scf::ForOp>(step.scores->getParentOp());
      // The tokens of the keys to come go from round to round.
      ahead = loop ? ahead.with(carry(
                         b, loop, ahead.flatten(),
                         [&](ValueRange arguments) { return copyAhead(step, ahead.with(arguments), end).flatten(); }))
                   : copyAhead(step, ahead, end);
    }
  }

  /// A step whose keys and values are those of the first tokens. What goes to the next one.
  CopiesAhead copyAhead(Step step, CopiesAhead ahead, Value end) {
    Location loc = step.scores.getLoc();
    auto keys = step.scores.getRhs().getDefiningOp<memref::SubViewOp>();
    Value values = step.values.getRhs();
    // K and V are copied in turn, so that so many copies are younger than the one that is waited for.
    int64_t stages = tiles.stages, pending = 2 * (stages - 1);
    b.setInsertionPoint(step.scores);
    tiles.readTile(step.scores, getStage(b, tiles.key, ahead.stage));
    tiles.readTile(step.values, getStage(b, tiles.value, ahead.stage));
    // K is there, and whoever reads the last V is done.
    b.setInsertionPoint(step.scores);
    WaitOp::create(b, loc, ValueRange{tiles.queryToken, ahead.keys.front()}, pending);
    ahead.values.push_back(
        stages == 1
            ? tiles.copyRows(step.values, values, tiles.value)
            : copyKeysAfter(step.values, values.getDefiningOp<memref::SubViewOp>(), narrow(getBegin(step.scores, keys)),
                            b.getIndexAttr((stages - 1) * tiles.keyTile), end, getStageAfter(ahead.stage, -1)));
    // V is there, and whoever reads this K is done.
    b.setInsertionPointAfter(step.scores);
    WaitOp::create(b, loc, ahead.values.front(), pending);
    OpFoldResult skipped = stages == 1 ? keys.getMixedSizes()[*tiles.getKeyDim(step.scores)]
                                       : OpFoldResult(b.getIndexAttr(stages * tiles.keyTile));
    Value next = copyKeysAfter(step.scores, keys, narrow(getBegin(step.scores, keys)), skipped, end, ahead.stage);
    if (next) {
      ahead.keys.erase(ahead.keys.begin());
      ahead.keys.push_back(next);
    }
    ahead.values.erase(ahead.values.begin());
    if (ahead.stage)
      ahead.stage = getStageAfter(ahead.stage, 1);
    return ahead;
  }

  IRRewriter &b;
  gpu::GPUFuncOp kernel;
  StepTiles tiles;
};

struct PipelineCopiesPass : public attn::impl::PipelineCopiesPassBase<PipelineCopiesPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!kernel->hasAttr(kScheduleAttr))
        continue;
      auto has = [&]<typename OpTy>() {
        return kernel.walk([](OpTy) { return WalkResult::interrupt(); }).wasInterrupted();
      };
      bool isOfGradients = has.template operator()<ScoreGradientsOp>();
      if (isOfGradients && has.template operator()<WaitOp>())
        continue; // it has its copies
      if (failed(isOfGradients ? placeGradientCopies(rewriter, kernel) : CopyPlacement(rewriter, kernel).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
