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

/// Keys that are added to sums on their way through memory: enough to pay for it.
static constexpr int64_t kKeysPerRound = 4;

void DecodeStepLowering::emitOutput() {
  // Accumulators leave registers for the broadcast weights and a vector of V.
  int64_t vectors = std::max<int64_t>(1, vb.target.vectorRegisters / 2 / getResidentRows()), lanes = vb.lanes;
  int64_t whole = valueSize / lanes, paired = usesPairs ? whole / 2 * 2 : 0, done = 0;
  auto emitVectors = [&](int64_t to, int64_t block, bool isPaired) {
    int64_t from = done, count = block > 0 ? (to - from) / block : 0;
    done += count * block;
    if (count > 0)
      forEachBlock(vb, b.getIndexAttr(count), 1, {}, [&](Value number, int64_t, ValueRange) {
        emitColumns(vb.add(vb.multiply(number, block * lanes), from * lanes), block, Value(), isPaired);
        return Values();
      });
  };
  emitVectors(paired, std::min(std::max<int64_t>(vectors / 2 * 2, 2), paired), /*isPaired=*/true);
  emitVectors(paired, paired - done, /*isPaired=*/true);
  emitVectors(whole, std::min(vectors, whole - done), /*isPaired=*/false);
  emitVectors(whole, whole - done, /*isPaired=*/false);
  if (valueSize > whole * lanes)
    emitColumns(vb.index(whole * lanes), 1, vb.getMask(valueSize - whole * lanes), /*isPaired=*/false);
}

/// Rows whose sums are in registers at once: whole rows of V at a time where they fit, so that memory is read in its
/// order.
int64_t DecodeStepLowering::getResidentRows() {
  int64_t columns = llvm::divideCeil(valueSize, vb.lanes), sums = vb.target.vectorRegisters / 2;
  int64_t rowsOfColumns = std::min(schedule.getLaneVectors(), sums / std::min<int64_t>(columns, 8));
  return std::max<int64_t>(1, std::min(rows.getCount(), rowsOfColumns));
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

void DecodeStepLowering::emitColumns(Value column, int64_t vectors, Value mask, bool isPaired) {
  Values columns;
  for (int64_t v = 0; v < vectors; ++v)
    columns.push_back(vb.add(column, v * vb.lanes));
  auto accAt = [&](Value row, int64_t v) { return acc.getIndices(vb, at(row, {}, {}, columns[v])); };
  int64_t numPlaces = places.size(), resident = getResidentRows(), passing = rows.getCount() - resident;

  // The sums of the rows that are not in registers go from one half of a buffer to the other and back: in one place
  // LLVM would promote them to registers that there are not, and spill.
  Value passed = passing > 0 ? vb.stackBuffer({2, passing, vectors * vb.lanes}) : Value();
  auto forEachPassed = [&](function_ref<void(Value, int64_t)> body) {
    vb.loop(passing, 1, {}, [&](Value row, ValueRange) {
      for (int64_t v = 0; v < vectors; ++v)
        body(row, v);
      return Values();
    });
  };
  if (passing > 0)
    forEachPassed([&](Value row, int64_t v) {
      Value sum = vb.loadMasked(acc.memref, accAt(vb.add(row, resident), v), mask);
      vb.store(sum, passed, {vb.index(0), row, vb.index(v * vb.lanes)});
    });

  // sums += of the keys from `row` on, of all places; of an only place pairs are of two rows.
  auto addRows = [&](Value first, int64_t count, Value row, int64_t numRows, Values &sums) {
    for (int64_t k = 0; k < numRows * numPlaces; k += isPaired ? 2 : 1)
      isPaired ? addPairOfKeys(first, count, row, k, /*hasOdd=*/k + 1 < numRows * numPlaces, columns, sums)
               : addKey(first, count, row, k, columns, mask, sums);
  };
  auto addRound = [&](Value row, int64_t numRows, Value half, ValueRange carried) {
    Values sums(carried);
    for (int64_t k = 0; k < numRows * numPlaces; ++k)
      prefetch(key, getKey(row, k), schedule.getPrefetch(), headSize, vb.index(0), rows.getCount());
    addRows(vb.index(0), resident, row, numRows, sums);
    if (passing == 0)
      return sums;
    Value other = arith::SubIOp::create(b, loc, vb.index(1), half);
    forEachBlock(vb, b.getIndexAttr(passing), resident, {}, [&](Value first, int64_t count, ValueRange) {
      auto passedAt = [&](Value half, int64_t r, int64_t v) {
        return Values{half, vb.add(first, r), vb.index(v * vb.lanes)};
      };
      Values partial;
      for (int64_t r = 0; r < count; ++r)
        for (int64_t v = 0; v < vectors; ++v)
          partial.push_back(vb.load(passed, passedAt(half, r, v)));
      addRows(vb.add(first, resident), count, row, numRows, partial);
      for (int64_t r = 0; r < count; ++r)
        for (int64_t v = 0; v < vectors; ++v)
          vb.store(partial[r * vectors + v], passed, passedAt(other, r, v));
      return Values();
    });
    sums.push_back(other);
    return sums;
  };

  Values sums;
  for (int64_t r = 0; r < resident; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      sums.push_back(vb.loadMasked(acc.memref, accAt(vb.index(r), v), mask));
  if (passing > 0)
    sums.push_back(vb.index(0));
  auto addAll = [&](Value from, Value to, int64_t numRows) {
    sums = vb.loop(from, to, numRows, sums, [&](Value row, ValueRange carried) {
      return passing > 0 ? addRound(row, numRows, carried.back(), carried.drop_back())
                         : addRound(row, numRows, Value(), carried);
    });
    if (auto loop = sums.front().getDefiningOp<scf::ForOp>(); loop && passing > 0)
      attn::keepRolled(loop);
  };
  int64_t keysPerRound = passing > 0 ? kKeysPerRound : isPaired ? 2 : 1;
  int64_t rowsPerRound = std::max<int64_t>(1, keysPerRound / numPlaces);
  Value end = getRowsOfPlace(), whole = end;
  if (rowsPerRound > 1)
    whole = vb.multiply(b.createOrFold<arith::DivUIOp>(loc, end, vb.index(rowsPerRound)), rowsPerRound);
  addAll(vb.index(0), whole, rowsPerRound);
  if (rowsPerRound > 1 && !(numKeys && *numKeys % rowsPerRound == 0))
    addAll(whole, end, 1);

  for (int64_t r = 0; r < resident; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      vb.storeMasked(sums[r * vectors + v], acc.memref, accAt(vb.index(r), v), mask);
  if (passing > 0)
    forEachPassed([&](Value row, int64_t v) {
      Value sum = vb.load(passed, {sums.back(), row, vb.index(v * vb.lanes)});
      vb.storeMasked(sum, acc.memref, accAt(vb.add(row, resident), v), mask);
    });
}
