//===- MaskOperands.cpp - masks as operands and attributes of attn.mask ---===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MaskOperands.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using namespace attn::raise;

Value attn::raise::mapElements(OpBuilder &builder, Location loc, Value input, Value empty,
                               function_ref<Value(OpBuilder &, Value)> function) {
  unsigned rank = cast<RankedTensorType>(empty.getType()).getRank();
  AffineMap map = builder.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(builder, loc, empty.getType(), input, empty, ArrayRef{map, map}, iterators,
                                   [&](OpBuilder &b, Location, ValueRange arguments) {
                                     linalg::YieldOp::create(b, loc, function(b, arguments[0]));
                                   })
      ->getResult(0);
}

namespace {

/// A constant tensor as booleans: true where a key is kept; null for others.
DenseElementsAttr getConstantMask(const Predicate &predicate) {
  DenseElementsAttr values;
  if (!predicate.condition->isElement() || !matchPattern(predicate.condition->value, m_Constant(&values)))
    return {};
  SmallVector<bool> keep;
  if (isa<FloatType>(values.getElementType()))
    keep = llvm::map_to_vector(values.getValues<APFloat>(), [](const APFloat &value) { return value.isZero(); });
  else if (values.getElementType().isInteger(1))
    keep = llvm::map_to_vector(values.getValues<bool>(), [&](bool value) { return value == predicate.keepIf; });
  else
    return {};
  auto type = RankedTensorType::get(values.getType().getShape(), IntegerType::get(values.getContext(), 1));
  return DenseElementsAttr::get(type, keep);
}

/// The band lower <= j - i <= upper that `mask` of (i, j) keeps; a side that no row reaches is unbounded.
struct Band {
  std::optional<int64_t> lower, upper;
};
std::optional<Band> findBand(ArrayRef<bool> keep, int64_t rows, int64_t columns) {
  int64_t lower = columns, upper = -rows;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (keep[i * columns + j]) {
        lower = std::min(lower, j - i);
        upper = std::max(upper, j - i);
      }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (keep[i * columns + j] != (lower <= j - i && j - i <= upper))
        return std::nullopt;
  Band band;
  if (lower > 1 - rows)
    band.lower = lower;
  if (upper < columns - 1)
    band.upper = upper;
  return band;
}

class MaskOperandBuilder {
public:
  MaskOperandBuilder(RewriterBase &rewriter, Location loc, MatchContext &ctx, const Domain &domain)
      : rewriter(rewriter), loc(loc), ctx(ctx), elements(ctx.elements), domain(domain) {}

  LogicalResult add(const Predicate &predicate) {
    if (std::optional<double> constant = elements.expand(predicate.condition)->getConstant();
        constant && (*constant != 0) == predicate.keepIf)
      return success();
    if (DenseElementsAttr mask = getConstantMask(predicate))
      return addConstant(predicate.condition, mask);
    bool isTensor = predicate.condition->isElement() && predicate.condition->type.isInteger(1) &&
                    !hasPosition(elements, predicate.condition);
    if (isTensor && !operands.mask.value) {
      FailureOr<View> view = domain.align(rewriter, loc, predicate.condition, OperandRole::Broadcast, {});
      if (succeeded(view)) {
        operands.mask = *view;
        if (!predicate.keepIf)
          operands.mask.value = negate(view->value);
        return success();
      }
    }
    operands.predicates.push_back(predicate);
    return success();
  }

  MaskOperands operands;

private:
  LogicalResult addConstant(ExprRef element, DenseElementsAttr mask) {
    if (mask.isSplat() && mask.getSplatValue<bool>())
      return success();
    FailureOr<Layout> layout = domain.getLayout(cast<RankedTensorType>(element->value.getType()), element->indices,
                                                OperandRole::Broadcast, {});
    if (failed(layout))
      return ctx.fail("expected a constant mask with dimensions of the scores");
    if (addBand(*layout, mask))
      return success();
    Value constant = arith::ConstantOp::create(rewriter, loc, mask);
    ExprRef keep = elements.get(constant, element->indices);
    if (!operands.mask.value) {
      FailureOr<View> view = domain.align(rewriter, loc, keep, OperandRole::Broadcast, {});
      if (succeeded(view)) {
        operands.mask = *view;
        return success();
      }
    }
    operands.predicates.push_back({keep, true});
    return success();
  }

