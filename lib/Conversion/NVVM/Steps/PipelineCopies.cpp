//===- PipelineCopies.cpp - attn-pipeline-copies --------------------------===//
//
// Allocates the tiles of a kernel in shared memory, and inserts the copies that fill them and the waits, while loops
// and key ranges are still known. One tile of K and one of V are enough to keep a copy in flight at all times
// (FlashAttention-2, Dao, arXiv:2307.08691):
//
//   K(0) →
//   each tile n:  wait K(n) | V(n) → | S = Q K^T | wait V(n) | K(n + 1) → | softmax | P V
//
// With s stages of each, 2 s - 1 copies are in flight:
//
//   K(0) → V(0) → … K(s - 1) →
//   each tile n:  wait K(n) | V(n + s - 1) → | S = Q K^T | wait V(n) | K(n + s) → | softmax | P V
//
// In that case all tiles but the last one are full: attn-tile ensures it.
//
// Where V is the first columns of K (a cache of latent heads) and warpgroups share rows, the tile of K serves both
// products:
//
//   K(0) →
//   each tile n:  wait K(n) | S = Q K^T | softmax | P V | wait for all readers | K(n + 1) →
//
// Before: attn-decompose-step; K and V are slices of global memory, or packed or gathered into buffers. After: no
// product reads global memory.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepTiles.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/LoopAttrs.h"
#include "attn/Schedule/ColumnGroups.h"
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

/// Above any position (attn-select-schedule rejects longer dimensions), and still an i32.
constexpr int64_t kBeyondPositions = int64_t(1) << 29;

/// The keys of a kernel in order: the views at which they begin, and their end.
struct KeyOrder {
  Operation *first;             ///< contains the first step
  Value firstKeys, firstValues; ///< views
  Value end;
};

/// State carried from step to step when copies run ahead.
struct CopiesAhead {
  SmallVector<Value> keys, values; ///< tokens of the copies in flight; that of the next step first
  Value stage;                     ///< of the next step; null with a single stage

  SmallVector<Value> flatten() const {
    SmallVector<Value> all(keys);
    llvm::append_range(all, values);
    if (stage)
      all.push_back(stage);
    return all;
  }
  /// The same structure with other values.
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
    // A kernel on rows only, or one whose tiles are already allocated.
    if (tiles.steps.empty() || isInSharedMemory(tiles.steps.front().scores.getLhs()))
      return success();
    if (failed(tiles.createQueryTile()))
      return failure();
    // Stages of a producer are not in the IR.
    auto schedule = kernel->getAttrOfType<BlockAttr>(kScheduleAttr);
    int64_t stages = schedule.getProducer() ? 1 : schedule.getStages();
    std::optional<KeyOrder> order = findOrder(stages > 1);
    bool isCopiedOnce = order && schedule.getProducer() && areColumnsOfKeys(schedule);
    tiles.createKeyTiles(order ? stages : 1, isCopiedOnce);
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
  /// True where warpgroups share rows, and the values of each step are the first columns of its keys.
  bool areColumnsOfKeys(BlockAttr schedule) {
    return llvm::all_of(tiles.steps, [&](Step step) {
      return getColumnGroups(schedule, getStaticSize(step.values, DimKind::ValueSize)) > 1 &&
             areFirstColumns(step.values.getRhs(), step.scores.getRhs()) &&
             tiles.getCopyMaps(step.scores) == tiles.getCopyMaps(step.values);
    });
  }

  /// Fills the tiles at the start of each step.
  void fillTiles(Step step) {
    Location loc = step.scores.getLoc();
    Value keys = step.scores.getRhs(), values = step.values.getRhs();
    SmallVector<Value> arrived = {tiles.queryToken};
    bool isGathered = false;
    // The fills before this step that belong to no earlier one.
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
    // All reads of the previous tiles have to be done.
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

  /// True where the product reads a slice of K or V, whose rows can be moved to those of another tile.
  bool readsSlice(ProductOp product) {
    auto view = product.getRhs().getDefiningOp<memref::SubViewOp>();
    return view && tiles.getKeyDim(product) && view.getType().getElementType() == tiles.getTileType(product) &&
           view.getSourceType().getRank() == view.getType().getRank();
  }

  /// The loops of attn-tile guarantee consecutive key tiles; a short last tile follows them. Returns nothing where
  /// tiles may be skipped (block maps), or rows are packed or come from pages: each step then copies its own tiles.
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
    // The end of the keys: the bound of the last loop, or the end of the last step.
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
    // Page addresses are not known before the loop.
    bool areKnown = order.end && order.firstKeys && (!hasStages || order.firstValues);
    return areKnown ? std::optional(order) : std::nullopt;
  }

  Value toValue(OpFoldResult number) { return getValueOrCreateConstantIndexOp(b, kernel.getLoc(), number); }

