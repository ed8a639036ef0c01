//===- PrefillProducts.cpp - the two products of a prefill tile -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PrefillProducts.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <numeric>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Most keys per iteration of a loop by lanes: the loop overhead is then small beside the products.
static constexpr int64_t kStepsAtOnce = 4;

std::unique_ptr<PrefillProducts> attn::cpu::createPrefillProducts(Instruction instruction) {
  switch (instruction) {
  case Instruction::FMALanes: return std::make_unique<FMALaneProducts>();
  case Instruction::Pairs: return std::make_unique<PairProducts>();
  case Instruction::Quads: return std::make_unique<QuadProducts>();
  case Instruction::AMX: return std::make_unique<AMXProducts>();
  default: return std::make_unique<FMAProducts>();
  }
}

//===----------------------------------------------------------------------===//
// Multiply-adds
//===----------------------------------------------------------------------===//

static Values getZeros(const PrefillTile &t, int64_t rows, const LaneBlock &block) {
  return Values(rows * block.vectors, t.vb.splat(0));
}

Values FMAProducts::getScores(const PrefillTile &t, ValueRange keys, const LaneBlock &block) const {
  VectorBuilder &vb = t.vb;
  // Additive scoring: w_d tanh(q_d + k_d) where the product has q_d k_d.
  auto addScore = [&](Value d, Value k, Value q, Value sum) -> Value {
    Value weight = memref::LoadOp::create(vb.b, vb.loc, t.scoreWeight, d);
    Value tanh = math::TanhOp::create(vb.b, vb.loc, arith::AddFOp::create(vb.b, vb.loc, q, k));
    return vb.multiplyAdd(vb.broadcast(vb.convert(weight, vb.elementType)), tanh, sum);
  };
  return emitRegisterKernel(
      vb, keys.size(), block.vectors, vb.index(t.sizes.head), getZeros(t, keys.size(), block),
      [&](int64_t row, Value d) -> Value {
        return memref::LoadOp::create(vb.b, vb.loc, t.key.memref, at(t, t.key, {}, keys[row], d, {}));
      },
      [&](Value d, int64_t v) { return vb.load(t.query.memref, at(t, t.query, getLane(t, block, v), {}, d, {})); },
      t.scoreWeight ? Combine(addScore) : Combine());
}

void FMAProducts::storeWeights(const PrefillTile &t, Value first, ValueRange weights, const LaneBlock &block, int64_t v,
                               bool mayHideNaN) const {
  t.vb.store(weights.front(), t.scores, getScoreIndices(t, first, block, v));
}

Values FMAProducts::multiply(const PrefillTile &t, ValueRange columns, const LaneBlock &block, ValueRange init) const {
  VectorBuilder &vb = t.vb;
  return emitRegisterKernel(
      vb, columns.size(), block.vectors, t.keyCount, init,
      [&](int64_t row, Value keyIndex) -> Value {
        return memref::LoadOp::create(vb.b, vb.loc, t.value.memref, at(t, t.value, {}, keyIndex, {}, columns[row]));
      },
      [&](Value keyIndex, int64_t v) { return vb.load(t.scores, {keyIndex, getLane(t, block, v)}); });
}

/// True if the elements along `position` are contiguous f32: a multiply-add reads one as a lane of a vector.
static bool haveLanes(const Operand &operand, unsigned position) {
  return getElementTypeOrSelf(operand.memref.getType()).isF32() && operand.isInnermost(position);
}

Values FMALaneProducts::getScores(const PrefillTile &t, ValueRange keys, const LaneBlock &block) const {
  if (!haveLanes(t.key, getNumBatch(t) + 2) || t.sizes.head % kQuadLanes != 0)
    return FMAProducts::getScores(t, keys, block);
  VectorBuilder &vb = t.vb;
  return emitLaneKernel(
      vb, keys.size(), block.vectors, vb.index(t.sizes.head), getZeros(t, keys.size(), block),
      /*isAlongDepth=*/true,
      [&](int64_t row, Value d) { return vb.load(t.key.memref, at(t, t.key, {}, keys[row], d, {})); },
      [&](Value d, int64_t v) { return vb.load(t.query.memref, at(t, t.query, getLane(t, block, v), {}, d, {})); },
      kQuadLanes);
}

