//===- DecodeOutput.cpp - the output of a decode tile ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeStep.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

void DecodeStepLowering::emitOutput(Value first, int64_t count) {
  // Accumulators leave registers for the broadcast weights and a vector of V.
  int64_t vectors = std::max<int64_t>(1, vb.target.vectorRegisters / 2 / count), lanes = vb.lanes;
  int64_t whole = valueSize / lanes, paired = usesPairs ? whole / 2 * 2 : 0;
  auto emitVectors = [&](int64_t from, int64_t to, int64_t block, bool isPaired) {
    forEachBlock(vb, b.getIndexAttr((to - from) / block), 1, {}, [&](Value number, int64_t, ValueRange) {
      emitColumns(first, count, vb.add(vb.multiply(number, block * lanes), from * lanes), block, Value(), isPaired);
      return Values();
    });
    return from + (to - from) / block * block;
  };
  int64_t done = 0;
  if (paired > 0) {
    done = emitVectors(0, paired, std::min(std::max<int64_t>(vectors / 2 * 2, 2), paired), /*isPaired=*/true);
    if (done < paired)
      done = emitVectors(done, paired, paired - done, /*isPaired=*/true);
  }
  if (done < whole) {
    done = emitVectors(done, whole, std::min(vectors, whole - done), /*isPaired=*/false);
    if (done < whole)
      emitVectors(done, whole, whole - done, /*isPaired=*/false);
  }
  if (valueSize > whole * lanes)
    emitColumns(first, count, vb.index(whole * lanes), 1, vb.getMask(valueSize - whole * lanes), /*isPaired=*/false);
}

/// Rows whose sums are in registers at once: whole rows of V at a time where they fit, so that memory is read in its
/// order.
int64_t DecodeStepLowering::getOutputRows() {
  int64_t columns = llvm::divideCeil(valueSize, vb.lanes), sums = vb.target.vectorRegisters / 2;
  return std::max<int64_t>(1, std::min(schedule.getLaneVectors(), sums / std::min<int64_t>(columns, 8)));
}

/// sums[r][v] += p[r][j] v_j[v] for the key of `place` at `row`.
void DecodeStepLowering::addKey(Value first, int64_t count, Value row, int64_t place, ValueRange columns, Value mask,
                                Values &sums) {
  Values valueVectors;
  for (Value c : columns)
    valueVectors.push_back(loadColumns(value, numBatch + 3, at({}, getKey(row, place), {}, c), mask));
  for (int64_t r = 0; r < count; ++r) {
    Values position = {vb.add(first, r), getScore(row, place)};
    Value weight = memref::LoadOp::create(b, loc, weights, position);
    weight = vb.broadcast(vb.convert(weight, vb.elementType));
    for (auto [v, vector] : llvm::enumerate(valueVectors)) {
      Value &sum = sums[r * columns.size() + v];
      sum = vb.multiplyAdd(weight, vector, sum);
    }
  }
}

/// The same for that key and the one after it, whose elements of a column become a pair; 0 beside the last one of an
/// odd number, whose weight is 0.
void DecodeStepLowering::addPairOfKeys(Value first, int64_t count, Value row, int64_t place, bool hasOdd,
                                       ValueRange columns, Values &sums) {
  int64_t lanes = vb.lanes;
  auto interleave = [&](Value even, Value odd, int64_t from) {
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < lanes; ++i)
      order.append({from + i, 2 * lanes + from + i});
    return vector::ShuffleOp::create(b, loc, even, odd, order);
  };
  Values pairs;
  for (size_t v = 0; v < columns.size(); v += 2) {
    Value even = loadPairsOfColumns(value, at({}, getKey(row, place), {}, columns[v]));
    Value odd = hasOdd ? loadPairsOfColumns(value, at({}, getKey(row, place + 1), {}, columns[v]))
                       : arith::ConstantOp::create(b, loc, b.getZeroAttr(even.getType())).getResult();
    for (int64_t half = 0; half < 2; ++half)
      pairs.push_back(interleave(even, odd, half * lanes));
  }
  for (int64_t r = 0; r < count; ++r) {
    Value weight = vb.broadcast(vb.loadPair(weights, {vb.add(first, r), getScore(row, place)}));
    for (auto [v, vector] : llvm::enumerate(pairs)) {
      Value &sum = sums[r * columns.size() + v];
      sum = vb.multiplyAddPairs(weight, vector, sum);
    }
  }
}

void DecodeStepLowering::emitColumns(Value first, int64_t count, Value column, int64_t vectors, Value mask,
                                     bool isPaired) {
  Values columns, sums;
  for (int64_t v = 0; v < vectors; ++v)
    columns.push_back(vb.add(column, v * vb.lanes));
  auto accAt = [&](int64_t r, int64_t v) { return acc.getIndices(vb, at(vb.add(first, r), {}, {}, columns[v])); };
  for (int64_t r = 0; r < count; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      sums.push_back(vb.loadMasked(acc.memref, accAt(r, v), mask));
  // A row of keys has one of each place: pairs are of neighbouring places, or of two rows of the only one.
  int64_t numPlaces = places.size(), rowsPerPair = isPaired && numPlaces == 1 ? 2 : 1;
  auto addRows = [&](Value row, int64_t numRows, ValueRange carried) {
    Values next(carried);
    for (int64_t k = 0; k < numRows * numPlaces; ++k)
      prefetch(key, getKey(row, k), schedule.getPrefetch(), headSize, first, count);
    for (int64_t place = 0; place < numPlaces; place += isPaired ? 2 : 1)
      isPaired ? addPairOfKeys(first, count, row, place, /*hasOdd=*/numRows * numPlaces > 1, columns, next)
               : addKey(first, count, row, place, columns, mask, next);
    return next;
  };
  Value end = getRowsOfPlace(), whole = end;
  if (rowsPerPair > 1)
    whole = vb.multiply(b.createOrFold<arith::DivUIOp>(loc, end, vb.index(rowsPerPair)), rowsPerPair);
  sums = vb.loop(vb.index(0), whole, rowsPerPair, sums,
                 [&](Value row, ValueRange carried) { return addRows(row, rowsPerPair, carried); });
  if (rowsPerPair > 1 && !(numKeys && *numKeys % 2 == 0))
    sums = vb.loop(whole, end, 1, sums, [&](Value row, ValueRange carried) { return addRows(row, 1, carried); });
  for (int64_t r = 0; r < count; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      vb.storeMasked(sums[r * vectors + v], acc.memref, accAt(r, v), mask);
}
