//===- LaneCode.cpp - the score functions on vectors of lanes -------------===//
//
// A vector holds the scores of one key for query rows, or of one query row for
// keys.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

LaneCode::LaneCode(VectorBuilder &vb, const ScoreFunctions &given, LaneAxis axis)
    : vb(vb), functions(given), axis(axis), scoreMod(vb, given.scoreMod, axis), maskMod(vb, given.maskMod, axis),
      weightMod(vb, given.weightMod, axis) {
  if (Value &mask = functions.mask.value)
    mask = viewAsBytes(vb.b, vb.loc, mask);
}

std::optional<double> LaneCode::getOnlyScale() const {
  if (!functions.hasOnlyScaleAndMasks() || functions.mayRemove())
    return std::nullopt;
  return functions.scale.value_or(1);
}

void LaneCode::prepare(ArrayRef<Value> newQueries, Value newHead) {
  queries.assign(newQueries.begin(), newQueries.end());
  head = newHead;
  for (LaneRegion *region : {&scoreMod, &maskMod, &weightMod})
    region->prepare(queries, head);
}

/// Key `key`, or the keys from it on, of number `v` of the block.
class LaneCode::Position : public ScorePosition {
public:
  Position(LaneCode &code, Value key, unsigned v, Value mask)
      : ScorePosition(code.vb.b, code.vb.loc, code.vb.elementType), code(code), key(key), v(v), mask(mask) {}

  Value load(const ScoreOperand &operand) override { return code.loadDense(operand, key, code.queries[v], mask); }
  Value evaluate(Region &region, ValueRange arguments) override {
    LaneRegion &lanes = &region == code.functions.maskMod    ? code.maskMod
                        : &region == code.functions.scoreMod ? code.scoreMod
                                                             : code.weightMod;
    return lanes.evaluate(v, key, arguments.empty() ? Value() : arguments.front(), mask);
  }
  Value getConstant(double value) override { return code.vb.splat(value); }
  Value broadcast(Value scalar) override { return code.vb.broadcast(code.vb.convert(scalar, type)); }
  Value convert(Value x, Type to) override { return code.vb.convert(x, to); }
  Value cap(Value score, double) override { return code.cap(score).front(); }

private:
  LaneCode &code;
  Value key;
  unsigned v;
  Value mask;
};

Value LaneCode::apply(Value raw, Value key, unsigned v, Value mask) {
  Position at(*this, key, v, mask);
  return evaluateScore(at, functions, raw);
}

Value LaneCode::scale(Value raw) {
  Position at(*this, {}, 0, {});
  ScoreFunctions factor;
  factor.scale = functions.scale;
  factor.scaleValue = functions.scaleValue;
  return scaleScore(at, factor, raw);
}

Value LaneCode::modify(Value raw, Value key, unsigned v, Value mask) {
  Position at(*this, key, v, mask);
  return scaleScore(at, functions, raw);
}

Value LaneCode::remove(Value score, Value key, unsigned v, Value mask) {
  Position at(*this, key, v, mask);
  return maskScore(at, functions, score);
}

Value LaneCode::modifyWeight(Value weight, Value key, unsigned v, Value mask) {
  Position at(*this, key, v, mask);
  return evaluateWeight(at, functions, weight);
}

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
    Value tanhRatio = buildSmallTanhRatio(
        multiply(ratio, ratio), [&](double value) { return vb.splat(value); },
        [&](Value x, Value y, Value z) { return vb.multiplyAdd(x, y, z); });
    small.push_back(multiply(s, tanhRatio));
  }
  scf::YieldOp::create(b, loc, small);
  return Values(branch.getResults());
}

/// A vector where the operand has the dimension that lanes are; otherwise a scalar for all of them.
Value LaneCode::loadDense(const ScoreOperand &given, Value key, Value query, Value mask) {
  Operand operand{given.value, given.map};
  SmallVector<Value> domain(operand.map.getNumDims());
  unsigned numBatch = functions.numBatch, lanePosition = axis == LaneAxis::Queries ? numBatch : numBatch + 1;
  if (head)
    domain[numBatch - 1] = head;
  domain[numBatch] = query;
  domain[numBatch + 1] = key;
  Values indices = operand.getIndices(vb, domain);
  auto widen = [&](Value x) {
    return isa<FloatType>(getElementTypeOrSelf(x.getType())) ? vb.convert(x, vb.elementType) : x;
  };
  if (operand.map.isFunctionOfDim(lanePosition))
    return widen(operand.isInnermost(lanePosition) ? vb.loadMasked(operand.memref, indices, mask)
                                                   : vb.loadStrided(operand, lanePosition, domain, mask));
  return vb.broadcast(widen(memref::LoadOp::create(vb.b, vb.loc, operand.memref, indices)));
}
