/* A step of a serving engine: a prompt's last two tokens and another sequence's next token, packed, on pages of 16. */

#include "attend.h"
#include <stdio.h>

enum { PAGES = 4, PAGE = 16, HEADS = 4, KV_HEADS = 2, SIZE = 16, ROWS = 3, SEQUENCES = 2, WIDTH = 2 };

static float q[ROWS][HEADS][SIZE], out[ROWS][HEADS][SIZE];
static float k[PAGES][PAGE][KV_HEADS][SIZE], v[PAGES][PAGE][KV_HEADS][SIZE];
/* Sequence 0 has 17 keys in pages 2 and 0, sequence 1 four in page 3. What a table holds behind them is not read. */
static int32_t lengths[SEQUENCES] = {17, 4}, table[SEQUENCES][WIDTH] = {{2, 0}, {3, -1}};
static int32_t sums[SEQUENCES + 1] = {0, 2, 3}; /* rows 0 and 1, and row 2 */

/* Scores are all 0, so that a row is the mean of the values that it sees: v of key j is j. */
static void fill(void) {
  for (int b = 0; b < SEQUENCES; ++b)
    for (int j = 0; j < lengths[b]; ++j)
      for (int h = 0; h < KV_HEADS; ++h)
        for (int d = 0; d < SIZE; ++d)
          v[table[b][j / PAGE]][j % PAGE][h][d] = (float)j;
}

static DLTensor tensor(void *data, DLDataTypeCode code, int32_t rank, int64_t *shape) {
  DLTensor made = {.data = data, .device = {kDLCPU, 0}, .ndim = rank, .dtype = {code, 32, 1}, .shape = shape};
  return made;
}

int main(void) {
  int64_t rows[] = {ROWS, HEADS, SIZE}, cache[] = {PAGES, PAGE, KV_HEADS, SIZE};
  int64_t count[] = {SEQUENCES}, more[] = {SEQUENCES + 1}, pages[] = {SEQUENCES, WIDTH};
  DLTensor tensors[] = {tensor(q, kDLFloat, 3, rows),  tensor(k, kDLFloat, 4, cache),
                        tensor(v, kDLFloat, 4, cache), tensor(lengths, kDLInt, 1, count),
                        tensor(sums, kDLInt, 1, more), tensor(table, kDLInt, 2, pages),
                        tensor(out, kDLFloat, 3, rows)};
  const DLTensor *arguments[7];
  char message[256];
  for (int i = 0; i < 7; ++i)
    arguments[i] = &tensors[i];
  fill();
  if (attend_checked(arguments, 7, message, sizeof message) != 0)
    return 1;
  for (int row = 0; row < ROWS; ++row)
    printf("row %d: %.2f\n", row, out[row][HEADS - 1][SIZE - 1]);
  /* A page that is not there: the entry says which, and writes nothing. */
  table[1][0] = 9;
  if (attend_checked(arguments, 7, message, sizeof message) == 0)
    return 1;
  printf("refused: %s\n", message);
  return 0;
}
