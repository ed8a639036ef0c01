//===- CompareOutputs.h - errors against the reference ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTN_PTX_RUN_COMPAREOUTPUTS_H
#define ATTN_TOOLS_ATTN_PTX_RUN_COMPAREOUTPUTS_H

#include "Inputs.h"

namespace attn::ptx {

/// The error of one output against the reference.
struct OutputError {
  std::string name;
  double largest = 0;   ///< |out − ref|
  double relative = 0;  ///< to max |ref| of a row, in the row that exceeds its tolerance most or comes closest to it
  double tolerance = 0; ///< of `relative`
  bool isOfRow = false; ///< otherwise relative to max |ref| of all
  /// For 16 bits: the mean by which values are too large (or, if negative, too small), as a share of the reference, in
  /// the part of the output that exceeds its bound most. Rounding to nearest has none; weights that are rounded towards
  /// zero before they are divided by their sum make the output smaller.
  double bias = 0;
  double biasBound = 0; ///< infinite where it is not judged
  bool isFine() const;
};

/// `magnitudes` are those of drawInputs: errors of scores, and so relative errors of weights, grow with them. Outputs
/// with the rows of Q are judged row by row: a row of small values, or of small scores, must have small errors. The
/// bias is judged where keys are separate (separateKeys): for the same eight of a warp's rows and eight columns at a
/// time, whose weights one instruction rounds; for each column of the output; for all elements; and for the same eight
/// rows of a head, which have the same kinds of tiles. `areHeadsInner`: see separateKeys.
OutputError compareOutput(const Kernel &kernel, llvm::StringRef name, const NpyArray &found, const NpyArray &expected,
                          llvm::ArrayRef<NpyArray> arguments, const RowMagnitudes &magnitudes, bool separatesKeys,
                          bool areHeadsInner);

void print(llvm::raw_ostream &stream, const OutputError &error);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_COMPAREOUTPUTS_H
