//===- SelectGpuSchedule.cpp - schedules of blocks of warps ---------------===//
//
// Tiles as in FlashAttention-2 (Dao, arXiv:2307.08691): two fragments of 16 rows per warp if the accumulators leave
// room, so that each matrix of K and V read from shared memory is multiplied twice. A tile that exceeds the target's
// shared memory gets fewer keys, then fewer rows, before it is refused.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "attn/IR/ScoreFunctions.h"
#include "attn/Schedule/ColumnGroups.h"
#include "attn/Target/BlockLayout.h"
#include "attn/Transforms/Transforms.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Rows of a fragment, and the depth in keys of one mma.
static constexpr int64_t kFragmentRows = 16, kMinKeyTile = 16;
/// Rows of a wgmma, and its warps.
static constexpr int64_t kWgmmaRows = 64, kGroupWarps = kWgmmaRows / kFragmentRows;
/// Stages of K and of V with a producer.
static constexpr int64_t kProducerStages = 2;
/// Most rows of heads that share a key head in a tile: a warp has 16 of them. With more queries, prefill tiles are as
/// good.
static constexpr int64_t kMaxDecodeRows = 128, kMaxDecodeQueries = 16;
/// Fewest keys of a split: with fewer, writing and merging the state costs too much. Steps that copy their own tiles
/// have fewer bytes in flight and need more blocks; rows of bytes are narrow.
static constexpr int64_t kMinSplitKeys = 256, kMinPagedSplitKeys = 128, kMinConvertedSplitKeys = 96,
                         kDynamicSplitKeys = 1024;
/// Approximate blocks of a decode kernel per multiprocessor: one warp each, bound by shared memory.
static constexpr int64_t kDecodeBlocksPerMultiprocessor = 4, kConvertingBlocksPerMultiprocessor = 6;
/// Fewest bytes of K and V that a block of a decode kernel has in flight. Two blocks of a multiprocessor hide 1
/// microsecond at 4.8 TB/s (docs/GPU.md).
static constexpr int64_t kDecodeBytesInFlight = 24 * 1024, kDecodeKeys = 32, kMaxDecodeStages = 8;

namespace {
struct TileChoice {
  int64_t rowBlock, warps, keyTile;
  llvm::StringLiteral reason;
};

/// The parts of a schedule.
struct BlockChoice {
  bool isDecode;
  int64_t columnGroups = 1; ///< warpgroups that share rows
  InstructionAttr instruction;
  TileChoice tile;
  SmallVector<TileChoice> others{}; ///< cases of the policy for other kernels
  int64_t stages = 1;
  StringRef noProducer = "only products of four warps have one"; ///< why; empty where there is one
};
} // namespace

/// Rows of K and V of another type than Q are converted on the way to shared memory.
static bool convertsRows(SdpaOp op) {
  return getElementTypeOrSelf(op.getKey().getType()) != getElementTypeOrSelf(op.getQuery().getType());
}

/// Registers decide. Of the 255 of a thread, acc takes rowBlock * dv / 32 and the scores take rowBlock * keyTile / 32.
/// ptxas spills if these leave less than about sixty (docs/GPU.md).
static TileChoice choosePrefillTile(SdpaOp op, const InstructionInfo &info, int64_t headSize,
                                    SmallVectorImpl<TileChoice> &others) {
  bool isPlain = !op.getBias() && !op.getMask() && op.getScoreMod().empty() && !op.getDropoutP() && !convertsRows(op);
  bool isMasked = !op.getMaskMod().empty();
  // A shorter last tile has masks as well.
  int64_t keys = getStaticSize(op, DimKind::Key), keyTile = 64;
  if (headSize > 64 && (headSize <= 96 || isMasked || ShapedType::isDynamic(keys) || keys % keyTile != 0))
    keyTile /= 2;
  bool isLarge = headSize > 192 || op.getDropoutP() || op.getMask();
  const std::pair<bool, TileChoice> cases[] = {
      {!info.takesNarrow, {16, 4, 32, "without tensor cores each product is an instruction"}},
      {isPlain && headSize <= (isMasked ? 96 : 128), {32, 4, keyTile, "the registers hold two fragments of rows"}},
      {isLarge, {16, 8, 32, "a large head, weight_mod or a mask takes the registers of scores"}},
      {true, {16, 8, 64, "the registers hold one fragment of rows"}},
  };
  const auto *chosen = llvm::find_if(cases, [](const auto &each) { return each.first; });
  for (const auto &each : cases)
    if (&each != chosen)
      others.push_back(each.second);
  return chosen->second;
}

