//===- Elements.cpp - how one element of a tensor is computed -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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
    // Ops are equal if their names, attributes and operands are equal, wherever they are.
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

/// The boolean that a comparison with 0 restores after a conversion to a number; null for other expressions.
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
// Ops of linalg
//===----------------------------------------------------------------------===//

/// `expr`, a result of a map, at `loops`; fails where it is not a sum.
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
        continue; // size 1
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
    // The loop that `reduced` iterates over, as far as sizes are known.
    std::optional<int64_t> extent = space.getExtent(*reduced);
    if (!extent || (*extent != ranges[loop] && !ShapedType::isDynamic(*extent) && !ShapedType::isDynamic(ranges[loop])))
      return failure();
    loops[loop] = *reduced;
    reduced = nullptr;
    if (llvm::any_of(llvm::seq<unsigned>(loop + 1, ranges.size()),
                     [&](unsigned other) { return !isKnown.test(other) && ranges[other] != 1; }))
      return failure();
  }
  // If `reduced` has only one index it need not be a loop.
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

/// True where a body has an op with effects, such as an assertion: its results must not be computed elsewhere.
static bool hasEffects(linalg::LinalgOp op) {
  return llvm::any_of(op.getBlock()->without_terminator(), [](Operation &nested) { return !isPure(&nested); });
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
