//===- SelectDecodeSchedule.cpp - schedules for few query rows ------------===//
//
// Policy: the schedule of a decode kernel, and the cycles of its products. The key tile and the prefetch distance
// depend on whether memory or the products take longer; docs/Rationale.md has the cases as a table. Only sizes decide
// how keys are split.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SelectPrefillTile.h"
#include "attn/IR/Decompose.h"
#include "attn/Transforms/Transforms.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Fewest keys of a tile. Memory is idle during the softmax, so a tile of one block of rows has as few keys as the
/// softmax allows.
static constexpr int64_t kMinKeyTile = 16;
/// Bytes of K in a tile that prefetches the next one while K and V are read line by line, and its fewest keys. Longer
/// bursts of prefetches find no free line-fill buffer.
static constexpr int64_t kPrefetchedTileBytes = 4 * 1024, kMinPrefetchedKeys = 8;
/// With this many rows, the products take about as long as memory. K and V of 8 bits take long to widen.
static constexpr int64_t kManyRows = 8;
/// Bytes of K in a tile that is prefetched beside the products. Together with V of the same tile, it stays in an L1
/// cache of 32 to 48 KB.
static constexpr int64_t kLongTileBytes = 16 * 1024;
/// The same where rows form several blocks, or keys are in order. K is then prefetched kPrefetchTiles ahead.
static constexpr int64_t kKeyTileBytes = 8 * 1024, kPrefetchTiles = 2;
/// Most keys of a tile: the scores of its rows stay in the L1 cache.
static constexpr int64_t kMaxKeyTile = 128;
/// Pages of at least this many keys are read in place; shorter ones are gathered.
static constexpr int64_t kMinPage = 16;
/// Keys of a split. The default: two states are less than a thousandth of its K and V. The minimum: a split of several
/// key heads may be shorter. The maximum: memory reaches its full rate 2 to 3 us after the segments of a split begin,
/// so splits are longer where keys are many.
static constexpr int64_t kSplitKeys = 2048, kMinSplitKeys = 512, kMaxSplitKeys = 8192;
/// Adjacent key heads are read in runs of kRunBytes, a page of virtual memory. Shorter rows gain nothing: the hardware
/// prefetches their neighbours anyway, unless they are in pages.
static constexpr int64_t kRunBytes = 4096, kMinRowBytes = 256, kMinPagedRowBytes = 128;
/// Most rows of a tile of several key heads: their state stays in the core's caches.
static constexpr int64_t kMaxTileRows = 64;
/// Most rows of a block of int8 keys. Widening takes two instructions: widening the keys again for more rows costs less
/// than blocks of fewer keys.
static constexpr int64_t kMaxInt8Rows = 4;
/// Most rows whose byte products take less time than memory. Hardware prefetching alone then reads tiles of
/// kPrefetchedTileBytes faster, unless rows have many lines.
static constexpr int64_t kFewByteRows = 2;
/// Cycles per lane, except the first one, of a sum over lanes: two shuffles at one per cycle, and an addition.
static constexpr double kLaneSumCycles = 3;
/// Most bytes of Q, scores and accumulators in a tile of heads that share a key head. Each key tile reads all of them.
static constexpr int64_t kMaxTileBytes = 192 * 1024;
/// With this many tiles, each core that the memory bandwidth can serve has one: keys are not split.
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

/// Key heads in the loop over keys, where their rows are adjacent: enough for a run of memory.
static int64_t selectKvHeads(SdpaOp op, int64_t rows, int64_t rowBytes, bool usesBytes) {
  // The setup of a step of byte products is too costly for few keys.
  auto gather = op.getKey().getDefiningOp<GatherPagesOp>();
  bool isPaged = gather && getPageTile(op, gather, kMinPage) > 0;
  if (usesBytes || rowBytes < (isPaged ? kMinPagedRowBytes : kMinRowBytes))
    return 1;
  // Contiguous keys of 8 bits take longer to widen than to read.
  if (!isPaged && getElementTypeOrSelf(op.getKey().getType()).getIntOrFloatBitWidth() <= 8)
    return 1;
  for (int64_t kvHeads = std::min(kRunBytes / rowBytes, kMaxTileRows / rows); kvHeads > 1; --kvHeads)
    if (canShareKeyLoop(op, kvHeads))
      return kvHeads;
  return 1;
}

