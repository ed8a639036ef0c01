//===- SelectGpuBackwardSchedule.cpp - schedules of the gradient kernels --===//
//
// A warp has one fragment of 16 rows: beside the sums of dK and dV, the registers of a thread hold two tiles of scores.
// Rows are queries in the kernel of dQ, and keys in those of dK and dV. Registers limit the columns of a tile: these
// are the most for which ptxas does not spill (scripts/ptxas-table.py). With wgmma, a producer copies columns ahead.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Analysis/KeyRanges.h"
#include "attn/Target/BlockLayout.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

static constexpr int64_t kFragmentRows = 16, kMinColumns = 16, kBlocksOfMultiprocessor = 2;
/// Rows of a wgmma; warps of two groups that share columns; and their stages, powers of two, so that remainders are bit
/// masks.
static constexpr int64_t kWgmmaRows = 64, kWgmmaWarps = 8, kWgmmaStages[] = {4, 2};
/// Stages of a kernel of all gradients; and iterations of a block that make up for one wait.
static constexpr int64_t kFusedStages = 2, kRoundsOfWait = 8;

namespace {
/// Columns of a tile, up to a head size.
struct WgmmaTile {
  int64_t headSize, columns;
};
} // namespace
/// ptxas spills for none of these.
static constexpr WgmmaTile kWgmmaTiles[] = {{32, 96}, {64, 80}, {96, 64}, {256, 64}};

static int64_t chooseColumns(SdpaBackwardOp op, const InstructionInfo &info) {
  int64_t headSize = getStaticSize(op, DimKind::HeadSize), valueSize = getStaticSize(op, DimKind::ValueSize);
  int64_t largest = std::max(headSize, valueSize);
  if (!info.takesNarrow)
    return 32;
  // A loop over the heads of a group needs addresses, and masks need positions, beside sums of 32 registers for each 64
  // columns and three values of each query.
  bool hasMasks = !op.getMaskMod().empty() || op.getBias() || op.getMask();
  bool isFull = headSize + valueSize > 256 || (headSize + valueSize > 192 && (getGroupSize(op) > 1 || hasMasks));
  return isFull ? kMinColumns : largest <= 64 ? 64 : 32;
}

static int64_t getLargestSize(SdpaBackwardOp op) {
  return std::max(getStaticSize(op, DimKind::HeadSize), getStaticSize(op, DimKind::ValueSize));
}

/// Why wgmma does not fit; null where it does.
static const char *findObstacleToWgmma(SdpaBackwardOp op, const InstructionInfo &info) {
  auto isFew = [&](DimKind kind) {
    int64_t size = getStaticSize(op, kind);
    return !ShapedType::isDynamic(size) && size <= kWgmmaRows / 2;
  };
  if (!info.takesNarrow)
    return "wgmma of f32 rounds to 11 bits";
  if (getStaticSize(op, DimKind::ValueSize) * getElementTypeOrSelf(op.getQuery().getType()).getIntOrFloatBitWidth() ==
      kChunkBytes * 8)
    return "sums of weights are not rounded, as those of wgmma are";
  if (isFew(DimKind::Query) || isFew(DimKind::Key))
    return "wgmma has 64 rows, of which few queries or keys fill less than half";
  return nullptr;
}

/// True for score functions, or bounds on both sides of a score, whose operands take registers.
static bool hasFunctions(SdpaBackwardOp op) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  bool hasBounds = llvm::range_size(op.getMaskMod().getOps<arith::CmpIOp>()) > 1; // on both sides
  return hasBounds || !captured.empty() || op.getBias() || op.getMask() || op.getQOrigin() || op.getKOrigin() ||
         !op.getScoreMod().empty();
}

/// Columns of a tile whose sums, scores and gradients stay in registers beside those of functions and dynamic sizes.
static int64_t chooseWgmmaColumns(SdpaBackwardOp op) {
  int64_t largest = getLargestSize(op);
  const auto *tile = llvm::find_if(kWgmmaTiles, [&](const WgmmaTile &each) { return largest <= each.headSize; });
  if (op.getDropoutP())
    return largest <= 96 ? 48 : 32;
  bool isOpen = op.getCuSeqlensQ() || !cast<ShapedType>(op.getQuery().getType()).hasStaticShape() ||
                !cast<ShapedType>(op.getKey().getType()).hasStaticShape();
  return isOpen || hasFunctions(op) ? tile->columns - kMinColumns : tile->columns;
}

/// Two warpgroups and a producer; null where shared memory cannot hold a tile of 16 columns.
static BlockAttr chooseWgmmaSchedule(SdpaBackwardOp op, const TargetInfo &target) {
  for (int64_t columns = chooseWgmmaColumns(op); columns >= kMinColumns; columns -= kMinColumns)
    for (int64_t stages : kWgmmaStages) {
      auto schedule = BlockAttr::get(op.getContext(), kFragmentRows * kWgmmaWarps, columns, kWgmmaWarps, kFragmentRows,
                                     InstructionAttr::get(op.getContext(), Instruction::WGMMA), /*shared_keys=*/false,
                                     /*split_keys=*/0, stages, /*producer=*/true);
      if (schedule.getSharedBytes(op) <= target.gpu->sharedBytesPerBlock)
        return schedule;
    }
  return {};
}

