//===- DecomposeStep.cpp - attn-decompose-step ----------------------------===//
//
// online_step on tensors or memrefs → product, map_scores, row_max, rescale, weights, product; backward_step →
// products, score_gradients, products. The formulas are in lib/IR (DecomposeStep.cpp, DecomposeBackwardStep.cpp), as
// the reference lowers the same ops to linalg.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {
#define GEN_PASS_DEF_DECOMPOSESTEPPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {
struct DecomposeStepPass : public attn::impl::DecomposeStepPassBase<DecomposeStepPass> {
  void runOnOperation() override {
    SmallVector<OnlineStepOp> steps;
    getOperation()->walk([&](OnlineStepOp step) { steps.push_back(step); });
    for (OnlineStepOp step : steps) {
      IRRewriter rewriter(step);
      FailureOr<SmallVector<Value>> state = decomposeStep(rewriter, step);
      if (failed(state)) {
        step.emitOpError("expected a step of one sequence, found packed sequences; run attn-tile");
        return signalPassFailure();
      }
      rewriter.replaceOp(step, *state);
    }
    SmallVector<BackwardStepOp> gradients;
    getOperation()->walk([&](BackwardStepOp step) { gradients.push_back(step); });
    for (BackwardStepOp step : gradients) {
      IRRewriter rewriter(step);
      FailureOr<SmallVector<Value>> sums = decomposeStep(rewriter, step);
      if (failed(sums)) {
        step.emitOpError("expected a step that adds to dquery alone, or to dkey and dvalue, of one sequence, found "
                         "others; run attn-tile for a GPU");
        return signalPassFailure();
      }
      rewriter.replaceOp(step, *sums);
    }
  }
};
} // namespace
