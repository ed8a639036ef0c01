//===- Fuse.cpp - attn-fuse -----------------------------------------------===//
//
// Matches the textbook chain backwards from attn.apply and replaces it by one
// attn.sdpa. Before: scores, scale, softcap, mask, softmax, apply on tensors.
// After: one sdpa, or the chain untouched and a missed remark with the reason.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Transforms/RegionUtils.h"
#include <cmath>

namespace attn {
#define GEN_PASS_DEF_FUSEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// The steps of the formula in their order; a chain may skip steps, not reorder them.
enum class Step { Product, Scale, Modify, Softcap, Bias, Mask };

/// What the walk from softmax back to the product has collected.
struct Chain {
  ScoresOp scores;
  SoftmaxOp softmax;
  DropoutOp dropout;
  SmallVector<ScaleOp> scales;
  Value query, key;  // what the scales of Q and K read, where these have some
  double factor = 1; // of all scales that are constant
  ModifyOp modify;
  SoftcapOp softcap;
  MaskOp biasSource, maskSource; // the ops that hold the one bias, the one boolean mask
  SmallVector<MaskOp> predicates;
  Value queryLengths; // of the softmax, where a mask has them too
};

/// Finds the chain of one apply, or says why there is none.
class ChainMatcher {
public:
  explicit ChainMatcher(ApplyOp apply) : apply(apply) {}

  std::optional<Chain> match(std::string &reason) {
    Chain chain;
    if (succeeded(matchBackwards(chain)) && succeeded(matchOperands(chain)))
      return chain;
    reason = why;
    return std::nullopt;
  }

private:
  LogicalResult fail(Twine message) {
    why = message.str();
    return failure();
  }

  /// The producer of an intermediate, which nothing else may read.
  template <typename OpTy> OpTy getProducer(Value value) {
    return value.hasOneUse() ? value.getDefiningOp<OpTy>() : OpTy();
  }

  /// Intermediates must lie in the order of the domain (batch…, query, key), so that steps agree on what they index.
  static bool isIdentity(AffineMap map) {
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (expr != getAffineDimExpr(i, map.getContext()))
        return false;
    return true;
  }

  LogicalResult enterStep(Step step, StringRef name) {
    if (step > current)
      return fail(
          name +
          " stands before a later step of the formula (product, scale, score_mod, softcap, bias, masks); no step "
          "is reordered");
    current = step;
    return success();
  }

  LogicalResult matchBackwards(Chain &chain) {
    Value weights = apply.getWeights();
    if (auto dropout = getProducer<DropoutOp>(weights)) {
      if (!isIdentity(getMaps(dropout)[0]) || !isIdentity(getMaps(dropout)[1]) ||
          dropout->getBlock() != apply->getBlock())
        return fail("attn.dropout is not in the layout (batch…, query, key), or in another block");
      if (getNumBatchDims(dropout) > 2)
        return fail("attn.dropout has more batch dimensions than (batch, head)");
      chain.dropout = dropout;
      weights = dropout.getInput();
    }
    if (!weights.getDefiningOp<SoftmaxOp>())
      return fail("the weights do not come from attn.softmax");
    chain.softmax = getProducer<SoftmaxOp>(weights);
    if (!chain.softmax)
      return fail("the weights have another use; fused, they would be computed twice");
    if (!isIdentity(getMaps(chain.softmax)[0]) || !isIdentity(getMaps(chain.softmax)[1]))
      return fail("the weights are not in the layout (batch…, query, key)");
    if (!isIdentity(getMaps(apply)[0]))
      return fail("attn.apply does not read the weights in the layout (batch…, query, key)");
    if (chain.softmax->getBlock() != apply->getBlock())
      return fail("attn.softmax stands in another block; fused, it would be computed each time attn.apply is");

    Value scores = chain.softmax.getInput();
    while (true) {
      Operation *producer = scores.getDefiningOp();
      if (!producer || !isa<ScoresOp, ScaleOp, ModifyOp, SoftcapOp, MaskOp>(producer))
        return fail("the scores do not come from attn.scores");
      if (!scores.hasOneUse())
        return fail(producer->getName().getStringRef() + " has another use; fused, it would be computed twice");
      if (producer->getBlock() != apply->getBlock())
        return fail(producer->getName().getStringRef() +
                    " stands in another block; fused, it would be computed each time attn.apply is");
      if (!isIdentity(getMaps(producer).back()))
        return fail(producer->getName().getStringRef() + " is not in the layout (batch…, query, key)");
      if ((chain.scores = dyn_cast<ScoresOp>(producer)))
        return checkScores(chain);
      if (!isIdentity(getMaps(producer).front()))
        return fail(producer->getName().getStringRef() + " is not in the layout (batch…, query, key)");
      if (failed(collect(chain, producer)))
        return failure();
      scores = producer->getOperand(0);
    }
  }

