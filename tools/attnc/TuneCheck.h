//===- TuneCheck.h - checks the results of tuned kernels --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_TUNECHECK_H
#define ATTN_TOOLS_ATTNC_TUNECHECK_H

#include "attnc.h"

namespace attn::driver {

/// The expected results of all kernels of a problem on one set of random inputs, with random lengths.
class TuneCheck {
public:
  /// Computed by the reference, or by `policy` if the scores of the reference would not fit in memory.
  static llvm::Expected<TuneCheck> create(const TuneCommand &command, const std::string &line, const Problem &problem,
                                          const LoadedKernel &policy);

  /// Empty if the kernel's outputs agree, otherwise the line of the first output that does not.
  llvm::Expected<std::string> findDifference(const LoadedKernel &kernel);
  bool isByReference() const { return byReference; }

private:
  TuneCheck() = default;

  std::vector<NpyArray> arguments, expected;
  bool byReference = true;
};

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_TUNECHECK_H
