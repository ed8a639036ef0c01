//===- SelectGpuBackwardSchedule.cpp - blocks of the gradients ------------===//
//
// A warp has one fragment of 16 rows: beside the sums of dK and dV the registers
// of a thread hold two tiles of scores. Rows are those of queries in the kernel of
// dQ, and of keys in those of dK and dV.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Target/BlockLayout.h"
#include "attn/Transforms/Transforms.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

static constexpr int64_t kFragmentRows = 16, kMinColumns = 16;

FailureOr<ScheduleAttr> attn::selectGpuBackwardSchedule(SdpaBackwardOp op, const TargetInfo &target) {
  if (failed(verifyGpuBackward(op)))
    return failure();
  InstructionAttr instruction = selectInstruction(op, /*sharesKeys=*/false, target);
  int64_t headSize = std::max(getStaticSize(op, DimKind::HeadSize), getStaticSize(op, DimKind::ValueSize));
  int64_t warps = 4, columns = instruction.getInfo().takesNarrow && headSize <= 64 ? 64 : 32;
  auto get = [&] {
    return BlockAttr::get(op.getContext(), kFragmentRows * warps, columns, warps, kFragmentRows, instruction,
                          /*shared_keys=*/false, /*split_keys=*/0);
  };
  while (get().getSharedBytes(op) > target.gpu->sharedBytesPerBlock && columns > kMinColumns)
    columns /= 2;
  while (get().getSharedBytes(op) > target.gpu->sharedBytesPerBlock && warps > 1)
    warps /= 2;
  auto schedule = ScheduleAttr(get());
  if (failed(schedule.verifyFor(op, &target)))
    return failure();
  return schedule;
}
