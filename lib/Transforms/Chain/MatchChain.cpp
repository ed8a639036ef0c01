//===- MatchChain.cpp - the textbook chain, backwards from attn.apply -----===//
//
// Which ops form a chain, and whether attn.sdpa computes the same: the order of the steps, other uses of intermediates,
// types, layouts.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Chain.h"
#include "attn/IR/Decompose.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {

/// The steps of the formula in order; a chain may skip steps, but not reorder them.
enum class Step { Product, Scale, Modify, Softcap, Bias, Mask };

/// Finds the chain of one apply, or the reason why there is none.
class ChainMatcher {
public:
  explicit ChainMatcher(ApplyOp apply) : apply(apply) {}

  std::optional<Chain> match(std::string &reason) {
    Chain chain;
    if (succeeded(matchBackwards(chain)) && succeeded(matchOperands(chain)) && succeeded(checkLse(chain)))
      return chain;
    reason = why;
    return std::nullopt;
  }

private:
  LogicalResult fail(Twine message) {
    why = message.str();
    return failure();
  }

  /// The producer of an intermediate without other readers.
  template <typename OpTy> OpTy getProducer(Value value) {
    return value.hasOneUse() ? value.getDefiningOp<OpTy>() : OpTy();
  }

  /// Intermediates must have the order of the domain (batch…, query, key), so that all steps index alike.
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
    if (auto softmax = weights.getDefiningOp<linalg::SoftmaxOp>()) {
      std::optional<unsigned> keyDim = findKeyDim(weights);
      if (keyDim && softmax.getDimension() != *keyDim)
        return fail(llvm::formatv("the weights come from a linalg.softmax over dimension {0}, not over that of the "
                                  "keys, {1}",
                                  softmax.getDimension(), *keyDim));
      return fail("the weights come from a linalg.softmax of which attn-canonicalize makes no attn.softmax");
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

  /// Conditions on the chain as a whole.
  LogicalResult checkScores(Chain &chain) {
    if (chain.scores.getKind() &&
        (*chain.scores.getKind() == ScoreKind::General || chain.scores.getWeights().size() != 1))
      return fail("the scores have projections; run attn-expand-layers");
    return checkQueryLengths(chain);
  }

  /// In an sdpa, rows beyond the length are empty, with or without a sink. In a chain, attn.mask empties them, and
  /// attn.softmax removes their sink.
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

  /// Q, K and V, the operands of the fused op.
  LogicalResult matchOperands(Chain &chain) {
    if (getNumBatchDims(chain.scores) != getNumBatchDims(apply))
      return fail("attn.scores and attn.apply have different numbers of batch dimensions");
    chain.query = chain.scores.getQuery();
    chain.key = chain.scores.getKey();
    // tanh(q + k) is not linear in Q and K.
    if (!chain.scores.getKind()) {
      chain.query = lookThroughScale(chain.query, chain.scales);
      chain.key = lookThroughScale(chain.key, chain.scales);
    }
    if (getElementTypeOrSelf(chain.query.getType()) != getElementTypeOrSelf(apply.getValue().getType()))
      return fail("query and value have different element types");
    Type accumulation = getAccumulationType(getElementTypeOrSelf(chain.query.getType()));
    if (failed(checkType(chain, accumulation)))
      return failure();
    for (ScaleOp scale : chain.scales)
      if (scale.getScale())
        chain.factor *= scale.getScale()->convertToDouble();
    if (!std::isfinite(accumulation.isF32() ? static_cast<float>(chain.factor) : chain.factor))
      return fail("the product of its scales overflows");
    return success();
  }

  /// All steps between the products have one type (C4). The sdpa may compute in a wider one if no result shows it.
  LogicalResult checkType(const Chain &chain, Type accumulation) {
    Type type = getAccumulationType(getElementTypeOrSelf(apply.getWeights().getType()));
    SoftmaxOp softmax = chain.softmax;
    bool isSeen = softmax.getLse() || chain.modify;
    if (type == accumulation || (accumulation.isF64() && !isSeen))
      return success();
    return fail(llvm::formatv("scores and weights are calculated in {0}, those of attn.sdpa in {1}, the type of its "
                              "query's accumulation",
                              type, accumulation));
  }

  /// V, the output and the seed may be computed after the softmax, but not from its log-sum-exp: one sdpa returns both.
  LogicalResult checkLse(const Chain &chain) {
    Operation *softmax = chain.softmax;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.omitUsesFromAbove = false;
    options.filter = [&](Operation *op) {
      return op->getBlock() == softmax->getBlock() && !op->isBeforeInBlock(softmax);
    };
    SetVector<Operation *> slice;
    for (Value value : getLateOperands(chain, apply))
      (void)getBackwardSlice(value, &slice, options);
    if (slice.contains(softmax))
      return fail("value, output or dropout depend on the log-sum-exp; one attn.sdpa gives both");
    return success();
  }

  /// A scale on Q or K before the product commutes with it: looks through the op and records its factor.
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

} // namespace

SmallVector<Value> attn::getLateOperands(const Chain &chain, ApplyOp apply) {
  SmallVector<Value> operands = {apply.getValue(), apply.getOutput()};
  if (DropoutOp dropout = chain.dropout)
    operands.append({dropout.getDropoutSeed(), dropout.getDropoutOffset()});
  return operands;
}

std::optional<Chain> attn::matchChain(ApplyOp apply, std::string &reason) { return ChainMatcher(apply).match(reason); }
