//===- Statistics.cpp - attn.copy_statistics ------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static const double kInfinity = std::numeric_limits<double>::infinity();

bool attn::nvvm::isLinear(ScoreGradientsOp op) {
  return op.getWeightMod().empty() && op.getScoreGrad().empty() && !op.getScaleValue();
}

double attn::nvvm::getDeltaFactor(ScoreGradientsOp op) {
  return isLinear(op) && op.getScale() ? -op.getScale()->convertToDouble() : -1;
}

LogicalResult KernelLowering::lowerCopyStatistics(CopyStatisticsOp op) {
  std::optional<SharedTile> place = findTile(op.getTile());
  const TileRing *ring = findRing(op.getTile());
  if (!place || bool(ring) != op.getByProducer())
    return op.emitOpError("expected a tile with stages beside by_producer alone; run attn-split-roles");
  SmallVector<AffineMap> maps = llvm::to_vector(op.getMaps().getAsValueRange<AffineMapAttr>());
  unsigned queryDim = maps.front().getNumDims() - 2;
  size_t next = 0;
  GlobalView views[3];
  Value inputs[] = {op.getLse(), op.getLogSum(), op.getDelta()};
  for (auto [view, memref] : llvm::zip_equal(views, inputs))
    if (memref)
      view = GlobalView(wb, memref, maps[next++]);
  Value zero = wb.real(0), none = wb.real(-kInfinity), log2e = wb.real(-std::numbers::log2e);
  double factor = op.getDeltaFactor().convertToDouble();
  auto copy = [&](const SharedTile &tile, Value column) {
    auto write = [&](Value lse, Value logSum, Value delta, Value exponent) {
      for (auto [row, number] : llvm::enumerate(ArrayRef<Value>{lse, logSum, delta, exponent}))
        wb.store(number, tile.atNumber(wb, row, column), sizeof(float));
    };
    // A tile may begin after the last query.
    Value isThere = wb.isLess(column, views[0].getSize(wb, queryDim));
    wb.when(isThere, [&] {
      auto read = [&](const GlobalView &view) {
        Value address = view.getAddress(wb, view.getOffset(wb, {{queryDim, column}}));
        return wb.convert(wb.load(view.getElementType(), address, view.getElementBytes()), wb.b.getF32Type());
      };
      Value lse = read(views[0]), isEmpty = wb.isEqual(lse, -kInfinity);
      auto orZero = [&](Value number) { return wb.select(isEmpty, zero, number); };
      Value logSum = views[1] ? orZero(read(views[1])) : zero;
      Value delta = views[2] ? orZero(wb.mulf(read(views[2]), wb.real(factor))) : zero;
      Value exponent = views[1] ? wb.fma(lse, log2e, wb.mulf(logSum, log2e)) : wb.mulf(lse, log2e);
      write(lse, logSum, delta, wb.select(isEmpty, none, exponent));
    });
    wb.when(wb.isLess(views[0].getSize(wb, queryDim), wb.add(column, 1)), [&] { write(none, zero, zero, none); });
  };
  if (!ring) {
    // The statistics of the warp's rows, which no other warp reads.
    wb.syncWarp();
    wb.when(wb.isLess(wb.lane, wb.constant(wb.warpRows)), [&] { copy(*place, wb.add(wb.firstRow, wb.lane)); });
    wb.syncWarp();
    return success();
  }
  int64_t columns = cast<MemRefType>(op.getTile().getType()).getDimSize(1);
  ring->fill(wb, [&](const SharedTile &tile, Value lane) {
    for (int64_t first = 0; first < columns; first += wb.lanes) {
      Value column = wb.add(lane, first);
      wb.when(first + wb.lanes <= columns ? Value() : wb.isLess(column, wb.constant(columns)),
              [&] { copy(tile, column); });
    }
  });
  return success();
}
