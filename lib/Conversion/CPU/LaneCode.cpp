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

class LaneCode::Position : public ScorePosition {
public:
  Position(LaneCode &code, LanePosition at)
      : ScorePosition(code.vb.b, code.vb.loc, code.vb.elementType), code(code), at(at) {}

  Value load(const ScoreOperand &operand) override { return code.loadDense(operand, at); }
  Value evaluate(Region &region, ValueRange arguments) override {
    LaneRegion &lanes = &region == code.functions.maskMod    ? code.maskMod
                        : &region == code.functions.scoreMod ? code.scoreMod
                                                             : code.weightMod;
    return lanes.evaluate(at, arguments);
  }
  Value getConstant(double value) override { return code.vb.splat(value); }
  Value broadcast(Value scalar) override { return code.vb.broadcast(code.vb.convert(scalar, type)); }
  Value convert(Value x, Type to) override { return code.vb.convert(x, to); }

private:
  LaneCode &code;
  LanePosition at;
};

Value LaneCode::apply(Value raw, LanePosition at) {
  Position position(*this, at);
  return evaluateScore(position, functions, raw);
}

Value LaneCode::scale(Value raw) {
  Position position(*this, {});
  ScoreFunctions factor;
  factor.scale = functions.scale;
  factor.scaleValue = functions.scaleValue;
  return scaleScore(position, factor, raw);
}

Values LaneCode::modify(ValueRange raw, ArrayRef<LanePosition> at) {
  if (!functions.scoreMod)
    return llvm::map_to_vector(raw, [&](Value x) { return scale(x); });
  Type type = functions.scoreMod->getArgument(0).getType();
  Values modified = scoreMod.evaluate(at, [&](size_t i) { return Values{vb.convert(scale(raw[i]), type)}; });
  return llvm::map_to_vector(modified, [&](Value x) { return vb.convert(x, vb.elementType); });
}

Value LaneCode::remove(Value score, LanePosition at) {
  Position position(*this, at);
  return maskScore(position, functions, score);
}

Value LaneCode::modifyWeight(Value weight, LanePosition at) {
  Position position(*this, at);
  return evaluateWeight(position, functions, weight);
}

/// c * tanh(s / c). Most models' scores are far below their cap: a short polynomial does where all of a block are.
static Values capAll(VectorBuilder &vb, CapOp cap, ValueRange scores) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  auto applyFormula = [&] { return llvm::map_to_vector(scores, [&](Value s) { return cap.buildFormula(b, loc, s); }); };
  if (!vb.elementType.isF32() || scores.size() == 1)
    return applyFormula();
  double limit = cap.getLimit().convertToDouble();
  auto multiply = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, loc, x, y); };
  Values ratios = llvm::map_to_vector(scores, [&](Value s) { return multiply(s, vb.splat(1 / limit)); });
  // A NaN may remain the maximum and hide other values, so it counts as large.
  Value largest = math::AbsFOp::create(b, loc, ratios.front());
  for (Value ratio : ArrayRef(ratios).drop_front())
    largest = vb.max(math::AbsFOp::create(b, loc, ratio), largest);
  Value isLarge = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT, largest, vb.splat(kSmallRatio));
  Value anyLarge = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, isLarge);
  auto branch = scf::IfOp::create(b, loc, scores.getTypes(), anyLarge, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, applyFormula());
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

Values attn::cpu::applyScoreFunction(VectorBuilder &vb, ScoreFunction function, ValueRange scores) {
  if (auto cap = dyn_cast<CapOp>(function.getOperation()))
    return capAll(vb, cap, scores);
  return llvm::map_to_vector(scores, [&](Value score) { return function.buildFormula(vb.b, vb.loc, score); });
}

/// A vector where the operand has the dimension that lanes are; otherwise a scalar for all of them.
Value LaneCode::loadDense(const ScoreOperand &given, LanePosition at) {
  Operand operand{given.value, given.map};
  SmallVector<Value> domain(operand.map.getNumDims());
  unsigned numBatch = functions.numBatch, lanePosition = axis == LaneAxis::Queries ? numBatch : numBatch + 1;
  if (head)
    domain[numBatch - 1] = head;
  domain[numBatch] = queries[at.v];
  domain[numBatch + 1] = at.key;
  Values indices = operand.getIndices(vb, domain);
  auto widen = [&](Value x) {
    return isa<FloatType>(getElementTypeOrSelf(x.getType())) ? vb.convert(x, vb.elementType) : x;
  };
  if (operand.map.isFunctionOfDim(lanePosition))
    return widen(operand.isInnermost(lanePosition) ? vb.loadMasked(operand.memref, indices, at.mask)
                                                   : vb.loadStrided(operand, lanePosition, domain, at.mask));
  return vb.broadcast(widen(memref::LoadOp::create(vb.b, vb.loc, operand.memref, indices)));
}
