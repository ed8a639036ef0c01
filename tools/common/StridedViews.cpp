//===- StridedViews.cpp - inputs with arbitrary strides -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StridedViews.h"
#include <cstring>
#include <numeric>
#include <random>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Most elements between the rows of an argument, and most rows between its slices.
static constexpr int64_t kMaxGap = 19, kMaxRows = 2;
/// One dimension in this many is reversed.
static constexpr unsigned kReversedShare = 8;
/// All bits set: NaN in every floating-point type.
static constexpr char kGap = '\xff';

StridedViews::StridedViews(const Kernel &kernel, ArrayRef<NpyArray> arguments, uint64_t seed) {
  std::mt19937_64 generator(seed);
  auto draw = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(generator); };
  for (auto [i, argument] : enumerate(kernel.arguments)) {
    const NpyArray &array = arguments[i];
    const int64_t rank = array.shape.size(), size = getNpyTypeSize(array.type), count = getNumElements(array.shape);
    if (!argument.isStrided || rank < 2 || count == 0)
      continue;
    View view{i, std::vector<int64_t>(rank, 1), {}, 0};
    std::vector<int64_t> order(rank - 1);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), generator);
    const int64_t columns = array.shape.back(), pitch = columns + draw(kMaxGap);
    int64_t elements = pitch;
    for (int64_t dim : order) {
      view.strides[dim] = elements;
      elements = elements * array.shape[dim] + pitch * draw(kMaxRows);
      if (draw(kReversedShare - 1) == 0) {
        view.first += (array.shape[dim] - 1) * view.strides[dim] * size;
        view.strides[dim] *= -1;
      }
    }
    view.memory.assign(elements * size, kGap);
    for (int64_t row = 0, rows = count / columns; row < rows; ++row) {
      int64_t place = view.first;
      for (int64_t dim = rank - 2, rest = row; dim >= 0; rest /= array.shape[dim--])
        place += rest % array.shape[dim] * view.strides[dim] * size;
      std::memcpy(view.memory.data() + place, array.data + row * columns * size, columns * size);
    }
    views.push_back(std::move(view));
  }
}

void StridedViews::apply(MutableArrayRef<DLTensor> tensors) const {
  for (const View &view : views) {
    tensors[view.argument].data = const_cast<char *>(view.memory.data());
    tensors[view.argument].byte_offset = view.first;
    tensors[view.argument].strides = const_cast<int64_t *>(view.strides.data());
  }
}
