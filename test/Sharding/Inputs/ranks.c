/* Calls the kernels of mpi.mlir on 4 ranks, each with its part, and compares with those of one process. */
#include "padded.h"
#include "short_keys.h"
#include "whole.h"
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void heads(const float *q, const float *k, const float *v, float *out);
void rows(const float *q, const float *k, const float *v, float *out);
void keys(const float *q, const float *k, const float *v, float *out, float *lse);
void row_lengths(const float *q, const float *k, const float *v, const int32_t *q_lengths, const int32_t *kv_lengths,
                 float *out);
void key_lengths(const float *q, const float *k, const float *v, const int32_t *q_lengths, const int32_t *kv_lengths,
                 float *out);
void key_lengths_alone(const float *q, const float *k, const float *v, const int32_t *kv_lengths, float *out);
void row_gradients(const float *q, const float *k, const float *v, const float *out, const float *lse,
                   const float *dout, float *dq, float *dk, float *dv);
void key_gradients(const float *q, const float *k, const float *v, const float *out, const float *lse,
                   const float *dout, float *dq, float *dk, float *dv);

enum { HQ = 8, HKV = 4, S = 64, D = 16, RANKS = 4, PART = S / RANKS, QN = HQ * S * D, KN = HKV * S * D };
static int rank, failed;
static float q[QN], k[KN], v[KN], dout[QN], out[QN], lse[HQ * S], row_max[HQ * S], log_sum[HQ * S], dq[QN], dk[KN],
    dv[KN];
static float zero[HQ * S], found[QN], found_dk[KN], found_dv[KN], found_lse[HQ * S];

static void draw(float *x, int count, unsigned seed) {
  for (int i = 0; i < count; ++i)
    x[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
}

/* This rank's rows of every head, of `size` numbers each. */
static float *part(const float *x, int head_count, int size) {
  float *rows_of = malloc((size_t)(head_count * PART * size) * sizeof(float));
  for (int h = 0; h < head_count; ++h)
    memcpy(rows_of + h * PART * size, x + (h * S + rank * PART) * size, (size_t)(PART * size) * sizeof(float));
  return rows_of;
}

static double compare(const float *x, const float *expected, int count) {
  double error = 0, most;
  for (int i = 0; i < count; ++i)
    error = isnan(x[i]) ? INFINITY : fmax(error, fabs((double)x[i] - expected[i]));
  MPI_Allreduce(&error, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  failed |= !(most < 1e-5);
  return most;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  draw(q, QN, 1), draw(k, KN, 2), draw(v, KN, 3), draw(dout, QN, 4);
  sdpa_forward(q, k, v, out, lse, row_max, log_sum);
  sdpa_backward(q, k, v, out, row_max, log_sum, dout, zero, dq, dk, dv);
  double errors[13];

  int heads_first = rank * QN / RANKS, kv_first = rank * KN / RANKS;
  heads(q + heads_first, k + kv_first, v + kv_first, found);
  errors[0] = compare(found, out + heads_first, QN / RANKS);
  rows(part(q, HQ, D), k, v, found);
  errors[1] = compare(found, part(out, HQ, D), QN / RANKS);
  keys(q, part(k, HKV, D), part(v, HKV, D), found, found_lse);
  errors[2] = compare(found, out, QN), errors[3] = compare(found_lse, lse, HQ * S);
  /* 19 queries at the end of 41 keys: ranks 2 and 3 have no query, rank 3 has no key. */
  static float padded_out[QN];
  int32_t queries = 19, keys_in_use = 41;
  padded(q, k, v, &queries, &keys_in_use, padded_out, lse);
  row_lengths(part(q, HQ, D), k, v, &queries, &keys_in_use, found);
  errors[10] = compare(found, part(padded_out, HQ, D), QN / RANKS);
  key_lengths(q, part(k, HKV, D), part(v, HKV, D), &queries, &keys_in_use, found);
  errors[11] = compare(found, padded_out, QN);
  short_keys(q, k, v, &keys_in_use, padded_out);
  key_lengths_alone(q, part(k, HKV, D), part(v, HKV, D), &keys_in_use, found);
  errors[12] = compare(found, padded_out, QN);
  sdpa_forward(q, k, v, out, lse, row_max, log_sum);
  row_gradients(part(q, HQ, D), k, v, part(out, HQ, D), part(lse, HQ, 1), part(dout, HQ, D), found, found_dk, found_dv);
  errors[4] = compare(found, part(dq, HQ, D), QN / RANKS);
  errors[5] = compare(found_dk, dk, KN), errors[6] = compare(found_dv, dv, KN);
  key_gradients(q, part(k, HKV, D), part(v, HKV, D), out, lse, dout, found, found_dk, found_dv);
  errors[7] = compare(found, dq, QN);
  errors[8] = compare(found_dk, part(dk, HKV, D), KN / RANKS),
  errors[9] = compare(found_dv, part(dv, HKV, D), KN / RANKS);
  if (rank == 0) {
    const char *is = failed ? "wrong" : "ok";
    printf("heads: out %.1e: %s\nrows: out %.1e: %s\nkeys: out %.1e, lse %.1e: %s\n", errors[0], is, errors[1], is,
           errors[2], errors[3], is);
    printf("lengths: rows %.1e, keys %.1e, keys without a diagonal %.1e: %s\n", errors[10], errors[11], errors[12], is);
    printf("gradients by rows: dq %.1e, dk %.1e, dv %.1e: %s\n", errors[4], errors[5], errors[6], is);
    printf("gradients by keys: dq %.1e, dk %.1e, dv %.1e: %s\n", errors[7], errors[8], errors[9], is);
  }
  MPI_Finalize();
  return failed;
}
