/* Reads q, k and v from standard input, calls the kernel `chain` on them, writes its output: raw doubles. */

#include "kernel.h"
#include <stdio.h>

static double q[Q_SIZE], k[K_SIZE], v[V_SIZE], out[OUT_SIZE];

static int read(double *to, size_t count) { return fread(to, sizeof(double), count, stdin) == count; }

int main(void) {
  if (!read(q, Q_SIZE) || !read(k, K_SIZE) || !read(v, V_SIZE))
    return 1;
  chain(q, k, v, out);
  return fwrite(out, sizeof(double), OUT_SIZE, stdout) != OUT_SIZE;
}
