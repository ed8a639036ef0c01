//===- ColumnCopies.cpp - copies ahead of a loop over column tiles --------===//
//
// Columns are the keys of a query tile (K and V), or the queries of a key tile (Q and dO). A copy fills a stage of a
// tile some iterations ahead. Its token and the stage index are carried by the loop. Forward kernels and gradients
// decide where each copy stands (PipelineCopies.cpp, PipelineGradientCopies.cpp).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PipelineCopies.h"
#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

Value attn::nvvm::getStage(OpBuilder &b, Value tile, Value stage) {
  if (!stage)
    return tile;
  auto type = cast<MemRefType>(tile.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)), strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = getAsIndexOpFoldResult(b.getContext(), type.getShape());
  offsets[0] = getAsOpFoldResult(stage);
  sizes[0] = b.getIndexAttr(1);
  auto view =
      memref::SubViewOp::inferRankReducedResultType(type.getShape().drop_front(), type, offsets, sizes, strides);
  return memref::SubViewOp::create(b, tile.getLoc(), view, tile, offsets, sizes, strides);
}

Value attn::nvvm::cloneFor(OpBuilder &b, Value value, scf::ForOp loop, Value induction) {
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

Value attn::nvvm::resizeView(OpBuilder &b, Value slice, unsigned dim, OpFoldResult size) {
  auto view = slice.getDefiningOp<memref::SubViewOp>();
  SmallVector<OpFoldResult> sizes = view.getMixedSizes();
  sizes[dim] = size;
  return memref::SubViewOp::create(b, view.getLoc(), view.getSource(), view.getMixedOffsets(), sizes,
                                   view.getMixedStrides());
}

Value attn::nvvm::copyColumns(OpBuilder &b, const ColumnOperand &operand, Value slice, OpFoldResult count,
                              Value skipped, Value stage, Value lse) {
  Value rows = resizeView(b, slice, operand.rowDim, count);
  return CopyOp::create(b, slice.getLoc(), rows, getStage(b, operand.tile, stage), lse, skipped, operand.maps);
}

void attn::nvvm::waitInTurn(OpBuilder &b, ProductOp scores, ValueRange first, Value second) {
  WaitOp::create(b, scores.getLoc(), first, second ? 1 : 0);
  if (!second)
    return;
  b.setInsertionPointAfter(scores);
  WaitOp::create(b, scores.getLoc(), second);
}

ValueRange attn::nvvm::carry(RewriterBase &b, scf::ForOp &loop, ValueRange inits,
                             function_ref<SmallVector<Value>(ValueRange)> round) {
  auto yieldSame = [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
    return llvm::to_vector_of<Value>(arguments);
  };
  loop = cast<scf::ForOp>(loop.replaceWithAdditionalYields(b, inits, /*replaceInitOperandUsesInLoop=*/false, yieldSame)
                              ->getOperation()); // cannot fail
  size_t count = inits.size();
  SmallVector<Value> next = round(ValueRange(loop.getRegionIterArgs()).take_back(count));
  Operation *yield = loop.getBody()->getTerminator();
  yield->setOperands(yield->getNumOperands() - count, count, next);
  return loop.getResults().take_back(count);
}
