//===- Elements.cpp - how one element of a tensor is computed -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include <tuple>

using namespace mlir;
using namespace attn::raise;

std::optional<double> Expr::getConstant() const {
  if (auto number = dyn_cast_or_null<FloatAttr>(constant))
    return number.getValueAsDouble();
  if (auto number = dyn_cast_or_null<IntegerAttr>(constant))
    return number.getValue().getBitWidth() == 1 ? double(number.getValue().getZExtValue())
                                                : double(number.getValue().getSExtValue());
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Unique expressions
//===----------------------------------------------------------------------===//

bool Elements::Less::operator()(const std::unique_ptr<Expr> &lhs, const std::unique_ptr<Expr> &rhs) const {
  auto getKey = [](const Expr &expr) {
    // Ops are equal where their names, attributes and operands are, wherever they stand.
    const void *name = expr.op ? expr.op->getName().getAsOpaquePointer() : nullptr;
    const void *attributes = expr.op ? expr.op->getAttrDictionary().getAsOpaquePointer() : nullptr;
    return std::make_tuple(expr.kind, expr.type.getAsOpaquePointer(), expr.value.getAsOpaquePointer(),
                           expr.constant.getAsOpaquePointer(), name, attributes);
  };
  auto lhsKey = getKey(*lhs), rhsKey = getKey(*rhs);
  if (lhsKey != rhsKey)
    return lhsKey < rhsKey;
  if (lhs->operands != rhs->operands)
    return std::lexicographical_compare(lhs->operands.begin(), lhs->operands.end(), rhs->operands.begin(),
                                        rhs->operands.end());
  return std::lexicographical_compare(lhs->indices.begin(), lhs->indices.end(), rhs->indices.begin(),
                                      rhs->indices.end());
}

ExprRef Elements::intern(Expr expr) { return exprs.insert(std::make_unique<Expr>(std::move(expr))).first->get(); }

ExprRef Elements::getScalar(Value value) {
  Attribute constant;
  if (!isa<ShapedType>(value.getType()) && matchPattern(value, m_Constant(&constant)))
    return intern({.kind = Expr::Kind::Constant, .type = value.getType(), .constant = constant});
  return intern({.kind = Expr::Kind::Scalar, .type = value.getType(), .value = value});
}

ExprRef Elements::getConstant(Type type, double value) {
  return intern({.kind = Expr::Kind::Constant, .type = type, .constant = FloatAttr::get(type, value)});
}

/// The boolean that a comparison with 0 gives back, where it was made a number before; null for others.
ExprRef Elements::getRestoredBoolean(Operation *op, ArrayRef<ExprRef> operands) {
  auto compareFloat = dyn_cast<arith::CmpFOp>(op);
  auto compare = dyn_cast<arith::CmpIOp>(op);
  using enum arith::CmpFPredicate;
  if (!(compareFloat && llvm::is_contained({UNE, ONE}, compareFloat.getPredicate())) &&
      !(compare && compare.getPredicate() == arith::CmpIPredicate::ne))
    return nullptr;
  ExprRef number = expand(operands[0]);
  bool isBoolean =
      (number->isOp<arith::UIToFPOp>() || number->isOp<arith::ExtUIOp>()) && number->operands[0]->type.isInteger(1);
  return isBoolean && expand(operands[1])->getConstant() == 0 ? number->operands[0] : nullptr;
}

ExprRef Elements::getOp(Operation *op, ArrayRef<ExprRef> operands) {
  if (ExprRef boolean = getRestoredBoolean(op, operands))
    return boolean;
  return intern({.kind = Expr::Kind::Op,
                 .type = op->getResult(0).getType(),
                 .op = op,
                 .operands = SmallVector<ExprRef, 2>(operands)});
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The shape that a tensor.reshape gives, static or not; its operand is a constant as far as front ends write it.
static ArrayRef<int64_t> getShape(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape(); }

/// Indices of the expanded side of a reshape, and those of its collapsed side.
static FailureOr<SmallVector<LinearIndex>> collapse(ArrayRef<LinearIndex> indices, ArrayRef<int64_t> shape,
                                                    ArrayRef<ReassociationIndices> groups) {
  SmallVector<LinearIndex> collapsed;
  for (const ReassociationIndices &group : groups) {
    FailureOr<LinearIndex> index =
        IterationSpace::linearize(indices.slice(group.front(), group.size()), shape.slice(group.front(), group.size()));
    if (failed(index))
      return failure();
    collapsed.push_back(*index);
  }
  return collapsed;
}

static FailureOr<SmallVector<LinearIndex>> expandIndices(IterationSpace &space, ArrayRef<LinearIndex> indices,
                                                         ArrayRef<int64_t> shape,
                                                         ArrayRef<ReassociationIndices> groups) {
  if (groups.empty()) // a tensor of rank 0
    return SmallVector<LinearIndex>(shape.size());
  SmallVector<LinearIndex> expanded;
  for (auto [index, group] : llvm::zip(indices, groups)) {
    FailureOr<SmallVector<LinearIndex>> parts = space.delinearize(index, shape.slice(group.front(), group.size()));
    if (failed(parts))
      return failure();
    llvm::append_range(expanded, *parts);
  }
  return expanded;
}

LogicalResult Elements::stepBack(Value &tensor, SmallVector<LinearIndex> &indices) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return failure();
  FailureOr<SmallVector<LinearIndex>> source = failure();
  Value sourceTensor;
  if (auto castOp = dyn_cast<tensor::CastOp>(op); castOp && isa<RankedTensorType>(castOp.getSource().getType())) {
    sourceTensor = castOp.getSource();
    source = indices;
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    sourceTensor = expand.getSrc();
    source = collapse(indices, getShape(tensor), expand.getReassociationIndices());
    if (expand.getReassociation().empty())
      source = SmallVector<LinearIndex>();
  } else if (auto collapseOp = dyn_cast<tensor::CollapseShapeOp>(op)) {
    sourceTensor = collapseOp.getSrc();
    source = expandIndices(space, indices, getShape(sourceTensor), collapseOp.getReassociationIndices());
  } else if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
    sourceTensor = reshape.getSource();
    auto type = dyn_cast<RankedTensorType>(sourceTensor.getType());
    if (!type || !type.hasStaticShape() || !mlir::cast<RankedTensorType>(tensor.getType()).hasStaticShape())
      return failure();
    FailureOr<LinearIndex> position = IterationSpace::linearize(indices, getShape(tensor));
    if (succeeded(position))
      source = space.delinearize(*position, type.getShape());
  } else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    unsigned result = cast<OpResult>(tensor).getResultNumber();
    auto yielded = dyn_cast<BlockArgument>(linalgOp.getBlock()->getTerminator()->getOperand(result));
    if (!linalgOp.hasPureTensorSemantics() || linalgOp.getNumParallelLoops() != linalgOp.getNumLoops() || !yielded ||
        yielded.getOwner() != linalgOp.getBlock())
      return failure();
    OpOperand *operand = linalgOp.getMatchingOpOperand(yielded);
    if (!isa<RankedTensorType>(operand->get().getType()))
      return failure(); // a fill
    FailureOr<SmallVector<LinearIndex>> loops = getLoops(linalgOp, result, indices, nullptr);
    if (failed(loops))
      return failure();
    sourceTensor = operand->get();
    ExprRef element = getBodyValue(linalgOp, yielded, *loops);
    if (!element)
      return failure();
    if (!element->isElement())
      return failure();
    tensor = element->value;
    indices.assign(element->indices.begin(), element->indices.end());
    return success();
  }
  if (failed(source))
    return failure();
  tensor = sourceTensor;
  indices = std::move(*source);
  return success();
}

