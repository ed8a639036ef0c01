/* Calls the kernel of "hq8 sq64 d8": every weight is the same, so head h of out is that of v, h. */

#include "kernel.h"
#include <stdio.h>

static float q[8][64][8], k[8][64][8], v[8][64][8], out[8][64][8];

int main(void) {
  for (int h = 0; h < 8; ++h)
    for (int i = 0; i < 64; ++i)
      for (int d = 0; d < 8; ++d)
        v[h][i][d] = (float)h;
  sdpa(&q[0][0][0], &k[0][0][0], &v[0][0][0], &out[0][0][0]);
  printf("out = %g %g\n", out[1][0][0], out[7][63][7]);
  return 0;
}
