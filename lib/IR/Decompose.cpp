//===- Decompose.cpp - the formulas of the attn ops as linalg -------------===//
//
// AggregatedOpInterface: each op on tensors becomes linalg.generic ops that
// materialise what the op only implies. Exact, slow and plain: what
// attn-lower-to-reference runs, and what a compiler without our kernels falls
// back to.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "BackwardFormulas.h"
#include "DecomposeLinear.h"
#include "StepFormulas.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

using enum DimKind;

Values decomposeScores(Formula &f, ScoresOp op) {
  // Accumulated wide, then rounded to the type of the scores.
  AffineMap wideMap = f.getMap({Query, Key});
  // attn-expand-layers has made products of the projections; only the weight w of additive scoring is left.
  if (op.getKind() && (*op.getKind() == ScoreKind::General || op.getWeights().size() != 1))
    return {};
  Value weight = op.getKind() ? op.getWeights().front() : Value();
  Value wide = buildScores(f, op.getQuery(), f.maps[0], op.getKey(), f.maps[1], f.empty({Query, Key}), wideMap, weight);
  return {f.generic({Query, Key}, {}, {wide}, {wideMap}, op.getOutput(), f.maps[2],
                    [](OpBuilder &, Location, ValueRange x) { return x[0]; })};
}

Values decomposeSoftcap(Formula &f, SoftcapOp op) {
  Region region;
  appendCap(f.builder, op.getLoc(), op.getSoftcap().convertToDouble(), f.type, region);
  ScoreFunctions functions;
  functions.scoreMod = &region;
  return {buildElementwise(f, functions)};
}

Values decomposeMask(Formula &f, MaskOp op) {
  auto functions = ScoreFunctions::of(op);
  Region predicate;
  if (hasPredicate(op)) {
    buildPredicate(f.builder, op, predicate);
    functions.maskMod = &predicate;
  }
  return {buildElementwise(f, functions)};
}

/// The score of a sink for a row of the generic being built: -inf for rows past the query length.
Value getSink(Formula &f, OpBuilder &b, Location loc, SoftmaxOp op, Value sink) {
  if (!op.getQLengths())
    return sink;
  auto at = [&](unsigned position) -> Value { return linalg::IndexOp::create(b, loc, position); };
  Value length = tensor::ExtractOp::create(b, loc, op.getQLengths(), at(0));
  length = arith::IndexCastOp::create(b, loc, b.getIndexType(), length);
  Value isRow = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at(f.numBatch), length);
  return arith::SelectOp::create(b, loc, isRow, sink, createFloatConstant(b, loc, f.type, -kInfinity));
}

Values decomposeSoftmax(Formula &f, SoftmaxOp op) {
  AffineMap rowMap = f.getMap({Query}), wideMap = f.getMap({Query, Key}), sinkMap;
  Value max = buildRowMax(f, op.getInput(), f.maps[0], f.filled({Query}, -kInfinity), rowMap), sinks;
  if (op.getSink()) {
    sinkMap = AffineMap::get(f.sizes.size(), 0, {getAffineDimExpr(f.numBatch - 1, op.getContext())}, op.getContext());
    sinks = f.generic({Query}, {}, {op.getSink()}, {sinkMap}, f.empty({Query}), rowMap,
                      [&](OpBuilder &b, Location loc, ValueRange x) { return getSink(f, b, loc, op, x[0]); });
    max = f.generic({Query}, {}, {max, sinks}, {rowMap, rowMap}, f.empty({Query}), rowMap,
                    [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                      return arith::MaximumFOp::create(b, loc, x[0], x[1]);
                    });
  }
  Value weights =
      f.generic({Query, Key}, {}, {op.getInput(), max}, {f.maps[0], rowMap}, f.empty({Query, Key}), wideMap,
                [&](OpBuilder &b, Location loc, ValueRange x) { return guardedExp(f, b, loc, x[0], x[1]); });
  Value sum = f.filled({Query}, 0);
  if (sinks)
    sum = f.generic({Query}, {}, {sinks, max}, {rowMap, rowMap}, f.empty({Query}), rowMap,
                    [&](OpBuilder &b, Location loc, ValueRange x) { return guardedExp(f, b, loc, x[0], x[1]); });
  sum = buildRowSum(f, weights, wideMap, sum, rowMap);
  Values results = {f.generic({Query, Key}, {}, {weights, sum}, {wideMap, rowMap}, op.getOutput(), f.maps[1],
                              [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                                Value zero = createFloatConstant(b, loc, f.type, 0);
                                Value isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x[1], zero);
                                Value ratio = arith::DivFOp::create(b, loc, x[0], x[1]);
                                return arith::SelectOp::create(b, loc, isEmpty, zero, ratio);
                              })};
  if (op.getLse())
    results.push_back(buildRowResults(f, RowResult::Lse, max, rowMap, sum, rowMap, op.getLse(), f.maps[2]));
  return results;
}

