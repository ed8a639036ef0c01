/*===- CudaWorkspace.c - whether a call's workspace is one -----------------------===
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "Cuda.h"

#include <inttypes.h>

int32_t attn_cuda_check_workspace(const void *workspace, int64_t bytes, int64_t needed) {
  if (needed <= 0)
    return 0;
  if (!workspace)
    return attn_cuda_refuse(ATTN_CUDA_WORKSPACE, "expected a workspace of %" PRId64 " bytes, found a null pointer",
                            needed);
  if (bytes < needed)
    return attn_cuda_refuse(ATTN_CUDA_WORKSPACE, "expected a workspace of %" PRId64 " bytes, found %" PRId64, needed,
                            bytes);
  uintptr_t rest = (uintptr_t)workspace % ATTN_CUDA_WORKSPACE_ALIGNMENT;
  if (rest != 0)
    return attn_cuda_refuse(ATTN_CUDA_WORKSPACE, "expected a workspace aligned to %d bytes, found %" PRIuPTR " more",
                            ATTN_CUDA_WORKSPACE_ALIGNMENT, rest);
  return 0;
}
