//===- MmaProducts.cpp - products of 16-bit fragments ---------------------===//
//
// m16n8k16: A is 16 rows of Q or P, B is 8 keys or 8 columns of V. Q and K are stored with the depth (D) along their
// rows and are read as they are. V has the depth (keys) across its rows and is read transposed.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Products.h"

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
    Values acc;
    for (int64_t i = 0, e = fragments * state.valueBlocks * kFragmentElements; i < e; ++i)
      acc.push_back(state.acc.get(wb, i));
    for (int64_t depth = 0; depth < keyBlocks / 2; ++depth) {
      SmallVector<Values> a;
      for (int64_t fragment = 0; fragment < fragments; ++fragment)
        a.push_back(packWeights(
            ArrayRef(weights).slice((fragment * keyBlocks + 2 * depth) * kFragmentElements, 2 * kFragmentElements)));
      for (int64_t block = 0; block < state.valueBlocks; block += 2) {
        int64_t blocks = std::min<int64_t>(state.valueBlocks - block, 2);
        Values b = values.load(wb, depth * kDepth, block, /*isTransposed=*/true, /*matrices=*/2 * blocks);
        for (int64_t fragment = 0; fragment < fragments; ++fragment)
          for (int64_t half = 0; half < blocks; ++half)
            accumulate(a[fragment], ArrayRef(b).slice(2 * half, 2),
                       MutableArrayRef(acc).slice(state.accIndex(fragment, block + half, 0), kFragmentElements));
      }
    }
    for (auto [i, element] : llvm::enumerate(acc))
      state.acc.set(wb, i, element);
  }

private:
  void accumulate(ValueRange a, ValueRange b, MutableArrayRef<Value> acc) {
    Values next = wb.multiplyFragments(type, a, b, ValueRange(ArrayRef<Value>(acc)));
    llvm::copy(next, acc.begin());
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
} // namespace

std::unique_ptr<Products> attn::nvvm::createMmaProducts(WarpBuilder &wb, FloatType type, const SharedTile &query,
                                                        const SharedTile &key, const SharedTile &value) {
  return std::make_unique<MmaProducts>(wb, type, query, key, value);
}
