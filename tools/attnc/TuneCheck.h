//===- TuneCheck.h - the numbers of tuned kernels ---------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_TUNECHECK_H
#define ATTN_TOOLS_ATTNC_TUNECHECK_H

#include "attnc.h"

namespace attn::driver {

/// What all kernels of a problem must give on one set of random inputs, with random lengths.
class TuneCheck {
public:
  /// Computed by the reference, or by `policy` if the scores of the reference would not fit the memory.
  static llvm::Expected<TuneCheck> create(const TuneCommand &command, const std::string &line, const Problem &problem,
                                          const LoadedKernel &policy);

  /// Empty if the kernel's outputs agree. Otherwise the line of the first output that does not.
  llvm::Expected<std::string> findDifference(const LoadedKernel &kernel);
  bool isByReference() const { return byReference; }

private:
  TuneCheck() = default;

  std::vector<NpyArray> arguments, expected;
  bool byReference = true;
};

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_TUNECHECK_H
