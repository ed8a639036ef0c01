//===- KeyPipeline.cpp - copies of K and V while others are multiplied ----===//
//
// One buffer for K and one for V are enough to have a copy under way all the
// time (FlashAttention-2, Dao, arXiv:2307.08691):
//
//   K(0) →
//   each tile n:  wait K(n) | V(n) → | S = Q K^T | wait V(n) | K(n + 1) → | softmax | P V
//
// Key tiles follow each other: the next one begins where this one ends, whatever
// loop has it, up to the end of the last. Where tiles may be skipped (block
// maps), or rows come from pages, each step copies its own.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// More than any position (attn-select-schedule refuses longer dimensions), and no more than 32 bits hold.
static constexpr int64_t kBeyondPositions = int64_t(1) << 29;

/// The dimension of K's memref that keys are; nothing where it has none.
static std::optional<unsigned> getKeyDim(OnlineStepOp step) {
  AffineExpr key = getAffineDimExpr(getNumBatchDims(step) + 1, step.getContext());
  auto results = getMaps(step)[1].getResults();
  auto *found = llvm::find(results, key);
  return found == results.end() ? std::nullopt : std::optional<unsigned>(found - results.begin());
}

/// Builds `value`, computed in `loop` from its induction variable, for another one, in front of the builder's position.
static Value cloneFor(OpBuilder &b, Value value, scf::ForOp loop, Value induction) {
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

/// A bound of a loop over keys as an i32. Offsets of a call take it anywhere, where the loop is empty: beyond all keys,
/// or below 0, it is as good at the nearest position.
static Value narrowPosition(WarpBuilder &wb, OpFoldResult position) {
  if (getConstantIntValue(position))
    return wb.fromIndex(position);
  Value wide = wb.fromIndex(position, 64);
  wide = arith::MinSIOp::create(wb.b, wb.loc, wide, wb.constant64(kBeyondPositions));
  wide = arith::MaxSIOp::create(wb.b, wb.loc, wide, wb.constant64(0));
  return arith::TruncIOp::create(wb.b, wb.loc, wb.b.getI32Type(), wide);
}

std::optional<KeyPipeline> KeyPipeline::plan(WarpBuilder &wb, gpu::GPUFuncOp kernel, ArrayRef<OnlineStepOp> steps) {
  if (steps.empty())
    return std::nullopt;
  Block &body = kernel.getBody().front();
  for (OnlineStepOp step : steps) {
    auto loop = dyn_cast<scf::ForOp>(step->getParentOp());
    bool isInOrder = step->getBlock() == &body || (loop && loop->getBlock() == &body);
    auto view = step.getKey().getDefiningOp<memref::SubViewOp>();
    if (!isInOrder || !view || !getKeyDim(step) || isBuffer(getRoot(view).getDefiningOp()) ||
        isBuffer(getRoot(step.getValue()).getDefiningOp()) ||
        view.getType().getElementType() != getElementTypeOrSelf(step.getQuery().getType()) ||
        view.getSourceType().getRank() != view.getType().getRank())
      return std::nullopt;
  }
  Operation *first = body.findAncestorOpInBlock(*steps.front());
  OpBuilder::InsertionGuard guard(wb.b);
  wb.b.setInsertionPoint(first);

  // Where the keys end: where the last loop does, or after the last step.
  KeyPipeline pipeline;
  OnlineStepOp last = steps.back();
  Value end;
  if (auto loop = dyn_cast<scf::ForOp>(last->getParentOp())) {
    auto view = last.getKey().getDefiningOp<memref::SubViewOp>();
    OpFoldResult offset = view.getMixedOffsets()[*getKeyDim(last)];
    if (auto value = dyn_cast<Value>(offset))
      end = cloneFor(wb.b, value, loop, loop.getUpperBound());
  } else {
    OpFoldResult offset = last.getKey().getDefiningOp<memref::SubViewOp>().getMixedOffsets()[*getKeyDim(last)];
    OpFoldResult size = last.getKey().getDefiningOp<memref::SubViewOp>().getMixedSizes()[*getKeyDim(last)];
    end = wb.b.createOrFold<arith::AddIOp>(wb.loc, getValueOrCreateConstantIndexOp(wb.b, wb.loc, offset),
                                           getValueOrCreateConstantIndexOp(wb.b, wb.loc, size));
  }
  DominanceInfo dominance(kernel);
  auto isKnown = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return true;
    return llvm::all_of(op->getOperands(), [&](Value operand) { return dominance.properlyDominates(operand, op); });
  };
  if (!end || !isKnown(end))
    return std::nullopt;
  pipeline.end = narrowPosition(wb, end);

  // K(0), with the first loop's first key.
  OnlineStepOp step = steps.front();
  auto view = step.getKey().getDefiningOp<memref::SubViewOp>();
  pipeline.firstKeys = view.getResult();
  if (auto loop = dyn_cast<scf::ForOp>(step->getParentOp()))
    pipeline.firstKeys = cloneFor(wb.b, view, loop, loop.getLowerBound());
  if (!pipeline.firstKeys || !isKnown(pipeline.firstKeys))
    return std::nullopt;
  pipeline.first = first;
  return pipeline;
}

void KeyPipeline::copyKeys(WarpBuilder &wb, OnlineStepOp step, Value keys, bool isNext, const SharedTile &tile) const {
  auto view = keys.getDefiningOp<memref::SubViewOp>();
  unsigned dim = *getKeyDim(step), position = getNumBatchDims(step) + 1;
  // The view of a step is inside of K; the first one may be that of a loop without a step.
  OpFoldResult offset = view.getMixedOffsets()[dim];
  Value begin = isNext ? wb.fromIndex(offset) : narrowPosition(wb, offset), skipped = wb.constant(0);
  if (isNext)
    skipped = wb.fromIndex(view.getMixedSizes()[dim]);
  GlobalView global(wb, keys, getMaps(step)[1]);
  Value rows = arith::SubIOp::create(wb.b, wb.loc, end, wb.add(begin, skipped));
  Value start = global.getOffset(wb, {{position, skipped}});
  Value any = wb.isLess(wb.constant(0), rows);
  wb.when(any, [&] {
    copyRows(
        wb, global, tile, getNumBatchDims(step) + 2, global.getElementType(),
        [&](Value row) { return wb.add(start, global.getOffset(wb, {{position, row}})); },
        [&](Value row) { return wb.isLess(row, rows); });
  });
  wb.commitCopies();
}