Values FMALaneProducts::multiply(const PrefillTile &t, ValueRange columns, const LaneBlock &block,
                                 ValueRange init) const {
  if (!haveLanes(t.value, getNumBatch(t) + 3) || columns.size() % kQuadLanes != 0)
    return FMAProducts::multiply(t, columns, block, init);
  VectorBuilder &vb = t.vb;
  return emitLaneKernel(
      vb, columns.size(), block.vectors, t.keyCount, init, /*isAlongDepth=*/false,
      [&](int64_t row, Value keyIndex) {
        return vb.load(t.value.memref, at(t, t.value, {}, keyIndex, {}, columns[row]));
      },
      [&](Value keyIndex, int64_t v) { return vb.load(t.scores, {keyIndex, getLane(t, block, v)}); },
      std::gcd(getConstantIntValue(t.numKeys).value_or(1), kStepsAtOnce));
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

/// Rows of the buffers of scores, and their width in lanes.
static Value createWeightPairs(const PrefillTile &t) {
  int64_t places = t.isByUnits ? 2 : 1, width = t.isByUnits ? PrefillAttr::kUnitRows : t.sizes.lanes;
  return t.vb.stackBuffer({t.schedule.getParts() * places * int64_t(llvm::divideCeil(t.sizes.keys, 2)), 2 * width},
                          getElementTypeOrSelf(t.value.memref.getType()));
}

void PairProducts::allocate(PrefillTile &t) {
  t.pairs.query = t.vb.collapsePairs(t.query.memref);
  t.pairs.value = t.vb.collapsePairs(t.value.memref);
  t.pairs.weights = createWeightPairs(t);
}

static auto getPairCombine(VectorBuilder &vb) {
  return [&vb](Value, Value pair, Value pairs, Value sum) { return vb.multiplyAddPairs(pair, pairs, sum); };
}

Values PairProducts::getScores(const PrefillTile &t, ValueRange keys, const LaneBlock &block) const {
  VectorBuilder &vb = t.vb;
  return emitRegisterKernel(
      vb, keys.size(), block.vectors, vb.index(t.sizes.head / 2), getZeros(t, keys.size(), block),
      [&](int64_t row, Value d) {
        return vb.loadPair(t.key.memref, at(t, t.key, {}, keys[row], vb.multiply(d, 2), {}));
      },
      [&](Value d, int64_t v) {
        return vb.loadPairs(t.pairs.query, atPair(t, t.pairs.query, d, getLane(t, block, v)));
      },
      getPairCombine(vb));
}

void PairProducts::storeWeights(const PrefillTile &t, Value first, ValueRange weights, const LaneBlock &block,
                                int64_t v, bool mayHideNaN) const {
  t.vb.store(t.vb.makePairs(weights[0], weights[1]), t.pairs.weights,
             getWeightIndices(t, t.vb.divide(first, 2), block, v));
}

Values PairProducts::multiply(const PrefillTile &t, ValueRange columns, const LaneBlock &block, ValueRange init) const {
  VectorBuilder &vb = t.vb;
  return emitRegisterKernel(
      vb, columns.size(), block.vectors, vb.divide(vb.add(t.keyCount, 1), 2), init,
      [&](int64_t row, Value pair) { return vb.loadPair(t.pairs.value, atPair(t, t.pairs.value, pair, columns[row])); },
      [&](Value pair, int64_t v) {
        return vb.loadPairs(t.pairs.weights, {pair, vb.multiply(getLane(t, block, v), 2)});
      },
      getPairCombine(vb));
}

//===----------------------------------------------------------------------===//
// AMX tiles
//===----------------------------------------------------------------------===//

void AMXProducts::allocate(PrefillTile &t) {
  t.pairs.query = t.vb.collapsePairs(t.query.memref);
  t.pairs.weights = createWeightPairs(t);
}

void AMXProducts::begin(const PrefillTile &t) const {
  emitTileProduct(t.vb, getKeyMatrix(t), getQueryMatrix(t), t.scores, /*isAdded=*/false, t.schedule.getParts());
}

void AMXProducts::end(const PrefillTile &t) const {
  unsigned query = getNumBatch(t), value = query + 3;
  emitTileProduct(t.vb, getValueMatrix(t), t.pairs.weights, getMatrix(t.vb, t.state.acc, value, query),
                  /*isAdded=*/true, t.schedule.getParts());
}

/// The tile instructions have stored them in place of the scores.
Values AMXProducts::getScores(const PrefillTile &t, ValueRange keys, const LaneBlock &block) const {
  Values products;
  for (Value keyIndex : keys)
    for (int64_t v = 0; v < block.vectors; ++v)
      products.push_back(t.vb.load(t.scores, getScoreIndices(t, keyIndex, block, v)));
  return products;
}

void AMXProducts::storeWeights(const PrefillTile &t, Value first, ValueRange weights, const LaneBlock &block, int64_t v,
                               bool mayHideNaN) const {
  VectorBuilder &vb = t.vb;
  if (int64_t parts = t.schedule.getParts(); parts > 1) {
    Values evens = vb.splitParts(weights[0], parts), odds = vb.splitParts(weights[1], parts);
    for (auto [part, even, odd] : llvm::enumerate(evens, odds))
      vb.store(vb.joinPairs(even, odd), t.pairs.weights,
               getWeightIndices(t, vb.divide(first, 2), block, v, int64_t(part)));
    return;
  }
  if (mayHideNaN)
    return PairProducts::storeWeights(t, first, weights, block, v, mayHideNaN);
  vb.store(vb.makePairsByIntegers(weights[0], weights[1]), t.pairs.weights,
           getWeightIndices(t, vb.divide(first, 2), block, v));
}

/// A tile instruction multiplies the weights of all keys of a tile.
void AMXProducts::beginWeights(const PrefillTile &t, const LaneBlock &block) const {
  VectorBuilder &vb = t.vb;
  if (getConstantIntValue(t.numKeys) == t.sizes.keys)
    return;
  auto type = cast<MemRefType>(t.pairs.weights.getType());
  Value zeros = vb.zero(VectorType::get({2 * vb.lanes}, type.getElementType()));
  vb.loop(vb.divide(vb.add(t.keyCount, 1), 2), vb.index(t.sizes.keys / 2), 1, {}, [&](Value pair, ValueRange) {
    for (int64_t part = 0; part < t.schedule.getParts(); ++part)
      for (int64_t v = 0; v < block.vectors; ++v)
        vb.store(zeros, t.pairs.weights, getWeightIndices(t, pair, block, v, part));
    return Values();
  });
}
