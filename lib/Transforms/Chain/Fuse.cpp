//===- Fuse.cpp - attn-fuse -----------------------------------------------===//
//
// Matches the textbook chain backwards from attn.apply and replaces it by one attn.sdpa. Before: scores, scale,
// softcap, mask, softmax, apply on tensors. After: one sdpa, or the unchanged chain and a missed remark with the
// reason.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Chain.h"
#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Transforms/RegionUtils.h"

namespace attn {
#define GEN_PASS_DEF_FUSEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Rewrites a map of a chain's op over the domain (batch…, query, key, head, value) of sdpa. Dimensions after those of
/// the batch are identified by name.
AffineMap toSdpaDomain(Operation *op, AffineMap map) {
  unsigned numBatch = getNumBatchDims(op);
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < numBatch; ++i)
    dims.push_back(getAffineDimExpr(i, op->getContext()));
  for (DimKind kind : getDomainDims(op))
    dims.push_back(getAffineDimExpr(numBatch + static_cast<unsigned>(kind), op->getContext()));
  return map.replaceDimsAndSymbols(dims, {}, numBatch + 4, 0);
}

/// Erases the unused ops of a chain back to `op`.
void eraseBackwards(RewriterBase &rewriter, Operation *op) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    eraseBackwards(rewriter, user);
  rewriter.eraseOp(op);
}

/// The product of the scales: run-time values times the constant factor; null if there is no run-time value.
Value multiplyScales(RewriterBase &rewriter, Location loc, const Chain &chain) {
  Type type = getAccumulationType(getElementTypeOrSelf(chain.query.getType()));
  Value product;
  for (ScaleOp scale : chain.scales) {
    if (!scale.getScaleValue())
      continue;
    Value value = convertFloat(rewriter, loc, scale.getScaleValue(), type);
    product = product ? arith::MulFOp::create(rewriter, loc, product, value).getResult() : value;
  }
  if (product && chain.factor != 1.0)
    product = arith::MulFOp::create(rewriter, loc, product, createFloatConstant(rewriter, loc, type, chain.factor));
  return product;
}

/// The maps in the order of the shaped operands of sdpa.
SmallVector<AffineMap> collectMaps(const Chain &chain, ApplyOp apply) {
  SmallVector<AffineMap> maps;
  auto add = [&](Operation *op, unsigned i) { maps.push_back(toSdpaDomain(op, getMaps(op)[i])); };
  add(chain.scores, 0);
  add(chain.scores, 1);
  add(apply, 1);
  if (MaskOp source = chain.biasSource)
    add(source, 1);
  if (MaskOp source = chain.maskSource)
    add(source, source.getBias() ? 2 : 1);
  add(apply, 2);
  if (SoftmaxOp softmax = chain.softmax; softmax.getLse())
    add(softmax, 2);
  return maps;
}

/// The op before which the sdpa is built: the first reader of its log-sum-exp, or apply. Fails if an operand cannot be
/// defined before that op.
FailureOr<Operation *> findPlace(RewriterBase &rewriter, Chain &chain, ApplyOp apply) {
  Operation *place = apply;
  if (!chain.softmax.getLse())
    return place;
  for (Operation *user : chain.softmax->getResult(1).getUsers())
    if (Operation *reader = apply->getBlock()->findAncestorOpInBlock(*user); reader && reader->isBeforeInBlock(place))
      place = reader;
  if (place != apply && failed(moveValueDefinitions(rewriter, getLateOperands(chain, apply), place)))
    return failure();
  return place;
}

SdpaOp createSdpa(RewriterBase &rewriter, Chain &chain, ApplyOp apply) {
  Location loc = apply.getLoc();
  Value scaleValue = multiplyScales(rewriter, loc, chain);
  auto sdpa = SdpaOp::create(rewriter, loc, chain.query, chain.key, apply.getValue(), apply.getOutput(),
                             chain.softmax.getLse(), collectMaps(chain, apply));
  auto assign = [](MutableOperandRange operand, Value value) {
    if (value)
      operand.assign(value);
  };
  assign(sdpa.getBiasMutable(), chain.biasSource ? chain.biasSource.getBias() : nullptr);
  assign(sdpa.getMaskMutable(), chain.maskSource ? chain.maskSource.getMask() : nullptr);
  assign(sdpa.getSinkMutable(), chain.softmax.getSink());
  assign(sdpa.getQLengthsMutable(), chain.queryLengths);
  assign(sdpa.getScoreWeightMutable(), chain.scores.getKind() ? chain.scores.getWeights().front() : nullptr);
  assign(sdpa.getScaleValueMutable(), scaleValue);
  if (!scaleValue)
    sdpa.setScaleAttr(rewriter.getF64FloatAttr(chain.factor));
  if (chain.softcap)
    sdpa.setSoftcapAttr(chain.softcap.getSoftcapAttr());
  if (DropoutOp dropout = chain.dropout) {
    assign(sdpa.getDropoutSeedMutable(), dropout.getDropoutSeed());
    assign(sdpa.getDropoutOffsetMutable(), dropout.getDropoutOffset());
    sdpa.setDropoutPAttr(dropout.getDropoutPAttr());
  }
  if (chain.modify)
    sdpa.getScoreMod().takeBody(chain.modify.getScoreMod());
  return sdpa;
}