ExprRef Elements::get(Value tensor, ArrayRef<LinearIndex> indices) {
  SmallVector<LinearIndex> current(indices);
  while (succeeded(stepBack(tensor, current)))
    ;
  // A dimension of one index is at 0, whoever counts it.
  for (auto [index, size] : llvm::zip(current, getShape(tensor)))
    if (size == 1)
      index = LinearIndex();
  DenseElementsAttr constant;
  if (matchPattern(tensor, m_Constant(&constant)) && constant.isSplat() &&
      constant.getElementType().isIntOrIndexOrFloat())
    return intern({.kind = Expr::Kind::Constant,
                   .type = constant.getElementType(),
                   .constant = constant.getSplatValue<Attribute>()});
  return getMade(tensor, current);
}

ExprRef Elements::getMade(Value tensor, ArrayRef<LinearIndex> indices) {
  return intern({.kind = Expr::Kind::Element,
                 .type = cast<RankedTensorType>(tensor.getType()).getElementType(),
                 .value = tensor,
                 .indices = SmallVector<LinearIndex, 4>(indices)});
}

//===----------------------------------------------------------------------===//
// Ops of linalg
//===----------------------------------------------------------------------===//

/// `expr` of a map's result at `loops`; fails where it is no sum.
static FailureOr<LinearIndex> evaluate(AffineExpr expr, ArrayRef<LinearIndex> loops) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return loops[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    LinearIndex index;
    index.constant = constant.getValue();
    return index;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return failure();
  FailureOr<LinearIndex> lhs = evaluate(binary.getLHS(), loops), rhs = evaluate(binary.getRHS(), loops);
  if (failed(lhs) || failed(rhs))
    return failure();
  if (expr.getKind() == AffineExprKind::Add)
    return add(*lhs, *rhs);
  if (expr.getKind() == AffineExprKind::Mul && rhs->isConstant())
    return multiply(*lhs, rhs->constant);
  return failure();
}

