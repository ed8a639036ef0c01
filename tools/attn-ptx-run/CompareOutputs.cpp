//===- CompareOutputs.cpp - errors of outputs against the reference -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CompareOutputs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <limits>

using namespace llvm;
using namespace attn;
using namespace attn::driver;
using namespace attn::ptx;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// For scores of magnitude 1; float32 has 24 bits, and a score is a sum of many products.
constexpr double kScoreError = 1e-5;
/// A larger tolerance would hide all errors. With very large scores, one key has all the weight in nearly every row.
constexpr double kLargestTolerance = 1.5 / (1 << 7);
/// A row whose elements are below this share of the overall maximum is judged as if they had that size.
constexpr double kRowShare = 1.0 / 16;
/// With fewer values, or fewer rows of them, their scatter is unknown.
constexpr int64_t kFewestNumbers = 48, kFewestRows = 16;
/// Truncation makes values smaller by 0.36 of the type's epsilon on average. The bound is a sixteenth of epsilon plus
/// kStandardErrors standard errors. Several key tiles may share a column; if one of two truncates, that still exceeds
/// the bound.
constexpr double kBiasShare = 1.0 / 16, kStandardErrors = 4;
/// Rows of a warp, and those that one instruction rounds.
constexpr int64_t kWarpRows = 32, kGroup = 8;
/// Weights below this share of the largest may be subnormal in float16.
constexpr double kSmallestWeight = 1e-3;

double getEpsilon(NpyType type) {
  return type == NpyType::BFloat16 ? 1.0 / (1 << 7) : type == NpyType::Float16 ? 1.0 / (1 << 10) : 0;
}

/// Heads whose rows are in one tile: with few queries, those that share a key head.
int64_t getHeadsOfTile(const Kernel &kernel, int64_t heads, int64_t rows, bool areHeadsInner,
                       ArrayRef<NpyArray> arguments) {
  constexpr int64_t kMostTileRows = 64;
  const bool hasPages = any_of(kernel.arguments, [](const KernelArgument &argument) {
    return any_of(argument.checks, [](const ValueCheck &check) { return check.kind == ValueCheck::Kind::BlockTable; });
  });
  for (auto [argument, array] : zip_equal(kernel.arguments, arguments)) {
    if (argument.name != "k" || array.shape.size() != 4)
      continue;
    const int64_t ofKeys = array.shape[hasPages || areHeadsInner ? 2 : 1], shared = ofKeys > 0 ? heads / ofKeys : 0;
    if (shared > 1 && shared * rows <= kMostTileRows)
      return shared;
  }
  return 1;
}

/// For each row of an output, its index among the rows from which tiles are made: packed sequences begin with a tile.
std::vector<int64_t> findPlaces(const Kernel &kernel, StringRef name, const NpyArray &output, bool areHeadsInner,
                                ArrayRef<NpyArray> arguments) {
  std::vector<int64_t> places(getNumElements(output.shape) / std::max<int64_t>(output.shape.back(), 1));
  if (output.shape.size() == 4) {
    const int64_t rows = std::max<int64_t>(output.shape[areHeadsInner ? 1 : 2], 1);
    const int64_t heads = std::max<int64_t>(output.shape[areHeadsInner ? 2 : 1], 1);
    const int64_t shared = getHeadsOfTile(kernel, heads, rows, areHeadsInner, arguments);
    for (auto [i, place] : enumerate(places)) {
      const int64_t row = areHeadsInner ? i / heads % rows : i % rows, head = areHeadsInner ? i % heads : i / rows;
      place = head % shared * rows + row;
    }
  }
  const StringRef ofRows = name == "dk" || name == "dv" ? "cu_seqlens_k" : "cu_seqlens_q";
  const auto *sums = find_if(kernel.arguments, [&](const auto &argument) { return argument.name == ofRows; });
  if (sums == kernel.arguments.end() || output.shape.size() != 3)
    return places;
  const NpyArray &begins = arguments[sums - kernel.arguments.begin()];
  const int64_t heads = output.shape[1];
  for (int64_t sequence = 0; sequence + 1 < begins.shape[0]; ++sequence) {
    const int64_t begin = readInteger(begins, sequence), end = readInteger(begins, sequence + 1);
    for (int64_t i = begin * heads; i < end * heads; ++i)
      places[i] = i / heads - begin;
  }
  return places;
}

