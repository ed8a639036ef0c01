//===- DecomposeBackwardStep.cpp - a backward_step as small ops -----------===//
//
//   s = q k^T, dw = dout v^T, g = score_gradients(s, dw)      dq += g k
//   s^T = k q^T, dw^T = v dout^T, p^T, g^T likewise           dv += p^T dout, dk += g^T q
//
// The rows of tiles are those that sums belong to, so a block of warps keeps
// their sums in registers, and one kernel makes no gradient that another one adds
// to: every sum has one order (two kernels, and seven products for five, as
// without atomics in FlashAttention-2, Dao, arXiv:2307.08691). A step with all
// gradients has keys as rows, and adds dq += g k to memory, in an order that the
// blocks keep (attn.await_order): five products.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepDomain.h"

using namespace mlir;
using namespace attn;

using enum DimKind;

namespace {

/// Captured tensors are accumulated with tiles whose rows are queries, like dq.
bool hasQueryRows(BackwardStepOp step) {
  return !step.getDkey() && !step.getDvalue() && (step.getDquery() || !step.getDcaptures().empty());
}

class BackwardDecomposition {
public:
  BackwardDecomposition(OpBuilder &b, BackwardStepOp step)
      : b(b), loc(step.getLoc()), step(step), domain(b, step, getElementTypeOrSelf(step.getDelta().getType())),
        rows(hasQueryRows(step) ? Query : Key), columns(hasQueryRows(step) ? Key : Query) {
    for (auto [map, spec] : llvm::zip(getMaps(step), getOperandSpecs(step)))
      maps[spec.name] = map;
    if (auto schedule = step.getSchedule())
      instruction = InstructionAttr::get(b.getContext(), schedule->getInfo().instruction);
  }

  SmallVector<Value> build() {
    bool hasGradients = hasQueryRows(step) || step.getDkey();
    Value scores = multiplyRows({step.getQuery(), "query"}, {step.getKey(), "key"}, HeadSize), products;
    if (hasGradients)
      products = multiplyRows({step.getDout(), "dout"}, {step.getValue(), "value"}, DimKind::ValueSize);
    Value weights = step.getDvalue() ? domain.createTileAfter(scores, {rows, columns}) : Value(),
          gradients = hasGradients ? domain.createTileAfter(products, {rows, columns}) : Value();
    buildGradients(scores, products, weights, gradients);
    SmallVector<Value> results;
    Value sumsOfQueries = step.getDquery();
    if (sumsOfQueries && rows == Query)
      results.push_back(accumulate(gradients, {step.getKey(), "key"}, {sumsOfQueries, "dquery"}, HeadSize));
    if (Value sums = step.getDkey())
      results.push_back(accumulate(gradients, {step.getQuery(), "query"}, {sums, "dkey"}, HeadSize));
    if (Value sums = step.getDvalue())
      results.push_back(accumulate(weights, {step.getDout(), "dout"}, {sums, "dvalue"}, DimKind::ValueSize));
    if (sumsOfQueries && rows == Key) // after the products that it overlaps with
      results.insert(results.begin(),
                     accumulate(gradients, {step.getKey(), "key"}, {sumsOfQueries, "dquery"}, HeadSize));
    return domain.isOnTensors ? results : SmallVector<Value>();
  }

private:
  /// An operand with the name of its map.
  struct Named {
    Value value;
    StringRef name;
  };

  /// queries × keys, or, where keys are rows, keys × queries
  Value multiplyRows(Named ofQueries, Named ofKeys, DimKind depth) {
    Named lhs = rows == Query ? ofQueries : ofKeys, rhs = rows == Query ? ofKeys : ofQueries;
    Value output = domain.createTile({rows, columns});
    auto product = ProductOp::create(
        b, loc, domain.getResultTypes(output), lhs.value, rhs.value, output, /*score_weight=*/Value(),
        Contraction::Scores, /*accumulate=*/false, instruction,
        domain.restrict({rows, columns, depth}, {maps[lhs.name], maps[rhs.name], domain.getMap({rows, columns})}));
    return domain.getResult(product, 0, output);
  }

  /// Replaces weights and gradients, where present, by the results of the op.
  void buildGradients(Value scores, Value products, Value &weights, Value &gradients) {
    AffineMap tile = domain.getMap({rows, columns});
    SmallVector<AffineMap> opMaps = {tile, maps["lse"]};
    if (products)
      opMaps.append({tile, maps["delta"]});
    for (StringRef name : {"log_sum", "bias", "mask"})
      if (AffineMap map = maps[name])
        opMaps.push_back(map);
    SmallVector<Value> outputs;
    for (Value output : {weights, gradients})
      if (output) {
        opMaps.push_back(tile);
        outputs.push_back(output);
      }
    auto op = ScoreGradientsOp::create(
        b, loc, domain.getResultTypes(outputs), scores, step.getLse(), products, products ? step.getDelta() : Value(),
        step.getLogSum(), step.getBias(), step.getMask(), weights, gradients, step.getScaleValue(),
        /*statistics=*/Value(), step.getScaleAttr(),
        domain.getKvHead({&step.getMaskMod(), &step.getScoreMod(), &step.getScoreGrad(), &step.getWeightMod()}),
        domain.restrict({Query, Key}, opMaps));
    op.getMaskMod().takeBody(step.getMaskMod());
    op.getScoreMod().takeBody(step.getScoreMod());
    op.getScoreGrad().takeBody(step.getScoreGrad());
    op.getWeightMod().takeBody(step.getWeightMod());
    unsigned next = 0;
    for (Value *output : {&weights, &gradients})
      if (*output)
        *output = domain.getResult(op, next++, *output);
  }

  /// sums += factors × rhs, over the columns of the tile
  Value accumulate(Value factors, Named rhs, Named sums, DimKind width) {
    bool isOfQueries = sums.name == "dquery";
    DimKind sumRows = isOfQueries ? Query : Key, sumColumns = isOfQueries ? Key : Query;
    auto product = ProductOp::create(b, loc, domain.getResultTypes(sums.value), factors, rhs.value, sums.value,
                                     /*score_weight=*/Value(), Contraction::Values, /*accumulate=*/true, instruction,
                                     domain.restrict({sumRows, sumColumns, width}, {domain.getMap({rows, columns}),
                                                                                    maps[rhs.name], maps[sums.name]}));
    return domain.getResult(product, 0, sums.value);
  }

  OpBuilder &b;
  Location loc;
  BackwardStepOp step;
  StepDomain domain;
  DimKind rows, columns;
  llvm::StringMap<AffineMap> maps;
  InstructionAttr instruction;
};

} // namespace

FailureOr<SmallVector<Value>> attn::decomposeStep(OpBuilder &b, BackwardStepOp step) {
  auto schedule = dyn_cast_if_present<BlockAttr>(step.getSchedule().value_or(ScheduleAttr()));
  bool isFused = schedule && schedule.getFused() && step.getDquery() && step.getDkey() && step.getDvalue();
  bool hasOneKindOfRows = (step.getDquery() || !step.getDcaptures().empty()) != (step.getDkey() || step.getDvalue());
  bool addsInRegions = !step.getDcaptures().empty() && isa<TensorType>(step.getDelta().getType());
  if (getPackedSequences(step) || !(hasOneKindOfRows || isFused) || step.getDbias() || addsInRegions)
    return failure();
  return BackwardDecomposition(b, step).build();
}
