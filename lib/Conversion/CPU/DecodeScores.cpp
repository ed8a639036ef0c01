//===- DecodeScores.cpp - the scores of a decode tile ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeStep.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

void DecodeStepLowering::emitScores() {
  int64_t block = keyBlock;
  Value lastKey = getLastKey(block);
  forEachRowBlock([&](Value first, int64_t count) {
    forEachKeyRow(vb.index(0), getRowsOfPlace(), block / places.size(), [&](Value row) {
      Values keys;
      for (int64_t k = 0; k < block; ++k)
        keys.push_back(limitKey(getKey(row, k), lastKey));
      emitScoresOf(first, count, row, keys);
    });
  });
}

void DecodeStepLowering::emitScoresOf(Value first, int64_t count, Value row, ValueRange keys) {
  int64_t block = keys.size();
  Value sums = usesBytes ? emitByteProducts(first, count, row, keys) : emitProducts(first, count, row, keys);
  for (int64_t r = 0; r < count; ++r) {
    Value part =
        block == vb.lanes ? sums : vector::ExtractStridedSliceOp::create(b, loc, sums, r * block, block, 1).getResult();
    vb.store(part, scores, {vb.add(first, r), getScore(row, 0)});
  }
}

Value DecodeStepLowering::emitProducts(Value first, int64_t count, Value row, ValueRange keys) {
  int64_t block = keys.size();
  // Beside the sums and a row of K.
  int64_t freeRegisters = vb.target.vectorRegisters - vb.lanes - 2;
  using Load = function_ref<Value(const Operand &, ArrayRef<Value>)>;
  auto addColumns = [&](Value column, ValueRange sums, Load load, bool isPair) {
    Values keyVectors, next(sums);
    for (auto [k, keyIndex] : llvm::enumerate(keys))
      keyVectors.push_back(load(getPage(keyPages, k), at({}, keyIndex, column, {})));
    for (int64_t r = 0; r < count; ++r) {
      Value queryVector = load(query, at(vb.add(first, r), {}, column, {}));
      for (int64_t k = 0; k < block; ++k) {
        Value &sum = next[r * block + k];
        sum = isPair ? vb.multiplyAddPairs(queryVector, keyVectors[k], sum)
                     : vb.multiplyAdd(queryVector, keyVectors[k], sum);
      }
    }
    return next;
  };
  // Q of so many rows is read again for each block of keys.
  auto limitUnrolling = [&](const Values &results, int64_t vectors) {
    if (auto loop = results.front().getDefiningOp<scf::ForOp>(); loop && count * vectors > freeRegisters)
      attn::keepRolled(loop);
  };
  Values products(count * block, vb.splat(0));
  int64_t pairs = usesPairs ? headSize / (2 * vb.lanes) : 0, paired = pairs * 2 * vb.lanes;
  int64_t rounds = pairs + (headSize - paired) / vb.lanes;
  auto prefetchValues = [&](Value column, int64_t firstColumn, int64_t step) {
    if (rounds == 0)
      return;
    Value round = vb.divide(column, step);
    prefetch(askedValuePages, askedPlaces, numBatch + 3, row, block, first, vb.add(round, firstColumn / step), rounds);
  };
  if (pairs > 0) {
    products = vb.loop(paired, 2 * vb.lanes, products, [&](Value column, ValueRange sums) {
      prefetchValues(column, 0, 2 * vb.lanes);
      auto load = [&](const Operand &operand, ArrayRef<Value> position) {
        return loadPairsOfColumns(operand, position);
      };
      return addColumns(column, sums, load, /*isPair=*/true);
    });
    limitUnrolling(products, pairs);
  }
  products = forEachVector(vb, headSize - paired, products, [&](Value column, Value mask, ValueRange sums) {
    if (!mask)
      prefetchValues(column, pairs * vb.lanes, vb.lanes);
    auto load = [&](const Operand &operand, ArrayRef<Value> position) {
      return loadColumns(operand, numBatch + 2, position, mask);
    };
    return addColumns(vb.add(column, paired), sums, load, /*isPair=*/false);
  });
  limitUnrolling(products, (headSize - paired) / vb.lanes);
  // As many vectors as lanes are added up; those of rows that there are not are 0.
  products.append(vb.lanes - products.size(), vb.splat(0));
  return sumLanes(vb, products);
}
