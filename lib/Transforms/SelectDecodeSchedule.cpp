//===- SelectDecodeSchedule.cpp - schedules for few query rows ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Transforms/Transforms.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Memory waits while scores become weights: for one block of rows a tile has as few keys as pay for the softmax. In
/// one step it walks through K and V, and hardware prefetches, on some processors with our help; steps of a tile each
/// ask for the next one.
static constexpr int64_t kMinKeyTile = 16;
/// Where such a walk asks for the next tile, that is so many bytes of K, of 8 keys at least: longer bursts of requests
/// find no free buffer.
static constexpr int64_t kAskedTileBytes = 4 * 1024, kMinAskedKeys = 8;
/// With so many rows, multiplying takes about as long as memory does, and K and V of 8 bits take long to widen: there,
/// and for several blocks of rows or steps of a tile, the K that follows and the V of this tile are asked for beside
/// the products. Both are to stay in a first-level cache of 32 to 48 KB; half as many for several blocks, which ask for
/// K as many tiles ahead as are under way at once.
static constexpr int64_t kLongRows = 8, kLongTileBytes = 16 * 1024, kKeyTileBytes = 8 * 1024, kPrefetchTiles = 2;
/// At most so many keys that the scores of the rows stay near.
static constexpr int64_t kMaxKeyTile = 128;
/// Pages at least so long are read where they lie; shorter ones are gathered.
static constexpr int64_t kMinPage = 16;
/// Keys of a range that is folded on its own, at least: the two states that it costs are less than a thousandth of its
/// K and V. But until memory is at its full rate at the places of a new range, 2 to 3 us pass: so where ranges are
/// many, they are longer; where they are of several heads of K, they are shorter.
static constexpr int64_t kSplitKeys = 2048, kMinSplitKeys = 512, kMaxSplitKeys = 8192;
/// Heads of K that lie side by side are read in runs so long, a page of the processor's, where rows have so many lines
/// that hardware does not fetch their neighbours anyway.
static constexpr int64_t kRunBytes = 4096, kMinRowBytes = 256;
/// Rows of a tile of several heads of K, at most: their state stays in caches of the core.
static constexpr int64_t kMaxTileRows = 64;
/// Rows of a block of int8 keys, at most. Those take two instructions to widen: to widen them again for more rows costs
/// less than blocks of fewer keys do.
static constexpr int64_t kMaxInt8Rows = 4;
/// Rows whose products of bytes take less time than memory does, at most. A walk through K and V in tiles of
/// kAskedTileBytes then reads faster without our help, unless rows have many lines.
static constexpr int64_t kFewByteRows = 2;
/// Tiles for as many cores as use up the bandwidth of a machine; with as many, keys are not split.
static constexpr int64_t kManyTiles = 64;

int64_t attn::getPageTile(SdpaOp op, GatherPagesOp gather, int64_t keyTile) {
  auto gatherOfValue = op.getValue().getDefiningOp<GatherPagesOp>();
  if (!visitsOnly(op, gather, getMaps(op)[1]) || !gatherOfValue || !visitsOnly(op, gatherOfValue, getMaps(op)[2]))
    return 0;
  int64_t page = gather.getPageSize();
  for (int64_t tile = std::min(page, keyTile); tile >= kMinPage; --tile)
    if (page % tile == 0)
      return tile;
  return 0;
}

bool attn::hasHeadsSideBySide(SdpaOp op) {
  if (auto gather = op.getKey().getDefiningOp<GatherPagesOp>())
    return gather.getCacheDims().row < gather.getCacheDims().head;
  unsigned numBatch = getNumBatchDims(op);
  bool isAfterKey = false;
  for (AffineExpr expr : getMaps(op)[1].getResults()) {
    if (numBatch > 0 && isAfterKey && expr.isFunctionOfDim(numBatch - 1))
      return true;
    isAfterKey |= expr.isFunctionOfDim(numBatch + 1);
  }
  return false;
}

/// Heads of K in the loop over keys: with rows side by side, as many as a run of memory has.
static int64_t selectKvHeads(SdpaOp op, int64_t rows, int64_t rowBytes, int64_t keyBits) {
  // Too much is prepared for a step of integers to take few keys.
  if (rowBytes < kMinRowBytes || keyBits <= 8 || !hasHeadsSideBySide(op))
    return 1;
  for (int64_t kvHeads = std::min(kRunBytes / rowBytes, kMaxTileRows / rows); kvHeads > 1; --kvHeads)
    if (canShareKeyLoop(op, kvHeads))
      return kvHeads;
  return 1;
}

/// Rows of a block of products. As many products as lanes are added up together: rows times keys. Rows that are no
/// power of two round up. All rows are one block if two keys are left for it; blocks of many rows are smaller.
static int64_t selectRowBlock(SdpaOp op, int64_t rows, int64_t lanes) {
  int64_t rowBlock = llvm::PowerOf2Ceil(rows), maxRows = lanes / 2;
  if (getElementTypeOrSelf(op.getKey().getType()).isInteger(8))
    maxRows = std::min<int64_t>(maxRows, kMaxInt8Rows);
  if (rowBlock > maxRows)
    rowBlock = std::clamp<int64_t>(lanes / 4, 2, 4);
  return std::min(rowBlock, lanes);
}