Values decomposeDropout(Formula &f, DropoutOp op) {
  Region region;
  buildDropout(f.builder, op, op.getDropoutSeed(), op.getDropoutOffset(), op.getDropoutP().convertToDouble(), f.type,
               region);
  ScoreFunctions functions;
  functions.weightMod = &region;
  return {buildElementwise(f, functions, evaluateWeight)};
}

Values decomposeApply(Formula &f, ApplyOp op) {
  AffineMap wideMap = f.getMap({Query, DimKind::ValueSize});
  Value wide = buildApply(f, op.getWeights(), f.maps[0], op.getValue(), f.maps[1],
                          f.filled({Query, DimKind::ValueSize}, 0), wideMap);
  return {f.generic({Query, DimKind::ValueSize}, {}, {wide}, {wideMap}, op.getOutput(), f.maps[2],
                    [](OpBuilder &, Location, ValueRange x) { return x[0]; })};
}

Values decomposeInitState(Formula &f, InitStateOp op) {
  Value acc = f.fill(op.getAcc(), 0);
  if (op.getStart().empty())
    return {acc, f.fill(op.getRowMax(), -kInfinity), f.fill(op.getRowSum(), 0)};
  // m = start, l = (m == -inf) ? 0 : 1
  Value max = f.generic({Query}, {}, {}, {}, op.getRowMax(), f.maps[1], [&](OpBuilder &b, Location, ValueRange) {
    Value start = inlineRegion(b, op.getStart(), {}, [&](IndexOp index) { return f.getIndex(b, index); }).front();
    return f.convert(b, start, f.type);
  });
  Value sum =
      f.generic({Query}, {}, {max}, {f.maps[1]}, op.getRowSum(), f.maps[2],
                [&](OpBuilder &b, Location loc, ValueRange x) -> Value { return guardedExp(f, b, loc, x[0], x[0]); });
  return {acc, max, sum};
}

/// One step per segment, in order.
Values splitSegments(OpBuilder &builder, OnlineStepOp op) {
  Values state = {op.getAcc(), op.getRowMax(), op.getRowSum()};
  for (auto [key, value] : llvm::zip_equal(op.getKeySegments(), op.getValueSegments())) {
    auto step = cast<OnlineStepOp>(builder.clone(*op));
    step.getMoreKeysMutable().clear();
    step.getMoreValuesMutable().clear();
    step.getKeyMutable().assign(key);
    step.getValueMutable().assign(value);
    step.getAccMutable().assign(state[0]);
    step.getRowMaxMutable().assign(state[1]);
    step.getRowSumMutable().assign(state[2]);
    state.assign(step->result_begin(), step->result_end());
  }
  return state;
}

Values decomposeMergeStates(Formula &f, MergeStatesOp op) {
  AffineMap rowMap = f.getMap({Query});
  Value max = f.generic(
      {Query}, {}, {op.getOtherMax(), op.getRowMax()}, {f.maps[1], f.maps[4]}, f.empty({Query}), rowMap,
      [](OpBuilder &b, Location loc, ValueRange x) -> Value { return arith::MaximumFOp::create(b, loc, x[0], x[1]); });
  Value otherFactor = buildRescale(f, op.getOtherMax(), f.maps[1], max, rowMap);
  Value ownFactor = buildRescale(f, op.getRowMax(), f.maps[4], max, rowMap);
  // f * x + f' * x'
  auto combine = [&](ArrayRef<DimKind> dims, Value other, AffineMap otherMap, Value own, AffineMap ownMap) {
    return f.generic(dims, {}, {otherFactor, other, ownFactor}, {rowMap, otherMap, rowMap}, own, ownMap,
                     [](OpBuilder &b, Location loc, ValueRange x) -> Value {
                       Value left = arith::MulFOp::create(b, loc, x[0], x[1]);
                       Value right = arith::MulFOp::create(b, loc, x[2], x[3]);
                       return arith::AddFOp::create(b, loc, left, right);
                     });
  };
  Value acc = combine({Query, DimKind::ValueSize}, op.getOtherAcc(), f.maps[0], op.getAcc(), f.maps[3]);
  Value sum = combine({Query}, op.getOtherSum(), f.maps[2], op.getRowSum(), f.maps[5]);
  Value newMax = f.generic({Query}, {}, {max}, {rowMap}, op.getRowMax(), f.maps[4],
                           [](OpBuilder &, Location, ValueRange x) { return x[0]; });
  return {acc, newMax, sum};
}

