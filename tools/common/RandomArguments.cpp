//===- RandomArguments.cpp - valid random inputs of a kernel --------------===//
//
// Floats are normal, and those of a projection's weights preserve the variance of rows; booleans are mostly true;
// integers are within the limits of their checks (attn.arguments): lengths, prefix sums, block tables, positions.
// Quantised keys and values take every value of their type, and scales map them to about 1.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "NormalNumbers.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <numeric>
#include <random>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Share of a random boolean mask that is true.
static constexpr double kKeptShare = 0.75;
/// Causal offsets are in -kMaxOffset to kMaxOffset.
static constexpr int64_t kMaxOffset = 8;
/// Tiles have a divisor of this many rows, or twice as many.
static constexpr int64_t kLengthStep = 64;
/// Integers without a check are in 0 to this: they may index a small table.
static constexpr int64_t kMaxCaptured = 3;
/// The dropout seed and offset of the known answers of docs/Semantics.md.
static constexpr int64_t kSeed = 42, kDropoutOffset = 1;
/// Entries of a block table that no kernel may read.
static constexpr int64_t kNoPage = std::numeric_limits<int32_t>::max();

/// One in kUniformPeriod rows of a bias is kUniformScore throughout, and one is its negation: the scores of such a row
/// are all equal, and its lse as a single value has lost their count.
static constexpr int64_t kUniformPeriod = 7;
static constexpr double kUniformScore = 1e30;

static constexpr unsigned kFloat8Sign = 0x80;

int64_t driver::readInteger(const NpyArray &array, int64_t index) {
  switch (array.type) {
  case NpyType::Int64: return reinterpret_cast<const int64_t *>(array.data)[index];
  case NpyType::Int32: return reinterpret_cast<const int32_t *>(array.data)[index];
  default: return array.data[index];
  }
}

static void writeInteger(NpyArray &array, int64_t index, int64_t value) {
  switch (array.type) {
  case NpyType::Int64: reinterpret_cast<int64_t *>(array.data)[index] = value; return;
  case NpyType::Int32: reinterpret_cast<int32_t *>(array.data)[index] = value; return;
  default: array.data[index] = value; return;
  }
}

namespace {

class Filler {
public:
  Filler(const Kernel &kernel, MutableArrayRef<NpyArray> arrays, const ArgumentOptions &options)
      : kernel(kernel), arrays(arrays), options(options), generator(options.seed) {}

  void run() {
    // Tables come last, as they depend on lengths.
    for (bool tables : {false, true})
      for (auto [argument, array] : zip_equal(kernel.arguments, arrays))
        if ((!argument.isOutput || argument.isUpdated) && isTable(argument) == tables)
          fill(argument, array);
    // The tolerance of lse is relative to its largest element: with such rows, it would be meaningless for the others.
    if (!options.uniformRows)
      return;
    bool returnsLse = any_of(kernel.arguments, [](const KernelArgument &each) { return each.name == "lse"; });
    for (auto [argument, array] : zip_equal(kernel.arguments, arrays))
      if (argument.name == "bias" && !argument.isOutput && !returnsLse)
        makeUniformRows(array);
  }

private:
  /// f16 cannot represent that size.
  void makeUniformRows(NpyArray &array) {
    int64_t columns = array.shape.empty() ? 0 : array.shape.back();
    for (int64_t i = 0, e = getNumElements(array.shape); i < e; ++i) {
      int64_t place = i / columns % kUniformPeriod;
      double value = place == 2 ? kUniformScore : -kUniformScore;
      if (place != 2 && place != 5)
        continue;
      if (array.type == NpyType::Float32)
        reinterpret_cast<float *>(array.data)[i] = static_cast<float>(value);
      else if (array.type == NpyType::Float64)
        reinterpret_cast<double *>(array.data)[i] = value;
      else if (array.type == NpyType::BFloat16)
        reinterpret_cast<uint16_t *>(array.data)[i] = toNarrowFloat(array.type, value);
    }
  }

  static bool isTable(const KernelArgument &argument) {
    return any_of(argument.checks, [](const ValueCheck &check) {
      return check.kind == ValueCheck::Kind::BlockTable || check.kind == ValueCheck::Kind::AppendTable;
    });
  }
  int64_t draw(int64_t low, int64_t high) {
    return high <= low ? low : std::uniform_int_distribution<int64_t>(low, high)(generator);
  }
  int64_t getSize(const SizePlace &place) const {
    return place.argument < 0 ? place.dim : arrays[place.argument].shape[place.dim];
  }
  int64_t getLimit(const ValueCheck &check) const { return getSize(check.limit[0]) * getSize(check.limit[1]); }

  /// 1 / sqrt(K) for the weights of a projection, (K, N): rows of its products are then normal too. With 1, scores
  /// would be of size K and their softmax a maximum, which rounding decides.
  static double getDeviation(const KernelArgument &argument, const NpyArray &array) {
    StringRef role = StringRef(argument.name).rtrim("0123456789"); // the second argument of one role is weight2
    bool isProjection = array.shape.size() == 2 && is_contained({"w_q", "w_k", "w_v", "w_o", "weight"}, role);
    return 1 / std::sqrt(static_cast<double>(isProjection ? std::max<int64_t>(array.shape[0], 1) : 1));
  }

