//===- LowerToReference.cpp - attn-lower-to-reference ---------------------===//
//
// Decomposes every attn op on tensors into linalg, until none is left. The
// scores are materialised and nothing is skipped.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"

namespace attn {
#define GEN_PASS_DEF_LOWERTOREFERENCEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {
struct LowerToReferencePass : public attn::impl::LowerToReferencePassBase<LowerToReferencePass> {
  using Base::Base;

  void runOnOperation() override {
    Builder types(&getContext());
    Type type = computeType == "f64" ? types.getF64Type() : computeType == "f32" ? types.getF32Type() : Type();
    if (!type && !computeType.empty()) {
      getOperation().emitError("attn-lower-to-reference: expected compute-type to be f32 or f64, found '")
          << computeType << "'";
      return signalPassFailure();
    }
    SmallVector<Operation *> worklist;
    getOperation().walk([&](Operation *op) {
      if ((isStructuredOp(op) || isa<GatherPagesOp>(op)) && !(chainOnly && belongsToFlashPath(op)))
        worklist.push_back(op);
    });
    if (chainOnly && !worklist.empty() && failed(reportFallback(worklist)))
      return signalPassFailure();
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val();
      IRRewriter rewriter(op);
      Operation *before = op->getPrevNode();
      FailureOr<SmallVector<Value>> values = failure();
      if (auto gather = dyn_cast<GatherPagesOp>(op)) {
        if (FailureOr<Value> dense = decomposeGatherPages(rewriter, gather); succeeded(dense))
          values = SmallVector<Value>{*dense};
      } else {
        values = decompose(rewriter, op, type);
      }
      if (failed(values)) {
        if (isa<RankedTensorType>(op->getOperand(0).getType()))
          op->emitOpError("has no reference form: expected a static head size or a scale, projections expanded by "
                          "attn-expand-layers, and packed rows in the order (row, head, column)");
        else
          op->emitOpError("expected tensors, found memrefs; run attn-lower-to-reference before bufferisation");
        return signalPassFailure();
      }
      // sdpa decomposes into attn ops again.
      for (Operation *built = before ? before->getNextNode() : &op->getBlock()->front(); built != op;
           built = built->getNextNode())
        if (isStructuredOp(built))
          worklist.push_back(built);
      rewriter.replaceOp(op, *values);
    }
  }

  /// sdpa, what the later phases of the flash path have made of it, and whatever is on memrefs already.
  static bool belongsToFlashPath(Operation *op) {
    if (isa<SdpaOp, PackOp, GatherPagesOp>(op) || !isa<RankedTensorType>(op->getOperand(0).getType()))
      return true;
    if (auto step = dyn_cast<OnlineStepOp>(op))
      return step.getSchedule().has_value();
    auto function = op->getParentOfType<FunctionOpInterface>();
    if (!isa<InitStateOp, FinalizeOp>(op) || !function)
      return false;
    // A tile without keys has no step; that its function was here before is noted on it.
    WalkResult result = function.walk(
        [](OnlineStepOp step) { return step.getSchedule() ? WalkResult::interrupt() : WalkResult::advance(); });
    return result.wasInterrupted() || function->hasAttr(kPathAttr);
  }

  /// What runs materialised does not do so silently. A state is no score matrix: what works on states of whole tensors is
  /// elementwise, and linalg is what it ought to be.
  LogicalResult reportFallback(ArrayRef<Operation *> ops) {
    for (Operation *op : ops) {
      if (isa<InitStateOp, MergeStatesOp, FinalizeOp>(op))
        continue;
      if (failOnFallback)
        return op->emitOpError(
            "falls back to the materialised path (--fail-on-fallback); fuse the chain into attn.sdpa: "
            "--remarks=missed says what stands in the way");
      emitRemark(op, RemarkOutcome::Missed, "materialized")
          << (op->getName().getStringRef() + " runs on the materialised path, not as a flash kernel").str();
    }
    return success();
  }
};
} // namespace
