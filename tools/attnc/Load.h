//===- Load.h - whether other programs disturbed a measurement --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_LOAD_H
#define ATTN_TOOLS_ATTNC_LOAD_H

#include <string>

namespace attn::driver {

/// Signs of other programs during a measurement.
struct Load {
  double processorShare = 1; ///< CPU time over elapsed time of the ceiling's threads
  double spread = 1;         ///< of the rounds: the median over the best
  double ceilingShare = 0;   ///< rate over ceiling
};

/// "; busy: …", appended to the line of a disturbed measurement; otherwise empty.
std::string describeLoad(const Load &load);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_LOAD_H
