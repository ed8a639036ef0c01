//===- DecodeOutput.cpp - the output of a decode tile ---------------------===//
//
// As for the scores, a block of rows is multiplied by a block of keys, in a loop over
// the columns. The weights of the block stay in registers. Each row of V is read
// once, from end to end. The sums are loaded from and stored to acc.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeProducts.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Keys of a block of pairs with the weights, at most.
static constexpr int64_t kMaxPairBlock = 4;

void PairDecodeProducts::allocate(DecodeTile &t, OnlineStepOp) const {
  t.weights = t.vb.stackBuffer(cast<MemRefType>(t.scores.getType()).getShape(), t.vb.b.getBF16Type());
}

/// A register holds the weights of one key, or of a pair.
int64_t PairDecodeProducts::getOutputBlock(const DecodeTile &t) const {
  int64_t block = DecodeProducts::getOutputBlock(t);
  return std::max(block, std::min(2 * block, kMaxPairBlock));
}

/// Two vectors of columns of V: elements of the `k`-th key of a row alternate with those of the next key.
static Values loadPairsOfKeys(const DecodeTile &t, Value row, int64_t k, int64_t block, Value column) {
  VectorBuilder &vb = t.vb;
  Values rowsOfPair;
  for (int64_t of = k; of < std::min(k + 2, block); ++of)
    rowsOfPair.push_back(loadPairsOfColumns(vb, getSegment(t.values, of), at(t, {}, getKey(t, row, of), {}, column)));
  if (rowsOfPair.size() == 1)
    rowsOfPair.push_back(arith::ConstantOp::create(vb.b, vb.loc, vb.b.getZeroAttr(rowsOfPair.front().getType())));
  Values pairs;
  for (int64_t half = 0; half < 2; ++half) {
    SmallVector<int64_t> order;
    for (int64_t i = half * vb.lanes; i < (half + 1) * vb.lanes; ++i)
      order.append({i, 2 * vb.lanes + i});
    pairs.push_back(vector::ShuffleOp::create(vb.b, vb.loc, rowsOfPair[0], rowsOfPair[1], order));
  }
  return pairs;
}

/// The output of `count` rows from `first` on and `block` keys.
void DecodeProducts::emitOutputOf(const DecodeTile &t, Value first, int64_t count, Value row, int64_t block) const {
  VectorBuilder &vb = t.vb;
  // Pairs of keys. If their number is odd, the last one has 0 beside it, with weight 0.
  int64_t lanes = vb.lanes, paired = getPairedColumns(t, getValueSize(t));
  auto addColumns = [&](Value column, Value mask, bool isPaired) {
    int64_t perVector = isPaired ? 2 : 1;
    SmallVector<Values> vectors; // for each key or pair of keys, one or two vectors of columns
    for (int64_t k = 0; k < block; k += perVector)
      vectors.push_back(isPaired ? loadPairsOfKeys(t, row, k, block, column)
                                 : Values{loadColumns(vb, getSegment(t.values, k), getValuePos(t),
                                                      at(t, {}, getKey(t, row, k), {}, column), mask)});
    for (int64_t r = 0; r < count; ++r)
      for (int64_t i = 0; i < perVector; ++i) {
        Values indices = t.state.acc.getIndices(vb, at(t, vb.add(first, r), {}, {}, vb.add(column, i * lanes)));
        Value sum = vb.loadMasked(t.state.acc.memref, indices, mask);
        for (auto [number, vector] : llvm::enumerate(vectors)) {
          Values position = {vb.add(first, r), getScore(t, row, number * perVector)};
          if (isPaired) {
            sum = vb.multiplyAddPairs(vb.broadcast(vb.loadPair(t.weights, position)), vector[i], sum);
            continue;
          }
          Value weight = memref::LoadOp::create(vb.b, vb.loc, t.weights, position);
          sum = vb.multiplyAdd(vb.broadcast(vb.convert(weight, vb.elementType)), vector[i], sum);
        }
        vb.storeMasked(sum, t.state.acc.memref, indices, mask);
      }
    return Values();
  };
  int64_t rest = getValueSize(t) - paired, whole = rest / lanes * lanes;
  int64_t valueBytes = getElementBytes(getSegment(t.values, 0)), pairedVectors = paired / (2 * lanes);
  int64_t pairsAtOnce = getVectorsAtOnce(vb, pairedVectors, 2 * lanes * valueBytes),
          atOnce = getVectorsAtOnce(vb, whole / lanes, lanes * valueBytes);
  int64_t pairedRounds = pairedVectors / pairsAtOnce, rounds = pairedRounds + whole / lanes / atOnce;
  // `vectors` of `width` columns of a step.
  auto keepLoopRolled = [&](int64_t columns, int64_t firstColumn, int64_t width, int64_t vectors, int64_t firstRound,
                            bool isPaired) {
    if (columns == 0)
      return;
    vb.loop(columns, width * vectors, {}, [&](Value column, ValueRange) {
      Value round = vb.divide(column, width * vectors);
      prefetch(t, Contraction::Values, row, block, first, vb.add(round, firstRound), rounds);
      for (int64_t i = 0; i < vectors; ++i)
        addColumns(vb.add(vb.add(column, i * width), firstColumn), Value(), isPaired);
      return Values();
    });
    attn::keepRolled(&*std::prev(vb.b.getInsertionPoint()));
  };
  keepLoopRolled(paired, 0, 2 * lanes, pairsAtOnce, 0, true);
  keepLoopRolled(whole, paired, lanes, atOnce, pairedRounds, false);
  if (rest > whole)
    addColumns(vb.index(paired + whole), vb.getMask(rest - whole), false);
}

void DecodeProducts::emitOutput(const DecodeTile &t, Value) const {
  VectorBuilder &vb = t.vb;
  int64_t block = getOutputBlock(t), rowsPerRound = block / getNumSegments(t);
  auto addRounds = [&](Value first, int64_t count, Value from, Value to, int64_t numRows) {
    forEachKeyRow(vb, from, to, numRows,
                  [&](Value row) { emitOutputOf(t, first, count, row, numRows * getNumSegments(t)); });
  };
  Value end = getRowsOfSegment(t), whole = end;
  if (rowsPerRound > 1)
    whole = vb.multiply(vb.divide(end, rowsPerRound), rowsPerRound);
  forEachRowBlock(t, [&](Value first, int64_t count) {
    addRounds(first, count, vb.index(0), whole, rowsPerRound);
    if (rowsPerRound > 1 && !(getStaticKeys(t) && *getStaticKeys(t) % block == 0))
      addRounds(first, count, whole, end, 1);
  });
}
