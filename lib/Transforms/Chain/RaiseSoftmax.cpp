//===- RaiseSoftmax.cpp - linalg.softmax of a chain to attn.softmax -------===//
//
// Before: linalg.softmax between ops of a chain and attn.apply. After: attn.softmax, which attn-fuse matches, if it is
// over the keys. The two differ for a row of -inf, which keeps no key: linalg.softmax gives NaN, attn.softmax zeros.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Chain.h"
#include "attn/IR/Decompose.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace attn;

/// The map from (batch…, query, key) by which an op of a chain reads weights.
static AffineMap getWeightsMap(OpOperand &use) {
  Operation *user = use.getOwner();
  if (use.getOperandNumber() != 0 || !isa<ApplyOp, DropoutOp>(user))
    return {};
  SmallVector<unsigned> kept;
  for (unsigned position = 0; position <= getDomainPosition(user, DimKind::Key); ++position)
    kept.push_back(position);
  return restrictDomain(getMaps(user)[0], kept);
}

std::optional<unsigned> attn::findKeyDim(Value weights) {
  for (OpOperand &use : weights.getUses())
    if (AffineMap map = getWeightsMap(use))
      return map.getResultPosition(getAffineDimExpr(map.getNumDims() - 1, map.getContext()));
  return std::nullopt;
}

namespace {
struct RaiseSoftmax : public OpRewritePattern<linalg::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::SoftmaxOp op, PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "expected tensors");
    if (!isa_and_nonnull<ScoresOp, ScaleOp, ModifyOp, SoftcapOp, MaskOp>(op.getInput().getDefiningOp()))
      return rewriter.notifyMatchFailure(op, "expected scores of a chain");
    if (op.getInput().getType().getElementType() != op.getOutput().getType().getElementType())
      return rewriter.notifyMatchFailure(op, "expected scores and weights of one type");
    Value weights = op->getResult(0);
    if (findKeyDim(weights) != op.getDimension())
      return rewriter.notifyMatchFailure(op, "expected weights that attn.apply reads, over its keys");
    auto *use = llvm::find_if(weights.getUses(), [](OpOperand &use) { return bool(getWeightsMap(use)); }).getOperand();
    AffineMap map = getWeightsMap(*use);
    if (!map.isPermutation())
      return rewriter.notifyMatchFailure(op, "expected weights of the whole domain");
    ArrayAttr maps = map.isIdentity() ? ArrayAttr() : rewriter.getAffineMapArrayAttr({map, map});
    rewriter.replaceOpWithNewOp<SoftmaxOp>(op, weights.getType(), op.getInput(), op.getOutput(), /*lse=*/Value(),
                                           /*sink=*/Value(), /*q_lengths=*/Value(), maps);
    return success();
  }
};
} // namespace

void attn::populateRaiseSoftmaxPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseSoftmax>(patterns.getContext());
}
