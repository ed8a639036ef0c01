//===- ConvertToOnline.cpp - attn-convert-to-online -----------------------===//
//
// sdpa on tensors → init_state, online_step over all keys, finalize. Before: masks are one predicate, and sdpa has a
// schedule. After: no sdpa is left; the step has the schedule and the key ranges.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"

namespace attn {
#define GEN_PASS_DEF_CONVERTTOONLINEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

FailureOr<FinalizeOp> attn::convertToOnline(RewriterBase &rewriter, SdpaOp op) {
  if (!isa<RankedTensorType>(op.getOutput().getType()))
    return op.emitOpError("expected tensors, found memrefs; run attn-memref-to-tensor");
  rewriter.setInsertionPoint(op);
  Type stateType = getAccumulationType(getElementTypeOrSelf(op.getQuery().getType()));
  FailureOr<FinalizeOp> finalize = buildOnlineForm(rewriter, op, stateType, StateLayout::LaneMajor);
  if (failed(finalize))
    return op.emitOpError("expected a scale where the head size is dynamic; write scale = … or scale_value(…)");
  rewriter.replaceOp(op, finalize->getResults());
  return finalize;
}

LogicalResult attn::convertToOnline(RewriterBase &rewriter, SdpaBackwardOp op) {
  if (!isa<RankedTensorType>(op.getOutput().getType()))
    return op.emitOpError("expected tensors, found memrefs; run attn-memref-to-tensor");
  rewriter.setInsertionPoint(op);
  Type type = getAccumulationType(getElementTypeOrSelf(op.getQuery().getType()));
  FailureOr<SmallVector<Value>> results = buildBackwardForm(rewriter, op, type);
  if (failed(results))
    return op.emitOpError("expected a scale where the head size is dynamic; write scale = … or scale_value(…)");
  rewriter.replaceOp(op, *results);
  return success();
}

namespace {
struct ConvertToOnlinePass : public attn::impl::ConvertToOnlinePassBase<ConvertToOnlinePass> {
  void runOnOperation() override {
    SmallVector<SdpaOp> ops;
    getOperation().walk([&](SdpaOp op) {
      if (isa<RankedTensorType>(op.getOutput().getType()))
        ops.push_back(op);
    });
    SmallVector<SdpaBackwardOp> gradients;
    getOperation().walk([&](SdpaBackwardOp op) {
      if (isa<RankedTensorType>(op.getOutput().getType()))
        gradients.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (SdpaOp op : ops)
      if (failed(convertToOnline(rewriter, op)))
        return signalPassFailure();
    for (SdpaBackwardOp op : gradients)
      if (failed(convertToOnline(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
