//===- FuseElementwise.cpp - attn-fuse-elementwise ------------------------===//
//
// Before: a sequence of elementwise linalg ops on tensors. After: one op for each result that another op uses, with at
// most kMaxOps scalar ops. For a CPU: one op for each chain of results without other uses.
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

/// Most scalar ops in one op: their operands have to fit in registers, and each fusion copies all of them.
static constexpr size_t kMaxOps = 64;

static bool isSmall(linalg::GenericOp producer, linalg::GenericOp consumer) {
  return producer.getBlock()->getOperations().size() + consumer.getBlock()->getOperations().size() <= kMaxOps;
}

static unsigned getWidth(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
}

/// True for ops that attn-lower-elementwise-to-vector vectorizes, given that boolean results stay inside of an op.
static bool isChainOp(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.hasPureTensorSemantics() || op->getNumResults() != 1 || linalgOp.getNumLoops() == 0 ||
      linalgOp.getNumParallelLoops() != linalgOp.getNumLoops() ||
      !linalgOp.getIndexingMapsArray().back().isIdentity() ||
      linalgOp.payloadUsesValueFromOperand(linalgOp.getDpsInitOperand(0)))
    return false;
  auto hasVectors = [](Operation &inner) {
    return inner.getNumResults() == 1 && OpTrait::hasElementwiseMappableTraits(&inner) && getWidth(inner.getResult(0));
  };
  auto isDimOrConstant = llvm::IsaPred<AffineDimExpr, AffineConstantExpr>;
  Block::OpListType &body = linalgOp.getBlock()->getOperations();
  return body.size() > 1 && llvm::all_of(linalgOp.getBlock()->without_terminator(), hasVectors) &&
         llvm::all_of(op->getOperands(), [](Value operand) { return getWidth(operand) > 0; }) &&
         llvm::all_of(linalgOp.getIndexingMapsArray(),
                      [&](AffineMap map) { return llvm::all_of(map.getResults(), isDimOrConstant); });
}

/// True where the vectors of `op` have the lanes of `producer`.
static bool hasLanesOf(linalg::GenericOp op, linalg::GenericOp producer) {
  constexpr unsigned kFloatWidth = 32; // of a lane, unless the op has wider operands
  unsigned width = getWidth(op->getResult(0));
  return width > 1 && getWidth(producer->getResult(0)) <= std::max(width, kFloatWidth);
}

/// True where the terminator uses the result tied to a destination: it is written in place.
static bool isReturned(linalg::GenericOp op, OpOperand &init) {
  return llvm::any_of(op.getTiedOpResult(&init).getUsers(),
                      [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
}

namespace {
/// Turns a destination that an op reads into an input: only inputs are fused.
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

/// Turns named elementwise ops into generic ones if there are others to fuse them with.
struct GeneralizeElementwise : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::LinalgOp op, PatternRewriter &rewriter) const override {
    auto isMadeByOne = [](Value operand) { return operand.getDefiningOp() && isChainOp(operand.getDefiningOp()); };
    if (isa<linalg::GenericOp>(op) || !isChainOp(op) ||
        (llvm::none_of(op->getUsers(), isChainOp) && llvm::none_of(op.getDpsInputs(), isMadeByOne)))
      return rewriter.notifyMatchFailure(op, "expected an elementwise op with a name, and another one beside it");
    return linalg::generalizeNamedOp(rewriter, op);
  }
};

/// Fuses an op into the only reader of its result, at the same indices, so that nothing is computed twice.
struct FuseChain : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter &rewriter) const override {
    if (!isChainOp(op))
      return rewriter.notifyMatchFailure(op, "expected an elementwise op with a vector form");
    for (OpOperand *input : op.getDpsInputOperands()) {
      auto producer = input->get().getDefiningOp<linalg::GenericOp>();
      if (!producer || !isChainOp(producer) || !input->get().hasOneUse() || !isSmall(producer, op) ||
          !hasLanesOf(op, producer) || !op.getMatchingIndexingMap(input).isIdentity() ||
          !linalg::areElementwiseOpsFusable(input))
        continue;
      FailureOr<linalg::ElementwiseOpFusionResult> fused = linalg::fuseElementwiseOps(rewriter, input);
      if (failed(fused))
        continue;
      for (auto [old, replacement] : fused->replacements)
        rewriter.replaceAllUsesWith(old, replacement);
      rewriter.eraseOp(op);
      rewriter.eraseOp(producer);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "expected an operand that an elementwise op makes for this one");
  }
};

struct FuseElementwisePass : public attn::impl::FuseElementwisePassBase<FuseElementwisePass> {
  using Base::Base;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    if (chains) {
      patterns.add<GeneralizeElementwise, FuseChain>(context);
    } else {
      patterns.add<ReadDestinationAsInput>(context);
      linalg::populateElementwiseOpsFusionPatterns(patterns, [](OpOperand *input) {
        auto producer = input->get().getDefiningOp<linalg::GenericOp>();
        auto consumer = dyn_cast<linalg::GenericOp>(input->getOwner());
        return producer && consumer && isSmall(producer, consumer);
      });
    }
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    if (!chains) // they remove copies, some of which write the destination of a result
      linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
