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
  int64_t parts = 1; ///< of elements of both factors, whose matrices have those of one part below those of another
};

/// Parts of a left and a right element.
struct PartPair {
  int64_t left, right;
};
/// Those whose products are added up: what is left out is below a half of the last bit of the parts together. In an
/// order in which few are loaded again.
llvm::ArrayRef<PartPair> getPartPairs(int64_t parts);

/// Its sums as they start, row by row.
Values startTiles(VectorBuilder &vb, const TileBlock &block);
/// One round of it, of depth kTileDepth from `k` on; calls `behind` with the number of each multiplication behind it,
/// of sums.size() for each pair of parts.
void multiplyTiles(VectorBuilder &vb, const TileBlock &block, mlir::Value k, Values &sums,
                   llvm::function_ref<void(int64_t)> behind);
void storeTiles(VectorBuilder &vb, const TileBlock &block, mlir::ValueRange sums);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_TILEPRODUCTS_H