FailureOr<SmallVector<LinearIndex>> Elements::getLoops(linalg::LinalgOp op, unsigned result,
                                                       ArrayRef<LinearIndex> indices, const LinearIndex *reduced) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<LinearIndex> loops(ranges.size());
  llvm::SmallBitVector isKnown(ranges.size());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  for (auto [expr, index] : llvm::zip(map.getResults(), indices)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim) {
      if (auto constant = dyn_cast<AffineConstantExpr>(expr); constant && constant.getValue() == 0)
        continue; // of size 1
      return failure();
    }
    if (isKnown.test(dim.getPosition()))
      return failure();
    isKnown.set(dim.getPosition());
    loops[dim.getPosition()] = index;
  }
  for (unsigned loop = 0; loop < ranges.size(); ++loop) {
    if (isKnown.test(loop) || ranges[loop] == 1)
      continue;
    if (op.getIteratorTypesArray()[loop] != utils::IteratorType::reduction)
      return failure();
    if (!reduced) {
      loops[loop] = space.getLoop(op, loop, ranges[loop]);
      continue;
    }
    // The one that `reduced` runs through, as far as sizes are known.
    std::optional<int64_t> extent = space.getExtent(*reduced);
    if (!extent || (*extent != ranges[loop] && !ShapedType::isDynamic(*extent) && !ShapedType::isDynamic(ranges[loop])))
      return failure();
    loops[loop] = *reduced;
    reduced = nullptr;
    if (llvm::any_of(llvm::seq<unsigned>(loop + 1, ranges.size()),
                     [&](unsigned other) { return !isKnown.test(other) && ranges[other] != 1; }))
      return failure();
  }
  // A loop of one index that is `reduced` needs no place; a `reduced` of several indices does.
  return loops;
}

ExprRef Elements::getBodyValue(linalg::LinalgOp op, Value value, ArrayRef<LinearIndex> loops) {
  if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == op.getBlock()) {
    OpOperand *operand = op.getMatchingOpOperand(argument);
    if (!isa<RankedTensorType>(operand->get().getType()))
      return getScalar(operand->get());
    SmallVector<LinearIndex> indices;
    for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults()) {
      FailureOr<LinearIndex> index = evaluate(expr, loops);
      if (failed(index))
        return nullptr;
      indices.push_back(*index);
    }
    return get(operand->get(), indices);
  }
  Operation *producer = value.getDefiningOp();
  if (!producer || producer->getBlock() != op.getBlock())
    return getScalar(value);
  if (auto index = dyn_cast<linalg::IndexOp>(producer))
    return intern({.kind = Expr::Kind::Position, .type = value.getType(), .indices = {loops[index.getDim()]}});
  if (producer->hasTrait<OpTrait::ConstantLike>())
    return getScalar(value);
  if (producer->getNumRegions() != 0 || producer->getNumResults() != 1 || !isPure(producer))
    return nullptr;
  SmallVector<ExprRef> operands;
  for (Value operand : producer->getOperands()) {
    operands.push_back(getBodyValue(op, operand, loops));
    if (!operands.back())
      return nullptr;
  }
  return getOp(producer, operands);
}

