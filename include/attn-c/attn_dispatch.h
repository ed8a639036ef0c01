/*===- attn_dispatch.h - how an object chooses among its kernels ----------------===
 *
 * Tables that the compiler writes into an object of several targets or kernels, and the code that reads them. The code
 * is linked into each such object, as internal functions: users see only the entries that the object's header declares.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_C_ATTN_DISPATCH_H
#define ATTN_C_ATTN_DISPATCH_H

#include "attn-c/attn_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*/
/* Processors */
/*===----------------------------------------------------------------------===*/

/* A set of processor features, a bit each. */
#define ATTN_FEATURE_WORDS 2

/* The bit of an LLVM feature name ("avx2"), or -1 if no test of it is known. */
int32_t attn_find_feature(const char *name);

/* The features of this processor whose registers the operating system saves, by CPUID and XGETBV. Those of tiles
 * (AMX) only if it also grants them to this process, which this call asks for. */
void attn_detect_features(uint64_t features[ATTN_FEATURE_WORDS]);

/* Asks the operating system for the registers of tiles: 1 if this process may use them, 0 if the processor has none or
 * the system refuses. */
int32_t attn_request_tiles(void);

/* Code for one target: LLVM struct { ptr, [2 x i64] }. */
typedef struct attn_variant {
  const char *name;
  uint64_t features[ATTN_FEATURE_WORDS]; /* all that the code may use */
} attn_variant;

/* The variants of an object, best last: LLVM struct { ptr, ptr, i64 }. */
typedef struct attn_variants {
  int32_t *chosen; /* shared by all threads: 0 before the first choice, then the number of the variant, from 1 */
  const attn_variant *variants;
  int64_t count;
} attn_variants;

/* The last variant that this processor runs, or the one that attn_use_target has set; -1 if it runs none. */
int32_t attn_select_variant(const attn_variants *variants);
/* ATTN_OK, or ATTN_WRONG_PROCESSOR with a message if this processor runs no variant. */
int32_t attn_check_processor(const attn_variants *variants, char *message, size_t size);
/* Makes all later calls take the variant of that name; null: the last one that this processor runs. */
int32_t attn_use_target(const attn_variants *variants, const char *name, char *message, size_t size);
/* The name of the variant that calls take; null if this processor runs none. */
const char *attn_get_target(const attn_variants *variants);

/*===----------------------------------------------------------------------===*/
/* Libraries */
/*===----------------------------------------------------------------------===*/

typedef int32_t (*attn_checked_entry)(const DLTensor *const *arguments, int64_t count, char *message, int64_t size);

/* One kernel of a library: LLVM struct { ptr, ptr, ptr, i64 }. */
typedef struct attn_library_kernel {
  const char *name;
  attn_checked_entry entry;
  const attn_argument_spec *specs;
  int64_t count;
} attn_library_kernel;

/* Kernels of the same features, those with the fewest dynamic sizes first: LLVM struct { ptr, ptr, i64, i64 }. */
typedef struct attn_library_group {
  const char *features; /* words of a problem line, separated by spaces */
  const char *line;     /* a problem line with {A.D} for dimension D of argument A, and {A} for the element type of A */
  int64_t first, count;
} attn_library_group;

/* LLVM struct { ptr, i64, ptr }. */
typedef struct attn_library {
  const attn_library_group *groups;
  int64_t num_groups;
  const attn_library_kernel *kernels;
} attn_library;

/* The first kernel of the group of these features (in any order; null: none) that takes tensors of these types and
 * shapes, in `*found`. ATTN_OK; ATTN_NULL_ARGUMENT or ATTN_WRONG_COUNT; or ATTN_NO_SUCH_KERNEL with a message that says
 * which problem line would be needed. Reads no element of any tensor. */
int32_t attn_find_kernel(const attn_library *library, const char *features, const DLTensor *const *arguments,
                         int64_t count, const attn_library_kernel **found, char *message, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_ATTN_DISPATCH_H */