/// Relative errors whose mean is judged.
class ErrorSums {
public:
  void add(double error, double reference, int64_t row) {
    if (row != lastRow) {
      closeRow();
      lastRow = row;
    }
    ++count;
    ++ofRow;
    sum += error;
    squares += error * error;
    sumOfRow += error;
    references.push_back(float(reference));
  }
  /// Equal values are rounded alike: their errors are one error.
  bool sayMuch() {
    if (count < kFewestNumbers)
      return false;
    sort(references);
    return 2 * (std::unique(references.begin(), references.end()) - references.begin()) >= count;
  }
  double getMean() const { return sum / count; }
  /// For independent errors.
  double getStandardError() const { return std::sqrt(std::max(squares / count - getMean() * getMean(), 0.0) / count); }
  /// Where the errors of a row are not independent: by the scatter of rows. Infinite if there are few.
  double getStandardErrorByRows() {
    closeRow();
    if (rows < kFewestRows)
      return kInfinity;
    // Σ (sum of the row − its count · mean)²
    const double mean = getMean(), scatter = rowSquares - 2 * mean * rowProducts + mean * mean * countSquares;
    return std::sqrt(std::max(scatter, 0.0) * rows / (rows - 1)) / count;
  }

private:
  void closeRow() {
    rows += ofRow > 0;
    rowSquares += sumOfRow * sumOfRow;
    rowProducts += double(ofRow) * sumOfRow;
    countSquares += double(ofRow) * ofRow;
    ofRow = 0;
    sumOfRow = 0;
  }

  int64_t count = 0, rows = 0, ofRow = 0, lastRow = -1;
  double sum = 0, squares = 0, sumOfRow = 0, rowSquares = 0, rowProducts = 0, countSquares = 0;
  std::vector<float> references; ///< one per value
};

/// The mean of (out − ref) / ref and its standard error, for several sets of elements: the groups of a warp's rows and
/// of columns; each column; all elements, as a decode step has few rows; and the rows and columns at one index, where
/// one of several loops runs. With separate keys, an output is the weight of few keys, each rounded independently. A
/// gradient is a sum over keys or queries, whose 16-bit factors are rounded once for all columns of a row.
void judgeBias(const NpyArray &found, const NpyArray &expected, ArrayRef<int64_t> places, double largest,
               bool isGradient, OutputError &result) {
  const double epsilon = getEpsilon(found.type);
  if (epsilon == 0 || found.shape.size() < 3)
    return;
  const int64_t columns = found.shape.back(), groups = (columns + kGroup - 1) / kGroup;
  const int64_t rowGroups = places.empty() ? 0 : *max_element(places) / kGroup + 1;
  const int64_t firstColumn = groups * (kWarpRows / kGroup), all = firstColumn + columns, firstPlace = all + 1;
  std::vector<ErrorSums> parts(firstPlace + groups * rowGroups);
  for (int64_t i = 0, e = getNumElements(found.shape); i < e; ++i) {
    const double b = readFloat(expected, i);
    if (!(std::abs(b) >= kSmallestWeight * largest) || !std::isfinite(b))
      continue;
    const double error = (readFloat(found, i) - b) / b;
    const int64_t row = i / columns, place = places[row] / kGroup, group = i % columns / kGroup;
    for (int64_t number : {place % (kWarpRows / kGroup) * groups + group, firstColumn + i % columns, all,
                           firstPlace + place * groups + group})
      parts[number].add(error, b, row);
  }
  for (ErrorSums &part : parts) {
    if (!part.sayMuch())
      continue;
    const double mean = part.getMean();
    const double standardError = isGradient ? part.getStandardErrorByRows() : part.getStandardError();
    const double bound = kBiasShare * epsilon + kStandardErrors * standardError;
    if (!std::isfinite(bound) ||
        (std::isfinite(result.biasBound) && std::abs(mean) * result.biasBound <= std::abs(result.bias) * bound))
      continue;
    result.bias = mean;
    result.biasBound = bound;
  }
}

