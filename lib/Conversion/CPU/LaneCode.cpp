//===- LaneCode.cpp - scale, softcap, bias and masks on a row of S^T ------===//
//
// A row of S^T holds the scores of one key for a vector of query rows.
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

LaneCode::LaneCode(VectorBuilder &vb, OnlineStepOp step)
    : vb(vb), step(step), scoreMod(vb, step.getScoreMod()), maskMod(vb, step.getMaskMod()),
      weightMod(vb, step.getWeightMod()) {
  SmallVector<AffineMap> maps = getMaps(step);
  unsigned next = 3;
  if (step.getBias())
    bias = {step.getBias(), maps[next++]};
  if (step.getMask())
    mask = {step.getMask(), maps[next++]};
  partial = step.getBias() || step.getMask() || !step.getMaskMod().empty() || !step.getScoreMod().empty();
}

void LaneCode::prepare(ArrayRef<Value> newLanes) {
  lanes.assign(newLanes.begin(), newLanes.end());
  scoreMod.prepare(lanes);
  maskMod.prepare(lanes);
  weightMod.prepare(lanes);
}

Value LaneCode::apply(Value raw, Value key, unsigned v) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  Value s = raw;
  // s * scale
  if (step.getScale())
    s = arith::MulFOp::create(b, loc, s, vb.splat(step.getScale()->convertToDouble()));
  else if (step.getScaleValue())
    s = arith::MulFOp::create(b, loc, s, vb.broadcast(step.getScaleValue()));
  if (!scoreMod.isEmpty())
    s = scoreMod.evaluate(v, key, s);
  // c * tanh(s / c)
  if (step.getSoftcap()) {
    double cap = step.getSoftcap()->convertToDouble();
    // times 1 / c: a division a score would cost as much as ten multiply-adds
    Value ratio = arith::MulFOp::create(b, loc, s, vb.splat(1 / cap));
    s = arith::MulFOp::create(b, loc, math::TanhOp::create(b, loc, ratio), vb.splat(cap));
  }
  const double minusInf = -std::numeric_limits<double>::infinity();
  Value removed = partial ? vb.splat(minusInf) : Value();
  // s + bias, and -inf for a bias of -inf whatever s is: such a key is removed, a NaN in it reaches nothing
  if (bias.memref) {
    Value added = getDense(bias, key, lanes[v], vb.elementType);
    s = vb.select(vb.isEqual(added, minusInf), removed, arith::AddFOp::create(b, loc, s, added));
  }
  // keep ? s : -inf
  if (mask.memref) {
    Value bytes = getDense(mask, key, lanes[v], b.getI8Type());
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(bytes.getType()));
    s = vb.select(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bytes, zero), s, removed);
  }
  if (!maskMod.isEmpty())
    s = vb.select(maskMod.evaluate(v, key, Value()), s, removed);
  return s;
}

Value LaneCode::modifyWeight(Value weight, Value key, unsigned v) {
  return weightMod.isEmpty() ? weight : weightMod.evaluate(v, key, weight);
}

/// A packed operand is a vector of lanes; one without a query dimension is a scalar for all of them.
Value LaneCode::getDense(const Operand &operand, Value key, Value lane, Type elementType) {
  SmallVector<Value> domain(operand.map.getNumDims());
  unsigned numBatch = getNumBatchDims(step);
  domain[numBatch] = lane;
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
  if (operand.map.isFunctionOfDim(numBatch))
    return convert(vb.load(operand.memref, indices));
  return vb.broadcast(convert(memref::LoadOp::create(vb.b, vb.loc, operand.memref, indices)));
}
