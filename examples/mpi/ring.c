/* Causal attention of one sequence on several ranks, forward and backward: a ring over MPI.
 *
 * Rank r has rows r N to (r + 1) N of Q, K, V and out. K and V go round the ring, and the next ones arrive while a
 * kernel runs on those that are here. The kernels count positions from the start of their block; `causal_offset` is
 * what the rank's first row lies behind the first key. The forward kernel adds a block of keys to out and the terms of
 * lse that are there (into=state). The backward kernel takes out and the terms of lse of whole rows, so its results are
 * terms of a sum: it adds dq to what is there (into=q), and dk and dv go round with their keys, and home.
 *
 *   mpirun -n 4 ring [ROWS OF A RANK]     compares with one call on the whole, and shows what is refused
 */

#include "add.h"
#include "block.h"
#include "ranks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where K and V, or dK and dV, of `count` numbers travel. */
struct Ring {
  MPI_Comm comm;
  int rank, ranks;
  int64_t rows;
  int count;
};

static struct Ring make_ring(MPI_Comm comm, int64_t rows) {
  struct Ring ring = {.comm = comm, .rows = rows, .count = (int)(2 * KV_HEADS * rows * SIZE)};
  MPI_Comm_rank(comm, &ring.rank);
  MPI_Comm_size(comm, &ring.ranks);
  return ring;
}

/* Starts to send `from` to the next rank, and to receive `to` from the one before. */
static void start_shift(const struct Ring *ring, const float *from, float *to, int tag, MPI_Request requests[2]) {
  int next = (ring->rank + 1) % ring->ranks, before = (ring->rank + ring->ranks - 1) % ring->ranks;
  MPI_Irecv(to, ring->count, MPI_FLOAT, before, tag, ring->comm, &requests[0]);
  MPI_Isend(from, ring->count, MPI_FLOAT, next, tag, ring->comm, &requests[1]);
}

/* How far the rank's first row lies behind the first key of this step: the block that has come is that of rank - step.
 * Where it is negative, all keys are later than all rows, and give nothing. */
static int32_t causal_offset(const struct Ring *ring, int step) {
  int source = (ring->rank + ring->ranks - step) % ring->ranks;
  return (int32_t)((ring->rank - source) * ring->rows);
}

/* K and then V in one buffer, as they are sent. */
static float *join_kv(const struct Ring *ring, const DLTensor *k, const DLTensor *v) {
  float *kv = zeros(ring->count);
  memcpy(kv, k->data, (size_t)ring->count / 2 * sizeof(float));
  memcpy(kv + ring->count / 2, v->data, (size_t)ring->count / 2 * sizeof(float));
  return kv;
}

static void swap(float **a, float **b) {
  float *x = *a;
  *a = *b;
  *b = x;
}

static struct Argument argument(const char *name, const DLTensor *tensor, int heads, int64_t rows, int dims) {
  struct Argument made = {name, tensor, dims, {1, heads, rows, SIZE}};
  return made;
}

/* The rows of q, which all ranks have to have; 0 where q has another form, or more than MPI counts. */
static int64_t get_rows(const DLTensor *q) {
  int64_t rows = q && q->ndim == 4 ? q->shape[2] : 0;
  return rows > INT32_MAX / (2 * KV_HEADS * SIZE) ? 0 : rows;
}

/* out (1, HEADS, N, SIZE), and of each row the largest score and ln of the sum (1, HEADS, N), whose sum is lse: of the
 * rank's rows over the keys of all ranks. Every rank calls it. */
