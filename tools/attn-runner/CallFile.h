/*===- CallFile.h - one call of a kernel as a file ------------------------------===
 *
 * What attnc run --runner writes and a runner reads: the entry's tensors, and room for what it answers. All of it is in
 * the byte order and layout of little-endian machines of 64 bits, which both sides are. The bytes of the tensors follow
 * the records, each at the offset that its record says.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_TOOLS_RUNNER_CALLFILE_H
#define ATTN_TOOLS_RUNNER_CALLFILE_H

#include <stdint.h>

enum { ATTN_CALL_MESSAGE = 2048, ATTN_CALL_RANK = 8 };

/* "attncal1" as a number. */
#define ATTN_CALL_MAGIC INT64_C(0x316c61636e747461)

typedef struct attn_call_header {
  int64_t magic, count; /* of tensors */
  int64_t code;         /* what the entry returned */
  char message[ATTN_CALL_MESSAGE];
} attn_call_header;

typedef struct attn_call_tensor {
  int64_t type_code, type_bits, rank, has_strides;
  int64_t shape[ATTN_CALL_RANK], strides[ATTN_CALL_RANK];
  int64_t offset, bytes; /* of its elements and what lies between them, in the file */
  int64_t first;         /* byte of the first element among them */
} attn_call_tensor;

#endif /* ATTN_TOOLS_RUNNER_CALLFILE_H */
