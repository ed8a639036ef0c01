//===- KernelTiles.cpp - the tiles of a kernel in shared memory -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "KernelTiles.h"
#include "Producer.h"
#include "attn/Schedule/ColumnGroups.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

int64_t attn::nvvm::getElementBytes(Type type) {
  return std::max<int64_t>(1, getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8);
}

KernelTiles::KernelTiles(gpu::GPUFuncOp kernel) {
  WalkResult gradients = kernel.walk([](ScoreGradientsOp) { return WalkResult::interrupt(); });
  if (gradients.wasInterrupted())
    findGradientTiles(kernel);
  else
    findTiles(kernel);
  findOperands(kernel);
}

SetVector<Value> attn::nvvm::findColumnTiles(gpu::GPUFuncOp kernel) {
  SetVector<Value> tiles;
  kernel.walk([&](ProductOp product) { tiles.insert(getRoot(product.getRhs())); });
  // A tile of rows may be a right operand too: dQ = dS K, where keys are rows.
  kernel.walk([&](ProductOp product) {
    if (product.getContraction() == Contraction::Scores)
      tiles.remove(getRoot(product.getLhs()));
  });
  return tiles;
}

void KernelTiles::findTiles(gpu::GPUFuncOp kernel) {
  kernel.walk([&](ProductOp op) {
    bool isScores = op.getContraction() == Contraction::Scores;
    int64_t &columns = isScores ? d : dv;
    int64_t found = getStaticSize(op, isScores ? DimKind::HeadSize : DimKind::ValueSize);
    if (columns > 0 && columns != found)
      misfit = op;
    columns = found;
    keyBytes = getElementBytes(op.getRhs().getType());
    if (isScores) {
      queryType = getElementTypeOrSelf(op.getLhs().getType());
      elementBytes = getElementBytes(op.getLhs().getType());
    }
    if (Value root = getRoot(op.getRhs()); isBuffer(root.getDefiningOp()))
      (isScores ? keys : values).insert(root);
    if (Value root = getRoot(op.getLhs()); isScores && isBuffer(root.getDefiningOp()))
      queries.insert(root);
  });
  kernel.walk([&](CopyOp copy) {
    hasQueryStages |= copy.getTensorMap() && queries.contains(getRoot(copy.getOutput()));
    if (storesTile(copy))
      output = getRoot(copy.getInput());
  });
}

bool attn::nvvm::copiesQueries(gpu::GPUFuncOp kernel) { return KernelTiles(kernel).hasQueryStages; }

void KernelTiles::findOperands(gpu::GPUFuncOp kernel) {
  kernel.walk([&](MapScoresOp op) {
    for (Value operand : {op.getBias(), op.getMask()})
      if (Value root = operand ? getRoot(operand) : Value(); root && isBuffer(root.getDefiningOp()))
        operands.insert(root);
  });
}

void KernelTiles::findGradientTiles(gpu::GPUFuncOp kernel) {
  SetVector<Value> ofRows;
  kernel.walk([&](ProductOp op) {
    if (op.getContraction() == Contraction::Scores)
      ofRows.insert(getRoot(op.getLhs()));
  });
  kernel.walk([&](CopyStatisticsOp op) { statistics = op.getTile(); });
  kernel.walk([&](ExchangeOp op) { exchange = op.getOutput(); });
  kernel.walk([&](memref::AllocOp op) {
    if (op.getMemref() == statistics || op.getMemref() == exchange)
      return;
    elementBytes = getElementBytes(op.getType());
    (ofRows.contains(op) ? rows : columns).push_back(op);
  });
}

BlockLayout KernelTiles::getLayout(BlockAttr schedule) const {
  if (columns.empty() && rows.empty()) {
    if (d == 0)
      return {};
    int64_t copied = !keys.empty() && keys == values ? 0 : dv;
    BlockLayout layout =
        BlockLayout::get(getRowsOfBlock(schedule, dv), schedule.getKeyTile(), d, copied, elementBytes, keyBytes,
                         schedule.getInstruction().getInfo().readsPanels(), schedule.getStages());
    for (Value operand : operands)
      layout.addOperand(schedule.getBlockRows(), schedule.getKeyTile(), getElementBytes(operand.getType()));
    if (hasQueryStages)
      layout.addQueryStages();
    return layout;
  }
  auto getWidths = [](ArrayRef<Value> tiles) {
    return llvm::map_to_vector(tiles, [](Value tile) { return cast<MemRefType>(tile.getType()).getShape().back(); });
  };
  return BlockLayout::getBackward(schedule.getBlockRows(), schedule.getKeyTile(), getWidths(rows), getWidths(columns),
                                  elementBytes, schedule.getInstruction().getInfo().readsPanels(), schedule.getStages(),
                                  schedule.getFused());
}
