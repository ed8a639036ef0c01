/* What ring.c and decode.c share: an agreement of all ranks before one of them sends, inputs and comparisons. */
#ifndef RANKS_H
#define RANKS_H

#include <dlpack/dlpack.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { HEADS = 4, KV_HEADS = 2, SIZE = 32 }; /* of the problem lines in CMakeLists.txt and ring.test */

/* A tensor that a caller gives, by its name, and the shape that it ought to have. */
struct Argument {
  const char *name;
  const DLTensor *tensor;
  int dims;
  int64_t shape[4];
};

/* Whether every rank may run: tests the arguments of this rank, then asks the others. All ranks call it, and all return
 * the same: 0, or 1 and a message that names the argument and its rank. `shared` is a number, called `meaning`, that
 * has to be one on all ranks; 0 or less is refused. So no rank waits for what another does not send. */
int agree(MPI_Comm comm, const struct Argument *arguments, int count, const char *meaning, int64_t shared,
          char *message, size_t size);

/* `count` numbers of the machine's memory, all 0; ends the program where there are none. */
float *zeros(int64_t count);
/* The same of numbers from -1 to 1 that depend on `seed` alone. */
float *draws(int64_t count, unsigned seed);
/* Rows [first, first + rows) of each head of x, (heads, all, SIZE). */
float *slice_rows(const float *x, int heads, int64_t all, int64_t first, int64_t rows);
/* The largest |x - expected| of all ranks over the largest |expected|; NaN where a number is. */
double largest_error(MPI_Comm comm, const float *x, const float *expected, int64_t count);
/* float32 in this program's memory, contiguous; borrows `data` and `shape`. */
DLTensor float_tensor(float *data, int dims, int64_t *shape);

#endif /* RANKS_H */
