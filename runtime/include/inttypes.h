/*===- inttypes.h - formats of integers -------------------------------------===
 *
 * The part of the C library's header that code in every object needs, the same for every architecture: bitcode is
 * compiled without a C library's headers. Nothing else includes it.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_RUNTIME_INCLUDE_INTTYPES_H
#define ATTN_RUNTIME_INCLUDE_INTTYPES_H

#include <stdint.h>

#define PRId32 __INT32_FMTd__
#define PRId64 __INT64_FMTd__
#define PRIu64 __UINT64_FMTu__
#define PRIuPTR __UINTPTR_FMTu__

#endif /* ATTN_RUNTIME_INCLUDE_INTTYPES_H */
