//===- BackwardBlockSchedule.cpp - gradients that a GPU has kernels for ---===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Schedule/Schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// What a sdpa_backward or backward_step has that no block adds up; empty where it has none.
template <typename OpTy> static StringRef explain(OpTy op) {
  if (!isa<RankedTensorType>(op.getQuery().getType()))
    return "found memrefs, expected tensors; run attn-memref-to-tensor";
  Type key = getElementTypeOrSelf(op.getKey().getType());
  if (isQuantised(key))
    return "found quantised K and V, expected floats; widen them";
  if (op.getDbias())
    return "found a gradient of the bias, expected those of Q, K and V; leave bias out of grad, or compile for a CPU";
  if (!op.getDcaptures().empty())
    return "found gradients of captured tensors, expected those of Q, K and V; leave them out of grad, or compile for "
           "a CPU";
  if (op.getKey().template getDefiningOp<GatherPagesOp>() || op.getValue().template getDefiningOp<GatherPagesOp>())
    return "found K or V in pages, expected dense ones; gather them in front of the kernel";
  if (op.getCuSeqlensQ() && !op.getCuSeqlensK())
    return "found packed queries beside keys that are not packed, expected cu_seqlens of both; compile it for a CPU";
  return "";
}

/// True where the gradient of a scale is summed from those of what it scales (attn-differentiate).
static bool hasScaleGradient(SdpaBackwardOp op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    auto sum = dyn_cast<linalg::LinalgOp>(user);
    return sum && sum.getNumReductionLoops() > 0;
  });
}

/// True for sums of weights a key: the gradient of a column of ones.
static bool isKeySums(Operation *op) {
  auto whole = dyn_cast<SdpaBackwardOp>(op);
  return whole && whole.getValue().getDefiningOp<linalg::FillOp>() && getStaticSize(op, DimKind::ValueSize) == 1;
}

LogicalResult attn::verifyGpuBackward(Operation *op) {
  if (isKeySums(op))
    return op->emitOpError("no GPU kernel for sums of weights a key, the gradient of a column of ones; leave key_sums "
                           "out, or compile it for a CPU");
  int64_t size = std::max(getStaticSize(op, DimKind::HeadSize), getStaticSize(op, DimKind::ValueSize));
  if (size > kMaxBlockValueSize)
    return op->emitOpError("no GPU kernel for gradients of head size ")
           << size << ", expected at most " << kMaxBlockValueSize << "; compile it for a CPU";
  if (failed(verifyGpuOp(op)))
    return failure();
  StringRef reason = llvm::TypeSwitch<Operation *, StringRef>(op).Case<SdpaBackwardOp, BackwardStepOp>(
      [](auto backward) { return explain(backward); });
  if (auto whole = dyn_cast<SdpaBackwardOp>(op); whole && reason.empty()) {
    if (whole.getDsink())
      reason =
          "found a gradient of the sink, expected those of Q, K and V; leave sink out of grad, or compile for a CPU";
    else if (hasScaleGradient(whole))
      reason = "found a gradient of a scale, expected those of Q, K and V; leave scales out of grad, or compile for a "
               "CPU";
  }
  if (!reason.empty())
    return op->emitOpError("no GPU kernel for these gradients: ") << reason;
  return success();
}
