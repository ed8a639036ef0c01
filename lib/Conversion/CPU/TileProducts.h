//===- TileProducts.h - rounds of products by AMX tiles ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_TILEPRODUCTS_H
#define ATTN_LIB_CONVERSION_CPU_TILEPRODUCTS_H

#include "VectorTile.h"

namespace attn::cpu {

/// A part of a matrix: its first row and column. Columns of pairs are counted as elements.
struct Corner {
  mlir::Value matrix, row, column;
};

/// Tiles each way of a block whose sums are in registers.
constexpr int64_t kBlockTiles = 2;
constexpr int64_t kBlockRows = kBlockTiles * TargetInfo::kTileRows;

/// A block of sums = left right, or sums += left right where `isAdded`. The left one starts at column 0.
struct TileBlock {
  Corner left, right, sums;
  bool isAdded;
  int64_t tilesDown = kBlockTiles, tilesAcross = kBlockTiles;
  int64_t parts = 1; ///< of elements of both factors; their matrices hold the rows of one part below those of another
};

/// Parts of a left and a right element.
struct PartPair {
  int64_t left, right;
};
/// The pairs of parts whose products are added up: the others are below half of the last bit of all parts. Ordered so
/// that few are loaded again.
llvm::ArrayRef<PartPair> getPartPairs(int64_t parts);

/// The initial sums of a block, row by row.
Values startTiles(VectorBuilder &vb, const TileBlock &block);
/// One round of a block, of depth kTileDepth from `k` on; calls `behind` with the index of each multiplication after
/// it: sums.size() for each pair of parts.
void multiplyTiles(VectorBuilder &vb, const TileBlock &block, mlir::Value k, Values &sums,
                   llvm::function_ref<void(int64_t)> behind);
void storeTiles(VectorBuilder &vb, const TileBlock &block, mlir::ValueRange sums);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_TILEPRODUCTS_H
