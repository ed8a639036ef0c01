//===- PipelineGradientCopies.cpp - copies of the tiles of gradients ------===//
//
// The part of attn-pipeline-copies for gradient kernels. Tiles of the block's rows are copied once, or in each
// iteration of a loop over them. Tiles of columns are copied before each step. The step waits for the operands of the
// first product, and after it for those of the second:
//
//   each tile n:  A(n), B(n) → | wait A | S | wait B | dP | gradients | sums
//
// With two stages, a loop copies one tile ahead. Its steps wait once:
//
//   A(0), B(0) →
//   each tile n:  wait A(n), B(n) | A(n + 1), B(n + 1) → | S | dP | gradients | sums
//
// Where a producer copies, tiles have one stage here, and attn-specialize-warps makes the copies run ahead.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PipelineCopies.h"
#include "attn/IR/LoopAttrs.h"
#include "attn/IR/ScoreFunctions.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

namespace {

/// The products of a step of gradients.
struct GradientStep {
  ScoreGradientsOp gradients;
  ProductOp scores, weights; ///< s and dw; dw may be null
  SmallVector<ProductOp> sums;
};

/// Slices of an iteration: the inputs of the packs, and lse, where rows without keys are not read.
struct ColumnSlices {
  SmallVector<Value> inputs;
  Value lse;
};

/// The copies of each iteration of a loop over columns.
struct ColumnLoop {
  scf::ForOp loop;
  SmallVector<ColumnOperand> operands;
  std::optional<unsigned> lseDim;
  ColumnSlices first, current; ///< of the first iteration, before the loop, and of any
};

class GradientCopies {
public:
  GradientCopies(IRRewriter &rewriter, gpu::GPUFuncOp kernel)
      : b(rewriter), kernel(kernel), schedule(kernel->getAttrOfType<BlockAttr>(kScheduleAttr)),
        stages(schedule.getProducer() ? 1 : schedule.getStages()) {}

  LogicalResult run() {
    SmallVector<GradientStep> steps;
    WalkResult found = kernel.walk([&](ScoreGradientsOp op) {
      FailureOr<GradientStep> step = findStep(op);
      if (failed(step))
        return WalkResult::interrupt();
      steps.push_back(*step);
      return WalkResult::advance();
    });
    if (found.wasInterrupted())
      return failure();
    if (isInSharedMemory(steps.front().scores.getLhs()))
      return success();
    for (ProductOp product : {steps.front().scores, steps.front().weights})
      if (product && failed(placeRows(product)))
        return failure();
    Operation *lastCopy = rowTokens.back().getDefiningOp();
    if (lastCopy->getParentOp() != kernel) { // an iteration may have no columns, and thus no first step that waits
      b.setInsertionPointAfter(lastCopy);
      WaitOp::create(b, lastCopy->getLoc(), rowTokens);
      rowTokens.clear();
    }
    for (GradientStep &step : steps)
      if (failed(placeColumns(step)))
        return failure();
    return success();
  }

private:
  /// The product before `op`, in its block, that writes `tile`.
  static ProductOp findProduct(ScoreGradientsOp op, Value tile) {
    for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
      if (auto product = dyn_cast<ProductOp>(before); product && product.getOutput() == tile)
        return product;
    return {};
  }

  FailureOr<GradientStep> findStep(ScoreGradientsOp op) {
    GradientStep step{op, findProduct(op, op.getScores()), {}, {}};
    if (op.getDweights())
      step.weights = findProduct(op, op.getDweights());
    if (!step.scores || (op.getDweights() && !step.weights))
      return op.emitOpError("expected the products of its scores in front of it; run attn-decompose-step");
    for (Operation *next = op->getNextNode(); next && !isa<ScoreGradientsOp>(next); next = next->getNextNode())
      if (auto product = dyn_cast<ProductOp>(next); product && product.getContraction() == Contraction::Values &&
                                                    getRoot(product.getRhs()) != getRoot(step.scores.getLhs()))
        step.sums.push_back(product); // with columns: the rows are copied with those of the scores

    return step;
  }

  /// The pack before `op`, in its block, that fills `tile`.
  static PackOp findPack(Operation *op, Value tile) {
    for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
      if (auto pack = dyn_cast<PackOp>(before); pack && getRoot(pack.getOutput()) == tile)
        return pack;
    return {};
  }

