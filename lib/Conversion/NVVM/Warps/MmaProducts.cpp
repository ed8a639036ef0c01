//===- MmaProducts.cpp - products of 16-bit fragments ---------------------===//
//
// m16n8k16: A is 16 rows of Q or P, B is 8 keys or 8 columns of V. Q and K are stored with the depth (D) along their
// rows and are read as they are. V has the depth (keys) across its rows and is read transposed.
//
// K and V may be bytes, which become pairs of 16-bit elements between shared memory and the product. ldmatrix moves two
// bytes as one element, so a thread (quad g, lane t of it) gets of 16 bytes of K those at 4 t … 4 t + 3 of key g: the
// depth of A and B is in that order. Of V it gets columns 2 g and 2 g + 1 of keys 2 t and 2 t + 1: one product has the
// even columns of 16, the next one the odd ones.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "TileCopies.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Depth of one mma: two chunks of 8 elements, or two blocks of 8 keys.
static constexpr int64_t kDepth = 16, kDepthChunks = 2;

namespace {
class MmaProducts : public Products {
public:
  MmaProducts(WarpBuilder &wb, FloatType type, const SharedTile &query, const SharedTile &key, const SharedTile &value)
      : Products(wb, query, key, value), type(type) {}

  Values multiplyKeys(int64_t keyBlocks) override {
    MatrixReader queries(wb, query, wb.firstRow), keys(wb, key, Value(), MatrixReader::Order::ChunksFirst),
        lastKeys(wb, key, Value());
    Values scores(fragments * keyBlocks * kFragmentElements, wb.real(0));
    for (int64_t chunk = 0; chunk < query.layout.chunks; chunk += kDepthChunks) {
      SmallVector<Values> a;
      for (int64_t fragment = 0; fragment < fragments; ++fragment)
        a.push_back(queries.load(wb, fragment * kFragmentRows, chunk, /*isTransposed=*/false));
      for (int64_t pair = 0; pair < keyBlocks / 2; ++pair) {
        Values b;
        if (chunk + 1 < key.layout.usedChunks) {
          b = keys.load(wb, pair * kDepth, chunk, /*isTransposed=*/false);
        } else { // the depth ends with this chunk, and Q has zeros behind it
          Values last = lastKeys.load(wb, pair * kDepth, chunk, /*isTransposed=*/false, /*matrices=*/2);
          b = {last[0], wb.constant(0), last[1], wb.constant(0)};
        }
        for (int64_t fragment = 0; fragment < fragments; ++fragment)
          for (int64_t half = 0; half < 2; ++half)
            accumulate(a[fragment], ArrayRef(b).slice(2 * half, 2),
                       MutableArrayRef(scores).slice((fragment * keyBlocks + 2 * pair + half) * kFragmentElements,
                                                     kFragmentElements));
      }
    }
    return scores;
  }

  void multiplyValues(const Values &weights, int64_t keyBlocks, const TileState &state) override {
    MatrixReader values(wb, value, Value());
    Values acc = state.acc.getAll(wb, wb.b.getF32Type());
    for (int64_t depth = 0; depth < keyBlocks / 2; ++depth) {
      SmallVector<Values> a = packDepth(weights, keyBlocks, depth);
      for (int64_t block = 0; block < state.valueBlocks; block += 2) {
        int64_t blocks = std::min<int64_t>(state.valueBlocks - block, 2);
        Values b = values.load(wb, depth * kDepth, block, /*isTransposed=*/true, /*matrices=*/2 * blocks);
        for (int64_t fragment = 0; fragment < fragments; ++fragment)
          for (int64_t half = 0; half < blocks; ++half)
            accumulate(a[fragment], ArrayRef(b).slice(2 * half, 2),
                       MutableArrayRef(acc).slice(state.accIndex(fragment, block + half, 0), kFragmentElements));
      }
    }
    setAcc(wb, state, acc);
  }

protected:
  void accumulate(ValueRange a, ValueRange b, MutableArrayRef<Value> acc) {
    Values next = wb.multiplyFragments(type, a, b, ValueRange(ArrayRef<Value>(acc)));
    llvm::copy(next, acc.begin());
  }

  /// The A operands of keys 16 `depth` and on, a fragment each.
  SmallVector<Values> packDepth(const Values &weights, int64_t keyBlocks, int64_t depth) {
    SmallVector<Values> a;
    for (int64_t fragment = 0; fragment < fragments; ++fragment)
      a.push_back(packWeights(
          ArrayRef(weights).slice((fragment * keyBlocks + 2 * depth) * kFragmentElements, 2 * kFragmentElements)));
    return a;
  }

