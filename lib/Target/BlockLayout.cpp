//===- BlockLayout.cpp - shared memory of a block -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Target/BlockLayout.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace attn;

SharedTileLayout::SharedTileLayout(int64_t rows, int64_t columns, int64_t elementBytes, bool hasPanels)
    : rows(rows), usedChunks(llvm::divideCeil(columns * elementBytes, kChunkBytes)) {
  chunks = llvm::alignTo(std::max<int64_t>(usedChunks, 1), 2);
  setPanels(hasPanels ? kPanelChunks : chunks);
}

void SharedTileLayout::setPanels(int64_t chunksOfPanel) {
  panelChunks = chunksOfPanel;
  period = std::min<int64_t>(8, panelChunks & -panelChunks);
}

SharedTileLayout SharedTileLayout::withoutPadding() const {
  SharedTileLayout layout = *this;
  layout.chunks = std::max<int64_t>(usedChunks, 1);
  layout.setPanels(layout.chunks);
  return layout;
}

int64_t BlockLayout::getKeyBytes(int64_t d, int64_t dv, int64_t elementBytes, int64_t keyBytes, bool hasPanels,
                                 int64_t warps) {
  bool hasWholeChunks = d % kChunkBytes == 0 && dv % kChunkBytes == 0;
  return elementBytes == 2 && keyBytes == 1 && hasWholeChunks && !hasPanels && warps == 1 ? 1 : elementBytes;
}

BlockLayout BlockLayout::get(int64_t rows, int64_t keyTile, int64_t d, int64_t dv, int64_t elementBytes,
                             int64_t keyBytes, bool hasPanels, int64_t stages) {
  BlockLayout layout;
  layout.query = SharedTileLayout(rows, d, elementBytes, hasPanels);
  layout.key = SharedTileLayout(keyTile, d, keyBytes, hasPanels);
  layout.value = SharedTileLayout(keyTile, dv, keyBytes, hasPanels);
  layout.output = SharedTileLayout(rows, dv, elementBytes, hasPanels);
  // mma of 16 bits needs no chunk of zeros behind K and V: an odd number of chunks has no bank conflicts as it is.
  if (!hasPanels && elementBytes == 2) {
    layout.key = layout.key.withoutPadding();
    layout.value = layout.value.withoutPadding();
  }
  layout.keyOffset = std::max(layout.query.getBytes(), layout.output.getBytes());
  layout.stages = stages;
  layout.valueOffset = layout.keyOffset + stages * layout.key.getBytes();
  // Without columns, V is columns of K.
  layout.barrierOffset = layout.valueOffset + (dv > 0 ? stages * layout.value.getBytes() : 0);
  layout.bytes = layout.barrierOffset + (hasPanels && stages > 1 ? 2 * stages * kBarriersOfStage * kBarrierBytes : 0);
  return layout;
}

/// Places stages of a tile, and their barriers, behind the tiles of a block.
static int64_t addStages(BlockLayout &layout, const SharedTileLayout &tile) {
  int64_t offset = layout.barrierOffset, bytes = layout.stages * tile.getBytes();
  layout.barrierOffset += bytes;
  layout.bytes += bytes + layout.stages * BlockLayout::kBarriersOfStage * BlockLayout::kBarrierBytes;
  return offset;
}

void BlockLayout::addQueryStages() { queryOffset = addStages(*this, query); }

void BlockLayout::addOperand(int64_t rows, int64_t keyTile, int64_t elementBytes) {
  SharedTileLayout tile(rows, keyTile, elementBytes, keyTile * elementBytes > kPanelChunks * kChunkBytes);
  operands.push_back({tile, addStages(*this, tile)});
}

BlockLayout BlockLayout::getBackward(int64_t rows, int64_t keyTile, llvm::ArrayRef<int64_t> rowWidths,
                                     llvm::ArrayRef<int64_t> columnWidths, int64_t elementBytes, bool hasPanels,
                                     int64_t stages, bool isFused) {
  BlockLayout layout;
  layout.stages = stages;
  // These come first, where panels are aligned to their size.
  for (int64_t width : columnWidths) {
    SharedTileLayout tile(keyTile, width, elementBytes, hasPanels);
    layout.columns.push_back({tile, layout.barrierOffset});
    layout.barrierOffset += stages * tile.getBytes();
  }
  for (int64_t width : rowWidths) {
    SharedTileLayout tile(rows, width, elementBytes, hasPanels);
    layout.rows.push_back({tile, layout.barrierOffset});
    layout.barrierOffset += tile.getBytes();
  }
  if (isFused) {
    layout.exchange = {SharedTileLayout(keyTile, rows, elementBytes, hasPanels), layout.barrierOffset};
    layout.barrierOffset += kExchanges * layout.exchange.layout.getBytes();
  }
  layout.bytes = layout.barrierOffset;
  if (hasPanels && stages > 1) {
    // Statistics of the rows, or of the columns.
    layout.statisticsOffset = layout.barrierOffset;
    layout.barrierOffset += std::max(getStatistics(rows).getBytes(), stages * getStatistics(keyTile).getBytes());
    layout.bytes = layout.barrierOffset + (columnWidths.size() + 1) * stages * kBarriersOfStage * kBarrierBytes;
  }
  if (isFused) {
    layout.ticketOffset = layout.bytes + kBarriersOfStage * kBarrierBytes;
    layout.bytes = layout.ticketOffset + kBarrierBytes;
  }
  return layout;
}