  LogicalResult placeRows(ProductOp product) {
    Value buffer = getRoot(product.getLhs());
    PackOp pack;
    if (isBuffer(buffer.getDefiningOp()))
      for (Operation *op = product; !pack && op != kernel; op = op->getParentOp())
        pack = findPack(op, buffer);
    if (!pack)
      return product.emitOpError("expected the rows of its block in a tile of their own; run attn-tile");
    auto type = cast<MemRefType>(buffer.getType());
    Value tile = createTile(type.getShape(), type.getElementType());
    b.setInsertionPoint(pack);
    if (pack->getParentOp() != kernel)
      gpu::BarrierOp::create(b, pack.getLoc()); // all reads of the last rows are done
    rowTokens.push_back(CopyOp::create(b, pack.getLoc(), pack.getInput(), tile, /*lse=*/Value(), /*first=*/Value(),
                                       pack.getMapsAttr()));
    b.eraseOp(pack);
    moveBuffer(b, buffer, tile);
    return success();
  }

  /// The tile of `product`'s columns. Steps may share buffers, and do share tiles.
  Value placeBuffer(ProductOp product, ArrayRef<Value> taken) {
    Value buffer = getRoot(product.getRhs());
    if (isInSharedMemory(buffer) || !isBuffer(buffer.getDefiningOp()))
      return buffer;
    auto type = cast<MemRefType>(buffer.getType());
    // A buffer may be shorter; a tile has the rows of the schedule.
    SmallVector<int64_t> shape(type.getShape());
    shape[shape.size() - 2] = schedule.getKeyTile();
    if (stages > 1)
      shape.insert(shape.begin(), stages);
    auto *free = llvm::find_if(columnTiles, [&](Value tile) {
      return cast<MemRefType>(tile.getType()).getShape() == ArrayRef(shape) && !llvm::is_contained(taken, tile);
    });
    Value tile = free == columnTiles.end() ? createTile(shape, type.getElementType()) : *free;
    if (free == columnTiles.end())
      columnTiles.push_back(tile);
    b.setInsertionPointAfter(tile.getDefiningOp());
    moveBuffer(b, buffer, getFirstStage(tile));
    return tile;
  }