int ring_forward(MPI_Comm comm, const DLTensor *q, const DLTensor *k, const DLTensor *v, DLTensor *out, DLTensor *max,
                 DLTensor *log_sum, char *message, size_t size) {
  int64_t rows = get_rows(q);
  struct Argument arguments[] = {argument("q", q, HEADS, rows, 4),     argument("k", k, KV_HEADS, rows, 4),
                                 argument("v", v, KV_HEADS, rows, 4),  argument("out", out, HEADS, rows, 4),
                                 argument("max", max, HEADS, rows, 3), argument("log_sum", log_sum, HEADS, rows, 3)};
  if (agree(comm, arguments, 6, "rows of q, k and v", rows, message, size) != 0)
    return 1;
  struct Ring ring = make_ring(comm, rows);
  float *kv = join_kv(&ring, k, v), *coming = zeros(ring.count);
  float *row_max = max->data, *row_sum = log_sum->data;
  for (int64_t i = 0; i < HEADS * rows; ++i)
    row_max[i] = row_sum[i] = -INFINITY; /* no key yet: out may hold anything */
  for (int step = 0; step < ring.ranks; ++step) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (step + 1 < ring.ranks)
      start_shift(&ring, kv, coming, 0, requests);
    int32_t offset = causal_offset(&ring, step);
    if (offset >= 0)
      add(q->data, kv, kv + ring.count / 2, &offset, out->data, row_max, row_sum, rows, rows);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    swap(&kv, &coming);
  }
  free(kv);
  free(coming);
  return 0;
}

/* dq, dk and dv of the rank's rows, from what ring_forward returned and the gradient of out. Every rank calls it. */
int ring_backward(MPI_Comm comm, const DLTensor *q, const DLTensor *k, const DLTensor *v, const DLTensor *out,
                  const DLTensor *max, const DLTensor *log_sum, const DLTensor *dout, DLTensor *dq, DLTensor *dk,
                  DLTensor *dv, char *message, size_t size) {
  int64_t rows = get_rows(q);
  struct Argument arguments[] = {argument("q", q, HEADS, rows, 4),       argument("k", k, KV_HEADS, rows, 4),
                                 argument("v", v, KV_HEADS, rows, 4),    argument("out", out, HEADS, rows, 4),
                                 argument("max", max, HEADS, rows, 3),   argument("log_sum", log_sum, HEADS, rows, 3),
                                 argument("dout", dout, HEADS, rows, 4), argument("dq", dq, HEADS, rows, 4),
                                 argument("dk", dk, KV_HEADS, rows, 4),  argument("dv", dv, KV_HEADS, rows, 4)};
  if (agree(comm, arguments, 10, "rows of q, k and v", rows, message, size) != 0)
    return 1;
  struct Ring ring = make_ring(comm, rows);
  int half = ring.count / 2;
  float *kv = join_kv(&ring, k, v), *coming = zeros(ring.count);
  float *sums = zeros(ring.count), *sums_coming = zeros(ring.count), *terms = zeros(ring.count);
  memset(dq->data, 0, (size_t)(HEADS * rows * SIZE) * sizeof(float));
  MPI_Request sent[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (int step = 0; step < ring.ranks; ++step) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (step + 1 < ring.ranks)
      start_shift(&ring, kv, coming, 0, requests);
    int32_t offset = causal_offset(&ring, step);
    if (offset >= 0)
      sdpa_backward(q->data, kv, kv + half, &offset, out->data, max->data, log_sum->data, dout->data, dq->data, terms,
                    terms + half, rows, rows);
    /* The sums of these keys have arrived while the kernel ran; in the first step they are 0 and here. */
    MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
    if (step > 0)
      swap(&sums, &sums_coming);
    for (int i = 0; i < ring.count && offset >= 0; ++i)
      sums[i] += terms[i];
    start_shift(&ring, sums, sums_coming, 1, sent); /* after the last step: home */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    swap(&kv, &coming);
  }
  MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
  memcpy(dk->data, sums_coming, (size_t)half * sizeof(float));
  memcpy(dv->data, sums_coming + half, (size_t)half * sizeof(float));
  float *made[] = {kv, coming, sums, sums_coming, terms};
  for (size_t i = 0; i < sizeof made / sizeof *made; ++i)
    free(made[i]);
  return 0;
}

