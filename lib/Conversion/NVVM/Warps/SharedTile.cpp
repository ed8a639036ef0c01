//===- SharedTile.cpp - tiles in shared memory ----------------------------===//
//
// Each thread copies 16 bytes of a row to shared memory with cp.async, swizzled as in BlockLayout.h; ldmatrix reads
// them as fragments. Rows of another type, alignment or stride of elements are loaded and stored.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileCopies.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// The swizzle of a row; a multiple of eight rows does not change it.
static Value getSwizzle(WarpBuilder &wb, const SharedTileLayout &layout, Value row) {
  return wb.remainder(wb.divide(row, layout.getSwizzleRows()), layout.period);
}

static Value exclusiveOr(WarpBuilder &wb, Value x, Value y) { return wb.b.createOrFold<arith::XOrIOp>(wb.loc, x, y); }

/// Offsets that all threads share become immediates: tiles with the same pitch share an address register.
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
  if (stage)
    bytes = wb.add(bytes, stage);
  return addConstant(wb, wb.sharedAt(bytes), offset + rowsBelow * layout.getPitch());
}

Value SharedTile::atChunk(WarpBuilder &wb, Value number, int64_t chunksBehind) const {
  Value swizzle = getSwizzle(wb, layout, wb.divide(number, layout.chunks));
  Value bytes = wb.multiply(exclusiveOr(wb, number, swizzle), kChunkBytes);
  if (stage)
    bytes = wb.add(bytes, stage);
  return addConstant(wb, wb.sharedAt(bytes), offset + chunksBehind * kChunkBytes);
}

Value SharedTile::atNumber(WarpBuilder &wb, int64_t row, Value column, int64_t columnsBehind) const {
  Value bytes = wb.multiply(column, sizeof(float));
  if (stage)
    bytes = wb.add(bytes, stage);
  return addConstant(wb, wb.sharedAt(bytes), offset + row * layout.getPitch() + columnsBehind * sizeof(float));
}

/// Lane l provides the address of row l % 8 of matrix l / 8. Bit 0 of the matrix index (bit 1 where chunks come first)
/// selects which eight rows, the other bit which of two chunks.
///
/// Chunk c + h (c even, h the bit) of a row with swizzle s is at (c + h) ^ s = c ^ (h ^ s). The lane's part h ^ s is
/// below the period, so it affects only c mod period, and the rest of c is an offset that all lanes share.
MatrixReader::MatrixReader(WarpBuilder &wb, const SharedTile &tile, Value firstRow, Order order) : tile(tile) {
  Value matrix = wb.divide(wb.lane, 8), rowInMatrix = wb.remainder(wb.lane, 8);
  Value rows = wb.remainder(matrix, 2), chunks = wb.divide(matrix, 2);
  if (order == Order::ChunksFirst)
    std::swap(rows, chunks);
  Value row = wb.add(rowInMatrix, wb.multiply(rows, 8));
  Value lanePart = exclusiveOr(wb, chunks, getSwizzle(wb, tile.layout, rowInMatrix));
  Value bytes = wb.multiply(firstRow ? wb.add(firstRow, row) : row, tile.layout.getPitch());
  if (tile.stage)
    bytes = wb.add(bytes, tile.stage);
  for (int64_t chunk = 0; chunk < std::max<int64_t>(tile.layout.period, 2); chunk += 2)
    variants.push_back(
        wb.sharedAt(wb.add(bytes, wb.multiply(exclusiveOr(wb, lanePart, wb.constant(chunk)), kChunkBytes))));
}

Value MatrixReader::getPointer(WarpBuilder &wb, int64_t row, int64_t chunk) const {
  const SharedTileLayout &layout = tile.layout;
  int64_t period = std::max<int64_t>(layout.period, 2), inPanel = chunk % layout.panelChunks;
  int64_t bytes = chunk / layout.panelChunks * layout.getPanelBytes() + inPanel / period * period * kChunkBytes;
  Value pointer = variants[inPanel % period / 2];
  return addConstant(wb, pointer, tile.offset + row * layout.getPitch() + bytes);
}

Values MatrixReader::load(WarpBuilder &wb, int64_t row, int64_t chunk, bool isTransposed, int64_t matrices) const {
  return wb.loadMatrices(getPointer(wb, row, chunk), isTransposed, matrices);
}

void MatrixReader::store(WarpBuilder &wb, int64_t row, int64_t chunk, ArrayRef<Value> matrices) const {
  wb.storeMatrices(getPointer(wb, row, chunk), matrices, /*isTransposed=*/false);
}

/// Loads the elements of a chunk; 8-bit floats as i8.
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

