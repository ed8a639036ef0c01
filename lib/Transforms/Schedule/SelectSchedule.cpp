//===- SelectSchedule.cpp - attn-select-schedule --------------------------===//
//
// Policy, not mechanism: from the target's facts and the shape, attaches a schedule to each sdpa without one. Before
// and after: the same ops.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SelectPrefillTile.h"
#include "attn/Target/PassTarget.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include <numeric>

namespace attn {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Keys of a tile: enough work between two updates of the row maximum, and few enough for the scores to stay in the L1
/// cache.
static constexpr int64_t kKeyTile = 64;
/// Lines in each set of the L1 cache that V leaves to P^T and O^T.
static constexpr int64_t kOtherWays = 2;
/// With this many vector registers, a block of accumulators is as wide as a tile.
static constexpr int64_t kManyRegisters = 32;
/// Bytes of a row of Q^T, O^T or S^T of a tile. With more, S^T would fill the L1 cache.
static constexpr int64_t kQueryTileBytes = 256;
/// Below this many tiles, padded rows of the last one matter.
static constexpr int64_t kFewTiles = 32;
/// Prefetch distance of K and V in rows, two tiles; in short heads it reaches the next head. It gains 11 % on heads of
/// 128 keys and loses nothing on long ones.
static constexpr int64_t kPrefetchRows = 2 * kKeyTile;
/// Fewest keys of a tile within a page for the page to be read in place. Smaller tiles, or tiles whose rows alternate
/// with those of other heads, cost more than gathering whole tiles.
static constexpr int64_t kMinKeysInPage = 32;
/// A cache with at least this many keys per query is long: masks that differ between queries then end in few of its
/// tiles.
static constexpr int64_t kLongCacheRatio = 4;
/// With more queries, a kernel that sums lanes is never faster.
static constexpr int64_t kMaxDecodeQueries = 64;
/// Most queries that a decode kernel takes if their number is dynamic: the tokens of a draft, or a beam.
static constexpr int64_t kMaxFewQueries = 24;
/// Fewest vectors of query rows in a block if their number is dynamic: the last tile may have few vectors, which then
/// read K and V once.
static constexpr int64_t kDynamicVectors = 3;
/// Head sizes whose tiles have twice as many keys where multiply-adds share their ports. With blocks of 6 x 4 and
/// without prefetch this takes 4 % less time at D 128 (Sapphire Rapids, schedules by hand).
static constexpr int64_t kLongTileHeadSize = 128, kMaxLongTileHeadSize = 255;
/// Share of the L2 cache for Q, the scores and the accumulator of a tile; the rest is for K and V.
static constexpr int64_t kTileShareOfL2 = 2;

/// Rows and keys of a tile with a tile instruction: V is packed, and O loaded and stored, once per tile. With 128 x
/// 128, such kernels take 12 to 18 % less time than with 64 x 64 (Granite Rapids, D 64 and 128).
static constexpr int64_t kTiledRows = 128, kTiledKeys = 128;
/// Fewest rows of all heads that share a key head. With fewer, the kernel is memory-bound, and a decode kernel reads K
/// and V once.
static constexpr int64_t kMinTiledRows = 16;
/// Time of a step that overlaps products and weights, relative to their sum (estimated, docs/Rationale.md).
static constexpr double kOverlappedCycles = 0.77;
/// Keys of scores, and vectors of query rows, in registers at once.
static constexpr int64_t kTiledBlock = 4;
/// Register blocks beside the chosen one that remarks speak of.
static constexpr size_t kReportedBlocks = 4;

/// Keys of a tile in a page that is read in place; 0 if pages are gathered.
static int64_t getKeysInPage(SdpaOp op, GatherPagesOp gather) {
  int64_t keys = getPageTile(op, gather, kKeyTile);
  return keys == kKeyTile || (keys >= kMinKeysInPage && !hasHeadsSideBySide(op)) ? keys : 0;
}

/// True if the products read K and V from the caller's memory, not from a widened or gathered tile.
static bool readsKeysInPlace(SdpaOp op, const InstructionInfo &info) {
  Type type = getElementTypeOrSelf(op.getKey().getType());
  bool isWidened = !info.takesNarrow && type != getAccumulationType(type);
  auto gather = op.getKey().getDefiningOp<GatherPagesOp>();
  return !isWidened && !isQuantised(type) && type == getElementTypeOrSelf(op.getQuery().getType()) &&
         (!gather || getKeysInPage(op, gather) > 0);
}

/// Keys of a tile whose rows of V, `rowBytes` each and read in place, stay in the L1 cache. Each block of columns walks
/// down all rows of a tile, once for every block of query rows, and rows with a power of two as size map to few sets of
/// the cache. A large register file has one such block, which reads a row once.
static int64_t getKeysInCache(int64_t rowBytes, const TargetInfo &target) {
  if (target.vectorRegisters >= kManyRegisters || rowBytes % target.lineBytes != 0)
    return kKeyTile;
  int64_t sets = target.l1Sets / std::gcd(target.l1Sets, rowBytes / target.lineBytes);
  return std::clamp(sets * (target.l1Ways - kOtherWays), kKeyTile / 2, kKeyTile);
}

/// Keys of a tile that is read in place.
static int64_t selectKeysInPlace(SdpaOp op, int64_t elementBytes, const TargetInfo &target) {
  int64_t headSize = getStaticSize(op, DimKind::HeadSize), valueSize = getStaticSize(op, DimKind::ValueSize);
  bool isLong =
      target.sharesFmaPorts && elementBytes == 4 && headSize >= kLongTileHeadSize && headSize <= kMaxLongTileHeadSize;
  return isLong ? 2 * kKeyTile : getKeysInCache(valueSize * elementBytes, target);
}

/// Prefetch distance of K and V in rows. Where multiply-adds share their ports, prefetches cost more than they gain
/// while K and V of a head stay in the L2 cache.
static int64_t selectPrefetch(SdpaOp op, int64_t elementBytes, const TargetInfo &target) {
  int64_t keys = getStaticSize(op, DimKind::Key);
  int64_t columns = getStaticSize(op, DimKind::HeadSize) + getStaticSize(op, DimKind::ValueSize);
  bool staysInCache = target.sharesFmaPorts && !ShapedType::isDynamic(keys) && keys > kPrefetchRows &&
                      keys * columns * elementBytes <= target.l2Bytes / kTileShareOfL2;
  return staysInCache ? 0 : kPrefetchRows;
}

/// True if the keys that only some queries keep are a small part of all keys.
static bool hasLongCache(SdpaOp op) {
  int64_t queries = getStaticSize(op, DimKind::Query), keys = getStaticSize(op, DimKind::Key);
  return !ShapedType::isDynamic(queries) && !ShapedType::isDynamic(keys) && keys >= kLongCacheRatio * queries;
}

/// True if a smaller query tile would multiply or test fewer keys.
static bool hasMaskOfQueries(SdpaOp op) {
  WalkResult result = op.getMaskMod().walk([](IndexOp index) {
    return index.getKind() == IndexKind::Query ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {
/// A prefill schedule and, if the number of queries is known, the cycles of all heads of a group and one key.
struct PrefillChoice {
  PrefillAttr schedule;
  double cycles = 0;
  PrefillTile tile{};                   ///< of multiply-adds
  SmallVector<PrefillTile, 0> others{}; ///< register blocks that take more cycles
};
} // namespace

/// The least multiple of `unit` that splits `size` into as few tiles as `most` does; `most` for a dynamic size.
static int64_t getEvenTile(int64_t size, int64_t unit, int64_t most) {
  if (ShapedType::isDynamic(size))
    return most;
  int64_t tiles = llvm::divideCeil(std::max<int64_t>(size, 1), most);
  return llvm::alignTo(std::max<int64_t>(llvm::divideCeil(size, tiles), 1), unit);
}

/// True where no step modifies weights.
static bool keepsWeights(SdpaOp op) { return !op.getDropoutP() && !op.getValueScale(); }

/// True where several query tiles use the same head of V, those of one head or of all heads that share it. With packed
/// queries on a cache, most sequences have few queries.
static bool isVisitedAgain(SdpaOp op, int64_t queries, int64_t queryTile) {
  if (op.getCuSeqlensQ() && !hasPackedKeys(op))
    return false;
  return ShapedType::isDynamic(queries) || llvm::divideCeil(queries, queryTile) * getGroupSize(op) > 1;
}

/// The same with a tile instruction. The register blocks do not matter. K and V are not prefetched, as that would evict
/// the tiles from the L1 cache.
static std::optional<PrefillChoice> selectTiledSchedule(SdpaOp op, int64_t queries, InstructionAttr instruction,
                                                        const TargetInfo &target) {
  int64_t lanes = target.getLanes(32), unit = instruction.getInfo().keyMultiple;
  int64_t keyTile = getEvenTile(getStaticSize(op, DimKind::Key), unit, kTiledKeys);
  auto gather = op.getKey().getDefiningOp<GatherPagesOp>();
  if (int64_t keys = gather ? getPageTile(op, gather, kTiledKeys) : 0; keys >= kKeyTile && keys % unit == 0)
    keyTile = keys;
  int64_t rows = getEvenTile(queries, lanes, kTiledRows), parts = getNumParts(getElementTypeOrSelf(op.getQuery()));
  auto fitsStack = [&] {
    return getTileStackBytes(op, rows, keyTile) <= kMaxPrefillStackBytes &&
           getPartsBytes(op, rows, keyTile, parts) <= kMaxPrefillStackBytes;
  };
  while (rows > lanes && !fitsStack())
    rows -= lanes;
  if (!fitsStack())
    return std::nullopt;
  PrefillShape shape{queries, keyTile, getStaticSize(op, DimKind::HeadSize), getStaticSize(op, DimKind::ValueSize),
                     /*elementBytes=*/4};
  shape.parts = parts;
  PrefillChoice choice{PrefillAttr::get(op.getContext(), rows, keyTile, lanes, kTiledBlock,
                                        std::min(kTiledBlock, rows / lanes), instruction, /*prefetch=*/0,
                                        /*overlap=*/rows % PrefillAttr::kUnitRows == 0 && keepsWeights(op),
                                        /*packFirst=*/parts == 1 && isVisitedAgain(op, queries, rows), parts)};
  if (!ShapedType::isDynamic(queries))
    choice.cycles =
        getGroupSize(op) * getTiledCycles(shape, rows, target) * (choice.schedule.getOverlap() ? kOverlappedCycles : 1);
  return choice;
}

/// The schedule of `queries` queries, or of a dynamic number; none where the smallest tile needs too much stack.
static std::optional<PrefillChoice> selectPrefillSchedule(SdpaOp op, int64_t queries, const TargetInfo &target) {
  // 16-bit elements are widened tile by tile.
  Type elementType = getAccumulationType(getElementTypeOrSelf(op.getQuery().getType()));
  int64_t elementBytes = elementType.getIntOrFloatBitWidth() / 8;
  int64_t headSize = getStaticSize(op, DimKind::HeadSize), valueSize = getStaticSize(op, DimKind::ValueSize);
  InstructionAttr instruction = selectInstruction(op, /*sharesKeys=*/false, target);
  if (instruction.getInfo().keyMultiple > 1) {
    std::optional<PrefillChoice> tiled = selectTiledSchedule(op, queries, instruction, target);
    // If the parts of large heads need too much stack, multiply-adds are used, which have no parts.
    if (tiled || getNumParts(getElementTypeOrSelf(op.getQuery())) == 1)
      return tiled;
    instruction = InstructionAttr::getFMA(op.getContext());
  }
  bool isInPlace = readsKeysInPlace(op, instruction.getInfo());
  int64_t keyTile = isInPlace ? selectKeysInPlace(op, elementBytes, target) : kKeyTile;
  auto gather = op.getKey().getDefiningOp<GatherPagesOp>();
  if (gather && isInPlace)
    keyTile = getKeysInPage(op, gather);
  else if (int64_t keys = getStaticSize(op, DimKind::Key); !ShapedType::isDynamic(keys))
    keyTile = std::max<int64_t>(1, std::min(keyTile, keys));
  PrefillShape shape{queries, keyTile, headSize, valueSize, elementBytes};
  shape.isPacked = !isInPlace;
  shape.instruction = instruction.getValue();
  int64_t tileKeys = std::max(keyTile, kKeyTile);
  auto tileBytes = [&](int64_t rows) { return rows * (headSize + valueSize + tileKeys) * elementBytes; };
  auto stackBytes = [&](int64_t rows) { return getTileStackBytes(op, rows, tileKeys); };
  auto fitsCache = [&](int64_t rows) { return tileBytes(rows) <= target.l2Bytes / kTileShareOfL2; };
  int64_t lanes = target.getLanes(elementBytes * 8), &maxRows = shape.maxRows;
  // V is packed for each query tile. Larger tiles pack it half as often; with masks, partial tiles should be small.
  bool isMasked = hasMaskOfQueries(op) && !(gather && hasLongCache(op));
  maxRows = kQueryTileBytes / elementBytes * (instruction.getInfo().takesNarrow && !isMasked ? 2 : 1);
  // Few queries may be a multiple of another number of rows. With many queries, padded rows are a small part.
  if (shape.queries > kFewTiles * maxRows)
    shape.queries = ShapedType::kDynamic;
  else if (!ShapedType::isDynamic(shape.queries))
    maxRows = isMasked ? maxRows * 3 / 2 : maxRows * 7 / 4;
  // Large heads: Q^T, O^T and S^T of a tile fit their share of the cache, unless a tile has only the rows of a register
  // kernel.
  while (maxRows > lanes &&
         ((maxRows > 2 * lanes && !fitsCache(maxRows)) || stackBytes(maxRows) > kMaxPrefillStackBytes))
    maxRows -= lanes;
  if (stackBytes(lanes) > kMaxPrefillStackBytes)
    return std::nullopt;
  if (ShapedType::isDynamic(queries) && target.hasFma)
    shape.minVectors = std::min(kDynamicVectors, maxRows / lanes);
  SmallVector<PrefillTile, 0> others;
  PrefillTile tile = selectPrefillTile(shape, target, others);
  int64_t prefetch = isInPlace && !gather ? selectPrefetch(op, elementBytes, target) : 0;
  PrefillChoice choice{PrefillAttr::get(op.getContext(), tile.queryTile, keyTile, lanes, tile.rowBlock,
                                        tile.laneVectors, instruction, prefetch, /*overlap=*/false,
                                        /*packFirst=*/false, /*parts=*/1),
                       0, tile, std::move(others)};
  if (!ShapedType::isDynamic(shape.queries))
    choice.cycles = getGroupSize(op) * getPrefillCycles(shape, tile, target);
  return choice;
}

/// `decode` with the target's tile instruction, if the rows fill tiles and this takes fewer cycles. Packing reads K and
/// V line by line, which hardware prefetches.
static DecodeAttr selectTiledDecode(SdpaOp op, DecodeAttr decode, const TargetInfo &target) {
  InstructionAttr instruction = selectInstruction(op, /*sharesKeys=*/false, target);
  AffineExpr column = getAffineDimExpr(getDomainPosition(op, DimKind::ValueSize), op.getContext());
  int64_t heads = decode.getHeadsOfGroup(getGroupSize(op)), rows = decode.getQueryTile() * heads;
  bool isOfParts = !getElementTypeOrSelf(op.getQuery().getType()).isBF16();
  if (instruction.getInfo().keyMultiple == 1 || isOfParts || rows % TargetInfo::kTileRows != 0 ||
      getMaps(op)[2].getResults().back() != column)
    return decode;
  bool isPaged = op.getKey().getDefiningOp<GatherPagesOp>() != nullptr;
  int64_t keyTile = isPaged ? decode.getKeyTile() : kKeyTile;
  if (getTileStackBytes(op, rows, keyTile) > kMaxDecodeStackBytes)
    return decode;
  DecodeAttr tiled = DecodeAttr::get(op.getContext(), decode.getQueryTile(), keyTile, decode.getLanes(),
                                     /*blockQueries=*/1, instruction, llvm::alignTo(decode.getSplitKeys(), keyTile),
                                     /*prefetch=*/0, /*kvHeads=*/1, decode.getHeads());
  return getDecodeCycles(op, tiled, target) < getDecodeCycles(op, decode, target) ? tiled : decode;
}

/// True where a decode kernel takes fewer cycles. A prefill kernel has whole vectors of rows of each head. A decode
/// kernel has only the existing rows, of all heads that share a key head, and sums the lanes of each product.
static bool isFaster(SdpaOp op, DecodeAttr decode, const std::optional<PrefillChoice> &prefill,
                     const TargetInfo &target) {
  bool isTiled = prefill && prefill->schedule.getInfo().keyMultiple > 1;
  if (isTiled && decode.getQueryTile() * getGroupSize(op) < kMinTiledRows)
    return true;
  return !prefill || getDecodeCycles(op, decode, target) <= prefill->cycles;
}

/// Says what the policy compared: a decode kernel with a prefill kernel, and the register blocks of the latter.
static void reportComparison(SdpaOp op, std::optional<DecodeAttr> decode, const std::optional<PrefillChoice> &prefill,
                             bool takesDecode, const TargetInfo &target) {
  auto report = [&](ScheduleAttr other, double ratio) {
    emitRemark(op, RemarkOutcome::Analysis, "schedule-compared")
        << printSchedule(other) << ": " << llvm::formatv("{0:f3} times the cycles", ratio).str();
  };
  if (!prefill)
    return;
  if (decode && prefill->cycles > 0) {
    double ratio = getDecodeCycles(op, *decode, target) / prefill->cycles;
    takesDecode ? report(prefill->schedule, 1 / ratio) : report(*decode, ratio);
  }
  if (takesDecode)
    return;
  for (const PrefillTile &other : ArrayRef(prefill->others).take_front(kReportedBlocks)) {
    PrefillAttr own = prefill->schedule;
    report(PrefillAttr::get(op.getContext(), other.queryTile, own.getKeyTile(), own.getLanes(), other.rowBlock,
                            other.laneVectors, own.getInstruction(), own.getPrefetch(), own.getOverlap(),
                            own.getPackFirst(), own.getParts()),
           other.cycles / prefill->tile.cycles);
  }
}

FailureOr<ScheduleAttr> attn::selectSchedule(SdpaOp op, const TargetInfo &target) {
  if (target.gpu)
    return selectGpuSchedule(op, target);
  Type elementType = getElementTypeOrSelf(op.getQuery().getType());
  if (!elementType.isF32() && !elementType.isF64() && !elementType.isF16() && !elementType.isBF16())
    return op.emitOpError("no CPU kernel for element type ")
           << elementType
           << ", expected f32, f64, bf16 or f16; convert the inputs, compile with --reference, or lower with "
              "attn-lower-to-reference";
  int64_t queries = getStaticSize(op, DimKind::Query), headSize = getStaticSize(op, DimKind::HeadSize),
          valueSize = getStaticSize(op, DimKind::ValueSize);
  if (ShapedType::isDynamic(headSize) || ShapedType::isDynamic(valueSize))
    return op.emitOpError("expected static head sizes for a CPU kernel, found dynamic ones");
  std::optional<PrefillChoice> prefill = selectPrefillSchedule(op, queries, target);
  std::optional<DecodeAttr> decode;
  if (!ShapedType::isDynamic(queries) && queries <= kMaxDecodeQueries)
    decode = selectDecodeSchedule(op, queries, target);
  if (decode && target.hasTiles())
    decode = selectTiledDecode(op, *decode, target);
  bool takesDecode = decode && isFaster(op, *decode, prefill, target);
  reportComparison(op, decode, prefill, takesDecode, target);
  if (takesDecode)
    return ScheduleAttr(*decode);
  if (prefill)
    return ScheduleAttr(prefill->schedule);
  int64_t lanes = target.getLanes(getAccumulationType(elementType).getIntOrFloatBitWidth());
  return op.emitOpError("head sizes ") << headSize << " and " << valueSize << " need "
                                       << getTileStackBytes(op, lanes, kKeyTile)
                                       << " bytes for the smallest tile, expected at most " << kMaxPrefillStackBytes
                                       << "; compile with --reference, or lower with attn-lower-to-reference";
}

std::optional<FewQueries> attn::selectFewQueries(SdpaOp op, const TargetInfo &target) {
  if (target.gpu || !ShapedType::isDynamic(getStaticSize(op, DimKind::Query)))
    return std::nullopt;
  // Byte products have a static number of rows.
  int64_t most = getElementTypeOrSelf(op.getKey().getType()).isInteger(8) ? 1 : kMaxFewQueries;
  std::optional<FewQueries> few;
  for (int64_t queries = 1; queries <= most; ++queries) {
    std::optional<DecodeAttr> decode = selectDecodeSchedule(op, queries, target);
    if (!decode || !isFaster(op, *decode, selectPrefillSchedule(op, queries, target), target))
      break;
    // A tile has all heads of a group, for as many queries as stay in the caches.
    if (!few || few->maxQueries == 1 || decode->getHeads() == 0)
      few = FewQueries{queries, *decode};
    few->maxQueries = queries;
  }
  return few;
}

/// GPU kernels overwrite their results.
static LogicalResult refuseAccumulation(func::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) {
    if (!isa<SdpaOp, FinalizeOp>(op) || !readsInits(op))
      return WalkResult::advance();
    op->emitOpError(
        "expected no accumulate on a GPU, whose kernels overwrite their outputs; run attn-split-accumulation first");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct SelectSchedulePass : public attn::impl::SelectSchedulePassBase<SelectSchedulePass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    if (info->gpu && failed(refuseAccumulation(getOperation())))
      return signalPassFailure();
    WalkResult result = getOperation().walk([&](SdpaOp op) {
      if (op.getSchedule())
        return WalkResult(op.getSchedule()->verifyFor(op, &*info));
      FailureOr<ScheduleAttr> schedule = selectSchedule(op, *info);
      if (failed(schedule) || failed(schedule->verifyFor(op, &*info)))
        return WalkResult::interrupt();
      op.setScheduleAttr(*schedule);
      emitRemark(op, RemarkOutcome::Analysis, "schedule-selected") << printSchedule(*schedule);
      return WalkResult::advance();
    });
    WalkResult backward = getOperation().walk([&](SdpaBackwardOp op) {
      if (op.getSchedule())
        return WalkResult(op.getSchedule()->verifyFor(op, &*info));
      FailureOr<ScheduleAttr> schedule = selectBackwardSchedule(op, *info);
      if (failed(schedule))
        return WalkResult::interrupt();
      op.setScheduleAttr(*schedule);
      emitRemark(op, RemarkOutcome::Analysis, "schedule-selected") << printSchedule(*schedule);
      return WalkResult::advance();
    });
    if (result.wasInterrupted() || backward.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
