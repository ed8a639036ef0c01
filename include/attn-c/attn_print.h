/*===- attn_print.h - what a kernel becomes, as text ----------------------------===
 *
 * For those who want to see what the compiler does with a source: its IR after a phase, the code of the target, and the
 * remarks. The functions are in libattn; attn.h says what holds for all of them.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_C_ATTN_PRINT_H
#define ATTN_C_ATTN_PRINT_H

#include "attn-c/attn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What of a compilation is printed. */
typedef enum attn_text {
  ATTN_TEXT_IR = 0,       /* MLIR after a phase, the same text as `attnc --stop-after` writes */
  ATTN_TEXT_ASSEMBLY = 1, /* assembly of a processor, PTX of a GPU */
  ATTN_TEXT_REMARKS = 2   /* a line a remark, as `attnc --remarks=all` writes them, and warnings */
} attn_text;

/* Compiles a source as attn_compile_bytes does, as far as the text needs it, and stores the text in `*text`. `phase` is
 * the name of the phase that ATTN_TEXT_IR is of; null is the last one. If the source is refused, or the way to the
 * target has no such phase (ATTN_WRONG_VALUE), `*text` is null, and `*message` says why if `message` is not null. Free
 * both with attn_free_string. */
ATTN_API attn_status attn_print(attn_source_kind kind, const char *data, size_t size,
                                const attn_compile_options *options, attn_text what, const char *phase, char **text,
                                char **message);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_ATTN_PRINT_H */
