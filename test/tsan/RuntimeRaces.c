/*===- RuntimeRaces.c - the runtime and kernels under ThreadSanitizer ----------===
 *
 *   attn_tsan_tests loops | kernels | race-in-loop | race-in-kernel
 *
 * `loops` is attn_parallel_for by itself, and the choice of a variant, from one and from several callers; `kernels` are
 * kernels of attnc, instrumented too. Both exit with 0 unless a result is wrong, and ThreadSanitizer exits with another
 * status where it sees a race. The last two have a race on purpose, so that a test can see that it is seen.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#define _POSIX_C_SOURCE 200809L
#include "attn-c/attn_dispatch.h"
#include "attn-c/attn_runtime.h"
#include "tsan_kernels.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NUM_INDICES = 500, NUM_REPEATS = 20, NUM_CALLERS = 4, NUM_THREADS = 4 };

/* Plain memory on purpose: the loop alone orders what its threads do. */
typedef struct Sums {
  int64_t parts[NUM_INDICES];
  int64_t weight;
  int64_t raced;
} Sums;

static void addPart(void *context, int64_t index) {
  Sums *sums = context;
  sums->parts[index] += sums->weight * index;
}

/* Slow, so that several threads come to it. */
static void addToOne(void *context, int64_t index) {
  Sums *sums = context;
  const struct timespec pause = {0, 1000000};
  nanosleep(&pause, NULL);
  sums->raced += index;
}

static void nest(void *context, int64_t index) {
  Sums sums = {{0}, 2, 0};
  attn_parallel_for(addPart, &sums, 10);
  addPart(context, index + sums.parts[1] - 2);
}

/* Of an object with two variants that need nothing: the first choice is made by whoever comes first. */
static int32_t chosenVariant;
static const attn_variant variantsOfObject[2] = {{"plain", {0}}, {"other", {0}}};
static const attn_variants variants = {&chosenVariant, variantsOfObject, 2};

/* Null where the variant and all sums are right. */
static void *runLoops(void *unused) {
  (void)unused;
  static char failed;
  if (attn_select_variant(&variants) != 1 || attn_use_target(&variants, "other", NULL, 0) != 0)
    return &failed;
  Sums sums = {{0}, 0, 0};
  int64_t expected = 0;
  for (int64_t repeat = 1; repeat <= NUM_REPEATS; ++repeat) {
    sums.weight = repeat;
    attn_parallel_for(repeat % 4 == 0 ? nest : addPart, &sums, NUM_INDICES);
    expected += repeat;
  }
  for (int64_t index = 0; index < NUM_INDICES; ++index)
    if (sums.parts[index] != expected * index)
      return &failed;
  return NULL;
}

/*===----------------------------------------------------------------------===*/
/* Kernels */
/*===----------------------------------------------------------------------===*/

enum { HEADS = 3, ROWS = 70, COLUMNS = 20, PAGE = 16, NUM_PAGES = 8 };
enum { LONG_QUERY = 4 * 2 * 16, LONG_KEY = 2 * 2500 * 16 };

static float query[HEADS * ROWS * COLUMNS], key[HEADS * ROWS * COLUMNS], value[HEADS * ROWS * COLUMNS];
static float cache[NUM_PAGES * PAGE * COLUMNS], longKey[LONG_KEY];
static const int32_t lengths[2] = {60, 37}, table[2 * 4] = {3, 1, 0, 6, 5, 2, 7, 7};

typedef struct Outputs {
  float causal[HEADS * ROWS * COLUMNS];
  float pages[2 * HEADS * 5 * COLUMNS];
  float ranges[LONG_QUERY];
} Outputs;

static void fill(float *values, size_t count, unsigned seed) {
  for (size_t i = 0; i < count; ++i)
    values[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 23) - 1;
}

static Outputs expected;

static void callKernels(Outputs *outputs) {
  causal(query, key, value, outputs->causal);
  pages(query, cache, cache, lengths, table, outputs->pages);
  ranges(query, longKey, longKey, outputs->ranges);
}

static void *runKernels(void *outputs) {
  for (int repeat = 0; repeat < NUM_REPEATS; ++repeat) {
    memset(outputs, 0, sizeof(Outputs));
    callKernels(outputs);
    if (memcmp(outputs, &expected, sizeof(Outputs)) != 0)
      return outputs;
  }
  return NULL;
}

static pthread_barrier_t start;

/* Every caller into the same memory, all at once: one that has ended may have its threads in the next one's order. */
static void *runIntoExpected(void *unused) {
  (void)unused;
  pthread_barrier_wait(&start);
  for (int repeat = 0; repeat < NUM_REPEATS; ++repeat)
    callKernels(&expected);
  return NULL;
}

/* The same from several callers at once; 0 where all return null. */
static int runCallers(void *(*function)(void *), Outputs *outputs) {
  pthread_t callers[NUM_CALLERS];
  int failed = 0;
  for (int i = 0; i < NUM_CALLERS; ++i)
    if (pthread_create(&callers[i], NULL, function, &outputs[i]) != 0)
      return 1;
  for (int i = 0; i < NUM_CALLERS; ++i) {
    void *result = NULL;
    failed |= pthread_join(callers[i], &result) != 0 || result != NULL;
  }
  return failed;
}

int main(int argc, char **argv) {
  static Outputs outputs[NUM_CALLERS];
  const char *what = argc == 2 ? argv[1] : "";
  attn_runtime_set_num_threads(NUM_THREADS);
  if (strcmp(what, "loops") == 0)
    return runLoops(NULL) != NULL || runCallers(runLoops, outputs);
  if (strstr(what, "kernel")) {
    fill(query, sizeof(query) / sizeof(*query), 1);
    fill(key, sizeof(key) / sizeof(*key), 2);
    fill(value, sizeof(value) / sizeof(*value), 3);
    fill(cache, sizeof(cache) / sizeof(*cache), 4);
    fill(longKey, sizeof(longKey) / sizeof(*longKey), 5);
    callKernels(&expected);
    if (strcmp(what, "race-in-kernel") == 0)
      return pthread_barrier_init(&start, NULL, NUM_CALLERS) != 0 || runCallers(runIntoExpected, outputs);
    return runKernels(outputs) != NULL || runCallers(runKernels, outputs);
  }
  if (strcmp(what, "race-in-loop") == 0) {
    Sums sums = {{0}, 0, 0};
    attn_parallel_for(addToOne, &sums, NUM_CALLERS * NUM_THREADS);
    printf("%lld\n", (long long)sums.raced);
    return 0;
  }
  fprintf(stderr, "expected loops, kernels, race-in-loop or race-in-kernel, found '%s'\n", what);
  return 2;
}
