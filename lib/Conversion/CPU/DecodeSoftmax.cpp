//===- DecodeSoftmax.cpp - the weights of a decode tile -------------------===//
//
// After the first tiles of a row its maximum seldom moves: a comparison of the tile's
// scores with it is all that is left of alpha then. l has a sum a lane, added up at
// the end of the step.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeStep.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

static const double kMinusInf = -std::numeric_limits<double>::infinity();

/// for each vector of keys: body(first key, mask of the keys that there are, carried).
Values DecodeStepLowering::forEachKeyVector(ValueRange init, function_ref<Values(Value, Value, ValueRange)> body) {
  if (numKeys)
    return keepRolled(forEachVector(vb, *numKeys, init, body));
  return keepRolled(vb.loop(vb.index(0), keyCount, vb.lanes, init, [&](Value first, ValueRange carried) {
    return body(first, vb.createMask(vb.subtract(keyCount, first)), carried);
  }));
}

/// The polynomial's coefficients fill a small register file: there, one vector at a time.
Values DecodeStepLowering::keepRolled(Values results) {
  if (auto loop = results.front().getDefiningOp<scf::ForOp>(); loop && vb.target.vectorRegisters < kManyRegisters)
    attn::keepRolled(loop);
  return results;
}

Value DecodeStepLowering::isAnyGreater(Value x, Value y) {
  Value greater = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
  return vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, greater);
}

void DecodeStepLowering::beginSums() {
  vb.loop(rows.getCount(), 1, {}, [&](Value row, ValueRange) {
    vb.store(vb.splat(0), laneSums, {row, vb.index(0)});
    return Values();
  });
}

void DecodeStepLowering::endSums() {
  auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, loc, x, y); };
  vb.loop(rows.getCount(), 1, {}, [&](Value row, ValueRange) {
    Values position = at(row, {}, {}, {});
    Value sum = reduceLanes(vb, vb.load(laneSums, {row, vb.index(0)}), add);
    storeRowScalar(vb, add(sum, loadRowScalar(vb, rowSum, position)), rowSum, position);
    return Values();
  });
}

/// m' of a row with a larger score; l and acc become alpha l and alpha acc, alpha = 2^((m - m') log2 e).
Value DecodeStepLowering::moveMaximum(Value row, Value best, Value oldMax) {
  Values position = at(row, {}, {}, {});
  Value newMax = vb.max(reduceLanes(vb, best, [&](Value x, Value y) { return vb.max(x, y); }), oldMax);
  storeRowScalar(vb, newMax, rowMax, position);
  Value alpha = vb.expDifference(oldMax, newMax);
  auto scale = [&](Value x) -> Value { return arith::MulFOp::create(b, loc, x, alpha); };
  storeRowScalar(vb, scale(loadRowScalar(vb, rowSum, position)), rowSum, position);
  vb.store(scale(vb.load(laneSums, {row, vb.index(0)})), laneSums, {row, vb.index(0)});
  forEachVector(vb, valueSize, {}, [&](Value column, Value mask, ValueRange) {
    Values indices = acc.getIndices(vb, at(row, {}, {}, column));
    vb.storeMasked(scale(vb.loadMasked(acc.memref, indices, mask)), acc.memref, indices, mask);
    return Values();
  });
  return newMax;
}

Value DecodeStepLowering::emitSoftmax(Value row) {
  laneCode.prepare(rows.getQuery(row), rows.getHead(row));
  std::function<Value(Value)> loadScores = getScoresOfRow(row);
  Values best = forEachKeyVector(vb.splat(kMinusInf), [&](Value first, Value mask, ValueRange carried) {
    Value score = laneCode.apply(loadScores(first), vb.add(places[0], first), 0, mask);
    if (mask)
      score = vb.select(mask, score, vb.splat(kMinusInf));
    vb.store(score, scores, {row, first});
    return Values{vb.max(score, carried.front())};
  });
  Value oldMax = loadRowScalar(vb, rowMax, at(row, {}, {}, {}));
  auto branch = scf::IfOp::create(b, loc, vb.vectorType, isAnyGreater(best.front(), oldMax), /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, moveMaximum(row, best.front(), oldMax));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, oldMax);
  }
  Value max = branch.getResult(0);
  // A row that has kept nothing yet: any finite maximum will do, as every p of it is selected to 0.
  if (laneCode.isPartial())
    max = vb.select(vb.isEqual(max, kMinusInf), vb.splat(0), max);
  Type weightType = getElementTypeOrSelf(weights.getType());
  Values sums = forEachKeyVector(vb.splat(0), [&](Value first, Value mask, ValueRange carried) {
    Value score = vb.load(scores, {row, first}), weight = vb.expDifference(score, max, weightType);
    if (mask || laneCode.isPartial())
      weight = vb.select(vb.isEqual(score, kMinusInf), vb.splat(0), weight);
    Value modified = laneCode.modifyWeight(weight, vb.add(places[0], first), 0, mask);
    vb.store(vb.convert(modified, weightType), weights, {row, first});
    return Values{arith::AddFOp::create(b, loc, carried.front(), weight)};
  });
  Value sum = arith::AddFOp::create(b, loc, vb.load(laneSums, {row, vb.index(0)}), sums.front());
  vb.store(sum, laneSums, {row, vb.index(0)});
  return best.front();
}