/// Rows of a block of products, a power of two. A block sums as many products (rows times keys) as a vector has lanes.
/// All rows form one block if that leaves two keys; otherwise blocks have fewer rows.
static int64_t selectRowBlock(SdpaOp op, int64_t rows, int64_t lanes) {
  int64_t rowBlock = llvm::PowerOf2Ceil(rows), maxRows = lanes / 2;
  if (getElementTypeOrSelf(op.getKey().getType()).isInteger(8))
    maxRows = std::min<int64_t>(maxRows, kMaxInt8Rows);
  if (rowBlock > maxRows)
    rowBlock = std::clamp<int64_t>(lanes / 4, 2, 4);
  return std::min(rowBlock, lanes);
}

/// Heads of a tile that share a key head: the whole group, or as many as stay in the core's caches.
static int64_t selectHeads(SdpaOp op, int64_t queries, int64_t keyTile) {
  int64_t heads = getGroupSize(op);
  while (heads > 1 && getTileStackBytes(op, queries * heads, keyTile) > kMaxTileBytes)
    do
      --heads;
    while (getGroupSize(op) % heads != 0);
  return heads;
}

/// Keys of a split, or 0 if tiles are many or keys few.
static int64_t selectSplitKeys(SdpaOp op, int64_t heads, int64_t kvHeads, int64_t keyTile) {
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  int64_t keys = domain[numBatch + 1], tiles = 1;
  for (int64_t size : ArrayRef(domain).take_front(numBatch))
    tiles = ShapedType::isDynamic(size) ? 1 : tiles * size;
  tiles /= heads * kvHeads;
  int64_t shortest = std::max(kSplitKeys / kvHeads, kMinSplitKeys);
  if (tiles >= kManyTiles || (!ShapedType::isDynamic(keys) && keys <= shortest))
    return 0;
  int64_t wanted = ShapedType::isDynamic(keys) ? shortest : keys * tiles / kManyTiles;
  return llvm::alignTo(std::clamp(wanted, shortest, kMaxSplitKeys), keyTile);
}

double attn::getDecodeCycles(SdpaOp op, DecodeAttr schedule, const TargetInfo &target) {
  int64_t lanes = schedule.getLanes(), groupSize = getGroupSize(op), heads = schedule.getHeadsOfGroup(groupSize),
          rows = schedule.getQueryTile() * heads, keys = schedule.getKeyBlock(rows);
  if (schedule.getInfo().keyMultiple > 1) {
    PrefillShape shape{rows, schedule.getKeyTile(), getStaticSize(op, DimKind::HeadSize),
                       getStaticSize(op, DimKind::ValueSize), /*elementBytes=*/4};
    shape.isPacked = true;
    return groupSize / heads * getTiledCycles(shape, rows, target);
  }
  Type keyType = getElementTypeOrSelf(op.getKey().getType());
  bool isWidened = !schedule.getInfo().takesNarrow && keyType != getAccumulationType(keyType);
  // Iterations over the columns of K and of V, relative to those of a prefill kernel: only decode kernels have byte
  // products, which are four times as deep and have two digits.
  double perRound = schedule.getInfo().instruction == Instruction::Bytes ? 2 : 1;
  double rounds = llvm::divideCeil(getStaticSize(op, DimKind::HeadSize), lanes) / perRound,
         outputRounds = llvm::divideCeil(getStaticSize(op, DimKind::ValueSize), lanes) / perRound;
  auto getBlockCycles = [&](int64_t blockRows) {
    double products = blockRows * keys, loads = keys * (isWidened ? 2 : 1);
    // Q·K: loads of K and Q, then the sums over lanes. P·V: loads of V, and acc is loaded and stored.
    return rounds * getStepCycles(products, products + loads + blockRows, target) + kLaneSumCycles * (lanes - 1) +
           outputRounds * getStepCycles(products, products + loads + 2 * blockRows, target);
  };
  int64_t blockRows = std::min(rows, schedule.getBlockQueries()), rest = rows % blockRows;
  double cycles = rows / blockRows * getBlockCycles(blockRows) + (rest > 0 ? getBlockCycles(rest) : 0);
  return groupSize / heads * (cycles / keys + kSoftmaxCycles * rows / lanes);
}

