//===- Inputs.h - inputs that bring faults to light -------------*- C++ -*-===//
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
  /// What rows of Q are multiplied with, in turn (getFactor): scores of several sizes stand in one fragment.
  std::vector<double> factors = {1};
  bool separatesKeys = false; ///< so that the rounding of weights is judged
  /// Where the rows of batch indices lie one behind the other, K and V of each second one from here on are NaN.
  std::optional<int64_t> firstPoisoned;
  /// What one row of Q in 33 is multiplied with beside that: mostly the only one of its warp whose maximum grows.
  double ofFewRows = 1;
  std::string print() const;
};

/// What runs without --magnitude: together they execute what is executed for small, growing and very large scores.
std::vector<InputKind> getDefaultKinds(const Kernel &kernel);
/// One for --magnitude=X: all of Q X times as large; beyond 2^20, each second row.
InputKind getKind(double magnitude);

/// How large the scores of the rows of Q are, about.
struct RowMagnitudes {
  std::vector<int64_t> shape; ///< of Q without its columns
  std::vector<double> values; ///< by row, in the order of memory
  /// For each row of an output; nothing where its rows are not those of Q. `columns` becomes the elements of a row.
  std::vector<double> of(const NpyArray &output, int64_t &columns) const;
  double getLargest() const;
};

/// Random arguments of a kernel, as in `attnc run` but for the kind, and how large the scores of Q's rows are. With a
/// factor of 128, a maximum that is not the row's lets powers of two overflow; with 2^31, scores are beyond what one
/// multiply-add brings to the exponent. Rows of Q, K, V and their scales beyond the lengths, page tails and pages that
/// no sequence has are NaN (of int8: 127).
llvm::Expected<std::vector<NpyArray>> drawInputs(const Kernel &kernel, const driver::ArgumentOptions &options,
                                                 const InputKind &kind, RowMagnitudes &magnitudes);

/// The same numbers in the type of `to`.
void copyFloats(const NpyArray &from, NpyArray &to);

/// Makes row j of V a one in column j + 1 modulo D, so that an output is the weight of few keys, and how each weight
/// was rounded shows. `areHeadsInner`: V is [batch, keys, heads, D]. False, and nothing is changed, where it is not
/// known which row of V is of which key.
bool separateKeys(const Kernel &kernel, llvm::MutableArrayRef<NpyArray> arrays, bool areHeadsInner);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_INPUTS_H