/// A generic reads exactly its domain: the padding rows of a state are sliced off first.
Value dropPadding(Formula &f, Value state, AffineMap map) {
  OpBuilder &b = f.builder;
  SmallVector<OpFoldResult> offsets(f.sizes.size(), b.getIndexAttr(0));
  return createSlice(b, f.loc, state, getOperandSlice(b, f.loc, map, offsets, f.sizes));
}

/// Merges the two states into the results of each row; out = factor * acc + old factor * out.
Values decomposeMergingFinalize(Formula &f, FinalizeOp op, Value acc, Value max, Value sum) {
  AffineMap rowMap = f.getMap({Query});
  Values inputs = {max, sum};
  SmallVector<AffineMap> inputMaps = {f.maps[1], f.maps[2]};
  SmallVector<std::pair<RowResult, Value>> olds = getRowResults(op);
  for (auto [map, old] : llvm::zip_equal(ArrayRef(f.maps).drop_front(4), olds)) {
    inputs.push_back(old.second);
    inputMaps.push_back(map);
  }
  auto build = [&](Value output, AffineMap map,
                   function_ref<Value(OpBuilder &, Location, MergedRow, ValueRange)> pick) {
    return f.generic({Query}, {}, inputs, inputMaps, output, map, [&](OpBuilder &b, Location loc, ValueRange x) {
      // The old value of the result being written is the element of the output operand.
      Values read(x);
      for (auto [i, old] : llvm::enumerate(olds))
        if (old.second == output)
          read[2 + i] = read.back();
      Value lse, oldMax, logSum;
      for (auto [i, old] : llvm::enumerate(olds))
        (old.first == RowResult::Lse ? lse : old.first == RowResult::Max ? oldMax : logSum) = read[2 + i];
      return pick(b, loc, mergeRow(b, loc, x[0], x[1], lse, oldMax, logSum), read);
    });
  };
  auto pickFactor = [](OpBuilder &, Location, MergedRow row, ValueRange) { return row.factor; };
  auto pickOld = [](OpBuilder &, Location, MergedRow row, ValueRange) { return row.oldFactor; };
  Value factor = build(f.empty({Query}), rowMap, pickFactor), oldFactor = build(f.empty({Query}), rowMap, pickOld);
  Values results = {f.generic({Query, DimKind::ValueSize}, {}, {acc, factor, oldFactor}, {f.maps[0], rowMap, rowMap},
                              op.getOutput(), f.maps[3], [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                                Value zero = createFloatConstant(b, loc, f.type, 0);
                                auto weigh = [&](Value y, Value by) -> Value {
                                  Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, by, zero);
                                  Value product = arith::MulFOp::create(b, loc, y, by);
                                  return arith::SelectOp::create(b, loc, isNone, zero, product);
                                };
                                return arith::AddFOp::create(b, loc, weigh(x[0], x[1]), weigh(x[3], x[2]));
                              })};
  for (auto [i, map] : llvm::enumerate(ArrayRef(f.maps).drop_front(4)))
    results.push_back(build(olds[i].second, map, [&](OpBuilder &b, Location loc, MergedRow row, ValueRange x) {
      return mergeRowResult(b, loc, olds[i].first, row, x[1], x[2 + i]);
    }));
  return results;
}

