//===- BlockLayout.h - shared memory of a block -----------------*- C++ -*-===//
//
// The layout of a block's tiles in shared memory. Rows are whole chunks of 16 bytes, an even number of them (the depth
// of an mma is two chunks) but in K and V of 16-bit mma, and chunk c of row r is at c ^ swizzle(r): the eight rows that
// one phase of ldmatrix reads, or one column of chunks, are in different banks without padding.
//
// Tiles that wgmma reads are in consecutive panels of 8 chunks, with the 128-byte swizzle of its descriptors (PTX ISA,
// "Shared Memory Matrix Layout"). A panel begins at a multiple of 1024 bytes.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TARGET_BLOCKLAYOUT_H
#define ATTN_TARGET_BLOCKLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace attn {

/// Bytes that one thread copies at a time, and of one row of an 8 x 8 matrix of 16-bit elements.
constexpr int64_t kChunkBytes = 16;
/// Chunks of a row of a panel.
constexpr int64_t kPanelChunks = 8;

/// A tile of rows in shared memory.
struct SharedTileLayout {
  int64_t rows = 0;
  int64_t chunks = 0;      ///< of a row
  int64_t usedChunks = 0;  ///< with elements; those after them are zero
  int64_t period = 1;      ///< number of swizzle values: the largest power of two that divides `panelChunks`, at most 8
  int64_t panelChunks = 0; ///< of a row of a panel: all, or 8

  SharedTileLayout() = default;
  SharedTileLayout(int64_t rows, int64_t columns, int64_t elementBytes, bool hasPanels = false);
  /// Rows of the used chunks alone, an odd number maybe; for tiles of a single panel.
  SharedTileLayout withoutPadding() const;
  /// Bytes from row to row, and from panel to panel.
  int64_t getPitch() const { return panelChunks * kChunkBytes; }
  int64_t getPanelBytes() const { return rows * getPitch(); }
  int64_t getBytes() const { return (chunks + panelChunks - 1) / panelChunks * getPanelBytes(); }
  /// Consecutive rows with the same swizzle: 8 / period. swizzle(r) = (r / it) % period.
  int64_t getSwizzleRows() const { return 8 / period; }

private:
  void setPanels(int64_t chunksOfPanel);
};

/// A tile of a block, at a byte offset in its shared memory.
struct PlacedTile {
  SharedTileLayout layout;
  int64_t offset;
};

/// The tiles of a block: Q (at the end the output), K and V, or those of gradients. Offsets in bytes.
struct BlockLayout {
  SharedTileLayout query, key, value, output;
  int64_t queryOffset = 0, keyOffset = 0, valueOffset = 0, barrierOffset = 0, bytes = 0;
  int64_t stages = 1;                          ///< of K, and of V, or of each column tile
  llvm::SmallVector<PlacedTile> operands;      ///< biases and masks of scores, with a producer
  llvm::SmallVector<PlacedTile> columns, rows; ///< for gradients
  int64_t statisticsOffset = 0;                ///< for gradients with a producer
  PlacedTile exchange = {};                    ///< for gradients in one kernel: dS, columns by rows, two buffers
  int64_t ticketOffset = 0;                    ///< for these: the block's ticket, after the barriers of its turns
  /// Barriers of a stage, one for full and one for empty, of 8 bytes each.
  static constexpr int64_t kBarrierBytes = 8, kBarriersOfStage = 2, kExchanges = 2;
  /// Rows of a tile of attn.copy_statistics, in f32.
  static constexpr int64_t kStatistics = 4;
  static SharedTileLayout getStatistics(int64_t queries) { return {kStatistics, queries, sizeof(float)}; }

  /// `rows` of the block, `keyTile` keys, head sizes `d` and `dv`, with elements of `elementBytes`, in K and V of
  /// `keyBytes`.
  static BlockLayout get(int64_t rows, int64_t keyTile, int64_t d, int64_t dv, int64_t elementBytes, int64_t keyBytes,
                         bool hasPanels, int64_t stages = 1);
  /// Gives Q stages of its own, apart from the output.
  void addQueryStages();
  /// Adds stages of a bias or mask, in panels where a row is longer than one.
  void addOperand(int64_t rows, int64_t keyTile, int64_t elementBytes);
  /// Bytes of an element of K and V in shared memory, where they have `keyBytes` in memory. Bytes beside 16-bit mma
  /// stay bytes if a single warp multiplies them, which widens each of them once; others are converted on the way.
  static int64_t getKeyBytes(int64_t d, int64_t dv, int64_t elementBytes, int64_t keyBytes, bool hasPanels,
                             int64_t warps);
  /// For gradients: column tiles of these widths, with `stages` stages each, then those of rows, and the statistics of
  /// the rows or of the columns. `isFused` for one kernel of all gradients.
  static BlockLayout getBackward(int64_t rows, int64_t keyTile, llvm::ArrayRef<int64_t> rowWidths,
                                 llvm::ArrayRef<int64_t> columnWidths, int64_t elementBytes, bool hasPanels,
                                 int64_t stages, bool isFused);
  /// Barriers of the turns, one for full and one for empty.
  int64_t getOrderBarriers() const { return ticketOffset - kBarriersOfStage * kBarrierBytes; }
};

} // namespace attn

#endif // ATTN_TARGET_BLOCKLAYOUT_H