struct Difference {
  double largest = 0, scale = 0;
};

/// Equal infinities, and a NaN on both sides, are no difference; any other non-finite value is an infinite one. With
/// `dropsNaN`, a NaN may be any value.
Difference measure(const NpyArray &found, const NpyArray &expected, int64_t first, int64_t count, bool dropsNaN) {
  Difference difference;
  for (int64_t i = first; i < first + count; ++i) {
    const double a = readFloat(found, i), b = readFloat(expected, i);
    if (std::isfinite(b))
      difference.scale = std::max(difference.scale, std::abs(b));
    if (a == b || (std::isnan(b) && (std::isnan(a) || dropsNaN)))
      continue;
    const double error = std::abs(a - b);
    difference.largest = std::max(difference.largest, std::isfinite(error) ? error : kInfinity);
  }
  return difference;
}

} // namespace

bool OutputError::isFine() const { return relative <= tolerance && std::abs(bias) <= biasBound; }

OutputError attn::ptx::compareOutput(const Kernel &kernel, StringRef name, const NpyArray &found,
                                     const NpyArray &expected, ArrayRef<NpyArray> arguments,
                                     const RowMagnitudes &magnitudes, bool separatesKeys, bool areHeadsInner) {
  OutputError result;
  result.name = name.str();
  const int64_t count = getNumElements(found.shape);
  int64_t columns = 1;
  std::vector<double> ofRows;
  // Gradients are differences, which cancel in some rows.
  if (kernel.kind != "backward")
    ofRows = magnitudes.of(found, columns);
  result.isOfRow = !ofRows.empty();
  if (!result.isOfRow) {
    ofRows = {magnitudes.getLargest()};
    columns = count;
  }
  const bool dropsNaN = name == "max"; // max.f32 does; log_sum has the NaN
  const double scale = measure(found, expected, 0, count, dropsNaN).scale;
  // For IR, the size of the scores is unknown: slopes or a bias may be in the hundreds.
  const bool isProblem = any_of(kernel.arguments, [](const auto &argument) { return argument.name == "q"; });
  const double share = isProblem ? kRowShare : 1;
  const double tolerance = getTolerance(kernel, name, found, arguments);
  result.tolerance = tolerance;
  for (auto [row, magnitude] : enumerate(ofRows)) {
    const Difference difference = measure(found, expected, row * columns, columns, dropsNaN);
    result.largest = std::max(result.largest, difference.largest);
    // The log-sum-exp is a score: its error is relative to the magnitude of scores, not to its own.
    const bool isScore = result.isOfRow && columns == 1;
    const double least = isScore ? magnitude : result.isOfRow ? share * scale : 0;
    const double bound = isScore || magnitude <= 1
                             ? tolerance
                             : std::max(tolerance, std::min(kLargestTolerance, kScoreError * magnitude));
    const double whole = std::max(difference.scale, least);
    const double relative = difference.largest == 0 ? 0 : difference.largest / (whole > 0 ? whole : 1);
    if (relative * result.tolerance < result.relative * bound)
      continue;
    result.relative = relative;
    result.tolerance = bound;
  }
  result.biasBound = kInfinity;
  if (separatesKeys)
    judgeBias(found, expected, findPlaces(kernel, name, found, areHeadsInner, arguments), scale,
              kernel.kind == "backward", result);
  return result;
}

void attn::ptx::print(raw_ostream &stream, const OutputError &error) {
  stream << error.name << ": largest error " << format("%.3g", error.largest) << ", relative to max |ref| "
         << (error.isOfRow ? "of the row " : "") << format("%.3g", error.relative)
         << (error.relative <= error.tolerance ? " <= " : " > ") << format("%.2g", error.tolerance);
  if (std::isfinite(error.biasBound))
    stream << ", in the mean " << format("%+.2g", error.bias)
           << (std::abs(error.bias) <= error.biasBound ? " within " : " beyond ") << format("%.2g", error.biasBound);
  stream << (error.isFine() ? ": ok" : ": FAILED") << "\n";
}
