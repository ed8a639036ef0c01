//===- CreateChain.cpp - the chain of a match -----------------------------===//
//
// scores, scale, modify, softcap, mask, softmax, apply, in the accumulation type.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MaskOperands.h"
#include "Operands.h"
#include "attn/IR/Decompose.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace attn;
using namespace attn::raise;

namespace {

class ChainBuilder {
public:
  ChainBuilder(RewriterBase &rewriter, MatchContext &ctx, const Attention &attention, const Domain &domain)
      : rewriter(rewriter), ctx(ctx), attention(attention), domain(domain), loc(attention.result.getLoc()),
        elementType(cast<RankedTensorType>(attention.result.getType()).getElementType()),
        type(getAccumulationType(elementType)) {}

  FailureOr<ApplyOp> build(Value &result) {
    using enum DimKind;
    using enum OperandRole;
    auto alignOperand = [&](ExprRef element, OperandRole role, DimKind kind, DimKind column, View &view) {
      FailureOr<View> aligned = domain.align(rewriter, loc, element, role, {kind, column});
      if (succeeded(aligned))
        view = widen(*aligned);
      return LogicalResult(aligned);
    };
    auto resultType = cast<RankedTensorType>(attention.result.getType());
    FailureOr<Layout> layout = domain.getLayout(resultType, attention.indices, Plain, {Query, ValueSize});
    if (failed(layout) || failed(alignOperand(attention.query, Plain, Query, HeadSize, query)) ||
        failed(alignOperand(attention.key, SharedHead, Key, HeadSize, key)) ||
        failed(alignOperand(attention.value, SharedHead, Key, ValueSize, value)))
      return ctx.fail("expected queries, keys, values and result whose dimensions are whole ones of (batch, query, "
                      "key, head, value)");
    FailureOr<Value> scores = buildScores();
    if (failed(scores))
      return failure();
    FailureOr<Value> sink = buildSink();
    if (failed(sink))
      return ctx.fail("expected a sink that is one number for each head");
    weights = SoftmaxOp::create(rewriter, loc, scores->getType(), *scores, createEmpty(getScoreExprs(), type), Value(),
                                *sink, Value(), ArrayAttr())
                  ->getResult(0);
    Value output = createEmpty(layout->exprs, resultType.getElementType());
    auto apply = ApplyOp::create(rewriter, loc, output.getType(), weights, value.value, output,
                                 getMaps({Query, Key, ValueSize}, {getScoreExprs(), value.exprs, layout->exprs}));
    result = Domain::restore(rewriter, loc, apply->getResult(0), resultType, *layout);
    return apply;
  }

  /// The weights in the layout of the tensor of `element`.
  FailureOr<Value> restoreWeights(ExprRef element) {
    auto tensorType = cast<RankedTensorType>(element->value.getType());
    FailureOr<Layout> layout =
        domain.getLayout(tensorType, element->indices, OperandRole::Plain, {DimKind::Query, DimKind::Key});
    if (failed(layout) || layout->exprs != getScoreExprs())
      return failure();
    Value view = weights;
    if (tensorType.getElementType() != type) {
      Value empty = createEmpty(getScoreExprs(), tensorType.getElementType());
      view = mapElements(rewriter, loc, weights, empty, [&](OpBuilder &b, Value weight) {
        return convertFloat(b, loc, weight, tensorType.getElementType());
      });
    }
    return Domain::restore(rewriter, loc, view, tensorType, *layout);
  }

private:
  /// The tensor in the result's type: extf is exact.
  View widen(View view) {
    if (getElementTypeOrSelf(view.value.getType()) == elementType)
      return view;
    Value empty = tensor::EmptyOp::create(rewriter, loc, tensor::getMixedSizes(rewriter, loc, view.value), elementType);
    view.value = mapElements(rewriter, loc, view.value, empty, [&](OpBuilder &b, Value value) -> Value {
      return arith::ExtFOp::create(b, loc, elementType, value);
    });
    return view;
  }

  SmallVector<AffineExpr> getScoreExprs() {
    SmallVector<AffineExpr> exprs;
    for (unsigned i = 0; i < domain.getNumBatch() + 2; ++i)
      exprs.push_back(rewriter.getAffineDimExpr(i));
    return exprs;
  }

