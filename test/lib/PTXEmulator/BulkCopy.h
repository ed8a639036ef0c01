//===- BulkCopy.h - groups of bulk stores -----------------------*- C++ -*-===//
//
// A bulk copy is executed when it is issued: clocks, not its time of execution, show which data it may not access yet.
// A copy that writes shared memory belongs to the agent of its mbarrier (Mbarrier.h); one that reads it belongs to an
// agent of its thread, whose clock counts groups.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_BULKCOPY_H
#define ATTN_TEST_PTXEMULATOR_BULKCOPY_H

#include "Races.h"

#include <map>

namespace attn::ptx {

/// cp.async.bulk groups of one thread.
struct BulkGroups {
  unsigned agent;
  uint32_t open = 1;     ///< the group that commit_group closes; the agent's clock
  uint32_t complete = 0; ///< the sources of all groups up to it may be overwritten
  uint32_t lastStore = 0;
  int line = 0; ///< of the last store
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_BULKCOPY_H
