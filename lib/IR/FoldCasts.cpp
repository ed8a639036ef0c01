//===- FoldCasts.cpp - tensor.cast into the ops that read it --------------===//
//
// Canonicalisation of every op in destination-passing style that has an
// indexing map: operands take the static sizes that are known. Upstream has the
// pattern for such ops of any dialect, but clones region by region, which fails
// on a region that is left out; this one comes before it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "attn/IR/Structure.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace attn;

/// Upstream's pattern has 1.
static constexpr unsigned kBenefit = 2;

namespace {
struct FoldCasts : public OpInterfaceRewritePattern<DestinationStyleOpInterface> {
  explicit FoldCasts(MLIRContext *context) : OpInterfaceRewritePattern(context, kBenefit) {}

  LogicalResult matchAndRewrite(DestinationStyleOpInterface op, PatternRewriter &rewriter) const override {
    if (!isStructuredOp(op) || !tensor::hasFoldableTensorCastOperand(op))
      return rewriter.notifyMatchFailure(op, "expected an attn op that reads a tensor.cast");
    SmallVector<Type> types(op->getResultTypes());
    SmallVector<Value> operands = tensor::getUpdatedOperandsAfterCastOpFolding(op, types);
    Operation *folded = rewriter.clone(*op);
    rewriter.modifyOpInPlace(folded, [&] {
      folded->setOperands(operands);
      for (auto [result, type] : llvm::zip_equal(folded->getResults(), types))
        result.setType(type);
    });
    SmallVector<Value> results;
    for (auto [before, after] : llvm::zip_equal(op->getResults(), folded->getResults()))
      results.push_back(before.getType() == after.getType()
                            ? Value(after)
                            : tensor::CastOp::create(rewriter, op.getLoc(), before.getType(), after));
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void AttnDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<FoldCasts>(getContext());
}
