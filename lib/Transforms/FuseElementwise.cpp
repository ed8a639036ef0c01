//===- FuseElementwise.cpp - attn-fuse-elementwise ------------------------===//
//
// Before: elementwise linalg ops one after the other, on tensors. After: one op for
// each result that something else uses.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;

/// True where the function's end uses the result that a destination becomes: it is written in place.
static bool isReturned(linalg::GenericOp op, OpOperand &init) {
  return llvm::any_of(op.getTiedOpResult(&init).getUsers(),
                      [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
}

namespace {
/// What an op reads of its destination becomes an input: fusion takes inputs alone.
struct ReadDestinationAsInput : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() != 0)
      return failure();
    for (OpOperand &init : op.getDpsInitsMutable()) {
      BlockArgument old = op.getMatchingBlockArgument(&init);
      if (old.use_empty() || isReturned(op, init))
        continue;
      SmallVector<Value> inputs(op.getInputs()), inits(op.getOutputs());
      SmallVector<AffineMap> maps = op.getIndexingMapsArray();
      unsigned position = inputs.size(), number = init.getOperandNumber() - position;
      Location loc = op.getLoc();
      maps.insert(maps.begin() + position, maps[init.getOperandNumber()]);
      inputs.push_back(init.get());
      inits[number] = tensor::EmptyOp::create(rewriter, loc, tensor::getMixedSizes(rewriter, loc, init.get()),
                                              getElementTypeOrSelf(init.get().getType()));
      auto replaced = linalg::GenericOp::create(rewriter, loc, op.getResultTypes(), inputs, inits, maps,
                                                op.getIteratorTypesArray());
      rewriter.inlineRegionBefore(op.getRegion(), replaced.getRegion(), replaced.getRegion().end());
      Block *body = replaced.getBody();
      BlockArgument read = body->insertArgument(position, old.getType(), loc);
      rewriter.replaceAllUsesWith(body->getArgument(position + 1 + number), read);
      rewriter.replaceOp(op, replaced.getResults());
      return success();
    }
    return failure();
  }
};

struct FuseElementwisePass : public attn::impl::FuseElementwisePassBase<FuseElementwisePass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<ReadDestinationAsInput>(context);
    linalg::populateElementwiseOpsFusionPatterns(patterns, [](OpOperand *) { return true; });
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