/// Tiles of wgmma, with 64 rows per warpgroup (FlashAttention-3, Shah et al., arXiv:2407.08608). A warp has one
/// fragment of rows, so a thread has Dv / 2 registers of acc and keyTile / 2 of scores. With a producer
/// (attn-specialize-warps) there is one block per multiprocessor, and a thread has 232 registers, or 160 where three
/// warpgroups share K and V. Without one, two blocks hide each other's softmax, and a thread has 128.
static TileChoice chooseWgmmaTile(SdpaOp op, int64_t headSize, bool hasProducer) {
  bool isPlain = !op.getBias() && !op.getMask() && isFinite(op.getScoreMod()) && !op.getDropoutP();
  bool isLarge = isPlain && hasProducer && headSize <= 128;
  return {kFragmentRows, isLarge && headSize <= 64 ? 12 : 8, isLarge ? 128 : 64,
          "four warps multiply 64 rows, and the registers hold the scores"};
}

/// Why wgmma does not fit; null where it does.
static const char *findObstacleToWgmma(SdpaOp op, const InstructionInfo &info, bool isDecode) {
  int64_t queries = getStaticSize(op, DimKind::Query);
  if (!info.takesNarrow)
    return "wgmma of f32 rounds to 11 bits";
  if (isDecode || (!ShapedType::isDynamic(queries) && queries <= kWgmmaRows / 2))
    return "wgmma has 64 rows, of which few queries fill less than half";
  return nullptr;
}

/// Why no tensor map can describe the rows of K and V, as far as the op shows it (attn-specialize-warps checks the
/// rest); empty where one may.
static StringRef findObstacleToProducer(SdpaOp op) {
  if (convertsRows(op))
    return "rows are converted";
  if (op.getKey().getDefiningOp<GatherPagesOp>())
    return "rows come from pages";
  return {};
}

/// Keys of a split, such that about `blocks` blocks result, and with `isOneWave` no more. 0 for no split.
static int64_t chooseSplit(ArrayRef<int64_t> domain, unsigned numBatch, int64_t groupSize, int64_t keyTile,
                           int64_t leastKeys, int64_t blocks, bool isOneWave) {
  int64_t keys = domain[numBatch + 1], tiles = 1;
  for (int64_t size : domain.take_front(numBatch))
    tiles = ShapedType::isDynamic(size) || ShapedType::isDynamic(tiles) ? ShapedType::kDynamic : tiles * size;
  if (ShapedType::isDynamic(keys) || ShapedType::isDynamic(tiles))
    return llvm::alignTo(kDynamicSplitKeys, keyTile);
  tiles = std::max<int64_t>(tiles / groupSize, 1);
  int64_t ranges = isOneWave ? std::max<int64_t>(blocks / tiles, 1) : llvm::divideCeil(blocks, tiles);
  int64_t split = std::max<int64_t>(llvm::alignTo(llvm::divideCeil(std::max<int64_t>(keys, 1), ranges), keyTile),
                                    llvm::alignTo(leastKeys, keyTile));
  return split < keys ? split : 0;
}

static int64_t getElementBytes(SdpaOp op) {
  return getElementTypeOrSelf(op.getQuery().getType()).getIntOrFloatBitWidth() / 8;
}

/// Of an element of K and V in shared memory.
static int64_t getKeyBytes(SdpaOp op, int64_t warps, bool hasPanels) {
  auto isBytes = [](Value rows) { return isQuantised(getElementTypeOrSelf(rows.getType())); };
  int64_t bytes = getElementBytes(op), keyBytes = isBytes(op.getKey()) && isBytes(op.getValue()) ? 1 : bytes;
  return BlockLayout::getKeyBytes(getStaticSize(op, DimKind::HeadSize), getStaticSize(op, DimKind::ValueSize), bytes,
                                  keyBytes, hasPanels, warps);
}

/// True where bytes of K and V stay what they are in shared memory.
static bool keepsBytes(SdpaOp op, const BlockChoice &choice) {
  return getKeyBytes(op, choice.tile.warps, choice.instruction.getInfo().readsPanels()) < getElementBytes(op);
}

