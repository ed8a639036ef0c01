//===- DecodeSoftmax.cpp - the weights of a decode tile -------------------===//
//
// After the first tiles of a row its maximum seldom moves. Then a comparison of the
// tile's scores with it is enough, and no alpha is computed.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeProducts.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

static const double kMinusInf = -std::numeric_limits<double>::infinity();

/// The coefficients of the polynomial fill a small register file. There the loop takes one vector at a time.
static Values limitUnrolling(VectorBuilder &vb, Values results) {
  if (auto loop = results.front().getDefiningOp<scf::ForOp>(); loop && vb.target.vectorRegisters < kManyRegisters)
    attn::keepRolled(loop);
  return results;
}

/// for each vector of keys: body(first key, mask of the keys that there are, carried).
Values attn::cpu::forEachKeyVector(const DecodeTile &t, ValueRange init,
                                   function_ref<Values(Value, Value, ValueRange)> body) {
  VectorBuilder &vb = t.vb;
  if (getStaticKeys(t))
    return limitUnrolling(vb, forEachVector(vb, *getStaticKeys(t), init, body));
  return limitUnrolling(vb, vb.loop(vb.index(0), getKeyCount(t), vb.lanes, init, [&](Value first, ValueRange carried) {
    return body(first, vb.createMask(vb.subtract(getKeyCount(t), first)), carried);
  }));
}

Value attn::cpu::isAnyGreater(VectorBuilder &vb, Value x, Value y) {
  Value greater = arith::CmpFOp::create(vb.b, vb.loc, arith::CmpFPredicate::OGT, x, y);
  return vector::ReductionOp::create(vb.b, vb.loc, vector::CombiningKind::OR, greater);
}

/// m' of a row with a larger score; l and acc become alpha l and alpha acc, alpha = 2^((m - m') log2 e).
static Value moveMaximum(const DecodeTile &t, Value row, Value best, Value oldMax) {
  VectorBuilder &vb = t.vb;
  Values position = at(t, row, {}, {}, {});
  Value newMax = vb.max(reduceLanes(vb, best, [&](Value x, Value y) { return vb.max(x, y); }), oldMax);
  storeRowScalar(vb, newMax, t.state.rowMax, position);
  Value alpha = vb.expDifference(oldMax, newMax);
  auto scale = [&](Value x) -> Value { return arith::MulFOp::create(vb.b, vb.loc, x, alpha); };
  storeRowScalar(vb, scale(loadRowScalar(vb, t.state.rowSum, position)), t.state.rowSum, position);
  forEachVector(vb, getValueSize(t), {}, [&](Value column, Value mask, ValueRange) {
    Values indices = t.state.acc.getIndices(vb, at(t, row, {}, {}, column));
    vb.storeMasked(scale(vb.loadMasked(t.state.acc.memref, indices, mask)), t.state.acc.memref, indices, mask);
    return Values();
  });
  return newMax;
}

Value attn::cpu::emitSoftmax(const DecodeTile &t, LaneCode &laneCode, Value row) {
  VectorBuilder &vb = t.vb;
  laneCode.prepare(t.rows.getQuery(row), t.rows.getHead(row));
  std::function<Value(Value)> loadScores = t.products.getScoresOfRow(t, row);
  Values best = forEachKeyVector(t, vb.splat(kMinusInf), [&](Value first, Value mask, ValueRange carried) {
    Value score = laneCode.apply(loadScores(first), {0, first, mask});
    if (mask)
      score = vb.select(mask, score, vb.splat(kMinusInf));
    vb.store(score, t.scores, {row, first});
    return Values{vb.max(score, carried.front())};
  });
  Value oldMax = loadRowScalar(vb, t.state.rowMax, at(t, row, {}, {}, {}));
  auto branch =
      scf::IfOp::create(vb.b, vb.loc, vb.vectorType, isAnyGreater(vb, best.front(), oldMax), /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(vb.b);
    vb.b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(vb.b, vb.loc, moveMaximum(t, row, best.front(), oldMax));
    vb.b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(vb.b, vb.loc, oldMax);
  }
  Value max = branch.getResult(0);
  // A row that has kept no key yet: any finite maximum is right, as each of its p is selected to 0.
  if (laneCode.isPartial())
    max = vb.select(vb.isEqual(max, kMinusInf), vb.splat(0), max);
  Type weightType = getElementTypeOrSelf(t.weights.getType());
  Values sums = forEachKeyVector(t, vb.splat(0), [&](Value first, Value mask, ValueRange carried) {
    Value score = vb.load(t.scores, {row, first}), weight = vb.expDifference(score, max, weightType);
    if (mask || laneCode.isPartial())
      weight = vb.select(vb.isEqual(score, kMinusInf), vb.splat(0), weight);
    Value modified = laneCode.modifyWeight(weight, {0, first, mask});
    vb.store(vb.convert(modified, weightType), t.weights, {row, first});
    return Values{arith::AddFOp::create(vb.b, vb.loc, carried.front(), weight)};
  });
  auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(vb.b, vb.loc, x, y); };
  Value sum = reduceLanes(vb, sums.front(), add);
  storeRowScalar(vb, add(sum, loadRowScalar(vb, t.state.rowSum, at(t, row, {}, {}, {}))), t.state.rowSum,
                 at(t, row, {}, {}, {}));
  return best.front();
}
