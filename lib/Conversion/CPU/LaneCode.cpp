//===- LaneCode.cpp - scale, softcap, bias and masks on a row of S^T ------===//
//
// A row of S^T holds the scores of one key for a vector of query rows. The
// predicate region is inlined with the query index as a vector and everything
// else as scalars, so what is the same for all lanes stays scalar.
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

LaneCode::LaneCode(VectorBuilder &vb, OnlineStepOp step) : vb(vb), step(step) {
  SmallVector<AffineMap> maps = getMaps(step);
  unsigned next = 3;
  if (step.getBias())
    bias = {step.getBias(), maps[next++]};
  if (step.getMask())
    mask = {step.getMask(), maps[next++]};
  partial = step.getBias() || step.getMask() || !step.getMaskMod().empty();
}

Value LaneCode::apply(Value raw, Value key, Value lane) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  Value s = raw;
  // s * scale
  if (step.getScale())
    s = arith::MulFOp::create(b, loc, s, vb.splat(step.getScale()->convertToDouble()));
  else if (step.getScaleValue())
    s = arith::MulFOp::create(b, loc, s, vb.broadcast(step.getScaleValue()));
  // c * tanh(s / c)
  if (step.getSoftcap()) {
    double cap = step.getSoftcap()->convertToDouble();
    Value ratio = arith::DivFOp::create(b, loc, s, vb.splat(cap));
    s = arith::MulFOp::create(b, loc, math::TanhOp::create(b, loc, ratio), vb.splat(cap));
  }
  const double minusInf = -std::numeric_limits<double>::infinity();
  Value removed = partial ? vb.splat(minusInf) : Value();
  // s + bias, and -inf for a bias of -inf whatever s is: such a key is removed, a NaN in it reaches nothing
  if (bias.memref) {
    Value added = getDense(bias, key, lane, vb.elementType);
    s = vb.select(vb.isEqual(added, minusInf), removed, arith::AddFOp::create(b, loc, s, added));
  }
  // keep ? s : -inf
  if (mask.memref) {
    Value bytes = getDense(mask, key, lane, b.getI8Type());
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(bytes.getType()));
    s = vb.select(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bytes, zero), s, removed);
  }
  if (!step.getMaskMod().empty())
    s = vb.select(evaluatePredicate(key, lane), s, removed);
  return s;
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
    if (type == elementType)
      return value;
    Type to = elementType;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      to = vector.clone(elementType);
    if (type.isInteger(1))
      return arith::ExtUIOp::create(vb.b, vb.loc, to, value);
    if (type.getIntOrFloatBitWidth() < elementType.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(vb.b, vb.loc, to, value);
    return arith::TruncFOp::create(vb.b, vb.loc, to, value);
  };
  if (operand.map.isFunctionOfDim(numBatch))
    return convert(vb.load(operand.memref, indices));
  return vb.broadcast(convert(memref::LoadOp::create(vb.b, vb.loc, operand.memref, indices)));
}

Value LaneCode::evaluatePredicate(Value key, Value lane) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  IRMapping mapping;
  auto toVector = [&](Value value) { return isa<VectorType>(value.getType()) ? value : vb.broadcast(value); };
  for (Operation &op : step.getMaskMod().front().without_terminator()) {
    if (auto index = dyn_cast<IndexOp>(op)) {
      Value value = vb.index(0); // a tile holds one batch and one head; attn-tile added their offsets
      if (index.getKind() == IndexKind::Key)
        value = key;
      else if (index.getKind() == IndexKind::Query)
        value = arith::AddIOp::create(
            b, loc, vb.broadcast(lane),
            vector::StepOp::create(b, loc, VectorType::get({vb.lanes}, b.getIndexType())).getResult());
      mapping.map(index.getResult(), value);
      continue;
    }
    Values operands;
    bool isVector = false;
    for (Value operand : op.getOperands()) {
      operands.push_back(mapping.lookupOrDefault(operand));
      isVector |= isa<VectorType>(operands.back().getType());
    }
    if (!isVector) {
      b.clone(op, mapping);
      continue;
    }
    for (Value &operand : operands)
      operand = toVector(operand);
    SmallVector<Type> types =
        llvm::map_to_vector(op.getResultTypes(), [&](Type type) -> Type { return VectorType::get({vb.lanes}, type); });
    OperationState state(loc, op.getName(), operands, types, op.getAttrs());
    mapping.map(op.getResults(), b.create(state)->getResults());
  }
  return toVector(mapping.lookupOrDefault(cast<YieldOp>(step.getMaskMod().front().getTerminator()).getValue()));
}
