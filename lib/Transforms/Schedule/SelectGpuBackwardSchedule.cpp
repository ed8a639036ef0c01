//===- SelectGpuBackwardSchedule.cpp - blocks of the gradients ------------===//
//
// A warp has one fragment of 16 rows: beside the sums of dK and dV the registers
// of a thread hold two tiles of scores. Rows are those of queries in the kernel of
// dQ, and of keys in those of dK and dV. Registers decide how many columns a tile
// has: by ptxas these are the most that do not spill (scripts/ptxas-table.py). With
// wgmma, a producer copies columns ahead.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Target/BlockLayout.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

static constexpr int64_t kFragmentRows = 16, kMinColumns = 16, kBlocksOfMultiprocessor = 2;
/// Rows of a wgmma; warps of two groups that share columns; stages of these: powers of two, whose remainders are bits.
static constexpr int64_t kWgmmaRows = 64, kWgmmaWarps = 8, kWgmmaStages[] = {4, 2};

namespace {
/// Columns of a tile, up to a head size.
struct WgmmaTile {
  int64_t headSize, columns;
};
} // namespace
/// By ptxas none spills.
static constexpr WgmmaTile kWgmmaTiles[] = {{32, 96}, {64, 80}, {96, 64}, {256, 64}};

static int64_t chooseColumns(SdpaBackwardOp op, const InstructionInfo &info) {
  int64_t headSize = getStaticSize(op, DimKind::HeadSize), valueSize = getStaticSize(op, DimKind::ValueSize);
  int64_t largest = std::max(headSize, valueSize);
  if (!info.takesNarrow)
    return 32;
  // A loop over the heads of a group has addresses of its own, and masks have positions, beside sums of 32 registers
  // for each 64 columns and three numbers of each query.
  bool hasMasks = !op.getMaskMod().empty() || op.getBias() || op.getMask();
  bool isFull = headSize + valueSize > 256 || (headSize + valueSize > 192 && (getGroupSize(op) > 1 || hasMasks));
  return isFull ? kMinColumns : largest <= 64 ? 64 : 32;
}

static int64_t getLargestSize(SdpaBackwardOp op) {
  return std::max(getStaticSize(op, DimKind::HeadSize), getStaticSize(op, DimKind::ValueSize));
}

/// Why products of four warps do not fit; null where they do.
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

/// Columns of a tile whose sums, scores and gradients stay in registers, beside what functions and open sizes take.
static int64_t chooseWgmmaColumns(SdpaBackwardOp op) {
  int64_t largest = getLargestSize(op);
  const auto *tile = llvm::find_if(kWgmmaTiles, [&](const WgmmaTile &each) { return largest <= each.headSize; });
  if (op.getDropoutP())
    return largest <= 96 ? 48 : 32;
  bool isOpen = op.getCuSeqlensQ() || !cast<ShapedType>(op.getQuery().getType()).hasStaticShape() ||
                !cast<ShapedType>(op.getKey().getType()).hasStaticShape();
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  bool hasBounds = llvm::range_size(op.getMaskMod().getOps<arith::CmpIOp>()) > 1; // on both sides
  bool hasFunctions = hasBounds || !captured.empty() || op.getBias() || op.getMask() || op.getQOrigin() ||
                      op.getKOrigin() || op.getSoftcap() || !op.getScoreMod().empty();
  return isOpen || hasFunctions ? tile->columns - kMinColumns : tile->columns;
}

/// Two groups of four warps and a producer; null where shared memory does not hold a tile of 16 columns.
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

FailureOr<ScheduleAttr> attn::selectGpuBackwardSchedule(SdpaBackwardOp op, const TargetInfo &target) {
  if (failed(verifyGpuBackward(op)))
    return failure();
  InstructionAttr instruction = selectInstruction(op, /*sharesKeys=*/false, target);
  if (target.gpu->hasWgmma) {
    const char *obstacle = findObstacleToWgmma(op, instruction.getInfo());
    if (BlockAttr schedule = obstacle ? BlockAttr() : chooseWgmmaSchedule(op, target)) {
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
