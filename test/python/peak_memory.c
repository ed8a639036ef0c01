/* Calls the kernel `sdpa` once on q, k, v and out of SIZE numbers each; prints the process's peak memory in KiB. */

#include "kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static float *fill(float value) {
  float *numbers = malloc(SIZE * sizeof(float));
  for (size_t i = 0; numbers && i < SIZE; ++i)
    numbers[i] = value * (float)(i % 17);
  return numbers;
}

int main(void) {
  float *q = fill(0.125f), *k = fill(0.25f), *v = fill(1.0f), *out = fill(0.0f);
  struct rusage usage;
  if (!q || !k || !v || !out)
    return 1;
  sdpa(q, k, v, out);
  /* Each row of out is a weighted mean of the rows of v, whose numbers lie in [0, 16]. */
  for (size_t i = 0; i < SIZE; ++i)
    if (!(out[i] >= -0.001f && out[i] <= 16.001f))
      return 2;
  getrusage(RUSAGE_SELF, &usage);
  printf("%ld\n", usage.ru_maxrss);
  return 0;
}
