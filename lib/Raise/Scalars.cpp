//===- Scalars.cpp - expressions as ops in a region -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Scalars.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;
using namespace attn::raise;

bool attn::raise::hasPosition(Elements &elements, ExprRef expr) {
  expr = elements.expand(expr);
  return expr->kind == Expr::Kind::Position ||
         llvm::any_of(expr->operands, [&](ExprRef operand) { return hasPosition(elements, operand); });
}

bool ScalarBuilder::dependsOnKnown(ExprRef expr) {
  expr = elements.expand(expr);
  if (expr == known)
    return true;
  auto [entry, isNew] = dependent.try_emplace(expr, false);
  if (!isNew)
    return entry->second;
  bool found = llvm::any_of(expr->operands, [&](ExprRef operand) { return dependsOnKnown(operand); });
  return dependent[expr] = found;
}

FailureOr<Value> ScalarBuilder::build(ExprRef unexpanded) {
  ExprRef expr = elements.expand(unexpanded);
  if (auto found = values.find(expr); found != values.end())
    return found->second;
  FailureOr<Value> value = buildNew(unexpanded, expr);
  if (succeeded(value))
    values[expr] = *value;
  return value;
}

FailureOr<Value> ScalarBuilder::buildNew(ExprRef unexpanded, ExprRef expr) {
  auto widen = [&](Value value) -> Value {
    return isa<FloatType>(value.getType()) ? convertFloat(builder, loc, value, type) : value;
  };
  if (expr->kind == Expr::Kind::Scalar)
    return widen(expr->value);
  if (expr->kind == Expr::Kind::Constant) {
    if (isa<FloatType>(expr->type))
      return createFloatConstant(builder, loc, type, *expr->getConstant());
    return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(expr->constant)).getResult();
  }
  if (expr->kind == Expr::Kind::Position)
    return domain.createIndex(builder, loc, expr->indices[0]);
  bool isRead = unexpanded->isElement() && !dependsOnKnown(expr) && !hasPosition(elements, expr);
  if (isRead || expr->isElement()) {
    ExprRef element = isRead ? unexpanded : expr;
    SmallVector<Value> position;
    for (const LinearIndex &index : element->indices) {
      FailureOr<Value> value = domain.createIndex(builder, loc, index);
      if (failed(value))
        return failure();
      position.push_back(*value);
    }
    return widen(tensor::ExtractOp::create(builder, loc, element->value, position));
  }
  SmallVector<Value> operands;
  for (ExprRef operand : expr->operands) {
    FailureOr<Value> value = build(operand);
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  if (expr->isOp<arith::ExtFOp>() || expr->isOp<arith::TruncFOp>())
    return operands[0];
  OperationState state(loc, expr->op->getName());
  state.addOperands(operands);
  state.addAttributes(expr->op->getAttrDictionary().getValue());
  state.addTypes(isa<FloatType>(expr->type) && !expr->isOp<tensor::ExtractOp>() ? type : expr->type);
  return widen(builder.create(state)->getResult(0));
}
