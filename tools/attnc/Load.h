//===- Load.h - whether the machine had time for a measurement --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_LOAD_H
#define ATTN_TOOLS_ATTNC_LOAD_H

#include <string>

namespace attn::driver {

/// What of a measurement shows that other programs ran beside it.
struct Load {
  double processorShare = 1; ///< of the time that the ceiling's threads asked of the processors, what they had
  double spread = 1;         ///< of the rounds: the median over the best
  double ceilingShare = 0;   ///< rate over ceiling
};

/// "; busy: …", which stands behind the line of a measurement that is not the kernel's alone; otherwise empty.
std::string describeLoad(const Load &load);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_LOAD_H
