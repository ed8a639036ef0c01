//===- MatchAttention.cpp - matches an attention backwards from its result -===//
//
// result = P V, or (e V) / l: the product of weights and values, with operands and dimensions in any order, then
// softmax, then scores.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attn::raise;

/// The dividend and the divisor of a division; the divisor is null without one.
static std::pair<ExprRef, ExprRef> peelDivision(Elements &elements, ExprRef result) {
  ExprRef expr = elements.expand(elements.stripCasts(result));
  if (expr->isOp<arith::DivFOp>())
    return {elements.stripCasts(expr->operands[0]), expr->operands[1]};
  if (expr->isOp<arith::MulFOp>())
    for (unsigned i : {0, 1}) {
      ExprRef reciprocal = elements.expand(elements.stripCasts(expr->operands[i]));
      if (reciprocal->isOp<arith::DivFOp>() && elements.stripCasts(reciprocal->operands[0])->getConstant() == 1)
        return {elements.stripCasts(expr->operands[1 - i]), reciprocal->operands[1]};
    }
  return {expr, nullptr};
}

FailureOr<Attention> attn::raise::matchAttention(MatchContext &ctx, Value result) {
  Elements &elements = ctx.elements;
  Attention attention;
  attention.result = result;
  for (auto [dim, size] : llvm::enumerate(cast<RankedTensorType>(result.getType()).getShape()))
    attention.indices.push_back(elements.getSpace().getLoop(result.getAsOpaquePointer(), dim, size));
  auto [product, denominator] = peelDivision(elements, elements.get(result, attention.indices));
  std::optional<Elements::Contraction> contraction = elements.matchContraction(product);
  if (!contraction)
    return ctx.fail("expected a product of weights and values");
  attention.keyIndex = contraction->summed;
  std::string reason;
  for (auto [weights, value] : {std::pair(contraction->lhs, contraction->rhs), {contraction->rhs, contraction->lhs}}) {
    Attention found = attention;
    ctx.reason.clear();
    FailureOr<ExprRef> scores = matchSoftmax(ctx, weights, denominator, found.keyIndex, found);
    if (succeeded(scores) && succeeded(matchScores(ctx, *scores, found))) {
      if (!areGatesMasks(ctx, found))
        return ctx.fail(
            "expected weights that are set to 0 only where the scores are masked, or where the row keeps no "
            "key, found another condition; put -inf in the place of the scores instead");
      Type type = cast<RankedTensorType>(result.getType()).getElementType();
      found.query = findOperand(elements, found.query, type);
      found.key = findOperand(elements, found.key, type);
      found.value = findOperand(elements, value, type);
      if (!found.query || !found.key || !found.value)
        return ctx.fail("expected queries, keys and values that are tensors of floats, no wider than the result's");
      return found;
    }
    // The operand that matched further has the better reason.
    if (reason.empty() || succeeded(scores))
      reason = ctx.reason;
  }
  ctx.reason = reason;
  return failure();
}