/* What this program compares: rows [first, first + rows) of one call on all rows. */
static int check_ring(MPI_Comm comm, int64_t rows) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int64_t all = rows * ranks, first = rows * rank, q_all = HEADS * all * SIZE, kv_all = KV_HEADS * all * SIZE;
  /* The whole on every rank, so that each has something to compare with. */
  float *q = draws(q_all, 1), *k = draws(kv_all, 2), *v = draws(kv_all, 3), *dout = draws(q_all, 4);
  float *out = zeros(q_all), *max = zeros(HEADS * all), *log_sum = zeros(HEADS * all);
  float *dq = zeros(q_all), *dk = zeros(kv_all), *dv = zeros(kv_all);
  int32_t top_left = 0;
  sdpa_forward(q, k, v, &top_left, out, max, log_sum, all, all);
  sdpa_backward(q, k, v, &top_left, out, max, log_sum, dout, dq, dk, dv, all, all);

  int64_t q_shape[] = {1, HEADS, rows, SIZE}, kv_shape[] = {1, KV_HEADS, rows, SIZE}, other[] = {1, KV_HEADS, rows, 5};
  int64_t q_count = HEADS * rows * SIZE, kv_count = KV_HEADS * rows * SIZE;
  DLTensor q_part = float_tensor(slice_rows(q, HEADS, all, first, rows), 4, q_shape);
  DLTensor k_part = float_tensor(slice_rows(k, KV_HEADS, all, first, rows), 4, kv_shape);
  DLTensor v_part = float_tensor(slice_rows(v, KV_HEADS, all, first, rows), 4, kv_shape);
  DLTensor dout_part = float_tensor(slice_rows(dout, HEADS, all, first, rows), 4, q_shape);
  DLTensor out_part = float_tensor(zeros(q_count), 4, q_shape), dq_part = float_tensor(zeros(q_count), 4, q_shape);
  DLTensor dk_part = float_tensor(zeros(kv_count), 4, kv_shape), dv_part = float_tensor(zeros(kv_count), 4, kv_shape);
  DLTensor max_part = float_tensor(zeros(HEADS * rows), 3, q_shape);
  DLTensor log_sum_part = float_tensor(zeros(HEADS * rows), 3, q_shape);
  char message[320];
  if (ring_forward(comm, &q_part, &k_part, &v_part, &out_part, &max_part, &log_sum_part, message, sizeof message) !=
          0 ||
      ring_backward(comm, &q_part, &k_part, &v_part, &out_part, &max_part, &log_sum_part, &dout_part, &dq_part,
                    &dk_part, &dv_part, message, sizeof message) != 0) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  double errors[] = {largest_error(comm, out_part.data, slice_rows(out, HEADS, all, first, rows), q_count),
                     largest_error(comm, dq_part.data, slice_rows(dq, HEADS, all, first, rows), q_count),
                     largest_error(comm, dk_part.data, slice_rows(dk, KV_HEADS, all, first, rows), kv_count),
                     largest_error(comm, dv_part.data, slice_rows(dv, KV_HEADS, all, first, rows), kv_count)};
  if (rank == 0)
    printf("%d ranks of %lld rows: out %.1e, dq %.1e, dk %.1e, dv %.1e from one call on the whole\n", ranks,
           (long long)rows, errors[0], errors[1], errors[2], errors[3]);
  int wrong = 0;
  for (int i = 0; i < 4; ++i)
    wrong |= !(errors[i] < 1e-5);

  /* What one rank cannot do, all ranks refuse, with the argument's name. */
  if (rank == ranks - 1)
    v_part.shape = other;
  if (ring_forward(comm, &q_part, &k_part, &v_part, &out_part, &max_part, &log_sum_part, message, sizeof message) == 0)
    return 1;
  printf("rank %d refused: %s\n", rank, message);
  v_part.shape = kv_shape;
  q_shape[2] = kv_shape[2] = rows + (rank == ranks - 1); /* refused before a row is read */
  if (ranks > 1 &&
      ring_forward(comm, &q_part, &k_part, &v_part, &out_part, &max_part, &log_sum_part, message, sizeof message) == 0)
    return 1;
  if (ranks > 1)
    printf("rank %d refused: %s\n", rank, message);
  return wrong;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int failed = check_ring(MPI_COMM_WORLD, argc > 1 ? atoi(argv[1]) : 64);
  MPI_Finalize();
  return failed;
}