/// True where each query tile meets a prefix of the key tiles.
template <typename OpTy> static bool meetsFirstKeys(OpTy op, int64_t blockRows, int64_t queryTile) {
  if (op.getMaskMod().empty())
    return true;
  SetVector<Value> captured; // rows of K beyond lengths may hold NaN
  getUsedValuesDefinedAbove(op.getMaskMod(), captured);
  int64_t queries = getStaticSize(op, DimKind::Query), keys = getStaticSize(op, DimKind::Key);
  if (!captured.empty() || op.getQueryRanges().empty() || ShapedType::isDynamic(queries) || ShapedType::isDynamic(keys))
    return false;
  Region built; // with a block map, a block that skips a tile would not pass its turn on
  OpBuilder b(op);
  if (buildRanges(b, op.getLoc(), op.getMaskMod(), RangeAxis::Queries, queries, keys, /*isDense=*/false, built)
          .numTested > 0)
    return false;
  int64_t last = 0;
  for (int64_t first = 0; first < keys; first += blockRows) {
    std::optional<RangeBounds> bounds =
        evaluateRanges(op.getQueryRanges(), first, std::min(first + blockRows, keys), queries);
    if (!bounds)
      return false;
    bool isAny = bounds->visitedLower < bounds->visitedUpper;
    int64_t tile = isAny ? bounds->visitedLower / queryTile : llvm::divideCeil(queries, queryTile);
    if (tile < last || (isAny && bounds->visitedUpper < queries))
      return false;
    last = tile;
  }
  return true;
}

bool attn::addsInOrder(Operation *op, BlockAttr schedule) {
  int64_t rows = schedule.getBlockRows(), columns = schedule.getKeyTile();
  return !getPackedSequences(op) && TypeSwitch<Operation *, bool>(op).Case<SdpaBackwardOp, BackwardStepOp>(
                                        [&](auto each) { return meetsFirstKeys(each, rows, columns); });
}

/// The schedule of one kernel for all gradients: five products instead of seven, but blocks wait for each other's part
/// of dQ. Null where it is not possible, or where the waits are too long: that depends on how many tiles of each head
/// start together.
static BlockAttr chooseFusedSchedule(SdpaBackwardOp op, const TargetInfo &target) {
  int64_t headSize = getStaticSize(op, DimKind::HeadSize), queries = getStaticSize(op, DimKind::Query);
  bool isHalved = headSize % kFragmentRows == 0 && (headSize <= kWgmmaRows || headSize == 2 * kWgmmaRows);
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  if (!isHalved || getLargestSize(op) > 2 * kWgmmaRows || !captured.empty() || op.getDropoutP() ||
      (headSize > kWgmmaRows && hasFunctions(op)) ||
      llvm::any_of(op->getResults().take_front(3), [](Value gradient) { return gradient.use_empty(); }))
    return {};
  auto schedule = BlockAttr::get(op.getContext(), kFragmentRows * kWgmmaWarps, kWgmmaRows, kWgmmaWarps, kFragmentRows,
                                 InstructionAttr::get(op.getContext(), Instruction::WGMMA), /*shared_keys=*/false,
                                 /*split_keys=*/0, kFusedStages, /*producer=*/true, /*fused=*/true);
  SmallVector<int64_t> domain = getStaticDomain(op);
  if (llvm::any_of(domain, ShapedType::isDynamic) || !addsInOrder(op, schedule) ||
      schedule.getSharedBytes(op) > target.gpu->sharedBytesPerBlock)
    return {};
  int64_t group = std::max<int64_t>(getGroupSize(op), 1), heads = 1;
  for (int64_t size : ArrayRef(domain).take_front(getNumBatchDims(op)))
    heads *= size;
  int64_t waits = llvm::divideCeil(target.gpu->multiprocessors * group, std::max<int64_t>(heads, 1)) - 1;
  int64_t rounds = llvm::divideCeil(queries, kWgmmaRows) * group;
  if (!op.getMaskMod().empty()) { // half of the iterations, and each block starts two of them after the previous one
    waits *= 2;
    rounds /= 2;
  }
  return waits * kRoundsOfWait <= rounds ? schedule : BlockAttr();
}

FailureOr<ScheduleAttr> attn::selectGpuBackwardSchedule(SdpaBackwardOp op, const TargetInfo &target) {
  if (failed(verifyGpuBackward(op)))
    return failure();
  InstructionAttr instruction = selectInstruction(op, /*sharesKeys=*/false, target);
  if (target.gpu->hasWgmma) {
    const char *obstacle = findObstacleToWgmma(op, instruction.getInfo());
    BlockAttr fused = obstacle ? BlockAttr() : chooseFusedSchedule(op, target);
    if (BlockAttr schedule = fused || obstacle ? fused : chooseWgmmaSchedule(op, target)) {
      if (failed(schedule.verifyFor(op, &target)))
        return failure();
      return ScheduleAttr(schedule);
    }
    emitRemark(op, RemarkOutcome::Missed, "no-wgmma")
        << (obstacle ? obstacle : "its tiles do not fit the shared memory");
  }
  int64_t warps = 4, columns = chooseColumns(op, instruction.getInfo()), stages = 1;
  auto get = [&] {
    return BlockAttr::get(op.getContext(), kFragmentRows * warps, columns, warps, kFragmentRows, instruction,
                          /*shared_keys=*/false, /*split_keys=*/0, stages, /*producer=*/false);
  };
  while (get().getSharedBytes(op) > target.gpu->sharedBytesPerBlock && columns > kMinColumns)
    columns /= 2;
  while (get().getSharedBytes(op) > target.gpu->sharedBytesPerBlock && warps > 1)
    warps /= 2;
  // One tile ahead, where two blocks of a multiprocessor still hide each other's waits.
  ++stages;
  if (kBlocksOfMultiprocessor * get().getSharedBytes(op) > target.gpu->sharedBytesPerBlock)
    --stages;
  auto schedule = ScheduleAttr(get());
  if (failed(schedule.verifyFor(op, &target)))
    return failure();
  return schedule;
}
