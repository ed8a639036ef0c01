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

/// Schedules that differ from one in what belongs together, an axis at a time.
class TuneSpace {
public:
  TuneSpace(const Problem &problem, const TargetInfo &target);

  /// Names of the axes, in the order in which they are worth trying.
  static llvm::ArrayRef<llvm::StringRef> getAxes();
  /// The neighbours of `fields` on an axis. Not all of them are schedules that a kernel can have: the compiler says so.
  std::vector<ScheduleFields> getNeighbours(llvm::StringRef axis, const ScheduleFields &fields) const;

private:
  using Fields = ScheduleFields;
  std::vector<Fields> changeKernel(const Fields &fields) const;
  std::vector<Fields> changeRegisters(const Fields &fields) const;
  std::vector<Fields> changeQueryTile(const Fields &fields) const;
  std::vector<Fields> changeKeyTile(const Fields &fields) const;
  std::vector<Fields> changeSplit(const Fields &fields) const;
  std::vector<Fields> changeProduct(const Fields &fields) const;
  std::vector<Fields> changePrefetch(const Fields &fields) const;
  std::vector<Fields> changeHeads(const Fields &fields) const;

  int64_t queries, keys, kvHeads; ///< Problem::kDynamic where a call says them
  int64_t registers;
  bool hasDotProducts; ///< pairs of bf16, or bytes beside 16 bits
};

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_TUNESPACE_H