  ArrayAttr getMaps(ArrayRef<DimKind> kinds, ArrayRef<SmallVector<AffineExpr>> operands) {
    return rewriter.getAffineMapArrayAttr(
        llvm::map_to_vector(operands, [&](ArrayRef<AffineExpr> exprs) { return domain.getMap(kinds, exprs); }));
  }

  /// The size of a dimension of the domain, from an operand that has it.
  OpFoldResult getSize(AffineExpr dim) {
    for (const View *view : {&query, &key, &value})
      for (auto [i, expr] : llvm::enumerate(view->exprs))
        if (expr == dim)
          return tensor::getMixedSize(rewriter, loc, view->value, i);
    return rewriter.getIndexAttr(1); // no operand has the dimension
  }

  Value createEmpty(ArrayRef<AffineExpr> exprs, Type elementType) {
    SmallVector<OpFoldResult> sizes = llvm::map_to_vector(exprs, [&](AffineExpr expr) { return getSize(expr); });
    return tensor::EmptyOp::create(rewriter, loc, sizes, elementType);
  }

  /// One float per head; null without a sink.
  FailureOr<Value> buildSink() {
    if (!attention.sink)
      return Value();
    if (domain.getNumBatch() == 0)
      return failure();
    ArrayRef<unsigned> heads = domain.getDims(domain.getNumBatch() - 1);
    FailureOr<ExprRef> made = createTensor(rewriter, loc, ctx.elements, attention.sink, heads);
    if (failed(made) || (*made)->indices.size() != heads.size())
      return failure();
    Value sink = (*made)->value;
    if (heads.size() == 1)
      return sink;
    SmallVector<ReassociationIndices> all = {llvm::to_vector(llvm::seq<int64_t>(0, heads.size()))};
    return tensor::CollapseShapeOp::create(rewriter, loc, sink, all).getResult();
  }

  /// A chain op on the scores: `create` is given their destination.
  FailureOr<Value> buildScores() {
    using enum DimKind;
    const Scores &scores = attention.scores;
    auto getDestination = [&] { return createEmpty(getScoreExprs(), type); };
    Value destination = getDestination();
    Type scoreType = destination.getType();
    Value score =
        ScoresOp::create(rewriter, loc, scoreType, query.value, key.value, destination, ValueRange(), ScoreKindAttr(),
                         getMaps({Query, Key, HeadSize}, {query.exprs, key.exprs, getScoreExprs()}))
            ->getResult(0);
    if (scores.scale != 1 || !scores.scaleValue)
      score = ScaleOp::create(rewriter, loc, scoreType, score, getDestination(), Value(),
                              rewriter.getF64FloatAttr(scores.scale), ArrayAttr())
                  ->getResult(0);
    if (scores.scaleValue) {
      FailureOr<Value> factor = ScalarBuilder(rewriter, loc, ctx.elements, domain, type).build(scores.scaleValue);
      if (failed(factor))
        return ctx.fail("expected a scale that is one number");
      score = ScaleOp::create(rewriter, loc, scoreType, score, getDestination(), *factor, FloatAttr(), ArrayAttr())
                  ->getResult(0);
    }
    if (scores.modify) {
      auto modify = ModifyOp::create(rewriter, loc, scoreType, score, getDestination(), ArrayAttr());
      OpBuilder::InsertionGuard guard(rewriter);
      Block *body = rewriter.createBlock(&modify.getScoreMod(), {}, type, loc);
      ScalarBuilder scalars(rewriter, loc, ctx.elements, domain, type);
      scalars.set(scores.product, body->getArgument(0));
      FailureOr<Value> modified = scalars.build(scores.modify);
      if (failed(modified))
        return ctx.fail("expected scores that depend on batch, head, query and key only");
      YieldOp::create(rewriter, loc, *modified);
      if (failed(boundPositions(rewriter, modify, PositionSource::Compiler)))
        return failure();
      score = modify->getResult(0);
    }
    if (scores.softcap)
      score = SoftcapOp::create(rewriter, loc, scoreType, score, getDestination(),
                                rewriter.getF64FloatAttr(*scores.softcap), ArrayAttr())
                  ->getResult(0);
    return buildMask(score, getDestination);
  }

