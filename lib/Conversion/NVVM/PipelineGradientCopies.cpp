//===- PipelineGradientCopies.cpp - copies of the tiles of gradients ------===//
//
// The part of attn-pipeline-copies that is about kernels of gradients. The tiles
// of a block's rows are copied once; those of columns in front of each step, which
// waits for the first product's operands, and for the second's behind it:
//
//   each tile n:  A(n), B(n) → | wait A | S | wait B | dP | gradients | sums
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PipelineCopies.h"
#include "attn/IR/ScoreFunctions.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

namespace {

/// The products of a step of gradients.
struct GradientStep {
  ScoreGradientsOp gradients;
  ProductOp scores, weights; ///< s and dw; the second may be missing
  SmallVector<ProductOp> sums;
};

class GradientCopies {
public:
  GradientCopies(IRRewriter &rewriter, gpu::GPUFuncOp kernel) : b(rewriter), kernel(kernel) {}

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
    for (GradientStep &step : steps)
      if (failed(placeColumns(step)))
        return failure();
    return success();
  }

private:
  /// The product in front of `op`, in its block, that writes `tile`.
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
      if (auto product = dyn_cast<ProductOp>(next); product && product.getContraction() == Contraction::Values)
        step.sums.push_back(product);
    return step;
  }

  /// The pack in front of `op`, in its block, that fills `tile`.
  static PackOp findPack(Operation *op, Value tile) {
    for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
      if (auto pack = dyn_cast<PackOp>(before); pack && getRoot(pack.getOutput()) == tile)
        return pack;
    return {};
  }

  LogicalResult placeRows(ProductOp product) {
    Value buffer = getRoot(product.getLhs());
    Operation *ancestor = kernel.getBody().front().findAncestorOpInBlock(*product);
    PackOp pack = isBuffer(buffer.getDefiningOp()) ? findPack(ancestor, buffer) : PackOp();
    if (!pack)
      return product.emitOpError("expected the rows of its block in a tile of their own; run attn-tile");
    auto type = cast<MemRefType>(buffer.getType());
    Value tile = createTile(type.getShape(), type.getElementType());
    b.setInsertionPoint(pack);
    rowTokens.push_back(CopyOp::create(b, pack.getLoc(), pack.getInput(), tile, /*lse=*/Value(), /*first=*/Value(),
                                       pack.getMapsAttr()));
    b.eraseOp(pack);
    moveBuffer(b, buffer, tile);
    return success();
  }

  /// The tile of `product`'s columns: steps may share buffers, and do share tiles.
  Value placeBuffer(ProductOp product, ArrayRef<Value> taken) {
    Value buffer = getRoot(product.getRhs());
    if (isInSharedMemory(buffer) || !isBuffer(buffer.getDefiningOp()))
      return buffer;
    auto type = cast<MemRefType>(buffer.getType());
    // A buffer has as many rows as there are; a tile those of the schedule.
    SmallVector<int64_t> shape(type.getShape());
    shape[shape.size() - 2] = kernel->getAttrOfType<BlockAttr>(kScheduleAttr).getKeyTile();
    auto *free = llvm::find_if(columnTiles, [&](Value tile) {
      return cast<MemRefType>(tile.getType()).getShape() == ArrayRef(shape) && !llvm::is_contained(taken, tile);
    });
    Value tile = free == columnTiles.end() ? createTile(shape, type.getElementType()) : *free;
    if (free == columnTiles.end())
      columnTiles.push_back(tile);
    moveBuffer(b, buffer, tile);
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
    // The views of this step are in front of its first product.
    b.setInsertionPoint(step.scores);
    gpu::BarrierOp::create(b, loc); // whoever reads the last tiles is done
    for (Value tile : tiles) {
      PackOp pack = isInSharedMemory(tile) ? findPack(step.scores, tile) : PackOp();
      if (!pack)
        return step.gradients->emitOpError("expected its columns in tiles of their own; run attn-tile");
      b.setInsertionPoint(step.scores);
      tokens.push_back(copyColumns(step.gradients, pack, tile));
      b.eraseOp(pack);
    }
    b.setInsertionPoint(step.scores);
    SmallVector<Value> first = rowTokens;
    first.push_back(tokens[0]);
    WaitOp::create(b, loc, first, tokens.size() - 1);
    if (tokens.size() > 1) {
      b.setInsertionPointAfter(step.scores);
      WaitOp::create(b, loc, tokens.back());
    }
    return success();
  }

  /// Where columns are queries and a row may be without keys, what Q and dO hold of it is not read.
  Value copyColumns(ScoreGradientsOp op, PackOp pack, Value tile) {
    unsigned numBatch = getNumBatchDims(op);
    AffineMap scores = attn::getMaps(op)[0];
    auto getPlace = [&](unsigned position) { return *scores.getResultPosition(b.getAffineDimExpr(position)); };
    bool areQueries = getPlace(numBatch + 1) < getPlace(numBatch);
    SmallVector<AffineMap> maps = attn::getMaps(pack);
    Value lse;
    if (areQueries && ScoreFunctions::of(op).mayRemove()) {
      lse = op.getLse();
      // From the domain (batch…, query, key) to (batch…, row, column).
      maps.push_back(attn::getMaps(op)[1]);
    }
    return CopyOp::create(b, pack.getLoc(), pack.getInput(), tile, lse, /*first=*/Value(),
                          b.getAffineMapArrayAttr(maps));
  }

  Value createTile(ArrayRef<int64_t> shape, Type elementType) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    return createSharedTile(b, kernel.getLoc(), shape, elementType);
  }

  IRRewriter &b;
  gpu::GPUFuncOp kernel;
  SmallVector<Value> rowTokens, columnTiles;
};

} // namespace

LogicalResult attn::nvvm::placeGradientCopies(IRRewriter &rewriter, gpu::GPUFuncOp kernel) {
  return GradientCopies(rewriter, kernel).run();
}
