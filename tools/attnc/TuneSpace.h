//===- TuneSpace.h - the schedules that attnc tune tries --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_TUNESPACE_H
#define ATTN_TOOLS_ATTNC_TUNESPACE_H

#include "attn/Problem/Problem.h"
#include "attn/Transforms/Transforms.h"
#include <vector>

namespace attn::driver {

/// Schedules that differ from one along an axis: a set of related fields.
class TuneSpace {
public:
  TuneSpace(const Problem &problem, const TargetInfo &target);

  /// Names of the axes, most promising first.
  static llvm::ArrayRef<llvm::StringRef> getAxes();
  /// The neighbours of a schedule on an axis, as text. Some are illegal; verifyFor refuses these.
  std::vector<std::string> getNeighbours(llvm::StringRef axis, ScheduleAttr schedule) const;

private:
  using Texts = std::vector<std::string>;
  Texts changeKernel(ScheduleAttr schedule) const;
  Texts changeRegisters(ScheduleAttr schedule) const;
  Texts changeQueryTile(PrefillAttr schedule) const;
  Texts changeWarps(BlockAttr schedule) const;
  Texts changeStages(BlockAttr schedule) const;
  Texts changeKeys(llvm::StringRef axis, ScheduleAttr schedule) const;
  Texts changeKeyTile(ScheduleAttr schedule) const;
  Texts changeSplit(ScheduleAttr schedule) const;
  Texts changeHeads(ScheduleAttr schedule) const;
  Texts changeKvHeads(ScheduleAttr schedule) const;
  Texts changeInstruction(ScheduleAttr schedule) const;
  Texts changeOverlap(ScheduleAttr schedule) const;
  Texts changeBackward(llvm::StringRef axis, BackwardAttr schedule) const;

  int64_t queries, keys, kvHeads; ///< Problem::kDynamic where only known at run time
  int64_t groupSize;              ///< 1 where head counts are dynamic
  int64_t registers;
  bool hasPairs, hasBytes; ///< for bf16; for a 16-bit Q
};

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_TUNESPACE_H