  /// What the chain as a whole must have.
  LogicalResult checkScores(Chain &chain) {
    if (chain.scores.getKind() &&
        (*chain.scores.getKind() == ScoreKind::General || chain.scores.getWeights().size() != 1))
      return fail("the scores have projections; run attn-expand-layers");
    return checkQueryLengths(chain);
  }

  /// In a sdpa, rows beyond the length are empty, sink or no sink. In a chain attn.mask empties them, and attn.softmax
  /// takes their sink away.
  LogicalResult checkQueryLengths(Chain &chain) {
    Value lengths = chain.softmax.getQLengths();
    auto hasSame = [&](MaskOp mask) { return mask.getQLengths() == lengths; };
    if (lengths && llvm::any_of(chain.predicates, hasSame))
      chain.queryLengths = lengths;
    if (!chain.softmax.getSink())
      return success();
    for (MaskOp mask : chain.predicates)
      if (mask.getQLengths() && mask.getQLengths() != lengths)
        return fail("attn.mask has q_lengths and attn.softmax a sink without them");
    if (lengths && !chain.queryLengths)
      return fail("attn.softmax has a sink and q_lengths that no attn.mask has");
    return success();
  }

  /// Q, K and V, which the fused op reads itself.
  LogicalResult matchOperands(Chain &chain) {
    if (getNumBatchDims(chain.scores) != getNumBatchDims(apply))
      return fail("attn.scores and attn.apply have different numbers of batch dimensions");
    chain.query = lookThroughScale(chain.scores.getQuery(), chain.scales);
    chain.key = lookThroughScale(chain.scores.getKey(), chain.scales);
    if (getElementTypeOrSelf(chain.query.getType()) != getElementTypeOrSelf(apply.getValue().getType()))
      return fail("query and value have different element types");
    for (ScaleOp scale : chain.scales)
      if (scale.getScale())
        chain.factor *= scale.getScale()->convertToDouble();
    bool isOfF32 = getAccumulationType(getElementTypeOrSelf(apply.getWeights())).isF32();
    if (!std::isfinite(isOfF32 ? static_cast<float>(chain.factor) : chain.factor))
      return fail("the product of its scales overflows");
    return success();
  }

  /// A scale on Q or K before the product commutes with it: looks through the op and collects its factor.
  static Value lookThroughScale(Value input, SmallVectorImpl<ScaleOp> &scales) {
    auto scale = input.getDefiningOp<ScaleOp>();
    if (!scale || !input.hasOneUse())
      return input;
    SmallVector<AffineMap> maps = getMaps(scale);
    if (maps[0] != maps[1])
      return input;
    scales.push_back(scale);
    return scale.getInput();
  }

