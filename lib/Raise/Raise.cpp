//===- Raise.cpp - attn-raise ---------------------------------------------===//
//
// For each matrix product that follows a likely softmax: match, build the chain, replace. Before: linalg on tensors.
// After: the chain, or the unchanged ops and a missed remark with the step that did not match.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Raise/Raise.h"
#include "Operands.h"
#include "attn/IR/GradientAttrs.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace attn {
#define GEN_PASS_DEF_RAISEPASS
#include "attn/Raise/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::raise;

/// Most restarts of a match because a reshape has split a dimension.
static constexpr unsigned kMaxCuts = 32;
/// Most ops after the second product that may belong to the attention: views, a cast, a division.
static constexpr unsigned kMaxTail = 8;
/// Most ops between an exponential and its sum: selects of 0, casts, views.
static constexpr unsigned kMaxBehind = 6;
/// Most ops between two products that are searched for a softmax.
static constexpr unsigned kMaxBetween = 256;

//===----------------------------------------------------------------------===//
// Candidates for a match
//===----------------------------------------------------------------------===//

static bool isReduction(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.hasPureTensorSemantics() && linalgOp.getNumReductionLoops() > 0;
}

/// A sum of products of two inputs.
static bool isContraction(Operation *op) {
  if (!isReduction(op))
    return false;
  auto linalgOp = cast<linalg::LinalgOp>(op);
  Operation *sum = linalgOp.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  return isa_and_nonnull<arith::AddFOp>(sum) && linalgOp.getNumDpsInputs() >= 2 &&
         llvm::any_of(*linalgOp.getBlock(), [](Operation &nested) { return isa<arith::MulFOp>(nested); });
}

static bool isSum(Operation *op) {
  return isReduction(op) && !isContraction(op) &&
         isa_and_nonnull<arith::AddFOp>(
             cast<linalg::LinalgOp>(op).getBlock()->getTerminator()->getOperand(0).getDefiningOp());
}

static bool hasExponential(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp &&
         llvm::any_of(*linalgOp.getBlock(), [](Operation &nested) { return isa<math::ExpOp, math::Exp2Op>(nested); });
}

static bool isView(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp, tensor::ReshapeOp>(op);
}

/// Ops allowed between an exponential and its sum: casts, masks, factors. A sigmoid divides, so a later sum, such as
/// that of a normalisation, is not one of exponentials.
static bool keepsExponential(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp, arith::SelectOp, arith::MulFOp, arith::AddFOp>(op);
}

static bool isResultSummed(Value result, unsigned depth);

/// True where `value`, in the region of a linalg op, is summed directly or through ops that keep exponentials.
static bool isElementSummed(Value value, linalg::LinalgOp op, unsigned depth) {
  llvm::SmallSetVector<Value, 8> values;
  values.insert(value);
  for (unsigned i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      Operation *user = use.getOwner();
      if (user == op.getBlock()->getTerminator()) {
        if (isSum(op) || (!isReduction(op) && isResultSummed(op->getResult(use.getOperandNumber()), depth)))
          return true;
      } else if (keepsExponential(user)) {
        values.insert(user->getResult(0));
      }
    }
  return false;
}

/// The same for a tensor, through at most `depth` ops.
static bool isResultSummed(Value result, unsigned depth) {
  return depth > 0 && llvm::any_of(result.getUses(), [&](OpOperand &use) {
           Operation *user = use.getOwner();
           if (isView(user) || isa<tensor::ExtractSliceOp>(user))
             return isResultSummed(user->getResult(0), depth - 1);
           auto linalgOp = dyn_cast<linalg::LinalgOp>(user);
           return linalgOp && linalgOp.hasPureTensorSemantics() && !isContraction(user) &&
                  isElementSummed(linalgOp.getMatchingBlockArgument(&use), linalgOp, depth - 1);
         });
}