  /// Two adjacent m16n8 accumulators form one m16k16 A operand: pairs of elements are packed into registers.
  Values packWeights(ArrayRef<Value> blocks) {
    Values registers;
    for (int64_t i = 0; i < 4; ++i)
      registers.push_back(wb.packPair(blocks[2 * i], blocks[2 * i + 1], type));
    return registers;
  }

  FloatType type;
};

class ByteProducts : public MmaProducts {
public:
  using MmaProducts::MmaProducts;

  Values multiplyKeys(int64_t keyBlocks) override {
    MatrixReader keys(wb, key, Value());
    Values scores(fragments * keyBlocks * kFragmentElements, wb.real(0));
    for (int64_t chunk = 0; chunk < key.layout.chunks; chunk += 2) {
      int64_t chunks = std::min<int64_t>(key.layout.chunks - chunk, 2);
      SmallVector<Values> a;
      for (int64_t i = 0; i < chunks * fragments; ++i)
        a.push_back(loadQueries(i % fragments, chunk + i / fragments));
      for (int64_t pair = 0; pair < keyBlocks / 2; ++pair) {
        Values words = keys.load(wb, pair * kDepth, chunk, /*isTransposed=*/false, /*matrices=*/2 * chunks);
        for (auto [i, word] : llvm::enumerate(words)) {
          auto b = widenWord(wb, word, key.bytes, type, BytePairs::Adjacent);
          for (int64_t fragment = 0; fragment < fragments; ++fragment)
            accumulate(a[i / 2 * fragments + fragment], b,
                       MutableArrayRef(scores).slice((fragment * keyBlocks + 2 * pair + i % 2) * kFragmentElements,
                                                     kFragmentElements));
        }
      }
    }
    return scores;
  }

  void multiplyValues(const Values &weights, int64_t keyBlocks, const TileState &state) override {
    MatrixReader values(wb, value, Value());
    Values acc = state.acc.getAll(wb, wb.b.getF32Type());
    for (int64_t depth = 0; depth < keyBlocks / 2; ++depth) {
      SmallVector<Values> a = packDepth(weights, keyBlocks, depth);
      for (int64_t chunk = 0; chunk < value.layout.chunks; chunk += 2) {
        int64_t chunks = std::min<int64_t>(value.layout.chunks - chunk, 2);
        Values words = values.load(wb, depth * kDepth, chunk, /*isTransposed=*/true, /*matrices=*/2 * chunks);
        for (int64_t i = 0; i < chunks; ++i) {
          auto low = widenWord(wb, words[2 * i], value.bytes, type, BytePairs::Alternate),
               high = widenWord(wb, words[2 * i + 1], value.bytes, type, BytePairs::Alternate);
          for (int64_t fragment = 0; fragment < fragments; ++fragment)
            for (int64_t odd = 0; odd < 2; ++odd)
              accumulate(
                  a[fragment], {low[odd], high[odd]},
                  MutableArrayRef(acc).slice(state.accIndex(fragment, 2 * (chunk + i) + odd, 0), kFragmentElements));
        }
      }
    }
    setAcc(wb, state, acc);
  }

private:
  /// A in the order of the depth of `chunk` of K, 16 columns: those at 4 t … 4 t + 3 of rows g and g + 8.
  Values loadQueries(int64_t fragment, int64_t chunk) {
    Type i32 = wb.b.getI32Type();
    Values registers(4);
    for (int64_t half = 0; half < kThreadRows; ++half) {
      Value place = query.at(wb, wb.add(wb.firstRow, wb.quad), wb.add(wb.divide(wb.quadLane, 2), 2 * chunk),
                             fragment * kFragmentRows + half * 8);
      place = LLVM::GEPOp::create(wb.b, wb.loc, place.getType(), i32, place,
                                  ArrayRef<LLVM::GEPArg>{wb.multiply(wb.remainder(wb.quadLane, 2), 2)});
      Value pair = wb.load(VectorType::get({2}, i32), place, kChunkBytes / 2);
      for (int64_t e = 0; e < 2; ++e)
        registers[2 * e + half] = vector::ExtractOp::create(wb.b, wb.loc, pair, ArrayRef<int64_t>{e});
    }
    return registers;
  }
};
} // namespace

std::unique_ptr<Products> attn::nvvm::createMmaProducts(WarpBuilder &wb, FloatType type, const SharedTile &query,
                                                        const SharedTile &key, const SharedTile &value) {
  if (key.bytes || value.bytes)
    return std::make_unique<ByteProducts>(wb, type, query, key, value);
  return std::make_unique<MmaProducts>(wb, type, query, key, value);
}
