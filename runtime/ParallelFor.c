/*===- ParallelFor.c - the parallel loop of kernels, on OpenMP ----------------===
 *
 * Tiles differ in cost (causal masks, partial tiles), so indices are handed out one at a time.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "attn-c/attn_runtime.h"

#include <omp.h>
#include <stdatomic.h>

/* 0 or less: OpenMP's own setting. */
static atomic_int requestedThreads = 0;

void attn_runtime_set_num_threads(int threads) { atomic_store(&requestedThreads, threads); }

int attn_runtime_get_num_threads(void) {
  int threads = atomic_load(&requestedThreads);
  return threads > 0 ? threads : omp_get_max_threads();
}

void attn_parallel_for(void (*function)(void *context, int64_t index), void *context, int64_t count) {
  int threads = attn_runtime_get_num_threads();
  if (threads > count)
    threads = (int)count;
  if (threads <= 1) {
    for (int64_t index = 0; index < count; ++index)
      function(context, index);
    return;
  }
  /* Inside another parallel region, OpenMP makes this a team of the caller alone unless it was told to nest. */
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t index = 0; index < count; ++index)
    function(context, index);
}
