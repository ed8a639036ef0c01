//===- BulkCopy.h - groups of bulk stores -----------------------*- C++ -*-===//
//
// A bulk copy is done when it is issued: what it may not touch yet is found by its clock, not by when it happens. One
// that writes shared memory counts as done by the agent of its mbarrier (Mbarrier.h), one that reads it by an agent of
// the thread that issued it, whose clock counts groups.
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
  uint32_t complete = 0; ///< of those up to it the sources may be written again
  uint32_t lastStore = 0;
  int line = 0; ///< of the last store
};

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_BULKCOPY_H