/// A single spelled-out mask stays spelled out; several become one region. So does a mask with origins, which differ
/// from those of attn.sdpa: attn.modify and attn.dropout do not use them.
void movePredicates(RewriterBase &rewriter, const Chain &chain, SdpaOp sdpa) {
  if (chain.predicates.size() == 1 && MaskOp(chain.predicates[0]).getMaskMod().empty() &&
      !hasOrigins(chain.predicates[0])) {
    copySpelledOutMasks(chain.predicates[0], sdpa);
    spellOutAlignment(sdpa);
    return;
  }
  for (MaskOp source : llvm::reverse(chain.predicates)) {
    Region predicate;
    buildPredicate(rewriter, source, predicate, sdpa);
    if (sdpa.getMaskMod().empty()) {
      sdpa.getMaskMod().takeBody(predicate);
      continue;
    }
    Operation *yield = sdpa.getMaskMod().front().getTerminator();
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(yield);
    Value second = inlineRegion(rewriter, predicate, {}, [&](IndexOp index) -> Value {
                     return rewriter.clone(*index)->getResult(0);
                   }).front();
    yield->setOperand(0, arith::AndIOp::create(rewriter, sdpa.getLoc(), yield->getOperand(0), second));
  }
}

/// Removes maps that equal the default layout.
void dropDefaultMaps(SdpaOp sdpa) {
  ArrayAttr explicitMaps = sdpa.getMapsAttr();
  unsigned numDims = cast<AffineMapAttr>(explicitMaps[0]).getValue().getNumDims();
  sdpa.removeMapsAttr();
  if (getNumBatchDims(sdpa) + 4 != numDims || attn::getIndexingMaps(sdpa) != explicitMaps)
    sdpa.setMapsAttr(explicitMaps);
}

void replaceChain(RewriterBase &rewriter, Chain &chain, ApplyOp apply, SdpaOp sdpa) {
  rewriter.replaceOp(apply, sdpa->getResult(0));
  if (chain.softmax.getLse())
    rewriter.replaceAllUsesWith(chain.softmax->getResult(1), sdpa->getResult(1));
  // The ops between the products have no other uses, and the region of one of them has moved.
  eraseBackwards(rewriter, chain.scores);
}

} // namespace

FailureOr<SdpaOp> attn::fuseChain(RewriterBase &rewriter, ApplyOp apply, std::string *reason) {
  auto fail = [&](std::string why) {
    if (reason)
      *reason = std::move(why);
    return failure();
  };
  if (apply->getNumResults() == 0)
    return fail("attn.apply is on memrefs; run attn-memref-to-tensor");
  std::string why;
  std::optional<Chain> chain = matchChain(apply, why);
  if (!chain)
    return fail(why);
  FailureOr<Operation *> place = findPlace(rewriter, *chain, apply);
  if (failed(place))
    return fail("the log-sum-exp is read before value, output or dropout can be made");
  rewriter.setInsertionPoint(*place);
  SdpaOp sdpa = createSdpa(rewriter, *chain, apply);
  movePredicates(rewriter, *chain, sdpa);
  dropDefaultMaps(sdpa);
  replaceChain(rewriter, *chain, apply, sdpa);
  emitRemark(sdpa, RemarkOutcome::Passed, "chain-fused") << "chain fused into attn.sdpa";
  return sdpa;
}

namespace {

struct FuseChain : public OpRewritePattern<ApplyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ApplyOp op, PatternRewriter &rewriter) const override {
    std::string reason;
    if (succeeded(fuseChain(rewriter, op, &reason)))
      return success();
    return rewriter.notifyMatchFailure(op, reason);
  }
};

struct FusePass : public attn::impl::FusePassBase<FusePass> {
  void runOnOperation() override {
    SmallVector<ApplyOp> applies;
    getOperation().walk([&](ApplyOp op) {
      if (op->getNumResults() == 1)
        applies.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (ApplyOp apply : applies) {
      std::string reason;
      if (failed(fuseChain(rewriter, apply, &reason)))
        emitRemark(apply, RemarkOutcome::Missed, "chain-not-fused") << "chain not fused: " + reason;
    }
    // The remaining ops of the chain are pure and unused.
    (void)runRegionDCE(rewriter, getOperation()->getRegions());
  }
};

} // namespace

void attn::populateFusePatterns(RewritePatternSet &patterns) { patterns.add<FuseChain>(patterns.getContext()); }
