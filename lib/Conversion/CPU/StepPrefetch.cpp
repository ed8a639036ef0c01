//===- StepPrefetch.cpp - asking for what later tiles read ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepPrefetch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

static int64_t getBits(const Operand &operand) {
  return getElementTypeOrSelf(operand.memref.getType()).getIntOrFloatBitWidth();
}

StepPrefetch::StepPrefetch(VectorBuilder &vb, OnlineStepOp step, int64_t maxKeys, int64_t blocksOfLanes)
    : vb(vb), maxKeys(maxKeys), blocksOfLanes(blocksOfLanes) {
  SmallVector<AffineMap> maps = getMaps(step);
  SmallVector<int64_t> domain = getStaticDomain(step);
  auto schedule = cast<PrefillAttr>(*step.getSchedule());
  unsigned query = getNumBatchDims(step), key = query + 1, head = query + 2, column = query + 3;
  int64_t lanes = domain[query], headSize = domain[head];
  valueSize = domain[column];
  if (schedule.getPrefetch() == 0)
    return;
  auto add = [&](SmallVector<PrefetchTile> &tiles, PrefetchTile tile, int64_t rows, int64_t columns, int64_t rowsAhead,
                 int64_t columnsAhead) {
    if (!tile.operand.map.isFunctionOfDim(tile.rowPosition) || !tile.operand.isInnermost(tile.columnPosition))
      return;
    tile.rows = rows;
    tile.columns = columns;
    tile.rowsAhead = rowsAhead;
    tile.columnsAhead = columnsAhead;
    tiles.push_back(tile);
  };
  add(tilesOfScores, findSource(step, step.getKey(), maps[1], key, head), maxKeys, headSize, schedule.getPrefetch(), 0);
  add(tilesOfScores, findSource(step, step.getQuery(), maps[0], query, head), lanes, headSize, lanes, 0);
  unsigned next = 3;
  for (Value dense : {step.getBias(), step.getMask()})
    if (dense) {
      PrefetchTile tile = findSource(step, dense, maps[next++], query, key);
      startAtNextKeys(tile, step, lanes);
      // The last element of each line: rows begin anywhere in one, and this tile has read the first line of the next.
      // Twice, as a request that finds no free buffer is dropped: all of it may come from memory.
      for (auto *tiles : {&tilesOfScores, &tilesOfOutput})
        add(*tiles, tile, lanes, maxKeys, 0, kBufferAlignment * 8 / getBits(tile.operand) - 1);
    }
  add(tilesOfOutput, findSource(step, step.getValue(), maps[2], key, column), maxKeys, valueSize,
      schedule.getPrefetch(), 0);
}

void StepPrefetch::startAtNextKeys(PrefetchTile &tile, OnlineStepOp step, int64_t lanes) {
  OpBuilder &b = vb.b;
  tile.firstColumn = vb.index(step.getSchedule()->getKeyTile());
  auto loop = dyn_cast<scf::ForOp>(step->getParentOp());
  if (!loop)
    return;
  Value key = loop.getInductionVar(), next = vb.add(key, loop.getStep());
  Value isThere = arith::CmpIOp::create(b, vb.loc, arith::CmpIPredicate::slt, next, loop.getUpperBound());
  Value back = vb.subtract(loop.getLowerBound(), key);
  tile.firstRow = vb.select(isThere, vb.index(0), vb.index(lanes));
  tile.firstColumn = vb.select(isThere, tile.firstColumn, back);
}

PrefetchTile StepPrefetch::findSource(OnlineStepOp step, Value operand, AffineMap map, unsigned row, unsigned column) {
  unsigned numBatch = getNumBatchDims(step);
  PrefetchTile tile{{operand, map}, row, column, 0, 0};
  // Steps share buffers: what this one reads was packed last before it.
  PackOp last;
  for (Operation *user : operand.getUsers()) {
    auto pack = dyn_cast<PackOp>(user);
    Operation *ancestor = pack ? pack->getBlock()->findAncestorOpInBlock(*step) : nullptr;
    if (ancestor && pack.getOutput() == operand && pack->isBeforeInBlock(ancestor) &&
        (!last || last->getBlock() != pack->getBlock() || last->isBeforeInBlock(pack)))
      last = pack;
  }
  if (last) {
    tile.operand = {viewAsBytes(vb.b, vb.loc, last.getInput()), getMaps(last)[0]};
    tile.rowPosition = numBatch;
    tile.columnPosition = numBatch + 1;
  }
  return tile;
}

void StepPrefetch::besideScores(Value blockOfLanes, Value key) {
  for (const PrefetchTile &tile : tilesOfScores)
    emitPrefetchPart(vb, tile, vb.add(vb.multiply(blockOfLanes, maxKeys), key), maxKeys * blocksOfLanes);
}

void StepPrefetch::besideOutput(Value blockOfLanes, Value column) {
  for (const PrefetchTile &tile : tilesOfOutput)
    emitPrefetchPart(vb, tile, vb.add(vb.multiply(blockOfLanes, valueSize), column), valueSize * blocksOfLanes);
}

void attn::cpu::emitPrefetchPart(VectorBuilder &vb, const PrefetchTile &tile, Value part, int64_t parts) {
  if (tile.rows == 0 || tile.columns == 0)
    return;
  OpBuilder &b = vb.b;
  int64_t perLine = kBufferAlignment * 8 / getBits(tile.operand), lines = llvm::divideCeil(tile.columns, perLine);
  // A part is some rows, or some lines of a row.
  int64_t rowsPerPart = llvm::divideCeil(tile.rows, parts);
  int64_t partsPerRow = std::clamp<int64_t>(parts / tile.rows, 1, lines);
  int64_t linesPerPart = llvm::divideCeil(lines, partsPerRow);
  if (tile.rows * partsPerRow < parts)
    part = vb.remainder(part, tile.rows * partsPerRow);
  Value row = vb.multiply(vb.divide(part, partsPerRow), rowsPerPart);
  if (tile.firstRow)
    row = vb.add(row, tile.firstRow);
  Value column = vb.multiply(vb.remainder(part, partsPerRow), linesPerPart * perLine);
  if (tile.firstColumn)
    column = vb.add(column, tile.firstColumn);
  for (int64_t r = 0; r < rowsPerPart; ++r)
    for (int64_t line = 0; line < linesPerPart; ++line) {
      SmallVector<Value> domain(tile.operand.map.getNumDims());
      domain[tile.rowPosition] = vb.add(row, r + tile.rowsAhead);
      domain[tile.columnPosition] = vb.add(column, line * perLine + tile.columnsAhead);
      memref::PrefetchOp::create(b, vb.loc, tile.operand.memref, tile.operand.getIndices(vb, domain),
                                 /*isWrite=*/false, tile.locality, /*isDataCache=*/true);
    }
}
