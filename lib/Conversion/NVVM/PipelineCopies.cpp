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

#include "PipelineCopies.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Decompose.h"
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

/// The products of a step, in one block.
struct Step {
  ProductOp scores, values;
};

/// More than any position (attn-select-schedule refuses longer dimensions), and no more than 32 bits hold.
constexpr int64_t kBeyondPositions = int64_t(1) << 29;

/// The dimension of K's memref that keys are, by its map; nothing where it has none.
std::optional<unsigned> getKeyDim(ProductOp product, AffineMap map) {
  AffineExpr key = getAffineDimExpr(getDomainPosition(product, DimKind::Key), product.getContext());
  auto results = map.getResults();
  auto *found = llvm::find(results, key);
  return found == results.end() ? std::nullopt : std::optional<unsigned>(found - results.begin());
}

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
  CopyPlacement(IRRewriter &rewriter, gpu::GPUFuncOp kernel)
      : b(rewriter), kernel(kernel), schedule(kernel->getAttrOfType<BlockAttr>(kScheduleAttr)) {}

  LogicalResult run() {
    if (failed(findSteps()))
      return failure();
    // A kernel of rows alone, or one whose tiles are there already.
    if (steps.empty() || isInSharedMemory(steps.front().scores.getLhs()))
      return success();
    if (failed(createTiles()))
      return failure();
    std::optional<KeyOrder> order = findOrder();
    if (order) {
      pipeline(*order);
      return success();
    }
    moveBuffers();
    for (Step step : steps)
      fillTiles(step);
    return success();
  }