std::optional<DecodeAttr> attn::selectDecodeSchedule(SdpaOp op, int64_t queries, const TargetInfo &target,
                                                     std::optional<bool> isSideBySide) {
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  int64_t keys = domain[numBatch + 1], headSize = domain[numBatch + 2];
  if (ShapedType::isDynamic(queries) || queries < 1 || ShapedType::isDynamic(headSize) ||
      ShapedType::isDynamic(domain[numBatch + 3]) || op.getCuSeqlensQ() || op.getScoreWeight())
    return std::nullopt;
  Type type = getAccumulationType(getElementTypeOrSelf(op.getQuery().getType()));
  int64_t elementBytes = type.getIntOrFloatBitWidth() / 8, lanes = target.getLanes(elementBytes * 8);
  int64_t heads = selectHeads(op, queries, kMinKeyTile), rows = queries * heads;
  int64_t keyBits = getElementTypeOrSelf(op.getKey().getType()).getIntOrFloatBitWidth();
  int64_t rowBytes = std::max<int64_t>(headSize, 1) * keyBits / 8;
  int64_t rowBlock = selectRowBlock(op, rows, lanes);
  // Keys are in order if they are in pages, if scores depend on the key position, or if any key may be masked.
  auto gather = op.getKey().getDefiningOp<GatherPagesOp>();
  bool isOrderFree = !gather && !asksForKeys(op) && (op.getMaskMod().empty() || !op.getKeyRanges().empty());
  auto getKeys = [&](int64_t bytes) {
    return std::clamp<int64_t>(llvm::bit_floor(uint64_t(bytes / rowBytes)), kMinKeyTile, kMaxKeyTile);
  };
  // Gathering pages widens them.
  InstructionAttr instruction = selectInstruction(op, /*sharesKeys=*/true, target);
  bool usesBytes = instruction.getValue() == Instruction::Bytes;
  if (usesBytes && gather && getPageTile(op, gather, getKeys(kKeyTileBytes)) == 0) {
    usesBytes = false;
    instruction = InstructionAttr::getFMA(op.getContext());
  }
  bool isOneBlock = rows <= rowBlock, isLong = keyBits <= 8 || (isOrderFree && isOneBlock && rowBlock >= kManyRows);
  // A dynamic number of rows is counted over the heads of one key head.
  bool sharesLoop = !ShapedType::isDynamic(domain[numBatch]) && isSideBySide.value_or(hasHeadsSideBySide(op));
  int64_t kvHeads = sharesLoop ? selectKvHeads(op, rows, rowBytes, usesBytes) : 1;
  bool isShort = isOneBlock && !isLong && !gather, isLineByLine = isShort && isOrderFree && kvHeads == 1;
  int64_t keyTile = isShort ? kMinKeyTile : getKeys(isLong && !usesBytes ? kLongTileBytes : kKeyTileBytes);
  if (getTileStackBytes(op, rows, keyTile) > kMaxDecodeStackBytes)
    return std::nullopt;
  if (isLineByLine && target.prefetchesIntoL2)
    keyTile = std::clamp<int64_t>(llvm::bit_floor(uint64_t(kPrefetchedTileBytes / rowBytes)), kMinPrefetchedKeys,
                                  kMinKeyTile);
  // All heads of a short tile stay in the L2 cache beside the tiles that are prefetched.
  bool isWideTile = isShort && kvHeads > 1 && isStridedArgument(op.getKey());
  if (isWideTile)
    keyTile = kMinPrefetchedKeys;
  bool isMemoryBound = usesBytes && isOrderFree && rows <= kFewByteRows && rowBytes < kMinRowBytes;
  if (isMemoryBound)
    keyTile = getKeys(kPrefetchedTileBytes);
  // Hardware follows lines within a page of memory; rows with run-time strides may each be in another page.
  bool isHardwarePrefetched =
      !isStridedArgument(op.getKey()) && (isMemoryBound || (isLineByLine && !target.prefetchesIntoL2));
  int64_t prefetch = isHardwarePrefetched ? 0 : ((isLong || isShort) && !isWideTile ? 1 : kPrefetchTiles) * keyTile;
  if (int64_t pageTile = gather ? getPageTile(op, gather, keyTile) : 0) {
    // Rows at a distance of a virtual memory page map to few sets of an L1 cache, which have about as many ways.
    bool sharesSets = kvHeads > 1 && kvHeads * rowBytes % kRunBytes == 0 && pageTile % kMinPrefetchedKeys == 0;
    prefetch = sharesSets ? kMinPrefetchedKeys : keyTile;
    keyTile = sharesSets ? kMinPrefetchedKeys : pageTile;
  } else if (!ShapedType::isDynamic(keys)) {
    keyTile = std::min(keyTile, std::max<int64_t>(keys, 1));
  }
  return DecodeAttr::get(op.getContext(), queries, keyTile, lanes, rowBlock, instruction,
                         selectSplitKeys(op, heads, kvHeads, keyTile), prefetch, kvHeads,
                         heads < getGroupSize(op) ? heads : 0);
}