  template <typename T> void fillNormal(NpyArray &array, double deviation) {
    NormalNumbers<T> distribution(static_cast<T>(deviation));
    for (T &element : MutableArrayRef(reinterpret_cast<T *>(array.data), getNumElements(array.shape)))
      element = distribution(generator);
  }

  /// True for the operands of linear attention, whose state would grow without bounds from others.
  bool fillLinear(const KernelArgument &argument, NpyArray &array) {
    StringRef name = argument.name;
    bool hasState = any_of(kernel.arguments, [](const KernelArgument &each) {
      return (each.name == "state" && each.isUpdated) || each.name == "dstate";
    });
    if (!hasState || !is_contained({"k", "erase", "write", "decay", "beta", "slots"}, name))
      return false;
    if (name == "slots") {
      fillSlots(array);
      return true;
    }
    double deviation = 1 / std::sqrt(double(std::max<int64_t>(array.shape.empty() ? 1 : array.shape.back(), 1)));
    NormalNumbers<double> distribution(name == "decay" || name == "beta" ? 1.0 : deviation);
    for (int64_t i = 0, e = getNumElements(array.shape); i < e; ++i) {
      double x = distribution(generator);
      x = name == "decay" ? -std::abs(x) : name == "beta" ? 1 / (1 + std::exp(-x)) : x;
      switch (array.type) {
      case NpyType::Float32: reinterpret_cast<float *>(array.data)[i] = float(x); break;
      case NpyType::Float64: reinterpret_cast<double *>(array.data)[i] = x; break;
      default: reinterpret_cast<uint16_t *>(array.data)[i] = toNarrowFloat(array.type, x); break;
      }
    }
    return true;
  }

