//===- TileProducts.cpp - products of matrices by AMX tiles ---------------===//
//
// tdpbf16ps adds to a tile of 16 x 16 f32 the product of 16 rows of 32 bf16 and 16
// rows of 16 pairs: the pairs of bf16 that vdpbf16ps takes as well (BF16Pairs.cpp).
// Of the eight tile registers four hold sums, two rows and two pairs, so that each
// tile that is loaded is multiplied twice. All tiles have one shape: LLVM gives a tile
// register one for the whole of a function.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2,
// "TDPBF16PS"; Intel Architecture Optimization Reference Manual, "Intel AMX".
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"
#include "mlir/Dialect/AMX/AMXDialect.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Tiles of a block, each way.
static constexpr int64_t kTiles = 2;
static constexpr int64_t kRows = TargetInfo::kTileRows, kDepth = TargetInfo::kTileDepth;

/// body(first row, number of tiles from there on) over `count` rows.
static void forEachTilePair(VectorBuilder &vb, int64_t count, function_ref<void(Value, int64_t)> body) {
  int64_t pair = kTiles * kRows, whole = count / pair * pair;
  vb.loop(whole, pair, {}, [&](Value first, ValueRange) {
    body(first, kTiles);
    return Values();
  });
  if (whole < count)
    body(vb.index(whole), 1);
}

/// The two dimensions of a memref whose others have size 1.
static Value getMatrix(VectorBuilder &vb, Value memref, unsigned row, unsigned column) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.getRank() == 2)
    return memref;
  SmallVector<OpFoldResult> offsets(type.getRank(), vb.b.getIndexAttr(0)),
      strides(type.getRank(), vb.b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = getAsIndexOpFoldResult(vb.b.getContext(), type.getShape());
  MemRefType matrix = memref::SubViewOp::inferRankReducedResultType({type.getDimSize(row), type.getDimSize(column)},
                                                                    type, offsets, sizes, strides);
  return memref::SubViewOp::create(vb.b, vb.loc, matrix, memref, offsets, sizes, strides);
}

/// The view of the first of `count` positions in dimension `dim` that a whole tile has; null where the memref itself
/// has them, or where there is no such tile.
static memref::SubViewOp findPartOfTile(Value memref, unsigned dim, int64_t count) {
  while (cast<MemRefType>(memref.getType()).getDimSize(dim) != count) {
    auto part = memref.getDefiningOp<memref::SubViewOp>();
    if (!part || part.getType().getRank() != part.getSourceType().getRank() ||
        !isConstantIntValue(part.getMixedOffsets()[dim], 0) || !isConstantIntValue(part.getMixedStrides()[dim], 1))
      return {};
    if (part.getSourceType().getDimSize(dim) >= count)
      return part;
    memref = part.getSource();
  }
  return {};
}

static unsigned getDim(const Operand &operand, unsigned position) {
  return *operand.map.getResultPosition(getAffineDimExpr(position, operand.map.getContext()));
}

bool attn::cpu::hasWholeTile(const Operand &operand, unsigned position, int64_t count) {
  unsigned dim = getDim(operand, position);
  return cast<MemRefType>(operand.memref.getType()).getDimSize(dim) == count ||
         findPartOfTile(operand.memref, dim, count);
}

Operand attn::cpu::getWholeTile(VectorBuilder &vb, const Operand &operand, unsigned position, int64_t count) {
  unsigned dim = getDim(operand, position);
  memref::SubViewOp part = findPartOfTile(operand.memref, dim, count);
  if (!part)
    return operand;
  SmallVector<OpFoldResult> sizes = part.getMixedSizes();
  sizes[dim] = vb.b.getIndexAttr(count);
  return {
      memref::SubViewOp::create(vb.b, vb.loc, part.getSource(), part.getMixedOffsets(), sizes, part.getMixedStrides()),
      operand.map};
}

Value attn::cpu::getMatrix(VectorBuilder &vb, const Operand &operand, unsigned row, unsigned column) {
  return ::getMatrix(vb, operand.memref, getDim(operand, row), getDim(operand, column));
}

Value attn::cpu::getPairMatrix(VectorBuilder &vb, Value pairs) {
  int64_t rank = cast<MemRefType>(pairs.getType()).getRank();
  return ::getMatrix(vb, pairs, rank - 2, rank - 1);
}

void attn::cpu::emitTileProduct(VectorBuilder &vb, Value left, Value right, Value sums, bool isAdded) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  auto sumsType = cast<MemRefType>(sums.getType());
  int64_t rows = sumsType.getDimSize(0), columns = sumsType.getDimSize(1),
          depth = cast<MemRefType>(left.getType()).getDimSize(1);
  auto pairType = amx::TileType::get({kRows, kDepth}, b.getBF16Type());
  auto sumType = amx::TileType::get({kRows, kRows}, b.getF32Type());
  auto load = [&](Value matrix, amx::TileType type, Value row, Value column) -> Value {
    return amx::TileLoadOp::create(b, loc, type, matrix, ValueRange{row, column});
  };
  forEachTilePair(vb, rows, [&](Value firstRow, int64_t tilesDown) {
    forEachTilePair(vb, columns, [&](Value firstColumn, int64_t tilesAcross) {
      auto getRow = [&](int64_t tile) { return vb.add(firstRow, tile / tilesAcross * kRows); };
      auto getColumn = [&](int64_t tile) { return vb.add(firstColumn, tile % tilesAcross * kRows); };
      Values accumulators;
      for (int64_t tile = 0; tile < tilesDown * tilesAcross; ++tile)
        accumulators.push_back(isAdded ? load(sums, sumType, getRow(tile), getColumn(tile))
                                       : amx::TileZeroOp::create(b, loc, sumType).getResult());
      for (int64_t k = 0; k < depth; k += kDepth) {
        Values lefts, rights;
        for (int64_t i = 0; i < tilesDown; ++i)
          lefts.push_back(load(left, pairType, getRow(i * tilesAcross), vb.index(k)));
        for (int64_t j = 0; j < tilesAcross; ++j)
          rights.push_back(load(right, pairType, vb.index(k / 2), vb.multiply(getColumn(j), 2)));
        for (auto [tile, sum] : llvm::enumerate(accumulators))
          sum = amx::TileMulFOp::create(b, loc, sumType, lefts[tile / tilesAcross], rights[tile % tilesAcross], sum);
      }
      for (auto [tile, sum] : llvm::enumerate(accumulators))
        amx::TileStoreOp::create(b, loc, sums, ValueRange{getRow(tile), getColumn(tile)}, sum);
    });
  });
}
