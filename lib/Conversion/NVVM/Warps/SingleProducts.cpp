//===- SingleProducts.cpp - products of f32 -------------------------------===//
//
// Multiply-adds, where each thread computes its own accumulator elements; or, if the schedule says so, m16n8k8 of
// rounded inputs (roundToFragment). The order of the depth is free, but the same for A and B: with key 2 t for k = t
// and key 2 t + 1 for k = t + 4, the accumulator S is the A operand of the second product without a shuffle.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "attn/Conversion/Loops.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// f32 in a chunk.
static constexpr int64_t kChunkFloats = 4;

namespace {
class SingleProducts : public Products {
public:
  SingleProducts(WarpBuilder &wb, const SharedTile &query, const SharedTile &key, const SharedTile &value)
      : Products(wb, query, key, value), usesTensorCores(wb.instruction.inputBits > 0) {}

  Values multiplyKeys(int64_t keyBlocks) override {
    Values zeros(fragments * keyBlocks * kFragmentElements, wb.real(0));
    // Rolled: the code for all chunks of a head would be long.
    OpBuilder &b = wb.b;
    int64_t step = usesTensorCores ? 2 : 1;
    auto loop =
        scf::ForOp::create(b, wb.loc, wb.constant(0), wb.constant(query.layout.chunks), wb.constant(step), zeros);
    keepRolled(loop);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Values scores(loop.getRegionIterArgs());
    if (usesTensorCores)
      multiplyChunkPair(loop.getInductionVar(), keyBlocks, scores);
    else
      multiplyChunk(loop.getInductionVar(), keyBlocks, scores);
    scf::YieldOp::create(b, wb.loc, scores);
    return Values(loop.getResults());
  }

  void multiplyValues(const Values &weights, int64_t keyBlocks, const TileState &state) override {
    for (int64_t block = 0; block < keyBlocks; ++block) {
      if (usesTensorCores)
        multiplyKeyBlock(weights, keyBlocks, block, state);
      else
        for (int64_t column = 0; column < kBlockColumns; ++column)
          multiplyKey(weights, keyBlocks, block, column, state);
    }
  }

private:
  /// Blocks that the rows of V reach into. The state has whole pairs of blocks, and a row may end between the two.
  int64_t getValueBlocks() const {
    return llvm::divideCeil(value.layout.usedChunks * kChunkFloats, int64_t(kBlockColumns));
  }
  Value getRow(int64_t fragment, int64_t half) {
    return wb.add(wb.add(wb.firstRow, wb.quad), fragment * kFragmentRows + half * 8);
  }

  /// The f32 of column `column` of a row.
  Value loadElement(const SharedTile &tile, Value row, Value column) {
    Value chunk = wb.divide(column, kChunkFloats), place = wb.remainder(column, kChunkFloats);
    Value pointer = tile.at(wb, row, chunk);
    pointer =
        LLVM::GEPOp::create(wb.b, wb.loc, pointer.getType(), wb.b.getF32Type(), pointer, ArrayRef<LLVM::GEPArg>{place});
    return wb.load(wb.b.getF32Type(), pointer, 4);
  }

  Values loadChunk(const SharedTile &tile, Value row, Value chunk, int64_t rowsBelow) {
    auto type = VectorType::get({kChunkFloats}, wb.b.getF32Type());
    Value vector = wb.load(type, tile.at(wb, row, chunk, rowsBelow), kChunkBytes);
    Values elements;
    for (int64_t i = 0; i < kChunkFloats; ++i)
      elements.push_back(vector::ExtractOp::create(wb.b, wb.loc, vector, ArrayRef<int64_t>{i}));
    return elements;
  }

  /// S += four columns of Q times those of K.
  void multiplyChunk(Value chunk, int64_t keyBlocks, Values &scores) {
    SmallVector<Values> queries;
    for (int64_t row = 0; row < fragments * kThreadRows; ++row)
      queries.push_back(loadChunk(query, wb.add(wb.firstRow, wb.quad), chunk, row * 8));
    for (int64_t block = 0; block < keyBlocks; ++block)
      for (int64_t column = 0; column < 2; ++column) {
        Value row = wb.add(wb.multiply(wb.quadLane, 2), column);
        Values keys = loadChunk(key, row, chunk, block * kBlockColumns);
        for (int64_t i = 0; i < fragments * kThreadRows; ++i) {
          Value &score =
              scores[((i / kThreadRows) * keyBlocks + block) * kFragmentElements + 2 * (i % kThreadRows) + column];
          for (int64_t d = 0; d < kChunkFloats; ++d)
            score = wb.fma(queries[i][d], keys[d], score);
        }
      }
  }