Values decomposeFinalize(Formula &f, FinalizeOp op) {
  Value acc = dropPadding(f, op.getAcc(), f.maps[0]), max = dropPadding(f, op.getRowMax(), f.maps[1]),
        sum = dropPadding(f, op.getRowSum(), f.maps[2]);
  if (op.getAccumulate())
    return decomposeMergingFinalize(f, op, acc, max, sum);
  auto isEmpty = [&](OpBuilder &b, Location loc, Value sum) -> Value {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, createFloatConstant(b, loc, f.type, 0));
  };
  Values results;
  // out = (l == 0) ? 0 : acc / l
  results.push_back(f.generic({Query, DimKind::ValueSize}, {}, {acc, sum}, {f.maps[0], f.maps[2]}, op.getOutput(),
                              f.maps[3], [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                                Value ratio = arith::DivFOp::create(b, loc, x[0], x[1]);
                                Value zero = createFloatConstant(b, loc, f.type, 0);
                                return arith::SelectOp::create(b, loc, isEmpty(b, loc, x[1]), zero, ratio);
                              }));
  for (auto [map, result] : llvm::zip_equal(ArrayRef(f.maps).drop_front(4), getRowResults(op)))
    results.push_back(buildRowResults(f, result.first, max, f.maps[1], sum, f.maps[2], result.second, map));
  return results;
}

/// out[i, c] = i < rows ? in[i, c] : 0, a boolean as a byte
Values decomposePack(Formula &f, PackOp op) {
  OpBuilder &b = f.builder;
  Type type = getElementTypeOrSelf(op.getOutput().getType());
  Value zero = arith::ConstantOp::create(b, f.loc, b.getZeroAttr(type));
  Value padded = linalg::FillOp::create(b, f.loc, zero, op.getOutput()).getResult(0);
  SmallVector<OpFoldResult> offsets(f.sizes.size(), b.getIndexAttr(0));
  Slice slice = getOperandSlice(b, f.loc, f.maps[1], offsets, f.sizes);
  if (llvm::any_of(f.sizes, [](OpFoldResult size) { return isConstantIntValue(size, 0); }))
    return {padded};
  Value rows = f.generic({Query, HeadSize}, {}, {op.getInput()}, {f.maps[0]}, createSlice(b, f.loc, padded, slice),
                         f.maps[1], [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
                           if (isa<FloatType>(type))
                             return f.widen(nested, x[0]);
                           if (x[0].getType() == type)
                             return x[0];
                           return arith::ExtUIOp::create(nested, loc, type, x[0]);
                         });
  return {tensor::InsertSliceOp::create(b, f.loc, rows, padded, slice.offsets, slice.sizes, slice.strides)};
}

} // namespace

