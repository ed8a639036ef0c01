/*===- ParallelFor.c - the parallel loop of kernels, on OpenMP ----------------===
 *
 * OpenMP is the pool that the calling thread has named, the library that attn_runtime_set_openmp names, else PyTorch's
 * (ProcessThreads.c), else the one that this file is linked with.
 *
 * Consecutive indices are query tiles of one head, whose keys and values should stay in the cache of one core. So each
 * thread begins with a range of its own. A thread that has finished takes the second half of another thread's range.
 * Tiles differ in cost (causal masks, partial tiles), so a range can be taken down to its last index. No result depends
 * on which thread runs an index.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "ProcessThreads.h"

#include <omp.h>
#include <stdatomic.h>

enum { kCacheLine = 64, kMaxThreads = 1024 };
/* Most indices of a region: the two ends of a range share a word. */
static const int64_t kMaxIndices = UINT32_MAX;

/* Null: PyTorch's, or the OpenMP that we are linked with. */
static _Atomic(const attn_openmp *) givenOpenMP = NULL;
/* Of the calling thread, in front of both. */
static _Thread_local const attn_openmp *poolOfCaller = NULL;
/* 0 or less: OpenMP's own setting. */
static atomic_int requestedThreads = 0;
/* Calls of attn_parallel_for in progress. */
static atomic_int numCallers = 0;

void attn_runtime_set_num_threads(int threads) { atomic_store(&requestedThreads, threads); }

void attn_runtime_set_openmp(const attn_openmp *openmp) { atomic_store(&givenOpenMP, openmp); }

void attn_runtime_use_pool(const attn_openmp *pool) { poolOfCaller = pool; }

/* Null: the OpenMP that we are linked with. */
static const attn_openmp *getOpenMP(void) {
  if (poolOfCaller)
    return poolOfCaller;
  const attn_openmp *given = atomic_load(&givenOpenMP);
  return given ? given : attn_find_openmp();
}

static int getNumThreads(const attn_openmp *openmp) {
  int threads = atomic_load(&requestedThreads);
  if (threads > 0)
    return threads;
  return openmp ? openmp->get_max_threads() : omp_get_max_threads();
}

int attn_runtime_get_num_threads(void) { return getNumThreads(getOpenMP()); }

/* The remaining indices of a thread: begin in the upper half, end in the lower. Each has a cache line of its own. */
typedef struct Range {
  _Alignas(kCacheLine) _Atomic uint64_t ends;
} Range;

static uint64_t pack(uint64_t begin, uint64_t end) { return begin << 32 | end; }
static uint32_t getBegin(uint64_t ends) { return (uint32_t)(ends >> 32); }
static uint32_t getEnd(uint64_t ends) { return (uint32_t)ends; }

/* Takes the first index of the range; false if it is empty. Threads exchange only the ends here, so the order is
 * relaxed: the beginning and end of the region order everything else. */
static int takeFirst(Range *range, uint32_t *index) {
  uint64_t ends = atomic_load_explicit(&range->ends, memory_order_relaxed);
  do {
    if (getBegin(ends) >= getEnd(ends))
      return 0;
    *index = getBegin(ends);
  } while (!atomic_compare_exchange_weak_explicit(&range->ends, &ends, pack(*index + 1, getEnd(ends)),
                                                  memory_order_relaxed, memory_order_relaxed));
  return 1;
}

/* Moves the second half of another thread's range, at least its last index, to an empty one; false if it is empty too.
 */
static int takeHalf(Range *victim, Range *mine) {
  uint64_t ends = atomic_load_explicit(&victim->ends, memory_order_relaxed);
  uint32_t middle;
  do {
    if (getBegin(ends) >= getEnd(ends))
      return 0;
    middle = getBegin(ends) + (getEnd(ends) - getBegin(ends)) / 2;
  } while (!atomic_compare_exchange_weak_explicit(&victim->ends, &ends, pack(getBegin(ends), middle),
                                                  memory_order_relaxed, memory_order_relaxed));
  atomic_store_explicit(&mine->ends, pack(middle, getEnd(ends)), memory_order_relaxed);
  return 1;
}

static int takeHalfOfAny(Range *ranges, int count, int mine) {
  for (int next = 1; next < count; ++next)
    if (takeHalf(&ranges[(mine + next) % count], &ranges[mine]))
      return 1;
  return 0;
}

typedef struct Region {
  void (*function)(void *context, int64_t index);
  void *context;
  int64_t first;
  Range *ranges;
  int threads;
  int (*getThread)(void);
} Region;

static void runThread(void *opaque) {
  const Region *region = opaque;
  int mine = region->getThread();
  do {
    for (uint32_t index; takeFirst(&region->ranges[mine], &index);)
      region->function(region->context, region->first + index);
  } while (takeHalfOfAny(region->ranges, region->threads, mine));
}

static void runParallel(const attn_openmp *openmp, void (*function)(void *context, int64_t index), void *context,
                        int64_t first, uint64_t count, int threads) {
  Range ranges[threads]; /* on the calling thread's stack, which may be small */
  for (int thread = 0; thread < threads; ++thread)
    atomic_init(&ranges[thread].ends, pack(count * thread / threads, count * (thread + 1) / threads));
  /* Inside another parallel region, OpenMP gives a team of only the caller, unless nesting is enabled. If the team is
   * smaller than requested, it takes the other ranges in halves. */
  Region region = {function, context, first, ranges, threads, omp_get_thread_num};
  if (openmp && openmp->parallel) {
    region.getThread = openmp->get_thread_num;
    openmp->parallel(runThread, &region, (unsigned)threads, 0);
    return;
  }
#pragma omp parallel num_threads(threads)
  runThread(&region);
}

void attn_parallel_for(void (*function)(void *context, int64_t index), void *context, int64_t count) {
  const attn_openmp *openmp = getOpenMP();
  /* Concurrent callers share the threads: together they use as many as one of them would. */
  int callers = atomic_fetch_add(&numCallers, 1) + 1;
  int threads = (getNumThreads(openmp) + callers - 1) / callers;
  threads = threads < kMaxThreads ? threads : kMaxThreads;
  if (threads <= 1 || count <= 1) {
    for (int64_t index = 0; index < count; ++index)
      function(context, index);
  } else {
    /* A shared team keeps its size: libgomp ends the threads that a smaller one leaves out, and PyTorch, whose next
     * region has all of them, would wait for new ones. */
    if (threads > count && !(openmp && openmp->parallel))
      threads = (int)count;
    for (int64_t first = 0; first < count; first += kMaxIndices)
      runParallel(openmp, function, context, first,
                  (uint64_t)(count - first < kMaxIndices ? count - first : kMaxIndices), threads);
  }
  atomic_fetch_sub(&numCallers, 1);
}