  /// The first key of a view of K.
  Value getBegin(ProductOp product, memref::SubViewOp view) {
    return toValue(view.getMixedOffsets()[*tiles.getKeyDim(product)]);
  }

  /// A position as i32, which takes fewer registers than an index.
  Value narrow(Value position) { return b.createOrFold<arith::IndexCastOp>(kernel.getLoc(), b.getI32Type(), position); }

  /// A begin or end of keys as i32. Where the loop is empty, run-time offsets may put it anywhere. Beyond all keys or
  /// below 0, the nearest valid position is as good.
  Value narrowAny(Value end) {
    Location loc = kernel.getLoc();
    end = b.createOrFold<arith::MinSIOp>(loc, end, toValue(b.getIndexAttr(kBeyondPositions)));
    return narrow(b.createOrFold<arith::MaxSIOp>(loc, end, toValue(b.getIndexAttr(0))));
  }

  /// Starts the copy of the keys after the first `skipped` ones of `view`, up to `end`. Returns null where there are
  /// known to be none. `begin` is the first key of the view. The view stays that of the step, so that it shares its
  /// addresses with the copy of V.
  Value copyKeysAfter(ProductOp product, memref::SubViewOp view, Value begin, OpFoldResult skipped, Value end,
                      Value stage) {
    Location loc = product.getLoc();
    Value rest = b.createOrFold<arith::SubIOp>(loc, end, begin);
    OpFoldResult size = getAsOpFoldResult(b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), rest));
    std::optional<int64_t> left = getConstantIntValue(size), less = getConstantIntValue(skipped);
    // Waits count copies, so with several stages each step has one.
    if (left && less && *left <= *less && tiles.stages == 1)
      return {};
    bool isKey = product.getContraction() == Contraction::Scores;
    ColumnOperand operand{isKey ? tiles.key : tiles.value, tiles.getCopyMaps(product), *tiles.getKeyDim(product)};
    return copyColumns(b, operand, view, size, toValue(skipped), stage);
  }

  Value getConstant(int64_t number) { return arith::ConstantIndexOp::create(b, kernel.getLoc(), number); }

  /// The stage `distance` (1 or -1) after `stage`.
  Value getStageAfter(Value stage, int64_t distance) {
    Location loc = kernel.getLoc();
    int64_t last = tiles.stages - 1;
    Value end = getConstant(distance > 0 ? last : 0), start = getConstant(distance > 0 ? 0 : last);
    Value isEnd = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stage, end);
    Value next = arith::AddIOp::create(b, loc, stage, getConstant(distance));
    return arith::SelectOp::create(b, loc, isEnd, start, next);
  }

  /// K(0) V(0) K(1) … K(stages - 1), before the first step.
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
      ahead.keys.push_back(token ? token : tiles.queryToken); // loops without iterations
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
      // The loop carries the tokens of the next keys.
      ahead = loop ? ahead.with(carry(
                         b, loop, ahead.flatten(),
                         [&](ValueRange arguments) { return copyAhead(step, ahead.with(arguments), end).flatten(); }))
                   : copyAhead(step, ahead, end);
    }
  }

  /// A step that waits for the first tokens. Returns the state for the next one.
  CopiesAhead copyAhead(Step step, CopiesAhead ahead, Value end) {
    Location loc = step.scores.getLoc();
    auto keys = step.scores.getRhs().getDefiningOp<memref::SubViewOp>();
    Value values = step.values.getRhs();
    // Copies of K and V alternate, so `pending` copies are younger than the awaited one.
    int64_t stages = tiles.stages, pending = 2 * (stages - 1);
    b.setInsertionPoint(step.scores);
    tiles.readTile(step.scores, getStage(b, tiles.key, ahead.stage));
    tiles.readTile(step.values, getStage(b, tiles.value, ahead.stage));
    // K has arrived, and all reads of the previous V are done.
    b.setInsertionPoint(step.scores);
    WaitOp::create(b, loc, ValueRange{tiles.queryToken, ahead.keys.front()}, pending);
    if (tiles.key == tiles.value) {
      b.setInsertionPointAfter(step.values);
      WaitOp::create(b, loc, /*tokens=*/ValueRange(), /*pending=*/0);
      if (Value next = copyKeysAfter(step.scores, keys, narrow(getBegin(step.scores, keys)),
                                     keys.getMixedSizes()[*tiles.getKeyDim(step.scores)], end, ahead.stage))
        ahead.keys.front() = next;
      return ahead;
    }
    ahead.values.push_back(
        stages == 1
            ? tiles.copyRows(step.values, values, tiles.value)
            : copyKeysAfter(step.values, values.getDefiningOp<memref::SubViewOp>(), narrow(getBegin(step.scores, keys)),
                            b.getIndexAttr((stages - 1) * tiles.keyTile), end, getStageAfter(ahead.stage, -1)));
    // V has arrived, and all reads of this K are done.
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
