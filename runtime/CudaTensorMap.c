/*===- CudaTensorMap.c - maps of tensors for copies to shared memory -------------===
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "Cuda.h"

#include <inttypes.h>
#include <string.h>

/* From cuda.h: no interleaving, swizzles, L2 promotion of 256 bytes, and zeros out of bounds. */
enum { INTERLEAVE_NONE = 0, SWIZZLE_32 = 1, SWIZZLE_64 = 2, SWIZZLE_128 = 3, PROMOTION_256 = 3, FILL_ZERO = 0 };
enum { TYPE_BYTE = 0 };
#define MAX_RANK 5

int32_t attn_cuda_encode_map(void *map, void *address, int32_t type, int64_t rank, const int64_t *sizes,
                             const int64_t *strides, const int64_t *box) {
  memset(map, 0, ATTN_CUDA_MAP_BYTES);
  const attn_cuda_driver *driver = attn_cuda_get_driver();
  if (!driver)
    return ATTN_CUDA_NO_DRIVER;
  if (!driver->cuTensorMapEncodeTiled)
    return attn_cuda_refuse(ATTN_CUDA_DRIVER_TOO_OLD, "expected cuTensorMapEncodeTiled in the CUDA driver, found none; "
                                                      "install one of CUDA 12 or later");
  /* The driver expects the innermost dimension first. */
  uint64_t extents[MAX_RANK], pitches[MAX_RANK];
  uint32_t lengths[MAX_RANK], steps[MAX_RANK];
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = sizes[rank - 1 - i];
    if (size == 0)
      return 0; /* nothing of it is copied */
    extents[i] = (uint64_t)size;
    if (i > 0)
      pitches[i - 1] = (uint64_t)strides[rank - 1 - i];
    lengths[i] = (uint32_t)box[rank - 1 - i];
    steps[i] = 1;
  }
  /* The rows of a box are one span of the swizzle. */
  int64_t rowBytes = box[rank - 1] * (type == TYPE_BYTE ? 1 : 2);
  int swizzle = rowBytes <= 32 ? SWIZZLE_32 : rowBytes <= 64 ? SWIZZLE_64 : SWIZZLE_128;
  int result = driver->cuTensorMapEncodeTiled(map, type, (unsigned)rank, address, extents, pitches, lengths, steps,
                                              INTERLEAVE_NONE, swizzle, PROMOTION_256, FILL_ZERO);
  return result == 0 ? 0
                     : attn_cuda_refuse_result(ATTN_CUDA_LAUNCH_FAILED, driver, result,
                                               "the driver refuses the map of a tensor");
}
