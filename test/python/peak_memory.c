/* Calls the kernel `sdpa` once on q, k, v and out of SIZE numbers each; prints the process's peak memory in KiB.
 * Linux counts it anew after exec in VmHWM; getrusage would still report the parent's. */

#include "kernel.h"
#include <stdio.h>
#include <stdlib.h>

static float *fill(float value) {
  float *numbers = malloc(SIZE * sizeof(float));
  for (size_t i = 0; numbers && i < SIZE; ++i)
    numbers[i] = value * (float)(i % 17);
  return numbers;
}

int main(void) {
  float *q = fill(0.125f), *k = fill(0.25f), *v = fill(1.0f), *out = fill(0.0f);
  char line[256];
  if (!q || !k || !v || !out)
    return 1;
  sdpa(q, k, v, out);
  /* Each row of out is a weighted mean of the rows of v, whose numbers lie in [0, 16]. */
  for (size_t i = 0; i < SIZE; ++i)
    if (!(out[i] >= -0.001f && out[i] <= 16.001f))
      return 2;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) {
    long peak;
    if (sscanf(line, "VmHWM: %ld kB", &peak) == 1)
      return printf("%ld\n", peak) < 0;
  }
  return 3;
}