private:
  LogicalResult findSteps() {
    WalkResult result = kernel.walk([&](ProductOp product) {
      if (product.getContraction() == Contraction::Values)
        return WalkResult::advance();
      for (Operation *op = product->getNextNode(); op; op = op->getNextNode())
        if (auto values = dyn_cast<ProductOp>(op); values && values.getContraction() == Contraction::Values) {
          steps.push_back({product, values});
          return WalkResult::advance();
        }
      return WalkResult(product.emitOpError("expected a product of values behind it; run attn-decompose-step"));
    });
    return failure(result.wasInterrupted());
  }

  Value createTile(ArrayRef<int64_t> shape, Type elementType) {
    return createSharedTile(b, kernel.getLoc(), shape, elementType);
  }

  /// Q, K and V of all steps. Q is copied where it was packed.
  LogicalResult createTiles() {
    Step step = steps.front();
    Value packed = getRoot(step.scores.getLhs());
    if (!isBuffer(packed.getDefiningOp()))
      return step.scores.emitOpError("expected Q in a tile of its own; run attn-tile");
    auto queryType = cast<MemRefType>(packed.getType());
    unsigned numBatch = getNumBatchDims(step.scores);
    auto getShape = [&](ProductOp product, DimKind columns) {
      SmallVector<int64_t> shape(numBatch, 1);
      shape.append({schedule.getKeyTile(), getStaticSize(product, columns)});
      return shape;
    };
    b.setInsertionPointToStart(&kernel.getBody().front());
    elementType = queryType.getElementType();
    query = createTile(queryType.getShape(), elementType);
    key = createTile(getShape(step.scores, DimKind::HeadSize), elementType);
    value = createTile(getShape(step.values, DimKind::ValueSize), elementType);
    for (Step other : steps)
      if (getRoot(other.scores.getLhs()) != packed)
        return other.scores.emitOpError("expected the tile of Q that the other products of the kernel have");
    moveBuffer(packed, query);
    if (fills.size() != 1)
      return step.scores.emitOpError("expected Q to be packed once, found ") << fills.size() << " times";
    queryToken = cast<CopyOp>(fills.pop_back_val()).getToken();
    return success();
  }

  Value getPart(Value tile, ArrayRef<OpFoldResult> sizes) { return getPartOfTile(b, kernel.getLoc(), tile, sizes); }

  /// What reads and writes `buffer` has `tile` instead; packs become copies.
  void moveBuffer(Value buffer, Value tile) {
    replaceFills(buffer, tile);
    nvvm::moveBuffer(b, buffer, tile);
  }

  void replaceFills(Value memref, Value tile) {
    for (Operation *user : llvm::make_early_inc_range(memref.getUsers())) {
      if (auto view = dyn_cast<memref::SubViewOp>(user))
        replaceFills(view, tile);
      auto pack = dyn_cast<PackOp>(user);
      bool isGather = isa<GatherPagesOp>(user);
      b.setInsertionPoint(user);
      // Whoever reads what the tile held has to be done. Q is the first of all.
      if (isGather || (pack && tile != query))
        gpu::BarrierOp::create(b, user->getLoc());
      if (isGather)
        fills.push_back(user);
      if (!pack)
        continue;
      // Rows beyond those of the input become 0, to the end of the tile.
      fills.push_back(CopyOp::create(b, pack.getLoc(), pack.getInput(), tile, /*lse=*/Value(), /*first=*/Value(),
                                     pack.getMapsAttr()));
      b.eraseOp(pack);
    }
  }

  //===--------------------------------------------------------------------===//
  // Copies
  //===--------------------------------------------------------------------===//

  /// Starts the copy of K or V of `product`, or another view of the same, to its tile; the product then reads that.
  Value copyRows(ProductOp product, Value view, Value tile, Value first = {}) {
    unsigned numBatch = getNumBatchDims(product);
    DimKind columns = product.getContraction() == Contraction::Scores ? DimKind::HeadSize : DimKind::ValueSize;
    auto kept = llvm::to_vector(llvm::seq<unsigned>(0, numBatch));
    kept.append({getDomainPosition(product, DimKind::Key), getDomainPosition(product, columns)});
    ArrayAttr maps = b.getAffineMapArrayAttr(
        {restrictDomain(operandMaps.lookup(product), kept), getTileMap(numBatch, numBatch + 2)});
    return CopyOp::create(b, product.getLoc(), view, tile, /*lse=*/Value(), first, maps);
  }

  /// (batch…, row, column) -> (0, …, row, column), the last two at `row` and behind it of `numDims`.
  AffineMap getTileMap(unsigned numBatch, unsigned numDims, std::optional<std::pair<unsigned, unsigned>> at = {}) {
    SmallVector<AffineExpr> results(numBatch, b.getAffineConstantExpr(0));
    auto [row, column] = at.value_or(std::pair(numBatch, numBatch + 1));
    results.append({b.getAffineDimExpr(row), b.getAffineDimExpr(column)});
    return AffineMap::get(numDims, 0, results, b.getContext());
  }

  /// The product reads its tile; where its keys were is remembered.
  void readTile(ProductOp product, Value tile) {
    SmallVector<AffineMap> maps = getMaps(product);
    unsigned numBatch = getNumBatchDims(product);
    DimKind columns = product.getContraction() == Contraction::Scores ? DimKind::HeadSize : DimKind::ValueSize;
    unsigned keyPosition = getDomainPosition(product, DimKind::Key);
    operandMaps[product] = maps[1];
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(product);
    OpFoldResult count = getDomainSizes(b, product)[keyPosition];
    SmallVector<OpFoldResult> sizes(numBatch, b.getIndexAttr(1));
    sizes.append({count, b.getIndexAttr(getStaticSize(product, columns))});
    maps[1] = getTileMap(numBatch, maps[1].getNumDims(), std::pair(keyPosition, getDomainPosition(product, columns)));
    product.getRhsMutable().assign(getPart(tile, sizes));
    product.setMapsAttr(b.getAffineMapArrayAttr(maps));
  }

  /// Where K and V were packed or gathered into buffers, the tiles take their place. Steps may share a buffer.
  void moveBuffers() {
    for (Step step : steps)
      for (auto [operand, tile] : {std::pair(step.scores.getRhs(), key), std::pair(step.values.getRhs(), value)}) {
        Value root = getRoot(operand);
        if (isBuffer(root.getDefiningOp()) && root != tile)
          moveBuffer(root, tile);
      }
  }

  /// Each step fills the tiles at its start.
  void fillTiles(Step step) {
    Location loc = step.scores.getLoc();
    Value keys = step.scores.getRhs(), values = step.values.getRhs();
    SmallVector<Value> arrived = {queryToken};
    bool isGathered = false;
    // What fills a tile in front of this step, and of no other before.
    llvm::erase_if(fills, [&](Operation *fill) {
      Operation *ancestor = fill->getBlock()->findAncestorOpInBlock(*step.scores);
      if (!ancestor || !fill->isBeforeInBlock(ancestor))
        return false;
      if (auto copy = dyn_cast<CopyOp>(fill))
        arrived.push_back(copy.getToken());
      isGathered |= isa<GatherPagesOp>(fill);
      return true;
    });
    bool copiesKeys = getRoot(step.scores.getRhs()) != key;
    bool copiesValues = getRoot(step.values.getRhs()) != value;
    b.setInsertionPoint(step.scores);
    // Whoever reads the last tiles has to be done.
    if (copiesKeys || copiesValues)
      gpu::BarrierOp::create(b, loc);
    if (copiesKeys) {
      readTile(step.scores, key);
      arrived.push_back(copyRows(step.scores, keys, key));
    }
    Value token;
    if (copiesValues) {
      readTile(step.values, value);
      token = copyRows(step.values, values, value);
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
    for (Step step : steps) {
      auto loop = dyn_cast<scf::ForOp>(step.scores->getParentOp());
      bool isInOrder = step.scores->getBlock() == &body || (loop && loop->getBlock() == &body);
      auto view = step.scores.getRhs().getDefiningOp<memref::SubViewOp>();
      if (!isInOrder || !view || !getKeyDim(step.scores, getMaps(step.scores)[1]) ||
          isBuffer(getRoot(view).getDefiningOp()) || isBuffer(getRoot(step.values.getRhs()).getDefiningOp()) ||
          view.getType().getElementType() != elementType || view.getSourceType().getRank() != view.getType().getRank())
        return std::nullopt;
    }
    KeyOrder order;
    order.first = body.findAncestorOpInBlock(*steps.front().scores);
    b.setInsertionPoint(order.first);
    // Where the keys end: where the last loop does, or after the last step.
    ProductOp last = steps.back().scores;
    unsigned lastDim = *getKeyDim(last, getMaps(last)[1]);
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
    ProductOp product = steps.front().scores;
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
    return toValue(view.getMixedOffsets()[*getKeyDim(product, operandMaps.lookup(product))]);
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
    unsigned dim = *getKeyDim(product, operandMaps.lookup(product));
    Location loc = product.getLoc();
    SmallVector<OpFoldResult> sizes = view.getMixedSizes();
    Value rest = b.createOrFold<arith::SubIOp>(loc, end, begin);
    sizes[dim] = getAsOpFoldResult(b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), rest));
    std::optional<int64_t> left = getConstantIntValue(sizes[dim]), less = getConstantIntValue(skipped);
    if (left && less && *left <= *less)
      return {};
    Value keys =
        memref::SubViewOp::create(b, loc, view.getSource(), view.getMixedOffsets(), sizes, view.getMixedStrides());
    return copyRows(product, keys, key, toValue(skipped));
  }

  void pipeline(const KeyOrder &order) {
    for (Step step : steps) {
      views[step.scores] = step.scores.getRhs();
      views[step.values] = step.values.getRhs();
      readTile(step.scores, key);
      readTile(step.values, value);
    }
    b.setInsertionPoint(order.first);
    Value end = narrowAny(order.end);
    ProductOp product = steps.front().scores;
    auto firstKeys = order.firstKeys.getDefiningOp<memref::SubViewOp>();
    Value token = copyKeysAfter(product, firstKeys, narrowAny(getBegin(product, firstKeys)), b.getIndexAttr(0), end);
    if (!token) // loops without rounds
      token = queryToken;
    for (size_t i = 0; i < steps.size(); ++i) {
      auto loop = dyn_cast<scf::ForOp>(steps[i].scores->getParentOp());
      if (!loop || loop->getBlock() != &kernel.getBody().front()) {
        token = copyAhead(steps[i], token, end);
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
      for (; i < steps.size() && steps[i].scores->getParentOp() == carried; ++i)
        next = copyAhead(steps[i], next, end);
      --i;
      carried.getBody()->getTerminator()->setOperand(carried.getNumRegionIterArgs() - 1, next);
      token = carried.getResults().back();
    }
  }

  /// A step whose keys are those of `token`. The token of the next one's.
  Value copyAhead(Step step, Value token, Value end) {
    Location loc = step.scores.getLoc();
    auto view = views.lookup(step.scores).getDefiningOp<memref::SubViewOp>();
    unsigned dim = *getKeyDim(step.scores, operandMaps.lookup(step.scores));
    // K is there, and whoever reads the last V is done.
    b.setInsertionPoint(step.scores);
    WaitOp::create(b, loc, ValueRange{queryToken, token});
    Value values = copyRows(step.values, views.lookup(step.values), value);
    // V is there, and whoever reads this K is done.
    b.setInsertionPointAfter(step.scores);
    WaitOp::create(b, loc, values);
    Value ahead = copyKeysAfter(step.scores, view, narrow(getBegin(step.scores, view)), view.getMixedSizes()[dim], end);
    return ahead ? ahead : token;
  }

  IRRewriter &b;
  gpu::GPUFuncOp kernel;
  BlockAttr schedule;
  Type elementType;
  SmallVector<Step> steps;
  Value query, key, value, queryToken;                ///< tiles in shared memory; the copy of Q, which is one
  SmallVector<Operation *> fills;                     ///< of the tiles by packs and gathers, which no step has yet
  llvm::DenseMap<Operation *, AffineMap> operandMaps; ///< of K and V in global memory
  llvm::DenseMap<Operation *, Value> views;
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
