//===- DecodeScores.cpp - the scores of a decode tile ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeProducts.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

Value DecodeProducts::multiplyBlock(const DecodeTile &t, Value first, int64_t count, Value row, ValueRange keys) const {
  VectorBuilder &vb = t.vb;
  int64_t block = keys.size();
  // The registers left beside the sums and a row of K.
  int64_t freeRegisters = vb.target.vectorRegisters - vb.lanes - 2;
  using Load = function_ref<Value(const Operand &, ArrayRef<Value>)>;
  auto addColumns = [&](Value column, ValueRange sums, Load load, bool isPair) {
    Values keyVectors, next(sums);
    for (auto [k, keyIndex] : llvm::enumerate(keys))
      keyVectors.push_back(load(getSegment(t.keys, k), at(t, {}, keyIndex, column, {})));
    for (int64_t r = 0; r < count; ++r) {
      Value queryVector = load(t.query, at(t, vb.add(first, r), {}, column, {}));
      for (int64_t k = 0; k < block; ++k) {
        Value &sum = next[r * block + k];
        sum = isPair ? vb.multiplyAddPairs(queryVector, keyVectors[k], sum)
                     : vb.multiplyAdd(queryVector, keyVectors[k], sum);
      }
    }
    return next;
  };
  // With this many rows, Q is loaded again for each block of keys.
  auto limitUnrolling = [&](const Values &results, int64_t vectors) {
    if (auto loop = results.front().getDefiningOp<scf::ForOp>(); loop && count * vectors > freeRegisters)
      attn::keepRolled(loop);
  };
  Values products(count * block, vb.splat(0));
  int64_t paired = getPairedColumns(t, getHeadSize(t)), pairs = paired / (2 * vb.lanes);
  int64_t whole = (getHeadSize(t) - paired) / vb.lanes, keyBytes = getElementBytes(getSegment(t.keys, 0));
  int64_t pairsAtOnce = getVectorsAtOnce(vb, pairs, 2 * vb.lanes * keyBytes),
          atOnce = getVectorsAtOnce(vb, whole, vb.lanes * keyBytes);
  int64_t rounds = pairs / pairsAtOnce + whole / atOnce;
  auto prefetchValues = [&](Value column, int64_t firstRound, int64_t step) {
    if (rounds == 0)
      return;
    Value round = vb.divide(column, step);
    prefetch(t, Contraction::Scores, row, block, first, vb.add(round, firstRound), rounds);
  };
  if (pairs > 0) {
    int64_t step = pairsAtOnce * 2 * vb.lanes;
    products = vb.loop(paired, step, products, [&](Value column, ValueRange sums) {
      prefetchValues(column, 0, step);
      auto load = [&](const Operand &operand, ArrayRef<Value> position) {
        return loadPairsOfColumns(vb, operand, position);
      };
      Values next(sums);
      for (int64_t i = 0; i < pairsAtOnce; ++i)
        next = addColumns(vb.add(column, i * 2 * vb.lanes), next, load, /*isPair=*/true);
      return next;
    });
    limitUnrolling(products, pairs);
  }
  auto addVector = [&](Value column, Value mask, ValueRange sums) {
    auto load = [&](const Operand &operand, ArrayRef<Value> position) {
      return loadColumns(vb, operand, getHeadPos(t), position, mask);
    };
    return addColumns(vb.add(column, paired), sums, load, /*isPair=*/false);
  };
  int64_t many = atOnce > 1 ? whole * vb.lanes : 0, step = atOnce * vb.lanes;
  if (many > 0)
    products = vb.loop(many, step, products, [&](Value column, ValueRange sums) {
      prefetchValues(column, pairs / pairsAtOnce, step);
      Values next(sums);
      for (int64_t i = 0; i < atOnce; ++i)
        next = addVector(vb.add(column, i * vb.lanes), Value(), next);
      return next;
    });
  products =
      forEachVector(vb, getHeadSize(t) - paired - many, products, [&](Value column, Value mask, ValueRange sums) {
        if (!mask)
          prefetchValues(column, pairs / pairsAtOnce, vb.lanes);
        return addVector(vb.add(column, many), mask, sums);
      });
  limitUnrolling(products, (getHeadSize(t) - paired) / vb.lanes);
  // A sum over lanes takes as many vectors as lanes; the missing ones are 0.
  products.append(vb.lanes - products.size(), vb.splat(0));
  return sumLanes(vb, products);
}

std::function<Value(Value)> DecodeProducts::getScoresOfRow(const DecodeTile &t, Value row) const {
  return [=, &t](Value key) { return t.vb.load(t.scores, {row, key}); };
}

void DecodeProducts::emitScores(const DecodeTile &t) const {
  VectorBuilder &vb = t.vb;
  int64_t block = getKeyBlock(t);
  Value lastKey = getLastKey(t, block);
  forEachRowBlock(t, [&](Value first, int64_t count) {
    forEachKeyRow(vb, vb.index(0), getRowsOfSegment(t), block / getNumSegments(t), [&](Value row) {
      Values keys;
      for (int64_t k = 0; k < block; ++k)
        keys.push_back(limitKey(vb, getKey(t, row, k), lastKey));
      Value sums = multiplyBlock(t, first, count, row, keys);
      for (int64_t r = 0; r < count; ++r) {
        Value part = block == vb.lanes
                         ? sums
                         : vector::ExtractStridedSliceOp::create(vb.b, vb.loc, sums, r * block, block, 1).getResult();
        vb.store(part, t.scores, {vb.add(first, r), getScore(t, row, 0)});
      }
    });
  });
}
