//===- FoldCasts.cpp - tensor.cast into the attn ops ----------------------===//
//
// Canonicalisation: an op takes the more static source of a cast, and its
// results are cast back. Upstream does this for every op in destination-passing
// style, but cannot clone one whose optional regions are empty; so this runs
// first.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace attn;

namespace {
struct FoldCastOperand : public OpInterfaceRewritePattern<DestinationStyleOpInterface> {
  explicit FoldCastOperand(MLIRContext *ctx)
      : OpInterfaceRewritePattern<DestinationStyleOpInterface>(ctx, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(DestinationStyleOpInterface op, PatternRewriter &rewriter) const override {
    if (!isOfDialect<AttnDialect>(op))
      return rewriter.notifyMatchFailure(op, "expected an attn op");
    bool hasCast = false;
    SmallVector<Value> operands(op->getOperands());
    for (Value &operand : operands)
      if (auto cast = operand.getDefiningOp<tensor::CastOp>(); cast && tensor::canFoldIntoConsumerOp(cast)) {
        operand = cast.getSource();
        hasCast = true;
      }
    if (!hasCast)
      return rewriter.notifyMatchFailure(op, "expected an operand that hides static sizes");

    SmallVector<Type> types;
    for (OpResult result : op->getResults())
      types.push_back(operands[op.getTiedOpOperand(result)->getOperandNumber()].getType());
    OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
    for (Region &region : op->getRegions())
      state.addRegion()->takeBody(region);
    Operation *folded = rewriter.create(state);
    SmallVector<Value> results;
    for (auto [result, old] : llvm::zip_equal(folded->getResults(), op->getResultTypes()))
      results.push_back(result.getType() == old
                            ? Value(result)
                            : tensor::CastOp::create(rewriter, op->getLoc(), old, result).getResult());
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void AttnDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<FoldCastOperand>(getContext());
}