/// Each step copies its own tiles if rows are converted or come from pages.
static bool copiesOwnTiles(SdpaOp op, const BlockChoice &choice) {
  return (convertsRows(op) && !keepsBytes(op, choice)) || op.getKey().getDefiningOp<GatherPagesOp>();
}

static int64_t getBlockBytes(SdpaOp op, int64_t rows, int64_t warps, int64_t keyTile, bool hasPanels, int64_t stages,
                             bool isCopiedOnce = false) {
  return BlockLayout::get(rows, keyTile, getStaticSize(op, DimKind::HeadSize),
                          isCopiedOnce ? 0 : getStaticSize(op, DimKind::ValueSize), getElementBytes(op),
                          getKeyBytes(op, warps, hasPanels), hasPanels, stages)
      .bytes;
}

static int64_t getBlockBytes(SdpaOp op, const BlockChoice &choice) {
  bool isCopiedOnce = choice.columnGroups > 1 && choice.stages > 1 && readsColumnsOfKey(op);
  return getBlockBytes(op, choice.tile.rowBlock * choice.tile.warps / choice.columnGroups, choice.tile.warps,
                       choice.tile.keyTile, choice.instruction.getInfo().readsPanels(), choice.stages, isCopiedOnce);
}

bool attn::canShareRows(SdpaOp op, const TargetInfo &target) {
  int64_t queries = getStaticSize(op, DimKind::Query), valueSize = getStaticSize(op, DimKind::ValueSize);
  bool isPlain = !op.getBias() && !op.getMask() && !op.getDropoutP() && !op.getCuSeqlensQ() && !convertsRows(op) &&
                 findObstacleToProducer(op).empty();
  if (!target.gpu || !target.gpu->hasWgmma || !isPlain || getElementBytes(op) != 2 || ShapedType::isDynamic(queries) ||
      ShapedType::isDynamic(valueSize))
    return false;
  int64_t groups = llvm::divideCeil(valueSize, kMaxBlockValueSize), rows = queries * getGroupSize(op);
  bool fits = groups > 1 && groups <= kMaxColumnGroups && valueSize % (groups * kWgmmaRows) == 0 &&
              getGroupSize(op) % llvm::divideCeil(rows, kWgmmaRows) == 0;
  return fits && queries >= 1 && queries <= kMaxDecodeQueries && rows > kWgmmaRows / 2 && rows <= kMaxDecodeRows &&
         getBlockBytes(op, kWgmmaRows, groups * kGroupWarps, kDecodeKeys, /*hasPanels=*/true, kProducerStages) <=
             target.gpu->sharedBytesPerBlock;
}

/// True where the rows of all heads that share a key head are one tile.
static bool sharesKeys(SdpaOp op, int64_t largest) {
  int64_t queries = getStaticSize(op, DimKind::Query);
  if (ShapedType::isDynamic(queries) || queries < 1 || queries > kMaxDecodeQueries || op.getCuSeqlensQ())
    return false;
  int64_t rows = queries * getGroupSize(op);
  if (rows <= kMaxDecodeRows && getBlockBytes(op, llvm::alignTo(rows, kFragmentRows), /*warps=*/2, kMinKeyTile,
                                              /*hasPanels=*/false, /*stages=*/1) <= largest)
    return true;
  emitRemark(op, RemarkOutcome::Missed, "heads-apart")
      << "the rows of all heads that share a head of K do not fit a block: each head reads K and V by itself";
  return false;
}

