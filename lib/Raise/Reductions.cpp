//===- Reductions.cpp - elements that are sums, maxima and products ------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn::raise;

/// True for the initial value of a reduction.
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

/// The operand of `op` that is not `accumulator`; null if `op` does not combine it with one.
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
  // max as `a > b ? a : b`, as PyTorch's importer writes it with an index.
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

/// True where `value` of a body depends on the accumulator.
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
  // A reduction over loops of size 1 is not over keys, unless there is one key.
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
    if (ShapedType::isDynamic(*extent))
      stride = ShapedType::kDynamic;
    else if (llvm::MulOverflow(stride, *extent, stride))
      return std::nullopt;
  }
  return contraction;
}