/// Keys of a range, or 0 where tiles are many or keys few.
static int64_t selectSplitKeys(SdpaOp op, int64_t kvHeads, int64_t keyTile) {
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  int64_t keys = domain[numBatch + 1], tiles = 1;
  for (int64_t size : ArrayRef(domain).take_front(numBatch))
    tiles = ShapedType::isDynamic(size) ? 1 : tiles * size;
  tiles /= getGroupSize(op) * kvHeads;
  int64_t shortest = std::max(kSplitKeys / kvHeads, kMinSplitKeys);
  if (tiles >= kManyTiles || (!ShapedType::isDynamic(keys) && keys <= shortest))
    return 0;
  int64_t wanted = ShapedType::isDynamic(keys) ? shortest : keys * tiles / kManyTiles;
  return llvm::alignTo(std::clamp(wanted, shortest, kMaxSplitKeys), keyTile);
}

std::optional<ScheduleAttr> attn::selectDecodeSchedule(SdpaOp op, const TargetInfo &target) {
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  int64_t queries = domain[numBatch], keys = domain[numBatch + 1], headSize = domain[numBatch + 2];
  if (ShapedType::isDynamic(queries) || queries < 1 || op.getCuSeqlensQ() || op.getScoreWeight())
    return std::nullopt;
  Type type = getAccumulationType(getElementTypeOrSelf(op.getQuery().getType()));
  int64_t elementBytes = type.getIntOrFloatBitWidth() / 8, lanes = target.getLanes(elementBytes * 8);
  // The transposed tile fills its lanes with the rows of one head: it multiplies alignTo(Sq, lanes) rows where this
  // kernel multiplies Sq, and adds up the lanes of each product for about half as much again.
  if (3 * queries > 2 * static_cast<int64_t>(llvm::alignTo(queries, lanes)))
    return std::nullopt;
  int64_t rows = queries * getGroupSize(op);
  int64_t keyBits = getElementTypeOrSelf(op.getKey().getType()).getIntOrFloatBitWidth();
  int64_t rowBytes = std::max<int64_t>(headSize, 1) * keyBits / 8;
  int64_t rowBlock = selectRowBlock(op, rows, lanes);
  // Where keys are in pages, scores depend on the place of their key, or any key may be masked, steps are of one tile
  // each.
  auto gather = op.getKey().getDefiningOp<GatherPagesOp>();
  bool isOneStep = !gather && !asksForKeys(op) && (op.getMaskMod().empty() || !op.getKeyRanges().empty());
  bool isOneBlock = rows <= rowBlock, isLong = keyBits <= 8 || (isOneStep && isOneBlock && rowBlock >= kLongRows);
  int64_t kvHeads = selectKvHeads(op, rows, rowBytes, keyBits);
  bool isShort = isOneBlock && !isLong && !gather, isWalked = isShort && isOneStep && kvHeads == 1;
  auto getKeys = [&](int64_t bytes) {
    return std::clamp<int64_t>(llvm::bit_floor(uint64_t(bytes / rowBytes)), kMinKeyTile, kMaxKeyTile);
  };
  // Pages that are gathered are widened on the way.
  InstructionAttr instruction = selectInstruction(op, /*sharesKeys=*/true, target);
  bool usesBytes = instruction.getInfo().depth == 4;
  if (usesBytes && gather && getPageTile(op, gather, getKeys(kKeyTileBytes)) == 0) {
    usesBytes = false;
    instruction = InstructionAttr::getFMA(op.getContext());
  }
  int64_t keyTile = isShort ? kMinKeyTile : getKeys(isLong && !usesBytes ? kLongTileBytes : kKeyTileBytes);
  if (getTileStackBytes(op, rows, keyTile) > kMaxDecodeStackBytes)
    return std::nullopt;
  if (isWalked && target.prefetchesIntoL2)
    keyTile = std::clamp<int64_t>(llvm::bit_floor(uint64_t(kAskedTileBytes / rowBytes)), kMinAskedKeys, kMinKeyTile);
  bool isMemoryBound = usesBytes && isOneStep && rows <= kFewByteRows && rowBytes < kMinRowBytes;
  if (isMemoryBound)
    keyTile = getKeys(kAskedTileBytes);
  bool asksForNothing = isMemoryBound || (isWalked && !target.prefetchesIntoL2);
  int64_t prefetch = asksForNothing ? 0 : (isLong || isShort ? 1 : kPrefetchTiles) * keyTile;
  if (int64_t pageTile = gather ? getPageTile(op, gather, keyTile) : 0) {
    prefetch = keyTile;
    keyTile = pageTile;
  }
  if (!ShapedType::isDynamic(keys))
    keyTile = std::min(keyTile, std::max<int64_t>(keys, 1));
  return DecodeAttr::get(op.getContext(), queries, keyTile, lanes, rowBlock, instruction,
                         selectSplitKeys(op, kvHeads, keyTile), prefetch, kvHeads);
}
