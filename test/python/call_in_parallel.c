/* A kernel called from inside an OpenMP parallel region, from each of its threads, and with other settings of OpenMP:
 * prints the threads that a loop of the caller would use, and fails where a result has other bits than that of one
 * thread.
 *
 *   program TEAM LEVELS    TEAM callers at once, LEVELS of active regions
 */

#include "attn-c/attn_runtime.h"
#include "kernel.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEAM = 8 };

static float q[SIZE], k[SIZE], v[SIZE], expected[SIZE], found[MAX_TEAM][SIZE];

static void fill(float *values, unsigned seed) {
  for (size_t i = 0; i < SIZE; ++i)
    values[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 23) - 1;
}

int main(int argc, char **argv) {
  if (argc != 3 || atoi(argv[1]) > MAX_TEAM)
    return 2;
  int team = atoi(argv[1]);
  omp_set_max_active_levels(atoi(argv[2]));
  fill(q, 1);
  fill(k, 2);
  fill(v, 3);
  printf("%d\n", attn_runtime_get_num_threads());
  attn_runtime_set_num_threads(1);
  sdpa(q, k, v, expected);
  attn_runtime_set_num_threads(0);
  int different = 0;
  for (int repeat = 0; repeat < 20; ++repeat) {
#pragma omp parallel num_threads(team) reduction(+ : different)
    {
      float *out = found[omp_get_thread_num()];
      memset(out, 0, sizeof(expected));
      sdpa(q, k, v, out);
      different += memcmp(out, expected, sizeof(expected)) != 0;
    }
  }
  return different != 0;
}
