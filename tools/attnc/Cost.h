//===- Cost.h - the work of a problem ---------------------------*- C++ -*-===//
//
// Operations and bytes, from which follow rates, and which ceiling is the lower.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_COST_H
#define ATTN_TOOLS_ATTNC_COST_H

#include "attn/Problem/Problem.h"
#include "attnc.h"

namespace attn::driver {

struct Cost {
  /// Of the two products: 4 B Hq Sq Sk D for D = Dv, times the share of the scores that exist; of the five of a
  /// backward pass, 10 B Hq Sq Sk D.
  double flops = 0;
  double bytes = 0; ///< of arguments and results, each once; of K and V what the queries may see
  /// Few rows of queries share each row of K: reading it is what takes the time.
  bool isDecode = false;

  double getIntensity() const { return flops / bytes; }
};

/// True where each row of K serves so few rows of queries that to read it is what takes the time.
bool isDecodeOf(int64_t queries, int64_t groupSize);
/// Of a problem with the sizes of the run.
double getFlops(const Problem &problem);

/// Of a kernel of a file: bytes of K and V count whole.
struct FileCost {
  Cost cost;
  Problem::Element element = Problem::Element::F32; ///< of the queries
  std::string reason;                               ///< why there are no flops; empty where there are
};
llvm::Expected<FileCost> getFileCost(const Source &source, CompileOptions options, const Kernel &kernel,
                                     llvm::ArrayRef<NpyArray> arguments);

/// The problem has the sizes of the run. Lengths are full, and packed sequences of equal length.
Cost getCost(const Problem &problem, const Kernel &kernel, llvm::ArrayRef<NpyArray> arguments);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_COST_H
