/*===- Cuda.h - what the files of the CUDA launcher share -----------------------===
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_RUNTIME_CUDA_H
#define ATTN_RUNTIME_CUDA_H

#include "attn-c/attn_cuda.h"

/* Sets the message of this thread and returns the code. */
__attribute__((format(printf, 2, 3))) int32_t attn_cuda_refuse(int32_t code, const char *format, ...);

/* The same for a result of the driver, whose name and text are appended. */
int32_t attn_cuda_refuse_result(int32_t code, const attn_cuda_driver *driver, int result, const char *what);

#endif /* ATTN_RUNTIME_CUDA_H */
