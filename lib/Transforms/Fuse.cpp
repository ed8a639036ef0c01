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
  ModifyOp modify;
  SoftcapOp softcap;
  MaskOp biasSource, maskSource; // the ops that hold the one bias, the one boolean mask
  SmallVector<MaskOp> predicates;
};

/// Finds the chain of one apply, or says why there is none.
class ChainMatcher {
public:
  explicit ChainMatcher(ApplyOp apply) : apply(apply) {}

  std::optional<Chain> match(std::string &reason) {
    Chain chain;
    if (succeeded(matchBackwards(chain)))
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
    // In a sdpa, rows beyond the length are empty, sink or no sink.
    Value lengths = chain.softmax.getQLengths();
    for (MaskOp mask : chain.predicates)
      if (mask.getQLengths() && chain.softmax.getSink() && mask.getQLengths() != lengths)
        return fail("attn.mask has q_lengths and attn.softmax a sink without them");
    return success();
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

/// A scale on Q or K before the product commutes with it: looks through the op and collects its factor.
Value lookThroughScale(Value input, SmallVectorImpl<ScaleOp> &scales) {
  auto scale = input.getDefiningOp<ScaleOp>();
  if (!scale || !input.hasOneUse())
    return input;
  SmallVector<AffineMap> maps = getMaps(scale);
  if (maps[0] != maps[1])
    return input;
  scales.push_back(scale);
  return scale.getInput();
}

} // namespace

FailureOr<SdpaOp> attn::fuseChain(RewriterBase &rewriter, ApplyOp apply) {
  std::string reason;
  std::optional<Chain> chain = ChainMatcher(apply).match(reason);
  if (!chain) {
    emitRemark(apply, RemarkOutcome::Missed, "chain-not-fused") << "chain not fused: " + reason;
    return failure();
  }
  ScoresOp scores = chain->scores;
  SmallVector<AffineMap> scoresMaps = getMaps(scores), applyMaps = getMaps(apply);
  if (getNumBatchDims(scores) != getNumBatchDims(apply)) {
    emitRemark(apply, RemarkOutcome::Missed, "chain-not-fused")
        << "chain not fused: attn.scores and attn.apply have different numbers of batch dimensions";
    return failure();
  }
  Value query = lookThroughScale(scores.getQuery(), chain->scales);
  Value key = lookThroughScale(scores.getKey(), chain->scales);
  if (getElementTypeOrSelf(query.getType()) != getElementTypeOrSelf(apply.getValue().getType())) {
    emitRemark(apply, RemarkOutcome::Missed, "chain-not-fused")
        << "chain not fused: query and value have different element types";
    return failure();
  }

  rewriter.setInsertionPoint(apply);
  Location loc = apply.getLoc();
  // The product of all factors; values multiply the constant at run time.
  double factor = 1.0;
  Value scaleValue;
  for (ScaleOp scale : chain->scales)
    if (scale.getScale())
      factor *= scale.getScale()->convertToDouble();
  bool isOfF32 = getAccumulationType(getElementTypeOrSelf(apply.getWeights())).isF32();
  if (!std::isfinite(isOfF32 ? static_cast<float>(factor) : factor)) {
    emitRemark(apply, RemarkOutcome::Missed, "chain-not-fused")
        << "chain not fused: the product of its scales overflows";
    return failure();
  }
  Type accumulation = getAccumulationType(getElementTypeOrSelf(query.getType()));
  for (ScaleOp scale : chain->scales) {
    if (!scale.getScaleValue())
      continue;
    Value value = convertFloat(rewriter, loc, scale.getScaleValue(), accumulation);
    scaleValue = scaleValue ? arith::MulFOp::create(rewriter, loc, scaleValue, value).getResult() : value;
  }
  if (scaleValue && factor != 1.0)
    scaleValue = arith::MulFOp::create(rewriter, loc, scaleValue,
                                       createFloatConstant(rewriter, loc, scaleValue.getType(), factor));

  SmallVector<AffineMap> maps = {toSdpaDomain(scores, scoresMaps[0]), toSdpaDomain(scores, scoresMaps[1]),
                                 toSdpaDomain(apply, applyMaps[1])};
  Value bias, mask;
  if (MaskOp source = chain->biasSource) {
    bias = source.getBias();
    maps.push_back(toSdpaDomain(source, getMaps(source)[1]));
  }
  if (MaskOp source = chain->maskSource) {
    mask = source.getMask();
    maps.push_back(toSdpaDomain(source, getMaps(source)[source.getBias() ? 2 : 1]));
  }
  maps.push_back(toSdpaDomain(apply, applyMaps[2]));

  SmallVector<Type> types(apply.getResultTypes());
  SoftmaxOp softmax = chain->softmax;
  if (softmax.getLse()) {
    types.push_back(softmax.getLse().getType());
    maps.push_back(toSdpaDomain(softmax, getMaps(softmax)[2]));
  }
  auto sdpa = SdpaOp::create(
      rewriter, loc, types, query, key, apply.getValue(), bias, mask, apply.getOutput(), softmax.getLse(),
      softmax.getSink(), softmax.getQLengths(), /*kv_lengths=*/Value(), /*causal_offset=*/Value(),
      /*cu_seqlens_q=*/Value(), /*cu_seqlens_k=*/Value(), scores.getKind() ? scores.getWeights().front() : Value(),
      /*key_scale=*/Value(), /*value_scale=*/Value(), chain->dropout ? chain->dropout.getDropoutSeed() : Value(),
      chain->dropout ? chain->dropout.getDropoutOffset() : Value(), scaleValue,
      scaleValue ? FloatAttr() : rewriter.getF64FloatAttr(factor), /*causal=*/Attribute(), WindowAttr(),
      /*align=*/CausalAlignmentAttr(), /*chunk=*/IntegerAttr(),
      chain->softcap ? chain->softcap.getSoftcapAttr() : FloatAttr(),
      chain->dropout ? chain->dropout.getDropoutPAttr() : FloatAttr(), rewriter.getAffineMapArrayAttr(maps),
      /*block_map=*/UnitAttr(), ScheduleAttr());
  if (chain->modify)
    sdpa.getScoreMod().takeBody(chain->modify.getScoreMod());
  // A single spelled-out mask stays spelled out; several become one region.
  if (chain->predicates.size() == 1 && chain->predicates[0].getMaskMod().empty()) {
    Value lengths = sdpa.getQLengths();
    copySpelledOutMasks(chain->predicates[0], sdpa);
    if (lengths)
      sdpa.getQLengthsMutable().assign(lengths);
  } else {
    for (MaskOp source : llvm::reverse(chain->predicates)) {
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
      yield->setOperand(0, arith::AndIOp::create(rewriter, loc, yield->getOperand(0), second));
    }
  }
  // The maps of the default layout are left out, as a reader would.
  ArrayAttr explicitMaps = sdpa.getMapsAttr();
  sdpa.removeMapsAttr();
  if (getNumBatchDims(sdpa) + 4 != maps[0].getNumDims() || attn::getIndexingMaps(sdpa) != explicitMaps)
    sdpa.setMapsAttr(explicitMaps);

  rewriter.replaceOp(apply, sdpa->getResult(0));
  if (softmax.getLse())
    rewriter.replaceAllUsesWith(softmax->getResult(1), sdpa->getResult(1));
  if (chain->modify) {
    // Its region has moved: it must not be left behind.
    for (Operation *op : SmallVector<Operation *>{chain->dropout, softmax})
      if (op && op->use_empty())
        rewriter.eraseOp(op);
    eraseBackwards(rewriter, chain->modify);
  }
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
