//===- Summary.cpp - launches in a few lines ------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Summary.h"

#include "llvm/Support/Format.h"

#include <set>

using namespace llvm;
using namespace attn::ptx;

void attn::ptx::printSummary(const std::string &name, const Report &report) {
  uint64_t narrow = 0;
  for (const Counters &counter : report.counters)
    narrow += counter.narrowGlobal;
  outs() << name << ": " << report.grid.count() << " blocks of " << report.block.count() << " threads, "
         << report.warpInstructions() << " instructions of warps, " << report.bankConflicts() << " bank conflicts, "
         << narrow << " global accesses under 16 bytes, " << format("%.3f s\n", report.seconds);
}

void attn::ptx::printCoverage(ArrayRef<LaunchRecord> launches) {
  struct Lines {
    size_t all = 0;
    std::set<int> missed;
  };
  std::map<std::string, Lines> kernels;
  for (const LaunchRecord &launch : launches) {
    const std::vector<int> missed = launch.report.neverExecuted();
    auto [entry, isNew] = kernels.try_emplace(launch.kernel);
    Lines &lines = entry->second;
    if (isNew) {
      lines = {launch.report.counters.size(), {missed.begin(), missed.end()}};
      continue;
    }
    const std::set<int> again(missed.begin(), missed.end());
    std::erase_if(lines.missed, [&](int line) { return !again.contains(line); });
  }
  for (auto &[name, lines] : kernels) {
    outs() << name << ": " << lines.all - lines.missed.size() << " of " << lines.all << " instructions executed";
    // As ranges of text lines; between two of them are only labels or empty lines.
    for (auto at = lines.missed.begin(); at != lines.missed.end();) {
      const int first = *at;
      int last = first;
      while (++at != lines.missed.end() && *at <= last + 2)
        last = *at;
      outs() << (first == *lines.missed.begin() ? ", none of lines " : ", ") << first;
      if (last != first)
        outs() << "-" << last;
    }
    outs() << "\n";
  }
}
