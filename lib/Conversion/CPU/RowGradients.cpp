//===- RowGradients.cpp - weights and gradients of a row ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RowGradients.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

static const double kInfinity = std::numeric_limits<double>::infinity();

RowGradients::RowGradients(VectorBuilder &vb, BackwardStepOp step, BackwardProducts &products)
    : vb(vb), b(vb.b), loc(vb.loc), step(step), products(products), functions(ScoreFunctions::of(step)),
      laneCode(vb, functions, LaneAxis::Keys), scoreGrad(vb, &step.getScoreGrad(), LaneAxis::Keys) {
  if (step.getDbias())
    dbias = {step.getDbias(), getMaps(step).back()};
}

Value RowGradients::loadScalar(Value memref, ValueRange indices) {
  return memref::LoadOp::create(b, loc, memref, indices);
}

bool RowGradients::hasGradients() {
  return step.getDquery() || step.getDkey() || step.getDbias() || !step.getDcaptures().empty();
}

std::pair<Values, Values> RowGradients::emit(const Panel &panel, Value row, Value scores, Value dweights) {
  int64_t panelVectors = cast<BackwardAttr>(*step.getSchedule()).getBlockVectors();
  laneCode.prepare(row);
  scoreGrad.prepare(row);
  // A row without keys: exp(s - inf) = 0.
  Value lse = loadScalar(step.getLse(), row);
  Value infinity = arith::ConstantOp::create(b, loc, b.getFloatAttr(vb.elementType, kInfinity));
  Value isEmpty = products.isEmptyRow(lse), logSum;
  lse = vb.broadcast(vb.select(isEmpty, infinity, lse));
  if (step.getLogSum()) { // -inf, too, in a row without keys
    Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(vb.elementType, 0));
    logSum = vb.broadcast(vb.select(isEmpty, zero, loadScalar(step.getLogSum(), row)));
  }
  Value delta = vb.broadcast(loadScalar(step.getDelta(), row));
  std::pair<Values, Values> results;
  bool mayBeZero = laneCode.isPartial() || !panel.masks.empty();
  for (int64_t v = 0; v < panelVectors; ++v) {
    Value key = vb.add(panel.firstKey, v * vb.lanes), mask = panel.getMask(v), lane = vb.index(v * vb.lanes);
    LanePosition at{0, key, mask};
    Value raw = vb.load(scores, {row, lane});
    Value score = laneCode.apply(raw, at);
    if (mask)
      score = vb.select(mask, score, vb.splat(-kInfinity));
    Value weight = vb.weightOf(score, lse, logSum);
    // lse may be NaN because of another key: the difference from -inf is then NaN.
    if (mayBeZero)
      weight = vb.select(vb.isEqual(score, -kInfinity), vb.splat(0), weight);
    Value isRemoved = mayBeZero ? vb.isEqual(weight, 0) : Value();
    // A region or V may give NaN for a removed key.
    auto zeroWhereRemoved = [&](Value x) { return isRemoved ? vb.select(isRemoved, vb.splat(0), x) : x; };
    if (hasGradients()) {
      Value dw = laneCode.modifyWeight(vb.load(dweights, {row, lane}), at);
      Value ds = arith::MulFOp::create(b, loc, weight, arith::SubFOp::create(b, loc, dw, delta));
      ds = zeroWhereRemoved(ds);
      if (dbias.memref)
        addBiasGradient(ds, row, key, mask);
      if (!scoreGrad.isEmpty())
        ds = zeroWhereRemoved(scoreGrad.evaluate(at, {laneCode.scale(raw), ds}, isRemoved));
      results.second.push_back(laneCode.scale(ds));
    }
    if (!step.getDvalue())
      continue;
    if (functions.weightMod)
      weight = zeroWhereRemoved(laneCode.modifyWeight(weight, at));
    results.first.push_back(weight);
  }
  return results;
}

void RowGradients::addBiasGradient(Value ds, Value row, Value key, Value mask) {
  SmallVector<Value> domain = {row, key, {}, {}};
  Values at = dbias.getIndices(vb, domain);
  if (!dbias.map.isFunctionOfDim(1)) {
    Value sum = vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, ds);
    sum = arith::AddFOp::create(b, loc, loadScalar(dbias.memref, at), sum);
    memref::StoreOp::create(b, loc, sum, dbias.memref, at);
    return;
  }
  if (dbias.isInnermost(1)) {
    Value old = vb.loadMasked(dbias.memref, at, mask);
    vb.storeMasked(arith::AddFOp::create(b, loc, old, ds), dbias.memref, at, mask);
    return;
  }
  for (int64_t lane = 0; lane < vb.lanes; ++lane) {
    auto add = [&] {
      SmallVector<Value> element = {row, vb.add(key, lane), {}, {}};
      Values position = dbias.getIndices(vb, element);
      Value sum = arith::AddFOp::create(b, loc, loadScalar(dbias.memref, position),
                                        vector::ExtractOp::create(b, loc, ds, lane));
      memref::StoreOp::create(b, loc, sum, dbias.memref, position);
    };
    if (mask)
      products.emitIf(vector::ExtractOp::create(b, loc, mask, lane), add);
    else
      add();
  }
}
