//===- Statistics.cpp - lse and delta in kernels with a producer ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Statistics.h"
#include "PipelineCopies.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Clones the computation of `value` inside of `step` to the builder's position.
static void cloneInFrontOf(OpBuilder &b, Operation *step, Value value, IRMapping &mapping) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op || mapping.contains(value) || !step->isAncestor(op))
    return;
  for (Value operand : op->getOperands())
    cloneInFrontOf(b, step, operand, mapping);
  b.clone(*op, mapping);
}

/// The copy of the block's rows that the scores of `op` are computed from.
static CopyOp findCopyOfRows(gpu::GPUFuncOp kernel, ScoreGradientsOp op) {
  auto product = op.getScores().getDefiningOp<ProductOp>();
  CopyOp found;
  kernel.walk([&](CopyOp copy) {
    if (product && getRoot(copy.getOutput()) == getRoot(product.getLhs()))
      found = copy;
  });
  return found;
}

static void copyStatistics(OpBuilder &b, ScoreGradientsOp op, const IRMapping &mapping) {
  SmallVector<AffineMap> all = attn::getMaps(op), maps;
  auto take = [&](MutableOperandRange operand) -> Value {
    if (operand.empty())
      return {};
    maps.push_back(all[operand[0].getOperandNumber()]);
    return mapping.lookupOrDefault(operand[0].get());
  };
  Value lse = take(op.getLseMutable()), logSum = take(op.getLogSumMutable()), delta = take(op.getDeltaMutable());
  CopyStatisticsOp::create(b, op.getLoc(), lse, logSum, delta, op.getStatistics(),
                           b.getF64FloatAttr(getDeltaFactor(op)), op.hasKeyRows() ? b.getUnitAttr() : UnitAttr(),
                           b.getAffineMapArrayAttr(maps));
}

Value attn::nvvm::createStatistics(OpBuilder &b, gpu::GPUFuncOp kernel, BlockAttr schedule) {
  Value statistics;
  kernel.walk([&](ScoreGradientsOp op) {
    Location loc = op.getLoc();
    bool isFirst = !statistics;
    if (isFirst) {
      b.setInsertionPointToStart(&kernel.getBody().front());
      int64_t queries = op.hasKeyRows() ? schedule.getKeyTile() : schedule.getBlockRows();
      statistics = createSharedTile(b, loc, {BlockLayout::kStatistics, queries}, b.getF32Type());
    }
    op.getStatisticsMutable().assign(statistics);
    if (op.hasKeyRows()) {
      b.setInsertionPoint(op.getScores().getDefiningOp());
      copyStatistics(b, op, IRMapping());
      WaitOp::create(b, loc, /*tokens=*/ValueRange(), statistics);
    } else if (CopyOp rows = isFirst ? findCopyOfRows(kernel, op) : CopyOp()) {
      Operation *step = rows->getBlock()->findAncestorOpInBlock(*op);
      b.setInsertionPoint(step);
      IRMapping mapping;
      for (Value view : {op.getLse(), op.getLogSum(), op.getDelta()})
        cloneInFrontOf(b, step, view, mapping);
      copyStatistics(b, op, mapping);
    }
  });
  return statistics;
}
