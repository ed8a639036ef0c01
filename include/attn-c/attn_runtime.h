/*===- attn_runtime.h - what an emitted kernel may link -------------------------===
 *
 * The parallel loop of kernels (on OpenMP) and the argument check of their checked entries. A kernel calls the first
 * as an external symbol unless it was compiled with --parallel=none, and carries its own copy of the second.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_C_ATTN_RUNTIME_H
#define ATTN_C_ATTN_RUNTIME_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls function(context, i) once for each i in [0, count), from several threads, and returns when all calls have
 * returned. Each thread begins with consecutive indices; when it has finished, it takes some of another thread.
 * Concurrent callers share the threads. The loop runs on the calling thread alone if count is 1, or if an enclosing
 * parallel region leaves no level of parallelism. */
void attn_parallel_for(void (*function)(void *context, int64_t index), void *context, int64_t count);

/* Threads that attn_parallel_for uses, for the whole process; 0 (or less) restores the setting of PyTorch, and without
 * PyTorch that of OpenMP. The second returns the number that a loop of the calling thread would use if no other is
 * running. */
void attn_runtime_set_num_threads(int threads);
int attn_runtime_get_num_threads(void);

/* An OpenMP that the process has beside the one that this library is linked with: two pools of threads would spin
 * against each other. The first function is GOMP_parallel, which libgomp, libomp and libiomp5 export; null leaves
 * regions to our own, and takes the number of threads alone. */
typedef struct attn_openmp {
  void (*parallel)(void (*function)(void *context), void *context, unsigned threads, unsigned flags);
  int (*get_thread_num)(void);
  int (*get_max_threads)(void);
} attn_openmp;

/* Runs later loops on that OpenMP, which must stay alive. Null restores what holds without a call: PyTorch's OpenMP if
 * the process has loaded PyTorch, before or after this library, and else the one that this library is linked with. */
void attn_runtime_set_openmp(const attn_openmp *openmp);

/* Runs the loops of the calling thread on other threads, as those of a program that has no OpenMP, until it is called
 * with null. `parallel` calls the function up to `threads` times, from any thread, each time with another number from
 * 0 to threads - 1 as get_thread_num; it may make fewer calls than that, but one at least. */
void attn_runtime_use_pool(const attn_openmp *pool);

/* DLPack's type code of booleans, which has no name in DLPack before 0.8. */
#define ATTN_DLPACK_BOOL 6
/* Its type codes of float8_e4m3fn and float8_e5m2, which have no names in DLPack before 1.1. */
#define ATTN_DLPACK_FLOAT8_E4M3FN 10
#define ATTN_DLPACK_FLOAT8_E5M2 12

/* Conditions on the integers of an argument. The limit is the product of the sizes limit and factor. */
typedef enum attn_value_kind {
  ATTN_LENGTHS = 1,      /* each in 0 to the limit */
  ATTN_PREFIX_SUMS = 2,  /* the first 0, none less than the one before, the last the limit; their number is one more
                            than that of `lengths` */
  ATTN_BLOCK_TABLE = 3,  /* [batch, page]: each in 0 to the limit - 1, for the pages that hold rows 0 to length - 1;
                            entries beyond those are not read */
  ATTN_POSITIONS = 4,    /* each at least 0, and the limit holds `rows` rows from it on */
  ATTN_APPEND_TABLE = 5, /* as a block table, for the pages that hold the `rows` rows from each position on */
  ATTN_SLOTS = 6,        /* -1, or in 0 to the limit - 1, each of these once */
} attn_value_kind;

/* A size: dimension `dim` of argument `argument`, or `dim` itself if `argument` is -1. */
typedef struct attn_size {
  int64_t argument, dim;
} attn_size;

/* Ten int64, in this order, for emitters of constants. */
typedef struct attn_value_check {
  int64_t kind; /* attn_value_kind */
  attn_size limit, factor;
  int64_t lengths; /* tables: the argument that holds the lengths or positions, one a batch; prefix sums: the argument
                      that has one element less than they, or -1 */
  attn_size page;  /* tables: rows of a page */
  attn_size rows;  /* positions and append tables: rows that are written */
} attn_value_check;

/* Arithmetic on sizes, in postfix order: each word but the last three kinds puts a value on a stack or takes two from
 * it. What overflows counts as 2^63 - 1. */