/// True where a body has an op with effects, as an assertion: what it computes may not be computed elsewhere.
static bool hasEffects(linalg::LinalgOp op) {
  return llvm::any_of(op.getBlock()->without_terminator(), [](Operation &nested) { return !isPure(&nested); });
}

/// The element that `expr` is of the operands of a slice or a concatenation; null where it is of more than one.
ExprRef Elements::getSliced(ExprRef expr) {
  if (auto concat = expr->value.getDefiningOp<tensor::ConcatOp>()) {
    SmallVector<LinearIndex> indices(expr->indices.begin(), expr->indices.end());
    LinearIndex &index = indices[concat.getDim()];
    std::optional<int64_t> last = space.getLast(index);
    for (Value part : concat.getInputs()) {
      int64_t size = getShape(part)[concat.getDim()];
      if (!last || ShapedType::isDynamic(size))
        return nullptr;
      if (index.constant >= 0 && *last < size)
        return get(part, indices);
      index.constant -= size;
      *last -= size;
    }
    return nullptr;
  }
  auto slice = expr->value.getDefiningOp<OffsetSizeAndStrideOpInterface>();
  if (!slice || !isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(slice) || !slice.hasUnitStride() ||
      llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic))
    return nullptr;
  SmallVector<LinearIndex> indices(expr->indices.begin(), expr->indices.end());
  if (auto extract = dyn_cast<tensor::ExtractSliceOp>(*slice)) {
    if (extract.getSourceType().getRank() != extract.getType().getRank())
      return nullptr;
    for (auto [index, offset] : llvm::zip(indices, slice.getStaticOffsets()))
      index.constant += offset;
    return get(extract.getSource(), indices);
  }
  auto insert = cast<tensor::InsertSliceOp>(*slice);
  if (insert.getSourceType().getRank() != insert.getDestType().getRank())
    return nullptr;
  bool isInside = true;
  for (auto [index, offset, size] : llvm::zip(indices, slice.getStaticOffsets(), insert.getSourceType().getShape())) {
    std::optional<int64_t> last = space.getLast(index);
    if (!last || ShapedType::isDynamic(size))
      return nullptr;
    if (*last < offset || index.constant >= offset + size)
      return get(insert.getDest(), indices);
    isInside &= index.constant >= offset && *last < offset + size;
    index.constant -= offset;
  }
  return isInside ? get(insert.getSource(), indices) : nullptr;
}

ExprRef Elements::expand(ExprRef expr) {
  if (!expr->isElement())
    return expr;
  auto [entry, isNew] = expanded.try_emplace(expr, expr);
  if (!isNew)
    return entry->second;
  if (ExprRef source = getSliced(expr)) {
    source = expand(source);
    return expanded[expr] = source;
  }
  auto op = expr->value.getDefiningOp<linalg::LinalgOp>();
  if (!op || !op.hasPureTensorSemantics() || op.getNumParallelLoops() != op.getNumLoops() || hasEffects(op))
    return expr;
  unsigned result = cast<OpResult>(expr->value).getResultNumber();
  FailureOr<SmallVector<LinearIndex>> loops = getLoops(op, result, expr->indices, nullptr);
  if (failed(loops))
    return expr;
  ExprRef body = getBodyValue(op, op.getBlock()->getTerminator()->getOperand(result), *loops);
  if (!body)
    return expr;
  body = expand(body);
  return expanded[expr] = body;
}

static bool isFloatCast(ExprRef expr) { return expr->isOp<arith::ExtFOp>() || expr->isOp<arith::TruncFOp>(); }

ExprRef Elements::stripCasts(ExprRef expr) {
  ExprRef seen = expand(expr);
  for (; isFloatCast(seen); seen = expand(expr))
    expr = seen->operands[0];
  return seen->kind == Expr::Kind::Constant ? seen : expr;
}

