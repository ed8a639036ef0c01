//===- TileCopies.h - copies of rows to shared memory -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_TILECOPIES_H
#define ATTN_LIB_CONVERSION_NVVM_TILECOPIES_H

#include "WarpTile.h"

namespace attn::nvvm {

/// Rows at a stride: the offset of the first one, and how many are not 0; null for all rows of a tile.
struct RowRange {
  mlir::Value start, stride, count;
};

/// Copies `range` to a tile: thread t has chunks t, t + threads, … of all, row after row. The copies are not committed.
void copyInTurn(WarpBuilder &wb, const GlobalView &view, const SharedTile &tile, const RowRange &range);
/// True where copyInTurn serves: copies are asynchronous, and no row has a chunk of zeros.
bool canCopyInTurn(const GlobalView &view, const SharedTile &tile, unsigned columnDim, mlir::Type tileType);
/// Copies rows of global memory to a tile: asynchronously where they have the tile's type, contiguous elements, and
/// start at multiples of 16 bytes; otherwise by loads and stores. Rows and columns out of range become 0. `getOffset`
/// and `isInside` define the rows, and so does `range` where they are at a stride. The copies are not committed.
void copyRows(WarpBuilder &wb, const GlobalView &view, const SharedTile &tile, unsigned columnDim, mlir::Type tileType,
              llvm::function_ref<mlir::Value(mlir::Value row)> getOffset,
              llvm::function_ref<mlir::Value(mlir::Value row)> isInside, const std::optional<RowRange> &range = {});

/// Which bytes of a register become pairs: 0, 1 and 2, 3; or 0, 2 and 1, 3.
enum class BytePairs { Adjacent, Alternate };
/// Four bytes of type `from` as two registers of bf16 or f16 (Bytes.cpp).
std::array<mlir::Value, 2> widenWord(WarpBuilder &wb, mlir::Value word, mlir::Type from, mlir::Type to,
                                     BytePairs pairs);
/// The same of a vector of i8, a multiple of four, in their order.
mlir::Value widenBytes(WarpBuilder &wb, mlir::Value raw, mlir::Type from, mlir::Type to);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_TILECOPIES_H