typedef enum attn_size_op {
  ATTN_SIZE_END = 0,    /* no more words */
  ATTN_SIZE_DIM = 1,    /* dimension `dim` of argument `argument` */
  ATTN_SIZE_NUMBER = 2, /* `dim` itself */
  ATTN_SIZE_ADD = 3,
  ATTN_SIZE_SUBTRACT = 4,
  ATTN_SIZE_MULTIPLY = 5,
  ATTN_SIZE_DIVIDE = 6, /* rounded towards 0; 0 where the divisor is not positive */
  ATTN_SIZE_MINIMUM = 7,
  ATTN_SIZE_MAXIMUM = 8,
  ATTN_SIZE_EQUALS = 9,   /* tested: the value is the size of dimension `dim` of the argument that has the words */
  ATTN_SIZE_AT_MOST = 10, /* tested: the first of two values is at most the second; it is dimension `dim` of argument
                             `argument`, unless that is -1 */
} attn_size_op;

/* Three int64, in this order, for emitters of constants. At most 16 values wait on the stack. */
typedef struct attn_size_word {
  int64_t op; /* attn_size_op */
  int64_t argument, dim;
} attn_size_word;

/* What a kernel expects of one argument. An emitter of constants writes it as the LLVM struct
 *   { ptr name, ptr shape, ptr symbols, ptr checks, i32 rank, i32 alignment, i32 is_output, i32 num_checks,
 *     i8 type_code, i8 bits, i8 device_type, i8 is_strided, [4 x i8], ptr sizes }
 * which has 64 bytes and no padding of its own on a 64-bit target. */
typedef struct attn_argument_spec {
  const char *name;
  const int64_t *shape;   /* `rank` sizes; -1 is a size known at run time only */
  const int32_t *symbols; /* for each -1 in shape, the id of the size: equal ids are equal sizes, a negative id is any
                             size; null: every -1 is any size */
  const attn_value_check *checks; /* `num_checks` of them, for int32 and int64 elements */
  int32_t rank;
  int32_t alignment; /* of the first element, in bytes; 0 is the natural alignment of the element */
  int32_t is_output;
  int32_t num_checks;
  uint8_t type_code; /* DLDataTypeCode, or ATTN_DLPACK_BOOL, which accepts 8-bit kDLUInt as well */
  uint8_t bits;
  uint8_t device_type; /* DLDeviceType; 0 is the CPU */
  uint8_t is_strided;  /* 1: any strides but for the last dimension, whose is 1; 0: C-contiguous */
  uint8_t padding[4];
  const attn_size_word *sizes; /* tests of sizes that follow from those of this argument and the ones before; or null */
} attn_argument_spec;

/* Tests the arguments of a checked entry against its specifications, and returns 0 or the attn_status (1 to 10, see
 * attn.h) of the first test that fails. Count and the argument array come first, then for each argument in turn the
 * tests in the order of their codes, then overlaps of outputs with anything else, then values. Tensors are
 * C-contiguous, or strided where the specification says so: null strides mean contiguous ones, and strides of
 * dimensions of size 1 and of empty tensors are free, as is the address of an empty tensor. `message` receives at most
 * `size` bytes, terminated; it may be null. Of elements it reads only those of arguments with `checks`, and only after
 * all other tests have passed. */
int32_t attn_check_arguments(const DLTensor *const *arguments, int64_t count, const attn_argument_spec *specs,
                             int64_t expected, char *message, size_t size);

/* Of the workspace of a kernel of a processor that takes one of its caller, in bytes. */
#define ATTN_WORKSPACE_ALIGNMENT 64

/* Why a kernel has returned ATTN_NO_MEMORY, in at most `size` bytes, terminated; `message` may be null. */
void attn_describe_no_memory(char *message, size_t size);

/* Constants of an object that stand in a file beside it (attnc --weights). The file begins with the header; `key` is a
 * hash of what follows. */
typedef struct attn_weights_header {
  char magic[8];
  uint64_t size; /* of the whole file in bytes */
  uint64_t key;
  uint64_t padding[5];
} attn_weights_header;
#define ATTN_WEIGHTS_MAGIC "attn-w1"

/* What an object knows of its file, and where it is mapped; null before. */
typedef struct attn_weights {
  const void *base;
  uint64_t size, key;
} attn_weights;

/* Maps the file at `path` for reading, in place of one that is mapped; a null path unmaps. Only the header is read.
 * Returns 0, or ATTN_NO_WEIGHTS with a message of at most `size` bytes, and then changes nothing. Part of the objects
 * that need it, not of libattn_runtime. */
int32_t attn_map_weights(attn_weights *weights, const char *path, char *message, size_t size);
/* Why a kernel cannot run before that. */
void attn_describe_no_weights(char *message, size_t size);

/* The stride of dimension `dim` in elements, also where the tensor has none as it is C-contiguous. */
int64_t attn_get_stride(const DLTensor *tensor, int64_t dim);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_ATTN_RUNTIME_H */
