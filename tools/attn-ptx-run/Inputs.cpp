//===- Inputs.cpp - inputs that expose faults -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "../common/BeyondLengths.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace llvm;
using namespace attn;
using namespace attn::driver;
using namespace attn::ptx;

namespace {

/// Slightly below 65504, so that no value becomes infinite.
constexpr double kLargestFloat16 = 60000;

bool isFloat(NpyType type) {
  return type == NpyType::Float16 || type == NpyType::BFloat16 || type == NpyType::Float32 || type == NpyType::Float64;
}

/// Above this magnitude, every second row of Q stays unscaled, so that a warp has rows of both kinds.
constexpr double kMixedMagnitude = 1 << 20;
/// A thread has rows at a distance of eight: each group of eight begins with the next factor.
constexpr int64_t kRowGroup = 8;
/// The largest factor for a float16; the rest is applied to K.
constexpr double kLargestFactor16 = 1 << 13;
/// Scores of rows: with keys of similar weight; with a maximum that grows slightly, by more than it may lag behind, and
/// so much that earlier weights vanish.
constexpr double kGrowingFactors[] = {128, 1, 16, 4};
/// Gradients of rows in which one key has all the weight are 0.
constexpr double kGrowingFactorsOfGradients[] = {8, 1, 4, 2};
/// Besides rows of several sizes, the last key is this many times as large as the first: each tile has new maxima.
constexpr double kGrowthOfKeys = 3;
/// Scores are beyond 2^31, while those of other rows of the warp are not.
constexpr double kLargeFactors[] = {2147483648, 1};
/// Besides rows whose maximum lags behind, one whose maximum grows, in each group of a warp's rows in turn. The first
/// one comes late: a decode step has fewer rows, and needs all of them to judge rounding.
constexpr double kFactorOfFewRows = 16;
constexpr int64_t kFewRows = 33;

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

/// A row's index, with one more at each group.
int64_t getPlace(int64_t row) { return row + row / kRowGroup; }
double getFactor(ArrayRef<double> factors, int64_t row) { return factors[getPlace(row) % factors.size()]; }
double getFactorOfFew(const InputKind &kind, int64_t row) {
  return getPlace(row) % kFewRows == kFewRows - 1 ? kind.ofFewRows : 1;
}

/// Scales each row by its own factor.
void scale(NpyArray &array, function_ref<double(int64_t)> getFactorOfRow) {
  const double limit = array.type == NpyType::Float16 ? kLargestFloat16 : HUGE_VAL;
  const int64_t columns = array.shape.empty() ? 1 : std::max<int64_t>(array.shape.back(), 1);
  for (int64_t i = 0, e = getNumElements(array.shape); i < e; ++i)
    if (const double factor = getFactorOfRow(i / columns); factor != 1)
      writeFloat(array, i, std::clamp(readFloat(array, i) * factor, -limit, limit));
}

/// In a layout whose second last dimension is not that of keys, heads grow, or rows of a page.
void growKeys(NpyArray &keys) {
  if (keys.shape.size() < 2)
    return;
  const int64_t columns = std::max<int64_t>(keys.shape.back(), 1), rows = keys.shape[keys.shape.size() - 2];
  for (int64_t i = 0, e = getNumElements(keys.shape); i < e; ++i) {
    const double place = double(i / columns % rows) / rows;
    writeFloat(keys, i, readFloat(keys, i) * (1 + (kGrowthOfKeys - 1) * place));
  }
}

/// Fills K and V of every second batch index from `first` on with NaN, if their rows directly follow those of the
/// previous one: the other outputs must not contain them.
void poisonNeighbours(const Kernel &kernel, MutableArrayRef<NpyArray> arrays, int64_t first) {
  const NpyArray *sums = nullptr; // where sequences are packed
  for (auto [argument, array] : zip_equal(kernel.arguments, arrays)) {
    if (argument.name == "cu_seqlens_k")
      sums = &array;
    // With lengths there are unused rows between them.
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

/// 1; of 8 bits the largest value, which a scale maps to about 1. A one of float8 would be 1 / 448 then, and many
/// outputs of float16 subnormal.
void setOne(NpyArray &array, int64_t index) {
  switch (array.type) {
  case NpyType::Float8E4M3FN: array.data[index] = driver::kMaxFloat8; return;
  case NpyType::Float8E5M2: array.data[index] = driver::kMaxE5M2; return;
  case NpyType::Int8: array.data[index] = driver::kMaxInt8; return;
  case NpyType::Float32: reinterpret_cast<float *>(array.data)[index] = 1; return;
  default: reinterpret_cast<uint16_t *>(array.data)[index] = toNarrowFloat(array.type, 1); return;
  }
}

/// Sets ones in `rows` rows of `inner` elements, with heads of `columns`, from key `firstKey` on. The column is one
/// higher than the key, so that no block of an mma is its own transpose.
void setOnes(NpyArray &array, int64_t first, int64_t rows, int64_t inner, int64_t columns, int64_t firstKey) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t start = first + row * inner;
    std::memset(array.data + start * getNpyTypeSize(array.type), 0, inner * getNpyTypeSize(array.type));
    for (int64_t head = 0; head < inner; head += columns)
      setOne(array, start + head + (firstKey + row + 1) % columns);
  }
}

} // namespace

