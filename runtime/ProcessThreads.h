/*===- ProcessThreads.h - the pool of threads of the process ------------------===
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_RUNTIME_PROCESSTHREADS_H
#define ATTN_RUNTIME_PROCESSTHREADS_H

#include "attn-c/attn_runtime.h"

/* The OpenMP of PyTorch, from the first call on that finds PyTorch in the process; null before. */
const attn_openmp *attn_find_openmp(void);

#endif
