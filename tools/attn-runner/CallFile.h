/*===- CallFile.h - one call of a kernel as a file ------------------------------===
 *
 * The file that attnc run --runner writes and a runner reads: the entry's tensors, and space for the answer. Byte order
 * and layout are those of little-endian 64-bit machines, like both sides. The bytes of the tensors follow the records,
 * each at the offset in its record.
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
  int64_t code;         /* the entry's result */
  char message[ATTN_CALL_MESSAGE];
} attn_call_header;

typedef struct attn_call_tensor {
  int64_t type_code, type_bits, rank, has_strides;
  int64_t shape[ATTN_CALL_RANK], strides[ATTN_CALL_RANK];
  int64_t offset, bytes; /* of its elements and the gaps between them, in the file */
  int64_t first;         /* byte of the first element among them */
} attn_call_tensor;

#endif /* ATTN_TOOLS_RUNNER_CALLFILE_H */