bool attn::ptx::separateKeys(const Kernel &kernel, MutableArrayRef<NpyArray> arrays, bool areHeadsInner) {
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
    const int64_t rows = values->shape[areHeadsInner ? 1 : 2],
                  inner = areHeadsInner ? values->shape[2] * columns : columns;
    for (int64_t i = 0, e = getNumElements(values->shape) / std::max<int64_t>(rows * inner, 1); i < e; ++i)
      setOnes(*values, i * rows * inner, rows, inner, columns, 0);
    return true;
  }
  auto getSize = [&](const SizePlace &place) {
    return place.argument < 0 ? place.dim : arrays[place.argument].shape[place.dim];
  };
  // [pages, page, heads, D] or [pages, heads, page, D]
  const int64_t page = getSize(check->page), width = table->shape[1];
  const bool areHeadsOuter = values->shape[2] == page;
  if ((values->shape[1] == page) == areHeadsOuter)
    return false;
  const int64_t heads = areHeadsOuter ? values->shape[1] : 1,
                inner = areHeadsOuter ? columns : values->shape[2] * columns;
  for (int64_t i = 0, e = getNumElements(table->shape); i < e; ++i) {
    const int64_t first = (i % width) * page, left = readInteger(arrays[check->lengths], i / width) - first;
    for (int64_t head = 0; left > 0 && head < heads; ++head)
      setOnes(*values, (readInteger(*table, i) * heads + head) * page * inner, std::min(left, page), inner, columns,
              first);
  }
  return true;
}

void attn::ptx::copyFloats(const NpyArray &from, NpyArray &to) {
  for (int64_t i = 0, e = getNumElements(to.shape); i < e; ++i)
    writeFloat(to, i, readFloat(from, i));
}

std::string InputKind::print() const {
  std::string text = factors.size() > 1 ? "magnitudes " : "magnitude ";
  raw_string_ostream stream(text);
  interleave(factors, [&](double factor) { stream << format("%.10g", factor); }, [&] { stream << ", "; });
  stream << (factors.size() > 1 ? " of rows" : "");
  if (ofFewRows != 1)
    stream << format(", %.10g of few rows", ofFewRows);
  stream << (separatesKeys ? ", a key a column" : "");
  return text;
}