/// Chooses the instruction and its tile, and whether a producer copies K and V.
static BlockChoice chooseInstruction(SdpaOp op, const TargetInfo &target) {
  int64_t headSize = std::max(getStaticSize(op, DimKind::HeadSize), getStaticSize(op, DimKind::ValueSize));
  InstructionAttr instruction = selectInstruction(op, /*sharesKeys=*/false, target);
  SmallVector<TileChoice> others;
  TileChoice tile = choosePrefillTile(op, instruction.getInfo(), headSize, others);
  BlockChoice choice{sharesKeys(op, target.gpu->sharedBytesPerBlock), /*columnGroups=*/1, instruction, tile,
                     std::move(others)};
  if (!target.gpu->hasWgmma)
    return choice;
  if (canShareRows(op, target)) {
    choice.isDecode = true;
    choice.columnGroups = llvm::divideCeil(getStaticSize(op, DimKind::ValueSize), kMaxBlockValueSize);
    choice.instruction = InstructionAttr::get(op.getContext(), Instruction::WGMMA);
    choice.noProducer = {};
    // K and V of more keys do not fit beside each other; half as many read Q twice as often.
    choice.tile = {kFragmentRows, choice.columnGroups * kGroupWarps,
                   readsColumnsOfKey(op) ? 2 * kDecodeKeys : kDecodeKeys,
                   "heads fill the rows of a wgmma, and warpgroups have columns of V"};
    return choice;
  }
  if (const char *obstacle = findObstacleToWgmma(op, instruction.getInfo(), choice.isDecode)) {
    emitRemark(op, RemarkOutcome::Missed, "no-wgmma") << obstacle;
    return choice;
  }
  choice.instruction = InstructionAttr::get(op.getContext(), Instruction::WGMMA);
  choice.noProducer = findObstacleToProducer(op);
  choice.others.insert(choice.others.begin(), choice.tile);
  choice.tile = chooseWgmmaTile(op, headSize, choice.noProducer.empty());
  return choice;
}

static void chooseDecodeTile(SdpaOp op, BlockChoice &choice) {
  int64_t headSize = getStaticSize(op, DimKind::HeadSize), valueSize = getStaticSize(op, DimKind::ValueSize);
  choice.tile.rowBlock = kFragmentRows;
  choice.tile.warps = llvm::divideCeil(getStaticSize(op, DimKind::Query) * getGroupSize(op), kFragmentRows);
  // Tiles of large rows have few keys, which saves registers; one warp converts the whole tile.
  int64_t largest = std::max(headSize, valueSize);
  if (largest > 64 || convertsRows(op))
    choice.tile.keyTile = std::min(
        choice.tile.keyTile,
        largest > 160 && (keepsBytes(op, choice) || !copiesOwnTiles(op, choice)) ? kDecodeKeys / 2 : kDecodeKeys);
  // 2 stages - 1 tiles are in flight.
  int64_t bytes = getKeyBytes(op, choice.tile.warps, choice.instruction.getInfo().readsPanels());
  int64_t tileBytes = choice.tile.keyTile * std::min(headSize, valueSize) * bytes;
  if (convertsRows(op) && choice.instruction.getInfo().takesNarrow && !keepsBytes(op, choice))
    emitRemark(op, RemarkOutcome::Missed, "rows-converted")
        << "K and V are loaded, converted and stored, so no copy of them is in flight: bytes stay bytes in shared "
           "memory with head sizes that are multiples of 16, for the rows of one warp";
  // Bytes take more instructions, and so more blocks of a multiprocessor.
  int64_t inFlight = convertsRows(op) ? kDecodeBytesInFlight / 2 : kDecodeBytesInFlight;
  if (!copiesOwnTiles(op, choice))
    choice.stages = std::min<int64_t>(llvm::divideCeil(llvm::divideCeil(inFlight, tileBytes) + 1, 2), kMaxDecodeStages);
}

/// Half as many warps, or one warpgroup less: a block has whole groups of the warps that multiply together. 0 for none.
static int64_t getFewerWarps(const BlockChoice &choice) {
  int64_t group = choice.instruction.getInfo().warps;
  return group > 1 ? choice.tile.warps - group : choice.tile.warps % 2 == 0 ? choice.tile.warps / 2 : 0;
}

/// Reduces stages, then keys, rows, and keys again, until the tiles fit the shared memory.
static void fitSharedMemory(SdpaOp op, BlockChoice &choice, int64_t largest) {
  auto isTooLarge = [&] { return getBlockBytes(op, choice) > largest; };
  while (isTooLarge() && choice.stages > 1)
    --choice.stages;
  while (isTooLarge() && choice.tile.keyTile > 2 * kMinKeyTile)
    choice.tile.keyTile /= 2;
  while (isTooLarge() && !choice.isDecode && getFewerWarps(choice) > 0)
    choice.tile.warps = getFewerWarps(choice);
  while (isTooLarge() && choice.tile.keyTile > kMinKeyTile)
    choice.tile.keyTile /= 2;
}

