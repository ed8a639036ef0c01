//===- SharedTile.cpp - tiles in shared memory ----------------------------===//
//
// Rows go there 16 bytes a thread with cp.async, swizzled as BlockLayout.h says,
// and come back as fragments with ldmatrix. Rows of another type, at other
// multiples of bytes, or with elements apart, are loaded and stored.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// The swizzle of a row whose block of eight rows does not matter.
static Value getSwizzle(WarpBuilder &wb, const SharedTileLayout &layout, Value row) {
  return wb.remainder(wb.divide(row, layout.getSwizzleRows()), layout.period);
}

static Value exclusiveOr(WarpBuilder &wb, Value x, Value y) { return wb.b.createOrFold<arith::XOrIOp>(wb.loc, x, y); }

/// Offsets that all threads share are constants of the instruction: tiles of the same pitch have one address register.
static Value addConstant(WarpBuilder &wb, Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(wb.b, wb.loc, pointer.getType(), wb.b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value SharedTile::getAddress(WarpBuilder &wb, Value byteOffset) const {
  byteOffset = byteOffset ? byteOffset : wb.constant(0);
  if (stage)
    byteOffset = wb.add(byteOffset, stage);
  return LLVM::PtrToIntOp::create(wb.b, wb.loc, wb.b.getI32Type(), wb.sharedAt(wb.add(byteOffset, offset)));
}

Value SharedTile::at(WarpBuilder &wb, Value row, Value chunk, int64_t rowsBelow) const {
  assert(rowsBelow % 8 == 0 && "rows of another swizzle");
  Value swizzle = getSwizzle(wb, layout, row), bytes = wb.multiply(row, layout.getPitch());
  if (layout.panelChunks < layout.chunks)
    bytes = wb.add(bytes, wb.multiply(wb.divide(chunk, layout.panelChunks), layout.getPanelBytes()));
  if (layout.panelChunks != layout.chunks)
    chunk = wb.remainder(chunk, layout.panelChunks);
  bytes = wb.add(bytes, wb.multiply(exclusiveOr(wb, chunk, swizzle), kChunkBytes));
  assert(!stage && "threads copy to one stage");
  return addConstant(wb, wb.sharedAt(bytes), offset + rowsBelow * layout.getPitch());
}

/// Lane l gives the address of row l % 8 of matrix l / 8. Of the number of a matrix, bit 0 (bit 1 where chunks are
/// first) says which eight rows, the other bit which of two chunks.
///
/// Chunk c + h (c even, h the bit) of a row with swizzle s is at (c + h) ^ s = c ^ (h ^ s): the lane's part h ^ s is
/// below the period, so that only c mod period meets it, and the rest of c is an offset that all lanes share.
MatrixReader::MatrixReader(WarpBuilder &wb, const SharedTile &tile, Value firstRow, Order order) : tile(tile) {
  Value matrix = wb.divide(wb.lane, 8), rowInMatrix = wb.remainder(wb.lane, 8);
  Value rows = wb.remainder(matrix, 2), chunks = wb.divide(matrix, 2);
  if (order == Order::ChunksFirst)
    std::swap(rows, chunks);
  Value row = wb.add(rowInMatrix, wb.multiply(rows, 8));
  Value lanePart = exclusiveOr(wb, chunks, getSwizzle(wb, tile.layout, rowInMatrix));
  Value bytes = wb.multiply(firstRow ? wb.add(firstRow, row) : row, tile.layout.getPitch());
  for (int64_t chunk = 0; chunk < std::max<int64_t>(tile.layout.period, 2); chunk += 2)
    variants.push_back(
        wb.sharedAt(wb.add(bytes, wb.multiply(exclusiveOr(wb, lanePart, wb.constant(chunk)), kChunkBytes))));
}

Values MatrixReader::load(WarpBuilder &wb, int64_t row, int64_t chunk, bool isTransposed) const {
  int64_t period = std::max<int64_t>(tile.layout.period, 2);
  Value pointer = variants[chunk % period / 2];
  pointer =
      addConstant(wb, pointer, tile.offset + row * tile.layout.getPitch() + chunk / period * period * kChunkBytes);
  return wb.loadMatrices(pointer, isTransposed);
}

/// The elements of a chunk as they are in memory; 8-bit floats as i8.
static Value loadElements(WarpBuilder &wb, const GlobalView &view, Value offset, unsigned columnDim, int64_t count) {
  Type from = view.getElementType();
  Type type = from.getIntOrFloatBitWidth() == 8 ? Type(wb.b.getI8Type()) : from;
  auto vectorType = VectorType::get({count}, type);
  int64_t bytes = view.getElementBytes();
  if (view.isContiguous(columnDim)) {
    unsigned alignment = std::min<unsigned>(view.getRowAlignment(columnDim), count * bytes);
    return wb.load(vectorType, view.getAddress(wb, offset), alignment);
  }
  Values elements;
  for (int64_t i = 0; i < count; ++i) {
    Value place = wb.add(offset, view.getOffset(wb, {{columnDim, wb.constant(i)}}));
    elements.push_back(wb.load(type, view.getAddress(wb, place), bytes));
  }
  return vector::FromElementsOp::create(wb.b, wb.loc, vectorType, elements);
}

/// The same numbers in the type of the tile.
static Value convertElements(WarpBuilder &wb, Value raw, Type from, Type to) {
  if (from == to)
    return raw;
  auto vectorType = cast<VectorType>(raw.getType());
  if (from != vectorType.getElementType())
    raw = arith::BitcastOp::create(wb.b, wb.loc, vectorType.clone(from), raw);
  VectorType f32 = vectorType.clone(wb.b.getF32Type());
  Value wide = isQuantised(from) ? wb.convert(raw, wb.b.getF32Type())
               : from.isF32()    ? raw
                                 : Value(arith::ExtFOp::create(wb.b, wb.loc, f32, raw));
  return to.isF32() ? wide : arith::TruncFOp::create(wb.b, wb.loc, vectorType.clone(to), wide);
}

/// One chunk of a row: loaded, converted, stored.
static void storeChunk(WarpBuilder &wb, const GlobalView &view, Value offset, unsigned columnDim, Value isValid,
                       Type type, Value destination) {
  int64_t count = kChunkBytes * 8 / type.getIntOrFloatBitWidth();
  auto vectorType = VectorType::get({count}, type);
  auto zero = arith::ConstantOp::create(wb.b, wb.loc, wb.b.getZeroAttr(vectorType));
  auto branch = scf::IfOp::create(wb.b, wb.loc, TypeRange(vectorType), isValid, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(wb.b);
    wb.b.setInsertionPointToStart(branch.thenBlock());
    Value raw = loadElements(wb, view, offset, columnDim, count);
    scf::YieldOp::create(wb.b, wb.loc, convertElements(wb, raw, view.getElementType(), type));
    wb.b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(wb.b, wb.loc, zero.getResult());
  }
  wb.store(branch.getResult(0), destination, kChunkBytes);
}

void attn::nvvm::copyRows(WarpBuilder &wb, const GlobalView &view, const SharedTile &tile, unsigned columnDim,
                          Type tileType, function_ref<Value(Value row)> getOffset,
                          function_ref<Value(Value row)> isInside) {
  const SharedTileLayout &layout = tile.layout;
  bool isAsynchronous = view.getElementType() == tileType && view.isContiguous(columnDim) &&
                        view.getRowAlignment(columnDim) == kChunkBytes;
  int64_t chunks = layout.rows * layout.chunks, perChunk = kChunkBytes * 8 / tileType.getIntOrFloatBitWidth();
  // Where a row is a whole part of the threads, each of them keeps its chunk, and its rows are a constant apart: one
  // address serves all of them.
  int64_t rowsOfPass = wb.threads % layout.chunks == 0 ? wb.threads / layout.chunks : 0;
  Value firstRow = wb.divide(wb.thread, layout.chunks), firstChunk = wb.remainder(wb.thread, layout.chunks);
  for (int64_t first = 0; first < chunks; first += wb.threads) {
    Value index = wb.add(wb.thread, first);
    bool isWhole = first + wb.threads <= chunks;
    wb.when(isWhole ? Value() : wb.isLess(index, wb.constant(chunks)), [&] {
      int64_t rowsBelow = rowsOfPass % 8 == 0 ? first / wb.threads * rowsOfPass : 0;
      Value row = wb.divide(index, layout.chunks), chunk = wb.remainder(index, layout.chunks);
      if (rowsOfPass > 0) {
        row = wb.add(firstRow, first / wb.threads * rowsOfPass);
        chunk = firstChunk;
      }
      Value isValid = isInside(row);
      if (layout.chunks != layout.usedChunks) {
        Value hasElements = wb.isLess(chunk, wb.constant(layout.usedChunks));
        isValid = isValid ? wb.both(isValid, hasElements) : hasElements;
      }
      Value column = view.getOffset(wb, {{columnDim, wb.multiply(chunk, perChunk)}});
      Value offset = wb.add(getOffset(row), column);
      Value destination = rowsBelow > 0 ? tile.at(wb, firstRow, chunk, rowsBelow) : tile.at(wb, row, chunk);
      if (!isAsynchronous) {
        if (!isValid)
          isValid = arith::ConstantIntOp::create(wb.b, wb.loc, 1, 1);
        storeChunk(wb, view, offset, columnDim, isValid, tileType, destination);
        return;
      }
      // Nothing is read where the size is 0, wherever the address is.
      Value size = isValid ? wb.select(isValid, wb.constant(kChunkBytes), wb.constant(0)) : Value();
      NVVM::CpAsyncOp::create(
          wb.b, wb.loc, destination, view.getAddress(wb, offset), wb.b.getI32IntegerAttr(kChunkBytes),
          NVVM::LoadCacheModifierKindAttr::get(wb.b.getContext(), NVVM::LoadCacheModifierKind::CG), size);
    });
  }
}
