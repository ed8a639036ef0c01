//===- TileCopies.cpp - attn.copy, attn.wait, attn.gather_pages -----------===//
//
// Rows are copied to shared memory by cp.async (SharedTile.cpp), one group of copies per op; a wait counts the groups.
// A wait includes a barrier, so it covers the copies of all threads.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileCopies.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Fewest rows of a page with a look-up of their own; the swizzle repeats after as many.
static constexpr int64_t kLeastPart = 8;

Value attn::nvvm::loadRowNumber(WarpBuilder &wb, const GlobalView &view, unsigned rowDim, Value row) {
  row = wb.minimum(row, wb.add(view.getSize(wb, rowDim), -1));
  Value address = view.getAddress(wb, view.getOffset(wb, {{rowDim, row}}));
  return wb.load(view.getElementType(), address, view.getElementBytes());
}

LogicalResult KernelLowering::lowerCopy(CopyOp op) {
  if (std::optional<SharedTile> stored = findTile(op.getInput()))
    return lowerStore(op, *stored);
  std::optional<SharedTile> place = findTile(op.getOutput());
  if (!place)
    return op.emitOpError("expected the tile of an attn.product in shared memory");
  if (op.getTensorMap())
    return copyByProducer(op);
  SmallVector<AffineMap> maps = attn::getMaps(op);
  SharedTile tile = *place;
  TileRows rows(op.getOutput(), maps[1], tile.layout.rows);
  GlobalView view(wb, op.getInput(), maps[0]);
  unsigned rowDim = rows.numBatch, columnDim = rowDim + 1;
  Type type = getElementTypeOrSelf(op.getOutput().getType());
  std::optional<GlobalView> lse;
  if (op.getLse())
    lse.emplace(wb, op.getLse(), maps[2]);
  // A row without keys is not read but set to 0.
  auto hasKeys = [&](Value row) -> Value {
    Value number = loadRowNumber(wb, *lse, rowDim, row);
    Value none = wb.real(-std::numeric_limits<double>::infinity());
    return arith::CmpFOp::create(wb.b, wb.loc, arith::CmpFPredicate::UNE, number, none);
  };
  if (op.getFirst()) {
    Value first = wb.fromIndex(op.getFirst()), size = view.getSize(wb, rowDim);
    Value left = arith::SubIOp::create(wb.b, wb.loc, size, first);
    Value start = view.getOffset(wb, {{rowDim, first}}), any = wb.isLess(wb.constant(0), left);
    wb.when(any, [&] {
      copyRows(
          wb, view, tile, columnDim, type,
          [&](Value row) { return wb.add(start, view.getOffset(wb, {{rowDim, row}})); },
          [&](Value row) {
            Value isInside = wb.isLess(row, left);
            return lse ? wb.both(isInside, hasKeys(wb.add(row, first))) : isInside;
          },
          lse ? std::nullopt : std::optional(RowRange{start, view.getStride(rowDim), left}));
    });
  } else {
    std::optional<RowRange> range;
    if (!lse && rows.heads == 1)
      range = {rows.getOffset(wb, view, wb.constant(0)), view.getStride(rowDim), rows.getCount(wb, view)};
    copyRows(
        wb, view, tile, columnDim, type, [&](Value row) { return rows.getOffset(wb, view, row); },
        [&](Value row) {
          Value isInside = rows.isInside(wb, view, row);
          return lse ? wb.both(isInside, hasKeys(row)) : isInside;
        },
        range);
  }
  wb.commitCopies();
  return success();
}

LogicalResult KernelLowering::lowerWait(WaitOp op) {
  if (!op.getStages().empty())
    return waitForStages(op);
  wb.waitForCopies(op.getPending());
  if (wb.instruction.readsPanels())
    wb.publishToProducts();
  wb.barrier();
  return success();
}

/// Tokens stand for program order, tiles for registers.
void KernelLowering::eraseTiles() {
  OpBuilder::InsertionGuard guard(wb.b);
  wb.b.setInsertionPointToStart(&kernel.getBody().front());
  Value none = wb.constant(0);
  auto retype = [&](Value value) {
    if (isa<TokenType>(value.getType()) || isInRegisters(value.getType()))
      value.setType(none.getType());
  };
  for (Operation *op : loweredOps)
    for (Value result : op->getResults())
      if (isa<TokenType>(result.getType()) || isInRegisters(result.getType()))
        result.replaceAllUsesWith(none);
  kernel.walk([&](Operation *op) {
    for (Value result : op->getResults())
      retype(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          retype(argument);
  });
}

LogicalResult KernelLowering::lowerGatherPages(GatherPagesOp op) {
  std::optional<SharedTile> place = findTile(op.getOutput());
  if (!place || !op.getBatch())
    return op.emitOpError("expected the tile of keys of an attn.product; run attn-tile");
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
  auto isInside = [&](Value row) { return wb.both(wb.isLess(row, count), wb.isLess(wb.add(firstKey, row), length)); };
  auto getOffset = [&](Value row) {
    // Rows beyond the keys look up the page of the last key, or of the first one.
    Value key = wb.minimum(wb.add(firstKey, row), lastKey);
    key = wb.b.createOrFold<arith::MaxSIOp>(wb.loc, key, zero);
    Value entry = wb.divide(key, page), place = wb.remainder(key, page);
    Value number = toNumber(op.getBlockTable(), ValueRange{op.getBatch(), wb.toIndex(entry)});
    return view.getOffset(wb, {{0, number}, {dims.row, place}, {dims.head, head}});
  };
  Type type = getElementTypeOrSelf(op.getOutput().getType());
  // Parts of the tile that end with a page, if not before: one look-up each.
  SharedTile part = *place;
  int64_t rows = part.layout.rows;
  part.layout.rows = std::gcd(std::gcd(rows, page), getKnownPower(op.getFirstKey()));
  bool hasParts = part.layout.rows >= kLeastPart && part.layout.rows * part.layout.chunks >= 2 * wb.threads;
  if (hasParts && canCopyInTurn(view, part, /*columnDim=*/3, type)) {
    Value inside = wb.minimum(count, arith::SubIOp::create(wb.b, wb.loc, length, firstKey));
    for (int64_t row = 0; row < rows; row += part.layout.rows) {
      RowRange range{getOffset(wb.constant(row)), view.getStride(dims.row), wb.add(inside, -row)};
      copyInTurn(wb, view, part, range);
      part.offset += part.layout.getBytes();
    }
  } else {
    copyRows(wb, view, *place, /*columnDim=*/3, type, getOffset, isInside);
  }
  wb.commitCopies();
  return success();
}