/// True for ops whose exponentials are summed: each softmax has one.
static bool hasSummedExponential(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.hasPureTensorSemantics())
    return false;
  return llvm::any_of(*linalgOp.getBlock(), [&](Operation &nested) {
    return isa<math::ExpOp, math::Exp2Op>(nested) && isElementSummed(nested.getResult(0), linalgOp, kMaxBehind);
  });
}

/// An existing attention: the ops before it do not belong to one after it.
static bool isAttention(Operation *op) { return isa<ApplyOp, SdpaOp>(op); }

/// True where summed exponentials are between a product and `contraction`. This holds for every softmax, but not for
/// gated activations, even if a normalisation follows them.
static bool looksLikeSoftmax(linalg::LinalgOp contraction) {
  llvm::SmallSetVector<Operation *, 16> ops;
  auto push = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        ops.insert(producer);
  };
  push(contraction);
  bool isFused = hasExponential(contraction), isSoftmax = false, isOfProduct = false;
  for (unsigned i = 0; i < ops.size() && i < kMaxBetween; ++i) {
    Operation *op = ops[i];
    if (isContraction(op) || isAttention(op)) {
      isOfProduct = true;
      continue;
    }
    isSoftmax |= isa<linalg::SoftmaxOp>(op) || hasSummedExponential(op) || (isFused && isSum(op));
    push(op);
  }
  return isSoftmax && isOfProduct;
}

/// Candidates for the result of the attention: `contraction`, and views, casts and divisions of only it.
static SmallVector<Value> collectTail(linalg::LinalgOp contraction) {
  SmallVector<Value> tail = {contraction->getResult(0)};
  while (tail.size() < kMaxTail && tail.back().hasOneUse()) {
    Operation *user = *tail.back().user_begin();
    auto linalgOp = dyn_cast<linalg::LinalgOp>(user);
    bool isElementwise =
        linalgOp && linalgOp.hasPureTensorSemantics() && linalgOp.getNumParallelLoops() == linalgOp.getNumLoops();
    if ((!isElementwise && !isView(user)) || user->getNumResults() != 1 || user->getBlock() != contraction->getBlock())
      break;
    tail.push_back(user->getResult(0));
  }
  return tail;
}

//===----------------------------------------------------------------------===//
// Match and replace
//===----------------------------------------------------------------------===//

/// True where `value` has uses other than `contraction`, possibly through elementwise ops and views.
static bool hasOtherUses(Value value, Operation *contraction) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (user == contraction)
      return false;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(user);
    bool isElementwise = linalgOp && linalgOp.getNumParallelLoops() == linalgOp.getNumLoops();
    return (!isElementwise && !isView(user)) ||
           llvm::any_of(user->getResults(), [&](Value result) { return hasOtherUses(result, contraction); });
  });
}

/// Erases the ops that a failed attempt has built between `before` and `op`.
static void eraseBuilt(RewriterBase &rewriter, Operation *before, Operation *op) {
  while (op->getPrevNode() != before)
    rewriter.eraseOp(op->getPrevNode());
}

static FailureOr<ApplyOp> matchAndReplace(RewriterBase &rewriter, MatchContext &ctx, Value result,
                                          Operation *contraction) {
  FailureOr<Attention> attention = matchAttention(ctx, result);
  if (failed(attention))
    return failure();
  if (attention->weights && !hasOtherUses(attention->weights->value, contraction))
    attention->weights = nullptr;
  Operation *op = result.getDefiningOp(), *before = op->getPrevNode();
  rewriter.setInsertionPoint(op);
  Value replacement;
  FailureOr<ApplyOp> apply = failure();
  if (succeeded(createOperands(rewriter, ctx, *attention)))
    apply = createChain(rewriter, ctx, *attention, replacement);
  if (failed(apply)) {
    eraseBuilt(rewriter, before, op);
    return failure();
  }
  rewriter.replaceAllUsesWith(result, replacement);
  {
    auto remark = emitRemark(*apply, RemarkOutcome::Passed, "attention-raised");
    remark << "attention raised to attn ops";
    for (StringRef relaxation : attention->relaxations)
      remark << ("; relaxed: " + relaxation).str();
  }
  return apply;
}

