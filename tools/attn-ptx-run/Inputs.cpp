//===- Inputs.cpp - inputs that bring faults to light ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "../common/BeyondLengths.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

namespace {

/// Not quite 65504, so that no number becomes infinite.
constexpr double kLargestFloat16 = 60000;

bool isFloat(NpyType type) {
  return type == NpyType::Float16 || type == NpyType::BFloat16 || type == NpyType::Float32 || type == NpyType::Float64;
}

/// Beyond this magnitude eight rows of Q are left as they are after each eight, so that a warp has rows of both kinds.
constexpr double kMixedMagnitude = 1 << 20;
constexpr int64_t kRowGroup = 8;
/// What a float16 may be multiplied with; K takes the rest.
constexpr double kLargestFactor16 = 1 << 13;

NpyArray *findFloats(const Kernel &kernel, MutableArrayRef<NpyArray> arrays, StringRef name) {
  for (auto [argument, array] : zip_equal(kernel.arguments, arrays))
    if (!argument.isOutput && isFloat(array.type) && (name.empty() || argument.name == name))
      return &array;
  return nullptr;
}

void writeFloat(NpyArray &array, int64_t i, double value) {
  if (array.type == NpyType::Float32)
    reinterpret_cast<float *>(array.data)[i] = float(value);
  else if (array.type == NpyType::Float64)
    reinterpret_cast<double *>(array.data)[i] = value;
  else
    reinterpret_cast<uint16_t *>(array.data)[i] = toNarrowFloat(array.type, value);
}

void scale(NpyArray &array, double factor, bool isMixed) {
  const double limit = array.type == NpyType::Float16 ? kLargestFloat16 : HUGE_VAL;
  const int64_t columns = array.shape.empty() ? 1 : std::max<int64_t>(array.shape.back(), 1);
  for (int64_t i = 0, e = getNumElements(array.shape); i < e; ++i) {
    if (isMixed && i / columns / kRowGroup % 2 != 0)
      continue;
    writeFloat(array, i, std::clamp(readFloat(array, i) * factor, -limit, limit));
  }
}

/// K and V of each second batch index from `first` on, where its rows lie right behind those of the one before: nothing
/// of them is in the outputs of the others.
void poisonNeighbours(const Kernel &kernel, MutableArrayRef<NpyArray> arrays, int64_t first) {
  const NpyArray *sums = nullptr; // where sequences are packed
  for (auto [argument, array] : zip_equal(kernel.arguments, arrays)) {
    if (argument.name == "cu_seqlens_k")
      sums = &array;
    // Lengths leave rows between them.
    if (any_of(argument.checks, [](const ValueCheck &check) { return check.kind != ValueCheck::Kind::PrefixSums; }))
      return;
  }
  for (auto [argument, array] : zip_equal(kernel.arguments, arrays)) {
    if (argument.isOutput || !is_contained({"k", "v"}, StringRef(argument.name)) || array.shape.size() != 3)
      continue;
    const int64_t count = sums ? sums->shape[0] - 1 : array.shape[0];
    const int64_t row = getNumElements(array.shape) / std::max<int64_t>(array.shape[0], 1);
    for (int64_t i = first; count > 1 && i < count; i += 2) {
      const int64_t begin = sums ? readInteger(*sums, i) : i, end = sums ? readInteger(*sums, i + 1) : i + 1;
      poison(array, begin * row, (end - begin) * row);
    }
  }
}

} // namespace

namespace {

/// What is a 1 in memory; of int8 the largest, which its scale brings to about 1.
void setOne(NpyArray &array, int64_t index) {
  constexpr char kOneFloat8 = 0x38, kLargestInt8 = 127;
  switch (array.type) {
  case NpyType::Float8E4M3FN: array.data[index] = kOneFloat8; return;
  case NpyType::Int8: array.data[index] = kLargestInt8; return;
  case NpyType::Float32: reinterpret_cast<float *>(array.data)[index] = 1; return;
  default: reinterpret_cast<uint16_t *>(array.data)[index] = toNarrowFloat(array.type, 1); return;
  }
}

/// `rows` rows of `inner` elements, each of heads of `columns`, from key `firstKey` on.
void setOnes(NpyArray &array, int64_t first, int64_t rows, int64_t inner, int64_t columns, int64_t firstKey) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t start = first + row * inner;
    std::memset(array.data + start * getNpyTypeSize(array.type), 0, inner * getNpyTypeSize(array.type));
    for (int64_t head = 0; head < inner; head += columns)
      setOne(array, start + head + (firstKey + row) % columns);
  }
}

} // namespace