/// Converts elements to the type of the tile.
static Value convertElements(WarpBuilder &wb, Value raw, Type from, Type to) {
  if (from == to)
    return raw;
  if (isQuantised(from) && !to.isF32())
    return widenBytes(wb, raw, from, to);
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
  int64_t bits = type.getIntOrFloatBitWidth(), count = kChunkBytes * 8 / bits;
  auto vectorType = VectorType::get({count}, bits == 8 ? Type(wb.b.getI8Type()) : type);
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

namespace {
/// The chunks that a thread copies. `lanes` adjacent threads copy a row, whose chunks form `groups`; the next threads
/// copy the next rows. So the chunks of a thread are at constant distances, and few addresses serve all of them.
struct CopyPlan {
  CopyPlan(const SharedTileLayout &layout, int64_t threads) {
    // A whole row, if the number of threads is a multiple of its chunks. Otherwise a power of two that is a period of
    // the swizzle, with at least 64 contiguous bytes.
    lanes = layout.chunks;
    if (threads % layout.chunks != 0)
      lanes = layout.panelChunks != layout.chunks
                  ? kPanelChunks
                  : std::clamp<int64_t>(layout.chunks & -layout.chunks, 4, kPanelChunks);
    dividesRows = layout.chunks % lanes == 0;
    groups = llvm::divideCeil(layout.chunks, lanes);
    rowsOfPass = threads / lanes;
    passes = llvm::divideCeil(layout.rows, rowsOfPass);
    groupBytes = layout.panelChunks < layout.chunks ? layout.getPanelBytes() : lanes * kChunkBytes;
  }
  int64_t lanes, groups, rowsOfPass, passes, groupBytes;
  bool dividesRows; ///< false where some threads of the last group copy nothing
};
} // namespace

/// Starts a copy of 16 bytes; of zeros where `isValid` is false. Nothing is read then, at any address.
static void startCopy(WarpBuilder &wb, Value destination, Value address, Value isValid) {
  Value size = isValid ? wb.select(isValid, wb.constant(kChunkBytes), wb.constant(0)) : Value();
  auto cache = NVVM::LoadCacheModifierKindAttr::get(wb.b.getContext(), NVVM::LoadCacheModifierKind::CG);
  NVVM::CpAsyncOp::create(wb.b, wb.loc, destination, address, wb.b.getI32IntegerAttr(kChunkBytes), cache, size);
}

static bool isCopiedAsync(const GlobalView &view, unsigned columnDim, Type tileType) {
  return view.getElementType() == tileType && view.isContiguous(columnDim) &&
         view.getRowAlignment(columnDim) == kChunkBytes;
}

bool attn::nvvm::canCopyInTurn(const GlobalView &view, const SharedTile &tile, unsigned columnDim, Type tileType) {
  const SharedTileLayout &layout = tile.layout;
  return isCopiedAsync(view, columnDim, tileType) && layout.chunks == layout.usedChunks &&
         layout.chunks == layout.panelChunks;
}

/// No thread is idle, and adjacent threads have adjacent chunks. Where rows follow each other in memory, one address
/// serves all of them.
void attn::nvvm::copyInTurn(WarpBuilder &wb, const GlobalView &view, const SharedTile &tile, const RowRange &range) {
  const SharedTileLayout &layout = tile.layout;
  int64_t chunks = layout.chunks, total = layout.rows * chunks, perChunk = kChunkBytes / view.getElementBytes();
  Value own = wb.multiply64(wb.widen(wb.thread), wb.constant64(perChunk));
  bool areAdjacent = getConstantIntValue(range.stride) == chunks * perChunk;
  Value start = areAdjacent ? view.getAddress(wb, wb.add(range.start, own)) : Value();
  // Rows at a distance of a multiple of 8 have the same swizzle.
  int64_t repeats = layout.period == 1 ? wb.threads : std::lcm(wb.threads, 8 * chunks);
  auto copy = [&](int64_t first, Value left) {
    Value destination = tile.atChunk(wb, wb.add(wb.thread, first % repeats), first / repeats * repeats);
    Value address;
    if (areAdjacent) {
      address = addConstant(wb, start, first * kChunkBytes);
    } else {
      Value number = wb.add(wb.thread, first), row = wb.divide(number, chunks);
      Value column = wb.multiply(wb.remainder(number, chunks), perChunk);
      Value offset = wb.add(wb.multiply64(wb.widen(row), range.stride), wb.widen(column));
      address = view.getAddress(wb, wb.add(range.start, offset));
    }
    startCopy(wb, destination, address, left ? wb.isLess(wb.constant(first), left) : Value());
  };
  auto copyAll = [&](Value left) {
    for (int64_t first = 0; first < total; first += wb.threads) {
      bool isWhole = first + wb.threads <= total;
      wb.when(isWhole ? Value() : wb.isLess(wb.thread, wb.constant(total - first)), [&] { copy(first, left); });
    }
  };
  if (!range.count)
    return copyAll(Value());
  Value isShort = wb.isLess(range.count, wb.constant(layout.rows));
  auto branch = scf::IfOp::create(wb.b, wb.loc, isShort, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(wb.b);
  wb.b.setInsertionPointToStart(branch.thenBlock());
  copyAll(arith::SubIOp::create(wb.b, wb.loc, wb.multiply(range.count, chunks), wb.thread));
  wb.b.setInsertionPointToStart(branch.elseBlock());
  copyAll(Value());
}

void attn::nvvm::copyRows(WarpBuilder &wb, const GlobalView &view, const SharedTile &tile, unsigned columnDim,
                          Type tileType, function_ref<Value(Value row)> getOffset,
                          function_ref<Value(Value row)> isInside, const std::optional<RowRange> &range) {
  const SharedTileLayout &layout = tile.layout;
  CopyPlan plan(layout, wb.threads);
  if (range && !plan.dividesRows && canCopyInTurn(view, tile, columnDim, tileType))
    return copyInTurn(wb, view, tile, *range);
  bool isSame = view.getElementType() == tileType && view.isContiguous(columnDim);
  int64_t perChunk = kChunkBytes * 8 / tileType.getIntOrFloatBitWidth();
  Value firstRow = wb.divide(wb.thread, plan.lanes), firstChunk = wb.remainder(wb.thread, plan.lanes);
  auto copyChunk = [&](int64_t pass, int64_t group, Value rowOffset, Value isValid) {
    Value chunk = wb.add(firstChunk, group * plan.lanes);
    if ((group + 1) * plan.lanes > layout.usedChunks) {
      Value hasElements = wb.isLess(chunk, wb.constant(layout.usedChunks));
      isValid = isValid ? wb.both(isValid, hasElements) : hasElements;
    }
    auto getColumn = [&](Value of) { return view.getOffset(wb, {{columnDim, wb.multiply(of, perChunk)}}); };
    Value column = wb.add(getColumn(firstChunk), getColumn(wb.constant(group * plan.lanes)));
    Value offset = wb.add(rowOffset, column);
    // Rows at a distance of a multiple of 8 have the same swizzle.
    int64_t rows = pass * plan.rowsOfPass, rowsBelow = llvm::alignDown(rows, std::lcm<int64_t>(8, plan.rowsOfPass));
    Value rowAbove = wb.add(firstRow, rows - rowsBelow);
    Value destination = addConstant(wb, tile.at(wb, rowAbove, firstChunk, rowsBelow), group * plan.groupBytes);
    auto store = [&] {
      storeChunk(wb, view, offset, columnDim, isValid ? isValid : arith::ConstantIntOp::create(wb.b, wb.loc, 1, 1),
                 tileType, destination);
    };
    if (!isSame)
      return store();
    Value address = view.getAddress(wb, offset);
    if (isCopiedAsync(view, columnDim, tileType))
      return startCopy(wb, destination, address, isValid);
    // Rows with run-time strides are usually aligned as well.
    OpBuilder &b = wb.b;
    Value number = LLVM::PtrToIntOp::create(b, wb.loc, b.getI64Type(), address);
    Value rest = arith::AndIOp::create(b, wb.loc, number, wb.constant64(kChunkBytes - 1));
    Value isChunk = arith::CmpIOp::create(b, wb.loc, arith::CmpIPredicate::eq, rest, wb.constant64(0));
    auto branch = scf::IfOp::create(b, wb.loc, isChunk, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    startCopy(wb, destination, address, isValid);
    b.setInsertionPointToStart(branch.elseBlock());
    store();
  };
  for (int64_t pass = 0; pass < plan.passes; ++pass) {
    int64_t rows = pass * plan.rowsOfPass;
    Value exists =
        rows + plan.rowsOfPass > layout.rows ? wb.isLess(firstRow, wb.constant(layout.rows - rows)) : Value();
    wb.when(exists, [&] {
      Value row = wb.add(firstRow, rows), rowOffset = getOffset(row), isValid = isInside(row);
      for (int64_t group = 0; group < plan.groups; ++group) {
        int64_t left = layout.chunks - group * plan.lanes;
        wb.when(left < plan.lanes ? wb.isLess(firstChunk, wb.constant(left)) : Value(),
                [&] { copyChunk(pass, group, rowOffset, isValid); });
      }
    });
  }
}