FailureOr<ApplyOp> attn::raiseAttention(RewriterBase &rewriter, linalg::LinalgOp contraction,
                                        const RaiseOptions &options, std::string *reason) {
  if (reason)
    reason->clear();
  if (!isContraction(contraction) || contraction->use_empty() || !looksLikeSoftmax(contraction))
    return failure();
  // Includes as many of the following ops as possible; the reported reason is that of the product alone.
  SmallVector<Value> tail = collectTail(contraction);
  for (Value result : llvm::reverse(tail)) {
    IterationSpace space;
    for (unsigned cut = 0; cut <= kMaxCuts; ++cut) {
      Elements elements(space);
      MatchContext ctx = {elements, options, {}};
      FailureOr<ApplyOp> apply = matchAndReplace(rewriter, ctx, result, contraction);
      if (succeeded(apply))
        return apply;
      if (reason)
        *reason = ctx.reason;
      if (!space.isStale())
        break;
      space.restart();
    }
  }
  return failure();
}

SmallVector<ApplyOp> attn::raiseAllAttention(RewriterBase &rewriter, Operation *root, const RaiseOptions &options,
                                             llvm::function_ref<void(linalg::LinalgOp, StringRef)> report) {
  SmallVector<linalg::LinalgOp> contractions;
  root->walk([&](linalg::LinalgOp op) {
    if (isContraction(op))
      contractions.push_back(op);
  });
  SmallVector<ApplyOp> raised;
  for (linalg::LinalgOp contraction : contractions) {
    std::string reason;
    FailureOr<ApplyOp> apply = raiseAttention(rewriter, contraction, options, &reason);
    if (succeeded(apply)) {
      raised.push_back(*apply);
    } else if (!reason.empty()) {
      emitRemark(contraction, RemarkOutcome::Missed, "attention-not-raised") << "attention not raised: " + reason;
      report(contraction, reason);
    }
  }
  // The replaced ops are pure and unused.
  if (!raised.empty())
    (void)runRegionDCE(rewriter, root->getRegions());
  return raised;
}

namespace {

struct RaiseAttention : public OpInterfaceRewritePattern<linalg::LinalgOp> {
  RaiseAttention(MLIRContext *ctx, const RaiseOptions &options) : OpInterfaceRewritePattern(ctx), options(options) {}

  LogicalResult matchAndRewrite(linalg::LinalgOp op, PatternRewriter &rewriter) const override {
    std::string reason;
    if (succeeded(raiseAttention(rewriter, op, options, &reason)))
      return success();
    return rewriter.notifyMatchFailure(op, reason.empty() ? "expected softmax between two products" : reason);
  }

  RaiseOptions options;
};

struct RaisePass : public attn::impl::RaisePassBase<RaisePass> {
  using RaisePassBase::RaisePassBase;

  void runOnOperation() override {
    if (gradientsOnly) {
      if (!getOperation()->hasAttr(kGradAttr))
        return;
      RewritePatternSet patterns(&getContext());
      linalg::populateElementwiseToLinalgConversionPatterns(patterns);
      (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    }
    IRRewriter rewriter(&getContext());
    raiseAllAttention(rewriter, getOperation(), {assumeFiniteMask, allowUnsafeSoftmax},
                      [&](linalg::LinalgOp contraction, StringRef reason) {
                        if (!failOnFallback)
                          return;
                        contraction->emitError("attention not raised: ") << reason;
                        signalPassFailure();
                      });
  }
};

} // namespace

void attn::populateAttnRaisePatterns(RewritePatternSet &patterns, const RaiseOptions &options) {
  patterns.add<RaiseAttention>(patterns.getContext(), options);
}