/// Chooses the stages of a producer, if there is one.
static void chooseProducer(SdpaOp op, BlockChoice &choice, int64_t largest) {
  if (!choice.instruction.getInfo().readsPanels())
    return;
  if (choice.noProducer.empty()) {
    choice.stages = kProducerStages;
    if (getBlockBytes(op, choice) > largest) {
      choice.noProducer = "two stages do not fit the shared memory";
      choice.stages = 1;
    }
  }
  if (!choice.noProducer.empty())
    emitRemark(op, RemarkOutcome::Missed, "no-producer") << choice.noProducer;
}

static int64_t chooseDecodeSplit(SdpaOp op, const BlockChoice &choice, const TargetInfo &target) {
  bool converts = convertsRows(op);
  int64_t leastKeys = converts && !keepsBytes(op, choice)      ? kMinConvertedSplitKeys
                      : converts || copiesOwnTiles(op, choice) ? kMinPagedSplitKeys
                                                               : kMinSplitKeys;
  // A block of warpgroups fills a multiprocessor.
  int64_t perMultiprocessor = choice.columnGroups > 1 ? 1
                              : converts              ? kConvertingBlocksPerMultiprocessor
                                                      : kDecodeBlocksPerMultiprocessor;
  int64_t rows = getStaticSize(op, DimKind::Query) * getGroupSize(op),
          parts = choice.columnGroups > 1 ? llvm::divideCeil(rows, kWgmmaRows) : 1;
  return chooseSplit(getStaticDomain(op), getNumBatchDims(op), getGroupSize(op) / parts, choice.tile.keyTile, leastKeys,
                     target.gpu->multiprocessors * perMultiprocessor, /*isOneWave=*/choice.columnGroups > 1);
}

FailureOr<ScheduleAttr> attn::selectGpuSchedule(SdpaOp op, const TargetInfo &target) {
  if (failed(verifyGpuOp(op, canShareRows(op, target) ? kMaxColumnGroups * kMaxBlockValueSize : kMaxBlockValueSize)))
    return failure();
  int64_t queries = getStaticSize(op, DimKind::Query), largest = target.gpu->sharedBytesPerBlock;
  BlockChoice choice = chooseInstruction(op, target);
  if (choice.columnGroups > 1) {
    choice.stages = kProducerStages;
    emitRemark(op, RemarkOutcome::Analysis, "tile-of-block") << choice.tile.reason;
  } else if (choice.isDecode) {
    chooseDecodeTile(op, choice);
  } else {
    emitRemark(op, RemarkOutcome::Analysis, "tile-of-block") << choice.tile.reason;
    for (const TileChoice &other : choice.others)
      emitRemark(op, RemarkOutcome::Analysis, "schedule-compared")
          << llvm::formatv("warp_rows = {0}, warps = {1}, key_tile = {2}: {3}", other.rowBlock, other.warps,
                           other.keyTile, other.reason)
                 .str();
    while (!ShapedType::isDynamic(queries) && getFewerWarps(choice) > 0 &&
           choice.tile.rowBlock * getFewerWarps(choice) >= queries)
      choice.tile.warps = getFewerWarps(choice);
  }
  fitSharedMemory(op, choice, largest);
  if (int64_t bytes = getBlockBytes(op, choice); bytes > largest)
    return op.emitOpError("needs ") << llvm::divideCeil(bytes, 1024) << " KiB of shared memory for the smallest tile, "
                                    << target.name << " has " << largest / 1024 << "; use smaller heads";
  chooseProducer(op, choice, largest);
  // At most as many rows as exist: slices of a bias or mask have no more.
  int64_t blockRows = choice.tile.rowBlock * choice.tile.warps;
  bool isOneTile = !ShapedType::isDynamic(queries) && queries >= 1 && queries < blockRows;
  return ScheduleAttr(BlockAttr::get(op.getContext(), choice.isDecode || isOneTile ? queries : blockRows,
                                     choice.tile.keyTile, choice.tile.warps, choice.tile.rowBlock, choice.instruction,
                                     /*shared_keys=*/choice.isDecode,
                                     choice.isDecode ? chooseDecodeSplit(op, choice, target) : 0, choice.stages,
                                     /*producer=*/choice.noProducer.empty()));
}
