/* An agreement of all ranks before one of them sends, inputs and comparisons. */

#include "ranks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes a shape as (1, 4, 64, 32). */
static void print_shape(const int64_t *shape, int dims, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "(");
  for (int i = 0; i < dims && used < size; ++i)
    used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "", (long long)shape[i]);
  if (used < size)
    snprintf(text + used, size - used, ")");
}

/* Contiguous in row-major order; the stride of a dimension of one element says nothing. */
static int is_contiguous(const DLTensor *tensor) {
  int64_t stride = 1;
  for (int i = tensor->ndim - 1; tensor->strides && i >= 0; --i) {
    if (tensor->shape[i] != 1 && tensor->strides[i] != stride)
      return 0;
    stride *= tensor->shape[i];
  }
  return 1;
}

/* 0, or 1 and what is wrong with the argument. */
static int test_argument(const struct Argument *argument, char *message, size_t size) {
  const DLTensor *tensor = argument->tensor;
  char expected[96], found[96];
  if (!tensor || !tensor->data) {
    snprintf(message, size, "%s: expected a tensor, found null", argument->name);
    return 1;
  }
  if (tensor->dtype.code != kDLFloat || tensor->dtype.bits != 32 || tensor->dtype.lanes != 1 ||
      tensor->device.device_type != kDLCPU) {
    snprintf(message, size, "%s: expected float32 in memory of the processor, found code %d of %d bits on device %d",
             argument->name, tensor->dtype.code, tensor->dtype.bits, (int)tensor->device.device_type);
    return 1;
  }
  if (tensor->ndim != argument->dims ||
      memcmp(tensor->shape, argument->shape, (size_t)argument->dims * sizeof(int64_t)) != 0) {
    print_shape(argument->shape, argument->dims, expected, sizeof expected);
    print_shape(tensor->shape, tensor->ndim, found, sizeof found);
    snprintf(message, size, "%s: expected shape %s, found %s", argument->name, expected, found);
    return 1;
  }
  if (!is_contiguous(tensor)) {
    snprintf(message, size, "%s: expected contiguous rows, found strides; copy it first", argument->name);
    return 1;
  }
  return 0;
}

int agree(MPI_Comm comm, const struct Argument *arguments, int count, const char *meaning, int64_t shared,
          char *message, size_t size) {
  char text[256] = "";
  int rank, refused = 0;
  MPI_Comm_rank(comm, &rank);
  for (int i = 0; i < count && !refused; ++i)
    refused = test_argument(&arguments[i], text, sizeof text);
  if (!refused && (refused = shared < 1))
    snprintf(text, sizeof text, "expected 1 or more %s, found %lld", meaning, (long long)shared);
  /* The last rank that refuses, the largest number and the smallest. */
  int64_t mine[3] = {refused ? rank + 1 : 0, shared, -shared}, most[3];
  MPI_Allreduce(mine, most, 3, MPI_INT64_T, MPI_MAX, comm);
  if (most[0] != 0) {
    MPI_Bcast(text, sizeof text, MPI_CHAR, (int)most[0] - 1, comm);
    snprintf(message, size, "rank %d: %s", (int)most[0] - 1, text);
    return 1;
  }
  if (most[1] != -most[2]) {
    snprintf(message, size, "expected one number of %s on all ranks, found %lld to %lld, here %lld", meaning,
             (long long)-most[2], (long long)most[1], (long long)shared);
    return 1;
  }
  return 0;
}

float *zeros(int64_t count) {
  float *x = calloc((size_t)count, sizeof(float));
  if (!x) {
    fprintf(stderr, "expected memory for %lld numbers, found none\n", (long long)count);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return x;
}

float *draws(int64_t count, unsigned seed) {
  float *x = zeros(count);
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 8) / 8388608.0f - 1;
  }
  return x;
}

float *slice_rows(const float *x, int heads, int64_t all, int64_t first, int64_t rows) {
  float *part = zeros(heads * rows * SIZE);
  for (int h = 0; h < heads; ++h)
    memcpy(part + h * rows * SIZE, x + (h * all + first) * SIZE, (size_t)(rows * SIZE) * sizeof(float));
  return part;
}

double largest_error(MPI_Comm comm, const float *x, const float *expected, int64_t count) {
  double mine[3] = {0, 0, 0}, most[3];
  for (int64_t i = 0; i < count; ++i) {
    double error = fabs((double)x[i] - expected[i]);
    mine[0] = fmax(mine[0], error);
    mine[1] = fmax(mine[1], fabs(expected[i]));
    mine[2] = fmax(mine[2], isnan(error)); /* fmax passes over NaN */
  }
  MPI_Allreduce(mine, most, 3, MPI_DOUBLE, MPI_MAX, comm);
  return most[2] != 0 ? NAN : most[0] / most[1];
}

DLTensor float_tensor(float *data, int dims, int64_t *shape) {
  DLTensor made = {.data = data, .device = {kDLCPU, 0}, .ndim = dims, .dtype = {kDLFloat, 32, 1}, .shape = shape};
  return made;
}
