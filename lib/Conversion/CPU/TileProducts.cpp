//===- TileProducts.cpp - products of matrices by AMX tiles ---------------===//
//
// tdpbf16ps adds to a tile of 16 x 16 f32 the product of 16 rows of 32 bf16 and 16
// rows of 16 pairs: the pairs of bf16 that vdpbf16ps reads as well (BF16Pairs.cpp).
// Four of the eight tile registers hold sums, two rows and two pairs, so that each
// loaded tile is multiplied twice. All tiles have one shape: LLVM gives a tile
// register one shape for a whole function.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2,
// "TDPBF16PS"; Intel Architecture Optimization Reference Manual, "Intel AMX".
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileProducts.h"
#include "mlir/Dialect/AMX/AMXDialect.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

static constexpr int64_t kRows = TargetInfo::kTileRows, kDepth = TargetInfo::kTileDepth;

/// body(first row, number of tiles from there on) over `count` rows.
static void forEachTilePair(VectorBuilder &vb, int64_t count, function_ref<void(Value, int64_t)> body) {
  int64_t pair = kBlockRows, whole = count / pair * pair;
  vb.loop(whole, pair, {}, [&](Value first, ValueRange) {
    body(first, kBlockTiles);
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

/// The view of the first `count` positions in dimension `dim` of a whole tile; null if the memref itself has these, or
/// there is no such tile.
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

/// All dimensions but the last one.
static SmallVector<ReassociationIndices> getRowGroups(int64_t rank) {
  return {llvm::to_vector(llvm::seq<int64_t>(0, rank - 1)), {rank - 1}};
}

/// The tile of which a memref is the first part.
static Value getTile(Value memref) {
  while (auto part = memref.getDefiningOp<memref::SubViewOp>()) {
    if (part.getType().getRank() != part.getSourceType().getRank() ||
        !llvm::all_of(part.getMixedOffsets(), [](OpFoldResult offset) { return isConstantIntValue(offset, 0); }))
      break;
    memref = part.getSource();
  }
  return memref;
}

bool attn::cpu::hasPartsInOrder(const Operand &operand, unsigned row, unsigned column) {
  auto type = cast<MemRefType>(getTile(operand.memref).getType());
  int64_t rank = type.getRank();
  return type.hasStaticShape() && getDim(operand, row) == rank - 2 && getDim(operand, column) == rank - 1 &&
         memref::CollapseShapeOp::isGuaranteedCollapsible(type, getRowGroups(rank));
}

Value attn::cpu::getPartsMatrix(VectorBuilder &vb, Value memref) {
  Value tile = getTile(memref);
  return memref::CollapseShapeOp::create(vb.b, vb.loc, tile, getRowGroups(cast<MemRefType>(tile.getType()).getRank()));
}

Value attn::cpu::getPairMatrix(VectorBuilder &vb, Value pairs, int64_t parts) {
  if (parts > 1)
    return getPartsMatrix(vb, pairs);
  int64_t rank = cast<MemRefType>(pairs.getType()).getRank();
  return ::getMatrix(vb, pairs, rank - 2, rank - 1);
}

static amx::TileType getPairType(OpBuilder &b) { return amx::TileType::get({kRows, kDepth}, b.getBF16Type()); }
static amx::TileType getSumType(OpBuilder &b) { return amx::TileType::get({kRows, kRows}, b.getF32Type()); }

static Value loadTile(VectorBuilder &vb, amx::TileType type, Value matrix, Value row, Value column) {
  return amx::TileLoadOp::create(vb.b, vb.loc, type, matrix, ValueRange{row, column});
}

/// The position of a tile of the block in a matrix.
static Values getTileIndices(VectorBuilder &vb, const TileBlock &block, int64_t tile) {
  return {vb.add(block.sums.row, tile / block.tilesAcross * kRows),
          vb.add(block.sums.column, tile % block.tilesAcross * kRows)};
}

Values attn::cpu::startTiles(VectorBuilder &vb, const TileBlock &block) {
  Values sums;
  amx::TileType type = getSumType(vb.b);
  for (int64_t tile = 0; tile < block.tilesDown * block.tilesAcross; ++tile) {
    Values at = getTileIndices(vb, block, tile);
    sums.push_back(block.isAdded ? loadTile(vb, type, block.sums.matrix, at[0], at[1])
                                 : amx::TileZeroOp::create(vb.b, vb.loc, type).getResult());
  }
  return sums;
}

ArrayRef<PartPair> attn::cpu::getPartPairs(int64_t parts) {
  static constexpr PartPair kOne[] = {{0, 0}}, kTwo[] = {{1, 1}, {1, 0}, {0, 0}, {0, 1}},
                            kThree[] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {0, 0}};
  return parts == 1 ? ArrayRef(kOne) : parts == 2 ? ArrayRef(kTwo) : ArrayRef(kThree);
}

void attn::cpu::multiplyTiles(VectorBuilder &vb, const TileBlock &block, Value k, Values &sums,
                              function_ref<void(int64_t)> behind) {
  Values lefts, rights;
  amx::TileType type = getPairType(vb.b);
  auto getRow = [&](const Corner &corner, int64_t part) {
    return vb.add(corner.row, part * (cast<MemRefType>(corner.matrix.getType()).getDimSize(0) / block.parts));
  };
  auto loadLefts = [&](int64_t part) {
    lefts.clear();
    for (int64_t i = 0; i < block.tilesDown; ++i)
      lefts.push_back(loadTile(vb, type, block.left.matrix, vb.add(getRow(block.left, part), i * kRows), k));
  };
  auto loadRights = [&](int64_t part) {
    rights.clear();
    for (int64_t j = 0; j < block.tilesAcross; ++j)
      rights.push_back(loadTile(vb, type, block.right.matrix, vb.add(getRow(block.right, part), vb.divide(k, 2)),
                                vb.add(block.right.column, 2 * j * kRows)));
  };
  int64_t products = 0;
  std::optional<PartPair> last;
  for (PartPair pair : getPartPairs(block.parts)) {
    if (!last || last->left != pair.left)
      loadLefts(pair.left);
    if (!last || last->right != pair.right)
      loadRights(pair.right);
    last = pair;
    for (auto [tile, sum] : llvm::enumerate(sums)) {
      sum = amx::TileMulFOp::create(vb.b, vb.loc, getSumType(vb.b), lefts[tile / block.tilesAcross],
                                    rights[tile % block.tilesAcross], sum);
      behind(products++);
    }
  }
}

void attn::cpu::storeTiles(VectorBuilder &vb, const TileBlock &block, ValueRange sums) {
  for (auto [tile, sum] : llvm::enumerate(sums))
    amx::TileStoreOp::create(vb.b, vb.loc, block.sums.matrix, getTileIndices(vb, block, tile), sum);
}

void attn::cpu::emitTileProduct(VectorBuilder &vb, Value left, Value right, Value sums, bool isAdded, int64_t parts) {
  auto sumsType = cast<MemRefType>(sums.getType());
  int64_t depth = 2 * cast<MemRefType>(right.getType()).getDimSize(0) / parts;
  Value zero = vb.index(0);
  forEachTilePair(vb, sumsType.getDimSize(0), [&](Value row, int64_t tilesDown) {
    forEachTilePair(vb, sumsType.getDimSize(1), [&](Value column, int64_t tilesAcross) {
      TileBlock block{{left, row, zero},
                      {right, zero, vb.multiply(column, 2)},
                      {sums, row, column},
                      isAdded,
                      tilesDown,
                      tilesAcross,
                      parts};
      Values tiles = startTiles(vb, block);
      for (int64_t k = 0; k < depth; k += kDepth)
        multiplyTiles(vb, block, vb.index(k), tiles, [](int64_t) {});
      storeTiles(vb, block, tiles);
    });
  });
}
