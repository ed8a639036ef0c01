//===- Canonicalization.cpp - patterns of -canonicalize -------------------===//
//
// A tensor.cast to a type of fewer static sizes goes from an operand of an op
// with regions to its results. Upstream has the same for all ops in destination
// -passing style, but clones regions in a way that an empty one does not
// survive (MLIR 22.1, OpBuilder::cloneRegionBefore): this one runs first.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace attn;

namespace {
struct FoldCasts : public OpInterfaceRewritePattern<DestinationStyleOpInterface> {
  explicit FoldCasts(MLIRContext *ctx) : OpInterfaceRewritePattern(ctx, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(DestinationStyleOpInterface op, PatternRewriter &rewriter) const override {
    if (!isa<AttnDialect>(op->getDialect()) || op->getNumRegions() == 0 || !tensor::hasFoldableTensorCastOperand(op))
      return failure();
    SmallVector<Type> types(op->getResultTypes());
    SmallVector<Value> operands = tensor::getUpdatedOperandsAfterCastOpFolding(op, types);
    OperationState state(op->getLoc(), op->getName(), operands, types, op->getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    for (Region &region : op->getRegions())
      state.addRegion()->takeBody(region);
    Operation *folded = rewriter.create(state);
    SmallVector<Value> results;
    for (auto [old, result] : llvm::zip_equal(op->getResults(), folded->getResults()))
      results.push_back(old.getType() == result.getType()
                            ? result
                            : tensor::CastOp::create(rewriter, op->getLoc(), old.getType(), result));
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void AttnDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<FoldCasts>(getContext());
}