ExprRef Elements::normalize(ExprRef expr) {
  if (auto known = normalized.find(expr); known != normalized.end())
    return known->second;
  ExprRef result = expand(expr);
  if (isFloatCast(result))
    result = normalize(result->operands[0]);
  else if (result->kind == Expr::Kind::Op) {
    SmallVector<ExprRef> operands = llvm::map_to_vector(result->operands, [&](ExprRef e) { return normalize(e); });
    result = getOp(result->op, operands);
  }
  return normalized[expr] = result;
}

bool Elements::dependsOn(ExprRef expr, const LinearIndex &index) {
  return llvm::any_of(index.terms,
                      [&](const LinearIndex::Term &term) {
                        return llvm::any_of(expr->indices,
                                            [&](const LinearIndex &at) { return at.dependsOn(term.dim); });
                      }) ||
         llvm::any_of(expr->operands, [&](ExprRef operand) { return dependsOn(operand, index); });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// True for what a reduction must start with.
static bool isNeutral(ExprRef init, Reduction kind) {
  std::optional<double> value = init->getConstant();
  if (!value)
    return false;
  switch (kind) {
  case Reduction::Sum:
  case Reduction::Or: return *value == 0;
  case Reduction::And: return *value != 0;
  case Reduction::Maximum:
    auto number = dyn_cast<FloatAttr>(init->constant);
    return number && number.getValue().isNegative() &&
           (number.getValue().isInfinity() || number.getValue().isLargest());
  }
  llvm_unreachable("covered switch");
}

/// The operand of `op` that is not `accumulator`; null where there is no such pair.
static Value getOther(Operation *op, Value accumulator) {
  if (op->getNumOperands() != 2)
    return {};
  if (op->getOperand(0) == accumulator)
    return op->getOperand(1);
  return op->getOperand(1) == accumulator ? op->getOperand(0) : Value();
}

Value Elements::getCombined(linalg::LinalgOp op, unsigned result, Reduction kind) {
  Operation *combiner = op.getBlock()->getTerminator()->getOperand(result).getDefiningOp();
  Value accumulator = op.getRegionOutputArgs()[result];
  if (!combiner || combiner->getBlock() != op.getBlock())
    return {};
  // max as `a > b ? a : b`, as PyTorch's importer writes it beside an index.
  if (auto select = dyn_cast<arith::SelectOp>(combiner); select && kind == Reduction::Maximum) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    using enum arith::CmpFPredicate;
    if (!compare || !llvm::is_contained({OGT, OGE, UGT, UGE}, compare.getPredicate()) ||
        compare.getLhs() != select.getTrueValue() || compare.getRhs() != select.getFalseValue())
      return {};
    return getOther(compare, accumulator);
  }
  bool fits = false;
  switch (kind) {
  case Reduction::Sum: fits = isa<arith::AddFOp>(combiner); break;
  case Reduction::Maximum: fits = isa<arith::MaximumFOp, arith::MaxNumFOp>(combiner); break;
  case Reduction::And: fits = isa<arith::AndIOp, arith::MinUIOp>(combiner); break;
  case Reduction::Or: fits = isa<arith::OrIOp, arith::MaxUIOp>(combiner); break;
  }
  return fits ? getOther(combiner, accumulator) : Value();
}

/// True where `value` of a body needs what the reduction has so far.
static bool readsAccumulator(Value value, linalg::LinalgOp op) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == op.getBlock() && llvm::is_contained(op.getRegionOutputArgs(), argument);
  Operation *producer = value.getDefiningOp();
  return producer->getBlock() == op.getBlock() &&
         llvm::any_of(producer->getOperands(), [&](Value operand) { return readsAccumulator(operand, op); });
}

linalg::LinalgOp Elements::getReduction(ExprRef &expr) {
  expr = expand(expr);
  auto op = expr->isElement() ? expr->value.getDefiningOp<linalg::LinalgOp>() : linalg::LinalgOp();
  return op && op.hasPureTensorSemantics() && op.getNumReductionLoops() > 0 ? op : linalg::LinalgOp();
}