  /// Different places, and none for the last of several batch indices.
  void fillSlots(NpyArray &array) {
    int64_t places = 0, count = getNumElements(array.shape);
    for (auto [argument, other] : zip_equal(kernel.arguments, arrays))
      if (argument.name == "state")
        places = other.shape[0];
    std::vector<int64_t> order(places);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), generator);
    for (int64_t i = 0; i < count; ++i)
      writeInteger(array, i, i < places && (count == 1 || i + 1 < count) ? order[i] : -1);
  }

  void fill(const KernelArgument &argument, NpyArray &array) {
    if (fillLinear(argument, array))
      return;
    if (argument.name == "k_scale" || argument.name == "v_scale")
      return fillScales(array);
    if (argument.name == getWord(Word::scale_value).argument && argument.isScalar)
      return fillScale(array);
    switch (array.type) {
    case NpyType::Float32: return fillNormal<float>(array, getDeviation(argument, array));
    case NpyType::Float64: return fillNormal<double>(array, getDeviation(argument, array));
    case NpyType::Float16:
    case NpyType::BFloat16: {
      NormalNumbers<double> distribution(getDeviation(argument, array));
      for (uint16_t &element : MutableArrayRef(reinterpret_cast<uint16_t *>(array.data), getNumElements(array.shape)))
        element = toNarrowFloat(array.type, distribution(generator));
      return;
    }
    case NpyType::Float8E4M3FN:
    case NpyType::Float8E5M2: {
      unsigned largest = array.type == NpyType::Float8E5M2 ? kMaxE5M2 : kMaxFloat8;
      for (char &element : MutableArrayRef(array.data, getNumElements(array.shape)))
        element = static_cast<char>(draw(0, largest) | (draw(0, 1) ? kFloat8Sign : 0));
      return;
    }
    case NpyType::Bool: {
      std::bernoulli_distribution distribution(kKeptShare);
      for (char &element : MutableArrayRef(array.data, getNumElements(array.shape)))
        element = distribution(generator);
      return;
    }
    case NpyType::Int8:
      for (char &element : MutableArrayRef(array.data, getNumElements(array.shape)))
        element = static_cast<char>(draw(-kMaxInt8, kMaxInt8));
      return;
    case NpyType::Int32:
    case NpyType::Int64: return fillIntegers(argument, array);
    }
  }

  /// Scales of quantised keys or values, which map the largest of them to about 1.
  void fillScales(NpyArray &array) {
    auto has = [&](NpyType type) { return any_of(arrays, [&](const NpyArray &other) { return other.type == type; }); };
    double largest = has(NpyType::Float8E4M3FN) ? fromNarrowFloat(NpyType::Float8E4M3FN, kMaxFloat8)
                     : has(NpyType::Float8E5M2) ? fromNarrowFloat(NpyType::Float8E5M2, kMaxE5M2)
                                                : kMaxInt8;
    std::uniform_real_distribution<float> distribution(0.5, 1.5);
    for (float &scale : MutableArrayRef(reinterpret_cast<float *>(array.data), getNumElements(array.shape)))
      scale = distribution(generator) / static_cast<float>(largest);
  }

  /// The scale of scores, which makes those of Q and K about 1.
  void fillScale(NpyArray &array) {
    double columns = arrays.front().shape.empty() ? 1 : std::max<int64_t>(arrays.front().shape.back(), 1);
    double scale = std::uniform_real_distribution<double>(0.5, 1.5)(generator) / std::sqrt(columns);
    if (array.type == NpyType::Float64)
      *reinterpret_cast<double *>(array.data) = scale;
    else
      *reinterpret_cast<float *>(array.data) = static_cast<float>(scale);
  }

  void fillIntegers(const KernelArgument &argument, NpyArray &array) {
    StringRef name = argument.name;
    bool isPlace = name.ends_with("_origin") || name.starts_with("whole_");
    if (argument.isScalar)
      return writeInteger(array, 0, isPlace ? draw(1, kMaxOffset) : name == "seed" ? kSeed : kDropoutOffset);
    if (isTable(argument))
      return fillTable(argument.checks, array);
    // The tightest limit of all uses: sums may be those of both queries and keys.
    if (!argument.checks.empty() && argument.checks.front().kind == ValueCheck::Kind::PrefixSums) {
      int64_t limit = std::numeric_limits<int64_t>::max();
      for (const ValueCheck &check : argument.checks)
        limit = std::min(limit, getLimit(check));
      bool isStep = argument.checks.front().lengths >= 0 && !options.fullLengths;
      return isStep ? fillStep(limit, array) : fillPrefixSums(limit, array);
    }
    // Lengths and positions, likewise.
    bool isOffset = isPlace || name == "causal_offset";
    int64_t low = isOffset ? -kMaxOffset : 0;
    int64_t high = isOffset ? kMaxOffset : kMaxCaptured;
    if (!argument.checks.empty())
      high = std::numeric_limits<int64_t>::max();
    for (const ValueCheck &check : argument.checks)
      high = std::min(high, getLimit(check) - (check.kind == ValueCheck::Kind::Positions ? getSize(check.rows) : 0));
    const bool fillsTiles = options.fillsTiles && !argument.checks.empty() &&
                            argument.checks.front().kind == ValueCheck::Kind::Lengths && high >= kLengthStep - 1;
    for (int64_t i = 0, e = getNumElements(array.shape); i < e; ++i)
      writeInteger(array, i,
                   options.fullLengths && !argument.checks.empty() ? high
                   : fillsTiles && i % 2 == 0                      ? draw(1, (high + 1) / kLengthStep) * kLengthStep - 1
                                                                   : draw(low, high));
  }

  /// A random partition of the limit; an even one if lengths are full.
  void fillPrefixSums(int64_t limit, NpyArray &array) {
    int64_t count = getNumElements(array.shape);
    std::vector<int64_t> sums(count);
    for (int64_t i = 1; i < count; ++i)
      sums[i] = options.fullLengths ? limit * i / (count - 1) : draw(0, limit);
    sort(sums);
    if (count > 1)
      sums.back() = limit;
    for (auto [i, sum] : enumerate(sums))
      writeInteger(array, i, sum);
  }

  /// Like a step of a serving engine: about half of the sequences have one row, the others a random part of the rest.
  void fillStep(int64_t limit, NpyArray &array) {
    int64_t count = getNumElements(array.shape) - 1, numSingle = 0;
    std::vector<bool> isSingle(std::max<int64_t>(count, 0));
    for (int64_t i = 0; i + 1 < count && numSingle < limit; ++i) {
      isSingle[i] = draw(0, 1) == 1;
      numSingle += isSingle[i];
    }
    std::vector<int64_t> ends;
    for (int64_t i = numSingle; i + 1 < count; ++i)
      ends.push_back(draw(0, limit - numSingle));
    ends.push_back(limit - numSingle);
    sort(ends);
    for (int64_t i = 0, single = 0, other = 0; i < count; ++i) {
      (isSingle[i] ? single : other) += 1;
      writeInteger(array, i + 1, single + (other > 0 ? ends[other - 1] : 0));
    }
  }

  /// A random permutation of the pages, repeated where the table has more entries.
  void fillTable(ArrayRef<ValueCheck> checks, NpyArray &array) {
    int64_t numPages = std::numeric_limits<int64_t>::max(), width = array.shape[1];
    for (const ValueCheck &check : checks)
      numPages = std::min(numPages, getLimit(check));
    std::vector<int64_t> pages(numPages);
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), generator);
    const ValueCheck &check = checks.front();
    int64_t page = getSize(check.page);
    for (int64_t i = 0, e = getNumElements(array.shape); i < e; ++i) {
      int64_t end = readInteger(arrays[check.lengths], i / width) +
                    (check.kind == ValueCheck::Kind::AppendTable ? getSize(check.rows) : 0);
      bool isRead = (i % width) * page < end && !pages.empty();
      writeInteger(array, i, isRead ? pages[i % pages.size()] : kNoPage);
    }
  }

  const Kernel &kernel;
  MutableArrayRef<NpyArray> arrays;
  const ArgumentOptions &options;
  std::mt19937_64 generator;
};

} // namespace

void driver::fillRandom(const Kernel &kernel, MutableArrayRef<NpyArray> arrays, const ArgumentOptions &options) {
  Filler(kernel, arrays, options).run();
}
