/* Decoding over a cache whose pages are on several ranks: decode context parallelism.
 *
 * Page p of a sequence is on rank p mod n: a rank's part of the block table is block_table[:, rank::n]. Every rank has
 * the queries and attends to its own pages. One all-gather of out and the two terms of lse, HEADS (SIZE + 2) numbers a
 * sequence, and merge.mlir in the order of the ranks give all ranks the same bits.
 *
 *   mpirun -n 4 decode      compares with one call on the whole cache
 */

#include "decode.h"
#include "merge.h"
#include "ranks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 16, SEQUENCES = 3, WIDTH = 6, PAGES = SEQUENCES * WIDTH, PAGE_COUNT = PAGE * KV_HEADS * SIZE };

/* Of `length` keys, those in pages rank, rank + n, …: all are full but for the last of the sequence. */
static int32_t count_keys(int32_t length, int rank, int ranks) {
  int32_t keys = 0;
  for (int32_t first = rank * PAGE; first < length; first += ranks * PAGE)
    keys += length - first < PAGE ? length - first : PAGE;
  return keys;
}

/* out (SEQUENCES, HEADS, 1, SIZE), max and log_sum (SEQUENCES, HEADS, 1) over the pages of all ranks. `k` and `v` are
 * `pages` of this rank, `table` (SEQUENCES, width) its part of the block table, `lengths` those of whole sequences.
 * Every rank calls it. */
static int split_decode(MPI_Comm comm, const DLTensor *q, const float *k, const float *v, const int32_t *lengths,
                        const int32_t *table, int64_t pages, int64_t width, DLTensor *out, DLTensor *max,
                        DLTensor *log_sum, char *message, size_t size) {
  struct Argument arguments[] = {{"q", q, 4, {SEQUENCES, HEADS, 1, SIZE}},
                                 {"out", out, 4, {SEQUENCES, HEADS, 1, SIZE}},
                                 {"max", max, 3, {SEQUENCES, HEADS, 1}},
                                 {"log_sum", log_sum, 3, {SEQUENCES, HEADS, 1}}};
  /* A sum that differs is another batch: its rows would be merged with those of other sequences. */
  int64_t keys = 0;
  for (int s = 0; s < SEQUENCES; ++s)
    keys += lengths[s];
  if (agree(comm, arguments, 4, "keys of kv_lengths", keys, message, size) != 0)
    return 1;
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  enum { ROWS = SEQUENCES * HEADS, MAX = ROWS * SIZE, SUM = MAX + ROWS, COUNT = SUM + ROWS };
  /* out, then max, then log_sum */
  float mine[COUNT], sum[COUNT], *all = zeros((int64_t)ranks * COUNT);
  int32_t own[SEQUENCES];
  for (int s = 0; s < SEQUENCES; ++s)
    own[s] = count_keys(lengths[s], rank, ranks);
  decode(q->data, k, v, own, table, mine, mine + MAX, mine + SUM, SEQUENCES, pages, width);
  MPI_Allgather(mine, COUNT, MPI_FLOAT, all, COUNT, MPI_FLOAT, comm);
  memcpy(sum, all, sizeof sum);
  for (int r = 1; r < ranks; ++r) {
    const float *part = all + (int64_t)r * COUNT;
    merge(part, part + MAX, part + SUM, sum, sum + MAX, sum + SUM, ROWS); /* into sum, in place */
  }
  memcpy(out->data, sum, ROWS * SIZE * sizeof(float));
  memcpy(max->data, sum + MAX, ROWS * sizeof(float));
  memcpy(log_sum->data, sum + SUM, ROWS * sizeof(float));
  free(all);
  return 0;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  /* The last sequence has keys on rank 0 alone: the other ranks' max of it is -inf. */
  int32_t lengths[SEQUENCES] = {83, 32, 5}, table[SEQUENCES][WIDTH];
  for (int s = 0; s < SEQUENCES; ++s)
    for (int p = 0; p < WIDTH; ++p)
      table[s][p] = (7 * (s * WIDTH + p)) % PAGES; /* in no order */
  float *q = draws(SEQUENCES * HEADS * SIZE, 1), *k = draws(PAGES * PAGE_COUNT, 2), *v = draws(PAGES * PAGE_COUNT, 3);
  float expected[SEQUENCES * HEADS * SIZE], expected_max[SEQUENCES * HEADS], expected_log_sum[SEQUENCES * HEADS];
  decode(q, k, v, lengths, table[0], expected, expected_max, expected_log_sum, SEQUENCES, PAGES, WIDTH);

  /* The rank's cache: its pages of each sequence, as it would have written them. */
  int64_t width = (WIDTH - rank + ranks - 1) / ranks, pages = SEQUENCES * width;
  if (width < 1)
    width = pages = 1; /* more ranks than pages: a page that is not read */
  float *k_part = zeros(pages * PAGE_COUNT), *v_part = zeros(pages * PAGE_COUNT);
  int32_t *part = calloc((size_t)(SEQUENCES * width), sizeof *part);
  for (int s = 0; s < SEQUENCES && part; ++s)
    for (int p = rank, i = 0; p < WIDTH; p += ranks, ++i) {
      int64_t page = s * width + i;
      part[page] = (int32_t)page;
      memcpy(k_part + page * PAGE_COUNT, k + (int64_t)table[s][p] * PAGE_COUNT, PAGE_COUNT * sizeof(float));
      memcpy(v_part + page * PAGE_COUNT, v + (int64_t)table[s][p] * PAGE_COUNT, PAGE_COUNT * sizeof(float));
    }
  int64_t shape[] = {SEQUENCES, HEADS, 1, SIZE};
  float out[SEQUENCES * HEADS * SIZE], max[SEQUENCES * HEADS], log_sum[SEQUENCES * HEADS];
  DLTensor q_tensor = float_tensor(q, 4, shape), out_tensor = float_tensor(out, 4, shape);
  DLTensor max_tensor = float_tensor(max, 3, shape), log_sum_tensor = float_tensor(log_sum, 3, shape);
  char message[320];
  if (split_decode(MPI_COMM_WORLD, &q_tensor, k_part, v_part, lengths, part, pages, width, &out_tensor, &max_tensor,
                   &log_sum_tensor, message, sizeof message) != 0) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  double error = largest_error(MPI_COMM_WORLD, out, expected, SEQUENCES * HEADS * SIZE);
  for (int i = 0; i < SEQUENCES * HEADS; ++i) { /* lse: what is in max is not in log_sum */
    max[i] += log_sum[i];
    expected_max[i] += expected_log_sum[i];
  }
  double lse_error = largest_error(MPI_COMM_WORLD, max, expected_max, SEQUENCES * HEADS);
  /* Equal on all ranks: rank 0's result is what each has. */
  float first[SEQUENCES * HEADS * SIZE];
  memcpy(first, out, sizeof first);
  MPI_Bcast(first, SEQUENCES * HEADS * SIZE, MPI_FLOAT, 0, MPI_COMM_WORLD);
  int differs = memcmp(first, out, sizeof first) != 0, any;
  MPI_Allreduce(&differs, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d ranks, pages dealt in turn: out %.1e, lse %.1e from one call on the whole, bits of ranks %s\n", ranks,
           error, lse_error, any ? "differ" : "are equal");
  MPI_Finalize();
  return any || !(error < 1e-5) || !(lse_error < 1e-5);
}
