//===- LaneCode.cpp - scale, softcap, bias and masks on vectors of scores -===//
//
// A vector holds the scores of one key for query rows, or of one query row for
// keys.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

LaneCode::LaneCode(VectorBuilder &vb, const ScoreFunctions &functions, LaneAxis axis)
    : vb(vb), functions(functions), axis(axis), scoreMod(vb, functions.scoreMod, axis),
      maskMod(vb, functions.maskMod, axis), weightMod(vb, functions.weightMod, axis) {
  if (Value memref = functions.bias.value)
    bias = {memref, functions.bias.map};
  if (Value memref = functions.mask.value)
    keep = {viewAsBytes(vb.b, vb.loc, memref), functions.mask.map};
}

void LaneCode::prepare(ArrayRef<Value> newQueries, Value newHead) {
  queries.assign(newQueries.begin(), newQueries.end());
  head = newHead;
  for (LaneRegion *region : {&scoreMod, &maskMod, &weightMod})
    region->prepare(queries, head);
}

Value LaneCode::apply(Value raw, Value key, unsigned v, Value mask) {
  return remove(cap(modify(raw, key, v, mask)).front(), key, v, mask);
}

Value LaneCode::modify(Value raw, Value key, unsigned v, Value mask) {
  Value s = raw;
  // s * scale
  if (functions.scale)
    s = arith::MulFOp::create(vb.b, vb.loc, s, vb.splat(*functions.scale));
  else if (functions.scaleValue)
    s = arith::MulFOp::create(vb.b, vb.loc, s, vb.broadcast(functions.scaleValue));
  return scoreMod.isEmpty() ? s : scoreMod.evaluate(v, key, s, mask);
}

/// tanh(x) / x for |x| up to kSmallRatio: minimax in x^2, relative error 1.3e-8; highest degree first.
static constexpr double kSmallRatio = 0.5;
static constexpr double kSmallTanh[] = {0.0171349114, -0.052986034, 0.133247788, -0.333330694, 0.999999987};

Values LaneCode::cap(ValueRange scores) {
  if (!functions.softcap)
    return Values(scores);
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  double cap = *functions.softcap;
  auto multiply = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, loc, x, y); };
  // times 1 / c: a division a score would cost as much as ten multiply-adds
  Values ratios = llvm::map_to_vector(scores, [&](Value s) { return multiply(s, vb.splat(1 / cap)); });
  // c * tanh(s / c)
  auto capAll = [&] {
    Values capped;
    for (Value ratio : ratios)
      capped.push_back(multiply(math::TanhOp::create(b, loc, ratio), vb.splat(cap)));
    return capped;
  };
  if (!vb.elementType.isF32() || scores.size() == 1)
    return capAll();
  // Most models' scores are far below their cap: a short polynomial does where all of a block are. A NaN, which may
  // stay the largest, hides what the others are.
  Value largest = math::AbsFOp::create(b, loc, ratios.front());
  for (Value ratio : ArrayRef(ratios).drop_front())
    largest = vb.max(math::AbsFOp::create(b, loc, ratio), largest);
  Value isLarge = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT, largest, vb.splat(kSmallRatio));
  Value anyLarge = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, isLarge);
  auto branch = scf::IfOp::create(b, loc, scores.getTypes(), anyLarge, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, capAll());
  b.setInsertionPointToStart(branch.elseBlock());
  Values small;
  for (auto [s, ratio] : llvm::zip(scores, ratios)) {
    Value square = multiply(ratio, ratio), polynomial = vb.splat(kSmallTanh[0]);
    for (double coefficient : ArrayRef(kSmallTanh).drop_front())
      polynomial = vb.multiplyAdd(polynomial, square, vb.splat(coefficient));
    small.push_back(multiply(s, polynomial));
  }
  scf::YieldOp::create(b, loc, small);
  return Values(branch.getResults());
}

Value LaneCode::remove(Value s, Value key, unsigned v, Value mask) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  const double minusInf = -std::numeric_limits<double>::infinity();
  Value removed = isPartial() ? vb.splat(minusInf) : Value();
  // s + bias, and -inf for a bias of -inf whatever s is: such a key is removed, a NaN in it reaches nothing
  if (bias.memref) {
    Value added = getDense(bias, key, queries[v], vb.elementType, mask);
    s = vb.select(vb.isEqual(added, minusInf), removed, arith::AddFOp::create(b, loc, s, added));
  }
  // keep ? s : -inf
  if (keep.memref) {
    Value bytes = getDense(keep, key, queries[v], b.getI8Type(), mask);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(bytes.getType()));
    s = vb.select(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bytes, zero), s, removed);
  }
  if (!maskMod.isEmpty())
    s = vb.select(maskMod.evaluate(v, key, Value(), mask), s, removed);
  return s;
}

Value LaneCode::modifyWeight(Value weight, Value key, unsigned v, Value mask) {
  return weightMod.isEmpty() ? weight : weightMod.evaluate(v, key, weight, mask);
}

/// A vector where the operand has the dimension that lanes are; otherwise a scalar for all of them.
Value LaneCode::getDense(const Operand &operand, Value key, Value query, Type elementType, Value mask) {
  SmallVector<Value> domain(operand.map.getNumDims());
  unsigned numBatch = functions.numBatch, lanePosition = axis == LaneAxis::Queries ? numBatch : numBatch + 1;
  if (head)
    domain[numBatch - 1] = head;
  domain[numBatch] = query;
  domain[numBatch + 1] = key;
  Values indices = operand.getIndices(vb, domain);
  auto convert = [&](Value value) -> Value {
    Type type = getElementTypeOrSelf(value.getType());
    if (!type.isInteger(1))
      return vb.convert(value, elementType);
    Type to = elementType;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      to = vector.clone(elementType);
    return arith::ExtUIOp::create(vb.b, vb.loc, to, value);
  };
  if (operand.map.isFunctionOfDim(lanePosition))
    return convert(operand.isInnermost(lanePosition) ? vb.loadMasked(operand.memref, indices, mask)
                                                     : vb.loadStrided(operand, lanePosition, domain, mask));
  return vb.broadcast(convert(memref::LoadOp::create(vb.b, vb.loc, operand.memref, indices)));
}