  LogicalResult placeColumns(GradientStep &step) {
    Location loc = step.gradients.getLoc();
    SmallVector<Value> tiles, tokens;
    SmallVector<ProductOp> products = {step.scores};
    if (step.weights)
      products.push_back(step.weights);
    llvm::append_range(products, step.sums);
    for (ProductOp product : products)
      if (Value tile = placeBuffer(product, tiles); !llvm::is_contained(tiles, tile))
        tiles.push_back(tile);
    SmallVector<PackOp> packs;
    for (Value tile : tiles) {
      packs.push_back(isInSharedMemory(tile) ? findPack(step.scores, tile) : PackOp());
      if (!packs.back())
        return step.gradients->emitOpError("expected its columns in tiles of their own; run attn-tile");
    }
    if (stages > 1 && copyAhead(step, products, tiles, packs))
      return success();
    // The views of this step are defined before its first product.
    b.setInsertionPoint(step.scores);
    gpu::BarrierOp::create(b, loc); // all reads of the last tiles are done
    for (auto [tile, pack] : llvm::zip_equal(tiles, packs)) {
      tokens.push_back(CopyOp::create(b, pack.getLoc(), pack.getInput(), getFirstStage(tile),
                                      readsLse(step.gradients) ? step.gradients.getLse() : Value(), /*first=*/Value(),
                                      getCopyMaps(step.gradients, pack)));
      b.eraseOp(pack);
    }
    SmallVector<Value> first = rowTokens;
    first.push_back(tokens[0]);
    waitInTurn(b, step.scores, first, tokens.size() > 1 ? tokens.back() : Value());
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Copies ahead
  //===--------------------------------------------------------------------===//

  Value getConstant(int64_t number) { return arith::ConstantIndexOp::create(b, kernel.getLoc(), number); }

  Value getFirstStage(Value tile) { return getStage(b, tile, stages > 1 ? getConstant(0) : Value()); }

  /// The dimension of a view for dimension `position` of the domain, by its map.
  static std::optional<unsigned> findDim(Value view, AffineMap map, unsigned position) {
    auto slice = view.getDefiningOp<memref::SubViewOp>();
    if (!slice || slice.getSourceType().getRank() != slice.getType().getRank())
      return std::nullopt;
    return map.getResultPosition(getAffineDimExpr(position, map.getContext()));
  }

  /// Returns nothing, and inserts no copy, where the step is not in a loop over consecutive columns.
  std::optional<ColumnLoop> findLoop(ScoreGradientsOp op, ArrayRef<Value> tiles, ArrayRef<PackOp> packs) {
    ColumnLoop columns;
    scf::ForOp loop = columns.loop = dyn_cast<scf::ForOp>(op->getParentOp());
    if (!loop || !loop->hasAttr(kConsecutiveAttr))
      return std::nullopt;
    unsigned numBatch = getNumBatchDims(op);
    b.setInsertionPoint(loop);
    if (readsLse(op)) {
      columns.current.lse = op.getLse();
      columns.lseDim = findDim(op.getLse(), attn::getMaps(op)[1], numBatch);
      columns.first.lse = cloneFor(b, op.getLse(), loop, loop.getLowerBound());
      if (!columns.lseDim || !columns.first.lse)
        return std::nullopt;
    }
    for (auto [tile, constPack] : llvm::zip_equal(tiles, packs)) {
      PackOp pack = constPack;
      std::optional<unsigned> dim = findDim(pack.getInput(), attn::getMaps(pack)[0], numBatch);
      columns.current.inputs.push_back(pack.getInput());
      columns.first.inputs.push_back(cloneFor(b, pack.getInput(), loop, loop.getLowerBound()));
      if (!dim || !columns.first.inputs.back())
        return std::nullopt;
      columns.operands.push_back({tile, getCopyMaps(op, pack), *dim});
    }
    return columns;
  }

  /// Starts the copies into `stage` of all columns from `begin` on, without the first `skipped` ones.
  SmallVector<Value> copyAll(const ColumnLoop &columns, const ColumnSlices &slices, Value begin, int64_t skipped,
                             Value stage) {
    scf::ForOp loop = columns.loop;
    Value rest = arith::SubIOp::create(b, loop.getLoc(), loop.getUpperBound(), begin);
    // In an empty loop, run-time offsets may make this negative.
    rest = arith::MaxSIOp::create(b, loop.getLoc(), rest, getConstant(0));
    Value lse = slices.lse ? resizeView(b, slices.lse, *columns.lseDim, rest) : Value(), first = getConstant(skipped);
    SmallVector<Value> tokens;
    for (auto [operand, input] : llvm::zip_equal(columns.operands, slices.inputs))
      tokens.push_back(copyColumns(b, operand, input, rest, first, stage, lse));
    return tokens;
  }

  /// Copies the columns of the next iteration while those of this one are multiplied. Returns false without such a
  /// loop.
  bool copyAhead(GradientStep &step, ArrayRef<ProductOp> products, ArrayRef<Value> tiles, ArrayRef<PackOp> packs) {
    Location loc = step.gradients.getLoc();
    std::optional<ColumnLoop> columns = findLoop(step.gradients, tiles, packs);
    if (!columns)
      return false;
    scf::ForOp &loop = columns->loop;
    gpu::BarrierOp::create(b, loc); // all reads of the last tiles are done
    Value zero = getConstant(0);
    SmallVector<Value> carried = copyAll(*columns, columns->first, loop.getLowerBound(), 0, zero);
    carried.push_back(zero);
    carry(b, loop, carried, [&](ValueRange arguments) {
      Value stage = arguments.back();
      b.setInsertionPoint(step.scores);
      // The copies have arrived, and all reads of those of the previous iteration are done.
      SmallVector<Value> awaited = rowTokens;
      llvm::append_range(awaited, arguments.drop_back());
      WaitOp::create(b, loc, awaited);
      Value other = arith::SubIOp::create(b, loc, getConstant(1), stage);
      SmallVector<Value> next =
          copyAll(*columns, columns->current, loop.getInductionVar(), schedule.getKeyTile(), other);
      next.push_back(other);
      for (ProductOp product : products) {
        Value tile = getRoot(product.getRhs());
        SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, loc, product.getRhs());
        product.getRhsMutable().assign(getPartOfTile(b, loc, getStage(b, tile, stage), sizes));
      }
      return next;
    });
    for (PackOp pack : packs)
      b.eraseOp(pack);
    return true;
  }

  /// True where columns are queries and a row may have no keys: its Q and dO are not read.
  static bool readsLse(ScoreGradientsOp op) { return op.hasKeyRows() && ScoreFunctions::of(op).mayRemove(); }

  /// The maps of attn.copy for the input of `pack`.
  ArrayAttr getCopyMaps(ScoreGradientsOp op, PackOp pack) {
    SmallVector<AffineMap> maps = attn::getMaps(pack);
    if (readsLse(op)) // from the domain (batch…, query, key) to (batch…, row, column)
      maps.push_back(attn::getMaps(op)[1]);
    return b.getAffineMapArrayAttr(maps);
  }

  Value createTile(ArrayRef<int64_t> shape, Type elementType) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    return createSharedTile(b, kernel.getLoc(), shape, elementType);
  }

  IRRewriter &b;
  gpu::GPUFuncOp kernel;
  BlockAttr schedule;
  int64_t stages; ///< of a tile in the IR
  SmallVector<Value> rowTokens, columnTiles;
};

} // namespace

LogicalResult attn::nvvm::placeGradientCopies(IRRewriter &rewriter, gpu::GPUFuncOp kernel) {
  return GradientCopies(rewriter, kernel).run();
}