FailureOr<SmallVector<Value>> attn::decompose(OpBuilder &builder, Operation *op, Type computeType) {
  Type operand = op->getOperand(0).getType();
  if (!isa<RankedTensorType>(operand) || isInRegisters(operand))
    return failure();
  if (auto sdpa = dyn_cast<SdpaOp>(op)) {
    if (sdpa.getCuSeqlensQ())
      return padSequences(builder, sdpa);
    Type type = computeType ? computeType : getAccumulationType(getElementTypeOrSelf(sdpa.getQuery().getType()));
    FailureOr<FinalizeOp> finalize = buildOnlineForm(builder, sdpa, type, StateLayout::RowMajor);
    if (failed(finalize))
      return failure();
    return Values(finalize->getResults());
  }
  if (auto backward = dyn_cast<SdpaBackwardOp>(op)) {
    if (backward.getCuSeqlensQ())
      return padSequences(builder, backward);
    Type type = computeType ? computeType : getAccumulationType(getElementTypeOrSelf(backward.getQuery().getType()));
    return buildBackwardForm(builder, backward, type);
  }
  if (auto linear = dyn_cast<LinearOp>(op))
    return decomposeLinear(builder, linear, computeType ? computeType : getElementTypeOrSelf(linear.getState()));
  if (auto linear = dyn_cast<LinearBackwardOp>(op))
    return decomposeLinearBackward(builder, linear,
                                   computeType ? computeType : getElementTypeOrSelf(linear.getState()));
  if (getPackedSequences(op))
    return failure();
  // Elements split into parts exist only in tiles, which kernels read; the reference has none.
  if (isa<OnlineStepOp, PackOp>(op))
    for (auto [operand, map] : llvm::zip(op->getOperands(), getMaps(op)))
      if (getNumParts(operand, map) > 1)
        return failure();
  if (auto step = dyn_cast<OnlineStepOp>(op))
    return step.getMoreKeys().empty() ? decomposeStep(builder, step) : splitSegments(builder, step);
  bool hasState = isa<InitStateOp, MergeStatesOp, FinalizeOp, ProductOp, MapScoresOp, RowMaxOp, RescaleOp, WeightsOp,
                      RowDeltaOp, BackwardStepOp, ScoreGradientsOp>(op);
  Value typed = TypeSwitch<Operation *, Value>(op)
                    .Case<ProductOp>([](auto product) { return product.getOutput(); })
                    .Case<RowDeltaOp, BackwardStepOp>([](auto row) { return row.getDelta(); })
                    .Default([](Operation *op) { return op->getOperand(0); });
  Type elementType = getElementTypeOrSelf(typed.getType());
  Type type = hasState || !computeType ? getAccumulationType(elementType) : computeType;
  Formula f(builder, op, type);
  return TypeSwitch<Operation *, FailureOr<Values>>(op)
      .Case<ScoresOp>([&](auto op) -> FailureOr<Values> {
        Values values = decomposeScores(f, op);
        return values.empty() ? FailureOr<Values>(failure()) : values;
      })
      .Case<ScaleOp, ModifyOp, MapScoresOp>(
          [&](auto op) { return Values{buildElementwise(f, ScoreFunctions::of(op))}; })
      .Case<SoftcapOp>([&](auto op) { return decomposeSoftcap(f, op); })
      .Case<MaskOp>([&](auto op) { return decomposeMask(f, op); })
      .Case<DropoutOp>([&](auto op) { return decomposeDropout(f, op); })
      .Case<SoftmaxOp>([&](auto op) { return decomposeSoftmax(f, op); })
      .Case<ApplyOp>([&](auto op) { return decomposeApply(f, op); })
      .Case<InitStateOp>([&](auto op) { return decomposeInitState(f, op); })
      .Case<ProductOp>([&](auto op) { return decomposeProduct(f, op); })
      .Case<RowMaxOp>([&](auto op) { return decomposeRowMax(f, op); })
      .Case<RescaleOp>([&](auto op) { return decomposeRescale(f, op); })
      .Case<WeightsOp>([&](auto op) { return decomposeWeights(f, op); })
      .Case<RowDeltaOp>([&](auto op) { return decomposeRowDelta(f, op); })
      .Case<BackwardStepOp>([&](auto op) { return decomposeBackwardStep(f, op); })
      .Case<ScoreGradientsOp>([&](auto op) { return decomposeScoreGradients(f, op); })
      .Case<MergeStatesOp>([&](auto op) { return decomposeMergeStates(f, op); })
      .Case<FinalizeOp>([&](auto op) { return decomposeFinalize(f, op); })
      .Case<PackOp>([&](auto op) { return decomposePack(f, op); })
      .Default([](Operation *) { return failure(); });
}

#define ATTN_AGGREGATED_OP(OP)                                                                                         \
  FailureOr<SmallVector<Value>> OP::decomposeOperation(OpBuilder &builder) {                                           \
    return decompose(builder, *this, /*computeType=*/{});                                                              \
  }
ATTN_AGGREGATED_OP(ScoresOp)
ATTN_AGGREGATED_OP(ScaleOp)
ATTN_AGGREGATED_OP(ModifyOp)
ATTN_AGGREGATED_OP(SoftcapOp)
ATTN_AGGREGATED_OP(MaskOp)
ATTN_AGGREGATED_OP(SoftmaxOp)
ATTN_AGGREGATED_OP(DropoutOp)
ATTN_AGGREGATED_OP(ApplyOp)
ATTN_AGGREGATED_OP(SdpaOp)
ATTN_AGGREGATED_OP(InitStateOp)
ATTN_AGGREGATED_OP(OnlineStepOp)
ATTN_AGGREGATED_OP(MergeStatesOp)
ATTN_AGGREGATED_OP(FinalizeOp)
ATTN_AGGREGATED_OP(PackOp)
ATTN_AGGREGATED_OP(ProductOp)
ATTN_AGGREGATED_OP(MapScoresOp)
ATTN_AGGREGATED_OP(RowMaxOp)
ATTN_AGGREGATED_OP(RescaleOp)
ATTN_AGGREGATED_OP(WeightsOp)
ATTN_AGGREGATED_OP(LinearOp)
ATTN_AGGREGATED_OP(LinearBackwardOp)
ATTN_AGGREGATED_OP(SdpaBackwardOp)
ATTN_AGGREGATED_OP(RowDeltaOp)
ATTN_AGGREGATED_OP(BackwardStepOp)
ATTN_AGGREGATED_OP(ScoreGradientsOp)
#undef ATTN_AGGREGATED_OP
