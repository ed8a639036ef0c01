//===- Canonicalize.cpp - attn-canonicalize -------------------------------===//
//
// Exact rewrites that bring attn ops into one form: an explicit scale, transposes folded into the indexing maps,
// neutral masks and biases removed.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

namespace attn {
#define GEN_PASS_DEF_CANONICALIZEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// scale = 1 / sqrt(D)
struct MaterializeScale : public OpRewritePattern<SdpaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SdpaOp op, PatternRewriter &rewriter) const override {
    if (op.getScale() || op.getScaleValue())
      return rewriter.notifyMatchFailure(op, "expected no scale");
    int64_t headSize = getStaticSize(op, DimKind::HeadSize);
    if (ShapedType::isDynamic(headSize))
      return rewriter.notifyMatchFailure(op, "expected a static head size");
    double scale = 1.0 / std::sqrt(static_cast<double>(headSize));
    rewriter.modifyOpInPlace(op, [&] { op.setScaleAttr(rewriter.getF64FloatAttr(scale)); });
    return success();
  }
};

/// The removed operand may have been the only one that knew the sizes.
void keepAlignment(Operation *op) {
  if (isa<SdpaOp, MaskOp>(op))
    spellOutAlignment(op);
}

/// input = transpose(x): reads x, with the permutation in the input's map.
struct FoldTranspose : public RewritePattern {
  FoldTranspose(MLIRContext *ctx) : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, ctx) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isStructuredOp(op))
      return failure();
    auto dps = cast<DestinationStyleOpInterface>(op);
    SmallVector<AffineMap> maps = getMaps(op);
    for (OpOperand *input : dps.getDpsInputOperands()) {
      auto transpose = input->get().getDefiningOp<linalg::TransposeOp>();
      unsigned i = input->getOperandNumber();
      if (!transpose || !transpose.hasPureTensorSemantics() || i >= maps.size())
        continue;
      // Dimension r of the transposed operand is dimension permutation[r] of its source.
      ArrayRef<int64_t> permutation = transpose.getPermutation();
      SmallVector<AffineExpr> exprs(permutation.size());
      for (auto [r, source] : llvm::enumerate(permutation))
        exprs[source] = maps[i].getResult(r);
      maps[i] = AffineMap::get(maps[i].getNumDims(), 0, exprs, op->getContext());
      rewriter.modifyOpInPlace(op, [&] {
        op->setAttr("maps", rewriter.getAffineMapArrayAttr(maps));
        input->set(transpose.getInput());
        keepAlignment(op);
      });
      return success();
    }
    return failure();
  }
};

/// A mask that is true everywhere and a bias that is zero everywhere have no effect.
template <typename OpTy> struct DropNeutralMask : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    bool dropMask = op.getMask() && matchPattern(op.getMask(), m_One());
    bool dropBias = op.getBias() && matchPattern(op.getBias(), m_AnyZeroFloat());
    if (!dropMask && !dropBias)
      return rewriter.notifyMatchFailure(op, "expected a constant neutral mask or bias");
    SmallVector<AffineMap> kept;
    for (auto [map, spec] : llvm::zip(getMaps(op), getOperandSpecs(op)))
      if (!(dropMask && spec.name == "mask") && !(dropBias && spec.name == "bias"))
        kept.push_back(map);
    rewriter.modifyOpInPlace(op, [&] {
      if (dropMask)
        op.getMaskMutable().clear();
      if (dropBias)
        op.getBiasMutable().clear();
      // Default maps follow from the remaining operands; explicit ones are updated.
      if (getExplicitMaps(op))
        op.setMapsAttr(rewriter.getAffineMapArrayAttr(kept));
      keepAlignment(op);
    });
    return success();
  }
};

/// An attn.mask without effect is its input.
struct FoldEmptyMask : public OpRewritePattern<MaskOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MaskOp op, PatternRewriter &rewriter) const override {
    bool hasEffect = op.getMask() || op.getBias() || hasPredicate(op);
    if (hasEffect || op.getNumResults() != 1 || getMaps(op).front() != getMaps(op).back())
      return rewriter.notifyMatchFailure(op, "expected a mask without effect on tensors");
    if (op.getInput().getType() != op.getResult(0).getType())
      return rewriter.notifyMatchFailure(op, "expected input and result of one type, static sizes included");
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

struct CanonicalizePass : public attn::impl::CanonicalizePassBase<CanonicalizePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateCanonicalizePatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void attn::populateCanonicalizePatterns(RewritePatternSet &patterns) {
  patterns.add<MaterializeScale, FoldTranspose, DropNeutralMask<SdpaOp>, DropNeutralMask<MaskOp>, FoldEmptyMask>(
      patterns.getContext());
  populateRaiseSoftmaxPatterns(patterns);
}