bool attn::ptx::separateKeys(const Kernel &kernel, MutableArrayRef<NpyArray> arrays) {
  NpyArray *values = nullptr, *table = nullptr, *sums = nullptr;
  const ValueCheck *check = nullptr;
  for (auto [argument, array] : zip_equal(kernel.arguments, arrays)) {
    if (!argument.isOutput && argument.name == "v" && array.shape.size() >= 3 && getNumElements(array.shape) > 0)
      values = &array;
    if (argument.name == "cu_seqlens_k")
      sums = &array;
    for (const ValueCheck &candidate : argument.checks) {
      if (candidate.kind == ValueCheck::Kind::BlockTable) {
        check = &candidate;
        table = &array;
      } else if (candidate.kind != ValueCheck::Kind::Lengths && candidate.kind != ValueCheck::Kind::PrefixSums) {
        return false;
      }
    }
  }
  if (!values || (values->shape.size() == 3 && !sums))
    return false;
  const int64_t columns = values->shape.back();
  if (sums) { // [rows, heads, D]
    const int64_t inner = values->shape[1] * columns;
    for (int64_t i = 0; i + 1 < sums->shape[0]; ++i) {
      const int64_t begin = readInteger(*sums, i), end = readInteger(*sums, i + 1);
      setOnes(*values, begin * inner, end - begin, inner, columns, 0);
    }
    return true;
  }
  if (!table) { // [batch, heads, keys, D]
    const int64_t rows = values->shape[2], inner = columns;
    for (int64_t i = 0; i < values->shape[0] * values->shape[1]; ++i)
      setOnes(*values, i * rows * inner, rows, inner, columns, 0);
    return true;
  }
  auto getSize = [&](const SizePlace &place) {
    return place.argument < 0 ? place.dim : arrays[place.argument].shape[place.dim];
  };
  const int64_t page = getSize(check->page), width = table->shape[1];
  if (values->shape[1] != page) // [pages, page, heads, D]
    return false;
  const int64_t inner = values->shape[2] * columns;
  for (int64_t i = 0, e = getNumElements(table->shape); i < e; ++i) {
    const int64_t first = (i % width) * page, left = readInteger(arrays[check->lengths], i / width) - first;
    if (left > 0)
      setOnes(*values, readInteger(*table, i) * page * inner, std::min(left, page), inner, columns, first);
  }
  return true;
}

void attn::ptx::copyFloats(const NpyArray &from, NpyArray &to) {
  for (int64_t i = 0, e = getNumElements(to.shape); i < e; ++i)
    writeFloat(to, i, readFloat(from, i));
}

Expected<std::vector<NpyArray>> attn::ptx::drawInputs(const Kernel &kernel, const ArgumentOptions &options,
                                                      double magnitude) {
  Expected<std::vector<NpyArray>> arrays = createArguments(kernel, options);
  if (!arrays)
    return arrays.takeError();
  // Q and K of a problem line; of IR, what comes first is Q.
  NpyArray *queries = findFloats(kernel, *arrays, "q"), *keys = findFloats(kernel, *arrays, "k");
  if (!queries)
    queries = findFloats(kernel, *arrays, "");
  if (queries && magnitude != 1) {
    const bool isNarrow = queries->type == NpyType::Float16 && keys && keys->type == NpyType::Float16;
    const double factor = isNarrow ? std::min(magnitude, kLargestFactor16) : magnitude;
    scale(*queries, factor, magnitude > kMixedMagnitude);
    if (factor < magnitude)
      scale(*keys, std::min(magnitude / factor, kLargestFactor16), /*isMixed=*/false);
  }
  poisonBeyondLengths(kernel, *arrays);
  if (magnitude <= kMixedMagnitude)
    poisonNeighbours(kernel, *arrays, magnitude == 1 ? 1 : 0);
  return arrays;
}