  /// O += P[:, key] V[key, :]; lane `column / 2` of a quad has the weights of the key.
  void multiplyKey(const Values &weights, int64_t keyBlocks, int64_t block, int64_t column, const TileState &state) {
    Value source = wb.add(arith::SubIOp::create(wb.b, wb.loc, wb.lane, wb.quadLane), column / 2);
    Values p;
    for (int64_t row = 0; row < fragments * kThreadRows; ++row)
      p.push_back(wb.shuffleFrom(
          weights[((row / kThreadRows) * keyBlocks + block) * kFragmentElements + 2 * (row % kThreadRows) + column % 2],
          source));
    for (int64_t valueBlock = 0; valueBlock < getValueBlocks(); ++valueBlock) {
      Values pair = loadPair(block * kBlockColumns + column, valueBlock);
      for (int64_t e = 0; e < 2; ++e)
        for (int64_t row = 0; row < fragments * kThreadRows; ++row) {
          int64_t i = state.accIndex(row / kThreadRows, valueBlock, 2 * (row % kThreadRows) + e);
          state.acc.set(wb, i, wb.fma(p[row], pair[e], state.acc.get(wb, i)));
        }
    }
  }

  /// Columns 2 t and 2 t + 1 of a block of V are half a chunk. Chunk 2 block + t / 2 of a row with swizzle s is at (2
  /// block) ^ (s - s % 2) + (t / 2) ^ (s % 2); only the second term differs between threads.
  Values loadPair(int64_t keyRow, int64_t valueBlock) {
    const SharedTileLayout &layout = value.layout;
    int64_t swizzle = keyRow / layout.getSwizzleRows() % layout.period, odd = swizzle % 2;
    Value half = wb.b.createOrFold<arith::XOrIOp>(wb.loc, wb.divide(wb.quadLane, 2), wb.constant(odd));
    Value own = wb.add(wb.multiply(half, kChunkBytes), wb.multiply(wb.remainder(wb.quadLane, 2), kChunkBytes / 2));
    if (value.stage)
      own = wb.add(own, value.stage);
    Value pointer = wb.sharedAt(wb.add(own, value.offset));
    int64_t bytes = keyRow * layout.getPitch() + ((2 * valueBlock) ^ (swizzle - odd)) * kChunkBytes;
    pointer = LLVM::GEPOp::create(wb.b, wb.loc, pointer.getType(), wb.b.getI8Type(), pointer,
                                  ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
    Value vector = wb.load(VectorType::get({2}, wb.b.getF32Type()), pointer, kChunkBytes / 2);
    return {vector::ExtractOp::create(wb.b, wb.loc, vector, ArrayRef<int64_t>{0}),
            vector::ExtractOp::create(wb.b, wb.loc, vector, ArrayRef<int64_t>{1})};
  }

  /// S += eight columns of Q times those of K.
  void multiplyChunkPair(Value chunk, int64_t keyBlocks, Values &scores) {
    Value low = wb.add(wb.multiply(chunk, kChunkFloats), wb.quadLane), high = wb.add(low, kChunkFloats);
    for (int64_t fragment = 0; fragment < fragments; ++fragment) {
      Values a;
      for (Value depth : {low, high})
        for (int64_t half = 0; half < kThreadRows; ++half)
          a.push_back(wb.roundToFragment(loadElement(query, getRow(fragment, half), depth)));
      for (int64_t block = 0; block < keyBlocks; ++block) {
        Value row = wb.add(wb.quad, block * kBlockColumns);
        Values b = {wb.roundToFragment(loadElement(key, row, low)), wb.roundToFragment(loadElement(key, row, high))};
        auto part =
            MutableArrayRef(scores).slice((fragment * keyBlocks + block) * kFragmentElements, kFragmentElements);
        llvm::copy(wb.multiplyFragments(wb.b.getF32Type(), a, b, ValueRange(ArrayRef<Value>(part))), part.begin());
      }
    }
  }

  /// O += P V for eight keys.
  void multiplyKeyBlock(const Values &weights, int64_t keyBlocks, int64_t block, const TileState &state) {
    Value keyRow = wb.add(wb.multiply(wb.quadLane, 2), block * kBlockColumns);
    SmallVector<Values> a(fragments);
    for (int64_t fragment = 0; fragment < fragments; ++fragment)
      for (int64_t element : {0, 2, 1, 3})
        a[fragment].push_back(
            wb.roundToFragment(weights[(fragment * keyBlocks + block) * kFragmentElements + element]));
    for (int64_t valueBlock = 0; valueBlock < getValueBlocks(); ++valueBlock) {
      Value column = wb.add(wb.quad, valueBlock * kBlockColumns);
      Values b = {wb.roundToFragment(loadElement(value, keyRow, column)),
                  wb.roundToFragment(loadElement(value, wb.add(keyRow, 1), column))};
      for (int64_t fragment = 0; fragment < fragments; ++fragment) {
        Values acc;
        for (int64_t element = 0; element < kFragmentElements; ++element)
          acc.push_back(state.acc.get(wb, state.accIndex(fragment, valueBlock, element)));
        Values next = wb.multiplyFragments(wb.b.getF32Type(), a[fragment], b, acc);
        for (auto [element, x] : llvm::enumerate(next))
          state.acc.set(wb, state.accIndex(fragment, valueBlock, element), x);
      }
    }
  }

  bool usesTensorCores;
};
} // namespace

std::unique_ptr<Products> attn::nvvm::createSingleProducts(WarpBuilder &wb, const SharedTile &query,
                                                           const SharedTile &key, const SharedTile &value) {
  return std::make_unique<SingleProducts>(wb, query, key, value);
}
