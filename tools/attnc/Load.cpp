//===- Load.cpp - whether other programs disturbed a measurement ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Load.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace attn;

/// On an idle machine, the loops have all processors except for the start of threads.
static constexpr double kMinProcessorShare = 0.9;
/// Rounds on an idle machine differ by a few percent.
static constexpr double kMaxSpread = 1.5;
/// Beyond the variation between the best of some rounds of each.
static constexpr double kMaxCeilingShare = 1.02;

std::string driver::describeLoad(const Load &load) {
  std::string reasons;
  auto add = [&](const std::string &reason) { reasons += (reasons.empty() ? "; busy: " : ", ") + reason; };
  if (load.processorShare < kMinProcessorShare)
    add(formatv("the ceiling's threads had {0:F0} % of their time", 100 * load.processorShare));
  if (load.spread > kMaxSpread)
    add(formatv("the median round took {0:F1} x the best", load.spread));
  if (load.ceilingShare > kMaxCeilingShare)
    add("more than the ceiling, which was not reached");
  return reasons.empty() ? "" : reasons + "; measure again when nothing else runs";
}