  LogicalResult collect(Chain &chain, Operation *producer) {
    if (auto modify = dyn_cast<ModifyOp>(producer)) {
      if (chain.modify)
        return fail("there are two attn.modify");
      chain.modify = modify;
      return enterStep(Step::Modify, "attn.modify");
    }
    if (auto scale = dyn_cast<ScaleOp>(producer)) {
      chain.scales.push_back(scale);
      return enterStep(Step::Scale, "a scale");
    }
    if (auto softcap = dyn_cast<SoftcapOp>(producer)) {
      if (chain.softcap)
        return fail("there are two softcaps");
      chain.softcap = softcap;
      return enterStep(Step::Softcap, "a softcap");
    }
    auto mask = cast<MaskOp>(producer);
    if (mask.getMask()) {
      if (chain.maskSource)
        return fail("there are two boolean masks");
      chain.maskSource = mask;
    }
    if (hasPredicate(mask))
      chain.predicates.push_back(mask);
    if ((mask.getMask() || hasPredicate(mask)) && failed(enterStep(Step::Mask, "a mask")))
      return failure();
    if (!mask.getBias())
      return success();
    if (chain.biasSource)
      return fail("there are two biases");
    chain.biasSource = mask;
    return enterStep(Step::Bias, "a bias");
  }

  ApplyOp apply;
  Step current = Step::Mask; // walking backwards, steps may only come earlier
  std::string why;
};

/// Maps of the chain's ops put into the domain (batch…, query, key, head, value) of sdpa. Positions after the batch
/// dimensions are given by name.
AffineMap toSdpaDomain(Operation *op, AffineMap map) {
  unsigned numBatch = getNumBatchDims(op);
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < numBatch; ++i)
    dims.push_back(getAffineDimExpr(i, op->getContext()));
  for (DimKind kind : getDomainDims(op))
    dims.push_back(getAffineDimExpr(numBatch + static_cast<unsigned>(kind), op->getContext()));
  return map.replaceDimsAndSymbols(dims, {}, numBatch + 4, 0);
}

/// Erases the ops of a chain from its dead end back to `op`, whose region has gone.
void eraseBackwards(RewriterBase &rewriter, Operation *op) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    eraseBackwards(rewriter, user);
  rewriter.eraseOp(op);
}

/// The product of the scales: run-time values times the constant factor; null where there is no run-time value.
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

/// In the order of the shaped operands of sdpa.
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

/// A single spelled-out mask stays spelled out; several become one region.
void movePredicates(RewriterBase &rewriter, const Chain &chain, SdpaOp sdpa) {
  if (chain.predicates.size() == 1 && MaskOp(chain.predicates[0]).getMaskMod().empty()) {
    copySpelledOutMasks(chain.predicates[0], sdpa);
    return;
  }
  for (MaskOp source : llvm::reverse(chain.predicates)) {
    Region predicate;
    buildPredicate(rewriter, source, predicate);
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

/// The maps of the default layout are left out, as a reader would.
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
  if (!chain.modify)
    return;
  // Its region has moved: it must not be left behind.
  for (Operation *op : SmallVector<Operation *>{chain.dropout, chain.softmax})
    if (op && op->use_empty())
      rewriter.eraseOp(op);
  eraseBackwards(rewriter, chain.modify);
}

} // namespace

FailureOr<SdpaOp> attn::fuseChain(RewriterBase &rewriter, ApplyOp apply) {
  std::string reason;
  std::optional<Chain> chain = ChainMatcher(apply).match(reason);
  if (!chain) {
    emitRemark(apply, RemarkOutcome::Missed, "chain-not-fused") << "chain not fused: " + reason;
    return failure();
  }
  rewriter.setInsertionPoint(apply);
  SdpaOp sdpa = createSdpa(rewriter, *chain, apply);
  movePredicates(rewriter, *chain, sdpa);
  dropDefaultMaps(sdpa);
  replaceChain(rewriter, *chain, apply, sdpa);
  emitRemark(sdpa, RemarkOutcome::Passed, "chain-fused") << "chain fused into attn.sdpa";
  return sdpa;
}

namespace {
struct FusePass : public attn::impl::FusePassBase<FusePass> {
  void runOnOperation() override {
    SmallVector<ApplyOp> applies;
    getOperation().walk([&](ApplyOp op) {
      if (op->getNumResults() == 1)
        applies.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (ApplyOp apply : applies)
      (void)fuseChain(rewriter, apply);
    // What the chain left behind is pure and unused.
    (void)runRegionDCE(rewriter, getOperation()->getRegions());
  }
};
} // namespace
