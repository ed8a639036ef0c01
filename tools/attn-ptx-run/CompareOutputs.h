//===- CompareOutputs.h - how far outputs are from the reference -*- C++ -*-==//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTN_PTX_RUN_COMPAREOUTPUTS_H
#define ATTN_TOOLS_ATTN_PTX_RUN_COMPAREOUTPUTS_H

#include "Inputs.h"

namespace attn::ptx {

/// One output beside the reference's.
struct OutputError {
  std::string name;
  double largest = 0;   ///< |out − ref|
  double relative = 0;  ///< to max |ref| of a row, of the row that is furthest beyond its tolerance or next to it
  double tolerance = 0; ///< of `relative`
  bool isOfRow = false; ///< else it is relative to max |ref| of all
  /// Of 16 bits: how much too large (or, negative, too small) numbers are in the mean, as a share of the reference, in
  /// the part of the output where it is furthest beyond its bound. Rounding to nearest has none; weights that are
  /// rounded towards zero, before their sum divides, make the output smaller.
  double bias = 0;
  double biasBound = 0; ///< infinite where it is not judged
  bool isFine() const;
};

/// `magnitudes` are those of drawInputs: errors of scores, and so the relative ones of weights, grow with them. What
/// has the rows of Q is judged row by row: a row of small numbers, or of small scores, has the error of such. The bias
/// is judged where keys are separate (separateKeys): for all rows of the same eight of a warp's, eight columns at a
/// time, which is what one instruction rounds of the weights; for each column, as of the output; for all; and for the
/// same eight rows of a head, which have the same kinds of tiles. `areHeadsInner`: as of separateKeys.
OutputError compareOutput(const Kernel &kernel, llvm::StringRef name, const NpyArray &found, const NpyArray &expected,
                          llvm::ArrayRef<NpyArray> arguments, const RowMagnitudes &magnitudes, bool separatesKeys,
                          bool areHeadsInner);

void print(llvm::raw_ostream &stream, const OutputError &error);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_COMPAREOUTPUTS_H
