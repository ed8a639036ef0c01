//===- DecomposeStep.cpp - an online_step as small ops --------------------===//
//
// The recurrence of the online softmax (Milakov and Gimelshein, arXiv:1805.02867)
// stands here alone: the reference makes linalg of these ops, GPU kernels are
// compiled from them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepDomain.h"
#include "attn/IR/ScoreFunctions.h"
#include "attn/IR/Words.h"

using namespace mlir;
using namespace attn;

using enum DimKind;

/// True where scores are products times a positive constant, and keys are only removed: the constant may stand in the
/// exponent, as it does not change which score is the largest.
static bool isScaleAll(const ScoreFunctions &functions) {
  return functions.hasOnlyScaleAndMasks() && functions.scale.value_or(1) > 0;
}

FailureOr<SmallVector<Value>> attn::decomposeStep(OpBuilder &b, OnlineStepOp step) {
  if (getPackedSequences(step) || failed(checkWordsKept(step, MapScoresOp::getOperationName())))
    return failure();
  Location loc = step.getLoc();
  StepDomain domain(b, step, getElementTypeOrSelf(step.getAcc().getType()));
  SmallVector<AffineMap> maps = getMaps(step);
  unsigned next = 3;
  AffineMap biasMap = step.getBias() ? maps[next++] : AffineMap(),
            maskMap = step.getMask() ? maps[next++] : AffineMap();
  AffineMap accMap = maps[next], maxMap = maps[next + 1], sumMap = maps[next + 2];
  AffineMap tileMap = domain.getMap({Query, Key}), rowMap = domain.getMap({Query});
  InstructionAttr instruction;
  if (auto schedule = step.getSchedule())
    instruction = InstructionAttr::get(b.getContext(), schedule->getInfo().instruction);
  std::optional<int64_t> keys = getConstantIntValue(domain.sizes[getDomainPosition(step, Key)]);
  auto functions = ScoreFunctions::of(step);
  bool isPartial = functions.mayRemove() || keys.value_or(0) == 0, isScaled = isScaleAll(functions);
  FloatAttr scale = step.getScaleAttr() && !step.getScale()->isExactlyValue(1) ? step.getScaleAttr() : FloatAttr();

  // s = q k^T
  Value scores = domain.createTile({Query, Key});
  auto product = ProductOp::create(b, loc, domain.getResultTypes(scores), step.getQuery(), step.getKey(), scores,
                                   step.getScoreWeight(), Contraction::Scores, /*accumulate=*/false, instruction,
                                   domain.restrict({Query, Key, HeadSize}, {maps[0], maps[1], tileMap}));
  scores = domain.getResult(product, 0, scores);

  // s = the score functions and masks of it
  if (!isScaled || step.getMask() || !step.getMaskMod().empty()) {
    SmallVector<AffineMap> mapMaps = {tileMap};
    for (AffineMap map : {biasMap, maskMap})
      if (map)
        mapMaps.push_back(map);
    mapMaps.push_back(tileMap);
    Value mapped = domain.createTileAfter(scores, {Query, Key});
    auto map = MapScoresOp::create(b, loc, domain.getResultTypes(mapped), scores, step.getBias(), step.getMask(),
                                   mapped, step.getScaleValue(), isScaled ? FloatAttr() : scale,
                                   domain.getKvHead({&step.getScoreMod(), &step.getMaskMod()}),
                                   domain.restrict({Query, Key}, mapMaps));
    map.getMaskMod().takeBody(step.getMaskMod());
    map.getScoreMod().takeBody(step.getScoreMod());
    scores = domain.getResult(map, 0, mapped);
  }
  // Beside a bias the factor is 1, and log2 e alone stands in the exponent.
  FloatAttr one = b.getF64FloatAttr(1), ofScores = step.getScaleAttr() ? step.getScaleAttr() : one;
  FloatAttr inExponent = isScaled ? ofScores : step.getBias() && step.getScoreMod().empty() ? one : FloatAttr();

  // n = max(m, max_j s_j)
  Value newMax = domain.createTile({Query});
  auto max = RowMaxOp::create(b, loc, domain.getResultTypes(newMax), scores, step.getRowMax(), newMax, inExponent,
                              isPartial, step.getExactMax(), domain.restrict({Query, Key}, {tileMap, maxMap, rowMap}));
  newMax = domain.getResult(max, 0, newMax);

  // alpha = exp(m - n): acc = alpha acc, l = alpha l, m = n
  SmallVector<Value> state = {step.getAcc(), step.getRowMax(), step.getRowSum()};
  auto rescale = RescaleOp::create(b, loc, domain.getResultTypes(state), newMax, state[0], state[1], state[2],
                                   domain.restrict({Query, DimKind::ValueSize}, {rowMap, accMap, maxMap, sumMap}));
  for (auto [i, value] : llvm::enumerate(state))
    value = domain.getResult(rescale, i, value);

  // p = exp(s - n), l = l + sum_j p, p = weight_mod(p)
  Value tile = domain.createTileAfter(scores, {Query, Key});
  auto weights = WeightsOp::create(b, loc, domain.getResultTypes({tile, state[2]}), scores, newMax, tile, state[2],
                                   inExponent, domain.getKvHead({&step.getWeightMod()}),
                                   domain.restrict({Query, Key}, {tileMap, rowMap, tileMap, sumMap}));
  weights.getWeightMod().takeBody(step.getWeightMod());
  state[2] = domain.getResult(weights, 1, state[2]);

  // acc = acc + p v
  auto sum = ProductOp::create(b, loc, domain.getResultTypes(state[0]), domain.getResult(weights, 0, tile),
                               step.getValue(), state[0], /*score_weight=*/Value(), Contraction::Values,
                               /*accumulate=*/true, instruction,
                               domain.restrict({Query, Key, DimKind::ValueSize}, {tileMap, maps[2], accMap}));
  state[0] = domain.getResult(sum, 0, state[0]);
  return domain.isOnTensors ? FailureOr<SmallVector<Value>>(state) : SmallVector<Value>();
}
