//===- TileCopies.cpp - pack and gather_pages of a block ------------------===//
//
// Both bring a tile into shared memory: Q once a block, K and V where they have
// another type than the products or lie in short pages.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

LogicalResult KernelLowering::lowerPack(PackOp op) {
  std::optional<Place> place = getPlace(op.getOutput());
  if (!place)
    return op.emitOpError("expected the tile of an attn.online_step; run attn-tile");
  TileRows rows(op);
  GlobalView view(wb, op.getInput(), getMaps(op)[0]);
  unsigned columnDim = rows.numBatch + 1;
  // Whoever reads the last tile has to be done.
  if (*place != Place::Query)
    wb.barrier();
  if (*place == Place::Query) {
    copyRows(
        wb, view, getTile(*place), columnDim, getElementTypeOrSelf(op.getOutput().getType()),
        [&](Value row) { return rows.getOffset(wb, view, row); },
        [&](Value row) { return rows.isInside(wb, view, row); });
  } else {
    // Keys are the rows here; the heads of a tile share them.
    Value count = view.getSize(wb, rows.numBatch);
    copyRows(
        wb, view, getTile(*place), columnDim, getElementTypeOrSelf(op.getOutput().getType()),
        [&](Value row) { return view.getOffset(wb, {{rows.numBatch, row}}); },
        [&](Value row) { return wb.isLess(row, count); });
  }
  wb.commitCopies();
  return success();
}

LogicalResult KernelLowering::lowerGatherPages(GatherPagesOp op) {
  std::optional<Place> place = getPlace(op.getOutput());
  if (!place || !op.getBatch())
    return op.emitOpError("expected the tile of keys of an attn.online_step; run attn-tile");
  int64_t page = op.getPageSize();
  CacheDims dims = op.getCacheDims();
  GlobalView view(wb, op.getCache(), AffineMap::getMultiDimIdentityMap(4, op.getContext()));
  auto toNumber = [&](Value memref, ValueRange indices) -> Value {
    Value element = memref::LoadOp::create(wb.b, wb.loc, memref, indices);
    return element.getType().isInteger(32) ? element
                                           : arith::TruncIOp::create(wb.b, wb.loc, wb.b.getI32Type(), element);
  };
  Value length = toNumber(op.getLengths(), op.getBatch()), firstKey = wb.fromIndex(op.getFirstKey());
  Value count = wb.fromIndex(wb.b.createOrFold<memref::DimOp>(wb.loc, op.getOutput(), 2));
  Value head = wb.fromIndex(op.getHead()), lastKey = wb.add(length, -1), zero = wb.constant(0);
  wb.barrier();
  auto isInside = [&](Value row) { return wb.both(wb.isLess(row, count), wb.isLess(wb.add(firstKey, row), length)); };
  auto getOffset = [&](Value row) {
    // Rows that are not there look up the page of the last key, or of the first one.
    Value key = wb.minimum(wb.add(firstKey, row), lastKey);
    key = wb.b.createOrFold<arith::MaxSIOp>(wb.loc, key, zero);
    Value entry = wb.divide(key, page), place = wb.remainder(key, page);
    Value number = toNumber(op.getBlockTable(), ValueRange{op.getBatch(), wb.toIndex(entry)});
    return view.getOffset(wb, {{0, number}, {dims.row, place}, {dims.head, head}});
  };
  copyRows(wb, view, getTile(*place), /*columnDim=*/3, getElementTypeOrSelf(op.getOutput().getType()), getOffset,
           isInside);
  wb.commitCopies();
  return success();
}
