/*===- stdio.h - texts ------------------------------------------------------===
 *
 * The part of the C library's header that code in every object needs, the same for every architecture: bitcode is
 * compiled without a C library's headers. Nothing else includes it.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_RUNTIME_INCLUDE_STDIO_H
#define ATTN_RUNTIME_INCLUDE_STDIO_H

#include <stdarg.h>
#include <stddef.h>

int vsnprintf(char *text, size_t size, const char *format, va_list values);

#endif /* ATTN_RUNTIME_INCLUDE_STDIO_H */
