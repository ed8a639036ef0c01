//===- Inputs.h - inputs that expose faults ---------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTN_PTX_RUN_INPUTS_H
#define ATTN_TOOLS_ATTN_PTX_RUN_INPUTS_H

#include "../common/Driver.h"

#include <optional>

namespace attn::ptx {

/// How the inputs of one run are drawn.
struct InputKind {
  /// Factors of the rows of Q, in turn (getFactor): one fragment has scores of several sizes.
  std::vector<double> factors = {1};
  bool separatesKeys = false; ///< so that the rounding of weights can be judged
  /// Where the rows of batch indices are contiguous, K and V of every second one from here on are NaN.
  std::optional<int64_t> firstPoisoned;
  /// An additional factor of one row of Q in 33: usually the only one of its warp whose maximum grows.
  double ofFewRows = 1;
  std::string print() const;
};

/// The kinds without --magnitude: together they cover the code for small, growing and very large scores.
std::vector<InputKind> getDefaultKinds(const Kernel &kernel);
/// The kind for --magnitude=X: all of Q scaled by X; beyond 2^20, every second row.
InputKind getKind(double magnitude);

/// Approximate magnitudes of the scores of Q's rows.
struct RowMagnitudes {
  std::vector<int64_t> shape; ///< of Q without its columns
  std::vector<double> values; ///< by row, in memory order
  /// The values for the rows of an output; empty where its rows are not those of Q. Sets `columns` to the elements of a
  /// row.
  std::vector<double> of(const NpyArray &output, int64_t &columns) const;
  double getLargest() const;
};

/// Random arguments of a kernel, as in `attnc run` except for the kind, and the magnitudes of the scores of Q's rows.
/// With a factor of 128, a wrong row maximum makes powers of two overflow; with 2^31, scores exceed what one
/// multiply-add can bring to the exponent. Rows of Q, K, V and their scales beyond the lengths, page tails and unused
/// pages are NaN (for int8: 127).
llvm::Expected<std::vector<NpyArray>> drawInputs(const Kernel &kernel, const driver::ArgumentOptions &options,
                                                 const InputKind &kind, RowMagnitudes &magnitudes);

/// Copies the values in the type of `to`.
void copyFloats(const NpyArray &from, NpyArray &to);

/// Makes row j of V a one in column j + 1 modulo D, so that an output is the weight of few keys and shows how each
/// weight was rounded. `areHeadsInner`: V is [batch, keys, heads, D]. Returns false, without a change, if the key of a
/// row of V is unknown.
bool separateKeys(const Kernel &kernel, llvm::MutableArrayRef<NpyArray> arrays, bool areHeadsInner);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_INPUTS_H
