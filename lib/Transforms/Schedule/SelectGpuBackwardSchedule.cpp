//===- SelectGpuBackwardSchedule.cpp - blocks of the gradients ------------===//
//
// A warp has one fragment of 16 rows: beside the sums of dK and dV the registers
// of a thread hold two tiles of scores. Rows are those of queries in the kernel of
// dQ, and of keys in those of dK and dV. Registers decide how many columns a tile
// has: by ptxas these are the most that do not spill (scripts/ptxas-table.py).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Target/BlockLayout.h"
#include "attn/Transforms/Transforms.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

static constexpr int64_t kFragmentRows = 16, kMinColumns = 16, kBlocksOfMultiprocessor = 2;

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

FailureOr<ScheduleAttr> attn::selectGpuBackwardSchedule(SdpaBackwardOp op, const TargetInfo &target) {
  if (failed(verifyGpuBackward(op)))
    return failure();
  InstructionAttr instruction = selectInstruction(op, /*sharesKeys=*/false, target);
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