ExprRef Elements::matchReduction(ExprRef expr, Reduction kind, const LinearIndex &index) {
  linalg::LinalgOp op = getReduction(expr);
  if (!op)
    return nullptr;
  unsigned result = cast<OpResult>(expr->value).getResultNumber();
  FailureOr<SmallVector<LinearIndex>> loops = getLoops(op, result, expr->indices, &index);
  if (failed(loops))
    return nullptr;
  // A reduction over loops of one index only is over no keys, unless there is one key.
  if (!index.isConstant() && !llvm::is_contained(*loops, index))
    return nullptr;
  return getCombined(op, result, kind, *loops);
}

std::optional<Elements::OneMore> Elements::matchReductionOfOneMore(ExprRef expr, Reduction kind,
                                                                   const LinearIndex &index, unsigned offset) {
  linalg::LinalgOp op = getReduction(expr);
  std::optional<int64_t> extent = space.getExtent(index);
  if (!op || op.getNumReductionLoops() != 1 || !extent || ShapedType::isDynamic(*extent))
    return std::nullopt;
  unsigned result = cast<OpResult>(expr->value).getResultNumber();
  FailureOr<SmallVector<LinearIndex>> loops = getLoops(op, result, expr->indices, nullptr);
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  if (failed(loops) || op.getStaticLoopRanges()[reduced[0]] != *extent + 1)
    return std::nullopt;
  LinearIndex &at = (*loops)[reduced[0]];
  at = index;
  at.constant += offset;
  ExprRef each = getCombined(op, result, kind, *loops);
  at = LinearIndex();
  at.constant = offset ? 0 : *extent;
  ExprRef other = getCombined(op, result, kind, *loops);
  return each && other ? std::optional(OneMore{each, other}) : std::nullopt;
}

ExprRef Elements::getCombined(linalg::LinalgOp op, unsigned result, Reduction kind, ArrayRef<LinearIndex> loops) {
  Value combined = getCombined(op, result, kind);
  if (!combined || readsAccumulator(combined, op))
    return nullptr;
  ExprRef init = getBodyValue(op, op.getRegionOutputArgs()[result], loops);
  if (!init || !isNeutral(expand(init), kind))
    return nullptr;
  return getBodyValue(op, combined, loops);
}

std::optional<Elements::Contraction> Elements::matchContraction(ExprRef expr) {
  expr = expand(expr);
  if (!expr->isElement())
    return std::nullopt;
  auto op = expr->value.getDefiningOp<linalg::LinalgOp>();
  if (!op || !op.hasPureTensorSemantics() || op.getNumReductionLoops() == 0)
    return std::nullopt;
  unsigned result = cast<OpResult>(expr->value).getResultNumber();
  Value combined = getCombined(op, result, Reduction::Sum);
  if (!combined || readsAccumulator(combined, op))
    return std::nullopt;
  FailureOr<SmallVector<LinearIndex>> loops = getLoops(op, result, expr->indices, nullptr);
  if (failed(loops))
    return std::nullopt;
  ExprRef init = getBodyValue(op, op.getRegionOutputArgs()[result], *loops);
  ExprRef product = getBodyValue(op, combined, *loops);
  if (!init || !isNeutral(expand(init), Reduction::Sum) || !product)
    return std::nullopt;
  product = stripCasts(product);
  if (!product->isOp<arith::MulFOp>())
    return std::nullopt;
  Contraction contraction = {op, product->operands[0], product->operands[1], {}};
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<LinearIndex> summed;
  for (auto [loop, type] : llvm::enumerate(op.getIteratorTypesArray()))
    if (type == utils::IteratorType::reduction && ranges[loop] != 1)
      summed.push_back((*loops)[loop]);
  int64_t stride = 1;
  for (const LinearIndex &index : llvm::reverse(summed)) {
    std::optional<int64_t> extent = space.getExtent(index);
    if (ShapedType::isDynamic(stride) || !extent)
      return std::nullopt;
    contraction.summed = add(contraction.summed, multiply(index, stride));
    stride = ShapedType::isDynamic(*extent) ? ShapedType::kDynamic : stride * *extent;
  }
  return contraction;
}