std::vector<InputKind> attn::ptx::getDefaultKinds(const Kernel &kernel) {
  InputKind normal{{1}, /*separatesKeys=*/true, /*firstPoisoned=*/1};
  // Scores of 2^31 are not exact, and the weights of a backward pass are exponentials of their difference to lse.
  if (kernel.kind == "backward")
    return {normal, {{std::begin(kGrowingFactorsOfGradients), std::end(kGrowingFactorsOfGradients)}, false, 0}};
  normal.ofFewRows = kFactorOfFewRows;
  return {normal,
          {{std::begin(kGrowingFactors), std::end(kGrowingFactors)}, false, 0},
          {{std::begin(kLargeFactors), std::end(kLargeFactors)}, false, std::nullopt}};
}

InputKind attn::ptx::getKind(double magnitude) {
  if (magnitude > kMixedMagnitude)
    return {{magnitude, 1}, false, std::nullopt};
  return {{magnitude}, false, magnitude == 1 ? 1 : 0};
}

double RowMagnitudes::getLargest() const { return values.empty() ? 1 : *max_element(values); }

std::vector<double> RowMagnitudes::of(const NpyArray &output, int64_t &columns) const {
  const ArrayRef<int64_t> own = output.shape, ofQueries = shape;
  columns = 1;
  if (values.empty())
    return {};
  if (own.size() == ofQueries.size() + 1 && own.drop_back() == ofQueries) {
    columns = own.back();
    return values;
  }
  if (own == ofQueries)
    return values;
  // One value per row, with heads before rows; Q has them after rows, or in its columns.
  const size_t rank = shape.size();
  const bool isSwapped =
      rank >= 2 && own.size() == rank && own[rank - 1] == shape[rank - 2] && own[rank - 2] == shape[rank - 1];
  const bool isInColumns = rank == 2 && own.size() == 3 && own[0] == shape[0] && own[2] == shape[1];
  if (!isSwapped && !isInColumns)
    return {};
  std::vector<double> found;
  const int64_t rows = own.back(), heads = own[own.size() - 2], headsOfQueries = isSwapped ? heads : 1;
  for (int64_t i = 0, e = getNumElements(own); i < e; ++i) {
    const int64_t batch = i / (rows * heads), head = isSwapped ? i / rows % heads : 0;
    found.push_back(values[(batch * rows + i % rows) * headsOfQueries + head]);
  }
  return found;
}

Expected<std::vector<NpyArray>> attn::ptx::drawInputs(const Kernel &kernel, const ArgumentOptions &options,
                                                      const InputKind &kind, RowMagnitudes &magnitudes) {
  Expected<std::vector<NpyArray>> arrays = createArguments(kernel, options);
  if (!arrays)
    return arrays.takeError();
  // Q and K of a problem line; for IR, the first argument is Q.
  NpyArray *queries = findFloats(kernel, *arrays, "q"), *keys = findFloats(kernel, *arrays, "k");
  if (!queries)
    queries = findFloats(kernel, *arrays, "");
  if (queries) {
    const bool isNarrow = queries->type == NpyType::Float16 && keys && keys->type == NpyType::Float16;
    const double largest = *max_element(kind.factors);
    const double ofKeys = isNarrow ? std::clamp(largest / kLargestFactor16, 1.0, kLargestFactor16) : 1;
    const auto factors = to_vector(map_range(
        kind.factors, [&](double factor) { return isNarrow ? std::min(factor / ofKeys, kLargestFactor16) : factor; }));
    auto getOwn = [&](int64_t row) { return getFactor(factors, row) * getFactorOfFew(kind, row); };
    scale(*queries, getOwn);
    if (keys && factors.size() > 1 && kernel.kind != "backward")
      growKeys(*keys);
    if (ofKeys != 1)
      scale(*keys, [&](int64_t) { return ofKeys; });
    if (!queries->shape.empty())
      magnitudes.shape.assign(queries->shape.begin(), queries->shape.end() - 1);
    for (int64_t row = 0, e = getNumElements(magnitudes.shape); row < e; ++row)
      magnitudes.values.push_back(ofKeys * getOwn(row));
  }
  poisonBeyondLengths(kernel, *arrays);
  if (kind.firstPoisoned)
    poisonNeighbours(kernel, *arrays, *kind.firstPoisoned);
  return arrays;
}
