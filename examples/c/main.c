/* Calls the kernel of attention.mlir in both ways: plain pointers, and DLPack tensors that are checked first. */

#include "attention.h"
#include <stdio.h>

static float q[1][4] = {{.1f, .2f, .3f, .4f}};
static float k[3][4] = {{0, .1f, 0, .1f}, {.2f, .1f, 0, 0}, {.1f, 0, .3f, .1f}};
static float v[3][2] = {{1, 0}, {0, 1}, {1, 1}};
static float out[1][2];

/* A C-contiguous matrix of float in this program's memory; it borrows `data` and `shape`. */
static DLTensor matrix(void *data, int64_t *shape) {
  DLTensor tensor = {.data = data, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
  return tensor;
}

int main(void) {
  /* 1. The plain entry trusts its caller: the header says what each pointer must hold. */
  attention(&q[0][0], &k[0][0], &v[0][0], &out[0][0]);
  printf("out = %f %f\n", out[0][0], out[0][1]);

  /* 2. The checked entry refuses what does not fit, with a code and a message, and then writes nothing. */
  int64_t q_shape[] = {1, 4}, k_shape[] = {3, 4}, v_shape[] = {3, 2}, out_shape[] = {1, 2}, wrong[] = {2, 4};
  DLTensor tensors[] = {matrix(q, q_shape), matrix(k, k_shape), matrix(v, v_shape), matrix(out, out_shape)};
  const DLTensor *arguments[] = {&tensors[0], &tensors[1], &tensors[2], &tensors[3]};
  char message[256];
  if (attention_checked(arguments, 4, message, sizeof message) != 0)
    return 1;
  tensors[1].shape = wrong;
  if (attention_checked(arguments, 4, message, sizeof message) == 0)
    return 1;
  printf("refused: %s\n", message);
  return 0;
}
