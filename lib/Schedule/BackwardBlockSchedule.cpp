//===- BackwardBlockSchedule.cpp - gradients with GPU kernels -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Schedule/Schedule.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// A feature of a sdpa_backward or backward_step that no block supports; empty where there is none.
template <typename OpTy> static StringRef explain(OpTy op) {
  if (!isa<RankedTensorType>(op.getQuery().getType()))
    return "found memrefs, expected tensors; run attn-memref-to-tensor";
  if (op.getKey().template getDefiningOp<GatherPagesOp>() || op.getValue().template getDefiningOp<GatherPagesOp>())
    return "found K or V in pages, expected dense ones; gather them in front of the kernel";
  if (op.getCuSeqlensQ() && !op.getCuSeqlensK())
    return "found packed queries beside keys that are not packed, expected cu_seqlens of both; compile it for a CPU";
  return "";
}

LogicalResult attn::verifyGpuBackward(Operation *op) {
  int64_t size = std::max(getStaticSize(op, DimKind::HeadSize), getStaticSize(op, DimKind::ValueSize));
  if (size > kMaxBlockValueSize)
    return op->emitOpError("no GPU kernel for gradients of head size ")
           << size << ", expected at most " << kMaxBlockValueSize << "; compile it for a CPU";
  if (failed(verifyGpuOp(op)))
    return failure();
  StringRef reason = llvm::TypeSwitch<Operation *, StringRef>(op).Case<SdpaBackwardOp, BackwardStepOp>(
      [](auto backward) { return explain(backward); });
  if (!reason.empty())
    return op->emitOpError("no GPU kernel for these gradients: ") << reason;
  return success();
}