  FailureOr<Value> buildMask(Value score, llvm::function_ref<Value()> getDestination) {
    const Scores &scores = attention.scores;
    if (!scores.bias && scores.masks.empty())
      return score;
    FailureOr<MaskOperands> masks = createMaskOperands(rewriter, loc, ctx, domain, attention);
    if (failed(masks))
      return failure();
    SmallVector<SmallVector<AffineExpr>> exprs = {getScoreExprs()};
    View bias, mask = masks->mask;
    if (scores.bias) {
      FailureOr<View> aligned = domain.align(rewriter, loc, scores.bias, OperandRole::Broadcast, {});
      if (failed(aligned))
        return ctx.fail("expected a bias with dimensions of the scores");
      bias = *aligned;
      exprs.push_back(bias.exprs);
    }
    if (mask.value)
      exprs.push_back(mask.exprs);
    exprs.push_back(getScoreExprs());
    auto op = MaskOp::create(rewriter, loc, score, bias.value, mask.value, getDestination(),
                             getMaps({DimKind::Query, DimKind::Key}, exprs));
    op.setCausalAttr(masks->causal);
    op.setWindowAttr(masks->window);
    if (!masks->predicates.empty() && (failed(buildMaskMod(rewriter, loc, ctx, domain, masks->predicates, type, op)) ||
                                       failed(boundPositions(rewriter, op, PositionSource::Compiler))))
      return failure();
    return op->getResult(0);
  }

  RewriterBase &rewriter;
  MatchContext &ctx;
  const Attention &attention;
  const Domain &domain;
  Location loc;
  Type elementType, type; // the result's, and the accumulation type
  View query, key, value;
  Value weights;
};

} // namespace

/// Moves `op` and the ops that it needs before `place`, in its block, unless that would change a result.
static void moveBefore(RewriterBase &rewriter, Operation *op, Operation *place) {
  llvm::SetVector<Operation *> needed;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *other) {
    return other->getBlock() == place->getBlock() && !other->isBeforeInBlock(place);
  };
  if (failed(getBackwardSlice(op, &needed, options)) || needed.contains(place) ||
      !llvm::all_of(needed, isMemoryEffectFree))
    return;
  SmallVector<Operation *> ordered = needed.takeVector();
  llvm::sort(ordered, [](Operation *lhs, Operation *rhs) { return lhs->isBeforeInBlock(rhs); });
  for (Operation *each : ordered)
    rewriter.moveOpBefore(each, place);
}

/// Replaces uses of the textbook's weights by those of the chain. The chain defines them at the second product; for
/// earlier uses, their computation moves up with all that it needs. Where it cannot move, because it depends on the
/// weights or has effects, the use keeps the textbook's weights.
static void replaceWeights(RewriterBase &rewriter, Value textbook, Value weights) {
  Operation *made = weights.getDefiningOp(), *first = made;
  for (Operation *user : textbook.getUsers())
    if (Operation *reader = made->getBlock()->findAncestorOpInBlock(*user); reader && reader->isBeforeInBlock(first))
      first = reader;
  if (first != made)
    moveBefore(rewriter, made, first);
  DominanceInfo dominance;
  rewriter.replaceUsesWithIf(textbook, weights,
                             [&](OpOperand &use) { return dominance.properlyDominates(weights, use.getOwner()); });
}

FailureOr<ApplyOp> attn::raise::createChain(RewriterBase &rewriter, MatchContext &ctx, const Attention &attention,
                                            Value &result) {
  FailureOr<Domain> domain = Domain::get(ctx, attention);
  if (failed(domain))
    return failure();
  ChainBuilder builder(rewriter, ctx, attention, *domain);
  FailureOr<ApplyOp> apply = builder.build(result);
  if (failed(apply) || !attention.weights)
    return apply;
  FailureOr<Value> weights = builder.restoreWeights(attention.weights);
  if (failed(weights))
    return ctx.fail("expected weights, which have other uses, in the layout (batch, query, key)");
  replaceWeights(rewriter, attention.weights->value, *weights);
  return apply;
}