  /// A mask of (query, key) alone that is a lower triangle, or a band that ends at the diagonal.
  bool addBand(const Layout &layout, DenseElementsAttr mask) {
    AffineExpr query = rewriter.getAffineDimExpr(domain.getPosition(DimKind::Query));
    AffineExpr key = rewriter.getAffineDimExpr(domain.getPosition(DimKind::Key));
    SmallVector<AffineExpr> wide;
    SmallVector<int64_t> sizes;
    for (auto [expr, size] : llvm::zip(layout.exprs, mask.getType().getShape()))
      if (!isa<AffineConstantExpr>(expr)) {
        wide.push_back(expr);
        sizes.push_back(size);
      }
    if (operands.causal || wide != SmallVector<AffineExpr>{query, key})
      return false;
    SmallVector<bool> keep(mask.getValues<bool>());
    std::optional<Band> band = findBand(keep, sizes[0], sizes[1]);
    if (!band || !band->upper || (band->lower && *band->lower > 0))
      return false;
    bool isBottomRight = *band->upper == sizes[1] - sizes[0] && *band->upper != 0;
    if (*band->upper != 0 && !isBottomRight)
      return false;
    operands.causal = CausalAlignmentAttr::get(rewriter.getContext(),
                                               isBottomRight ? CausalAlignment::BottomRight : CausalAlignment::TopLeft);
    if (band->lower)
      operands.window = WindowAttr::get(rewriter.getContext(), *band->upper - *band->lower, std::nullopt);
    return true;
  }

  Value negate(Value mask) {
    Value empty =
        tensor::EmptyOp::create(rewriter, loc, tensor::getMixedSizes(rewriter, loc, mask), rewriter.getI1Type());
    return mapElements(rewriter, loc, mask, empty, [&](OpBuilder &b, Value keep) -> Value {
      return arith::XOrIOp::create(b, loc, keep, arith::ConstantIntOp::create(b, loc, 1, 1));
    });
  }

  RewriterBase &rewriter;
  Location loc;
  MatchContext &ctx;
  Elements &elements;
  const Domain &domain;
};

} // namespace

FailureOr<MaskOperands> attn::raise::createMaskOperands(RewriterBase &rewriter, Location loc, MatchContext &ctx,
                                                        const Domain &domain, const Attention &attention) {
  SmallVector<Predicate> predicates;
  for (const Predicate &mask : attention.scores.masks)
    splitPredicate(ctx.elements, mask, predicates);
  MaskOperandBuilder builder(rewriter, loc, ctx, domain);
  for (const Predicate &predicate : predicates)
    if (failed(builder.add(predicate)))
      return failure();
  return builder.operands;
}

LogicalResult attn::raise::buildMaskMod(RewriterBase &rewriter, Location loc, MatchContext &ctx, const Domain &domain,
                                        ArrayRef<Predicate> predicates, Type type, MaskOp op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.createBlock(&op.getMaskMod());
  ScalarBuilder scalars(rewriter, loc, ctx.elements, domain, type);
  Value keep;
  for (const Predicate &predicate : predicates) {
    FailureOr<Value> condition = scalars.build(predicate.condition);
    if (failed(condition))
      return ctx.fail("expected a mask that depends on batch, head, query and key only");
    Value holds = *condition;
    if (!holds.getType().isInteger(1)) // a float from a constant mask
      holds = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OEQ, holds,
                                    createFloatConstant(rewriter, loc, holds.getType(), 0));
    else if (!predicate.keepIf)
      holds = arith::XOrIOp::create(rewriter, loc, holds, arith::ConstantIntOp::create(rewriter, loc, 1, 1));
    keep = keep ? arith::AndIOp::create(rewriter, loc, keep, holds).getResult() : holds;
  }
  YieldOp::create(rewriter, loc, keep);
  return success();
}
