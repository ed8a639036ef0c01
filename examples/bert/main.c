/* Runs BERT from its object and its weights, which it maps from a file that other processes may map too. It prints a
 * line a token. BERT as torch.onnx.export writes it, with inputs of any length:
 *   attnc bert.onnx -o bert.o --name=bert --header=bert.h --weights=bert.weights
 *   cc -DHIDDEN=768 main.c bert.o -lattn_runtime -lm -o bert
 *   ./bert bert.weights 101 7592 2088 102 */

#include "bert.h"
#include <stdio.h>
#include <stdlib.h>

#ifndef HIDDEN
#define HIDDEN 768 /* columns of the model's output */
#endif
enum { MOST_TOKENS = 512 };

/* A C-contiguous tensor in this program's memory; it borrows `data` and `shape`. */
static DLTensor tensor(void *data, int64_t *shape, int32_t rank, uint8_t code, uint8_t bits) {
  DLTensor made = {.data = data, .device = {kDLCPU, 0}, .ndim = rank, .dtype = {code, bits, 1}, .shape = shape};
  return made;
}

int main(int argc, char **argv) {
  static int64_t tokens[MOST_TOKENS], mask[MOST_TOKENS];
  static float out[MOST_TOKENS][HIDDEN];
  char message[512];
  int64_t count = argc - 2;
  if (count < 1 || count > MOST_TOKENS) {
    fprintf(stderr, "expected a file of weights and 1 to %d tokens\n", MOST_TOKENS);
    return 2;
  }
  /* 1. Once, before the first call. */
  if (bert_map_weights(argv[1], message, sizeof message) != 0) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  /* 2. A call as of any kernel. */
  for (int64_t i = 0; i < count; ++i) {
    tokens[i] = strtoll(argv[i + 2], NULL, 10);
    mask[i] = 1;
  }
  int64_t shape[] = {1, count}, out_shape[] = {1, count, HIDDEN};
  DLTensor tensors[] = {tensor(tokens, shape, 2, kDLInt, 64), tensor(mask, shape, 2, kDLInt, 64),
                        tensor(out, out_shape, 3, kDLFloat, 32)};
  const DLTensor *arguments[] = {&tensors[0], &tensors[1], &tensors[2]};
  if (bert_checked(arguments, 3, message, sizeof message) != 0) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  for (int64_t i = 0; i < count; ++i)
    for (int j = 0; j < HIDDEN; ++j)
      printf("%.9g%c", out[i][j], j + 1 == HIDDEN ? '\n' : ' ');
  /* 3. The system unmaps at the end too. */
  return bert_map_weights(NULL, message, sizeof message);
}
