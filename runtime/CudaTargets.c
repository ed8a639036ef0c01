/*===- CudaTargets.c - which code of an object a device runs --------------------===
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "Cuda.h"

#include <stdio.h>

/* From cuda.h. */
enum { DEVICE_CAPABILITY_MAJOR = 75, DEVICE_CAPABILITY_MINOR = 76 };
#define NAMES_SIZE 256

/* 10 * major + minor of the device of the current context. */
static int getCapability(const attn_cuda_driver *driver, int *capability) {
  int device = 0, major = 0, minor = 0;
  int result = driver->cuCtxGetDevice(&device);
  if (result == 0)
    result = driver->cuDeviceGetAttribute(&major, DEVICE_CAPABILITY_MAJOR, device);
  if (result == 0)
    result = driver->cuDeviceGetAttribute(&minor, DEVICE_CAPABILITY_MINOR, device);
  *capability = 10 * major + minor;
  return result;
}

/* The same for a stream's context, which need not be the current one. */
static int getCapabilityOfStream(const attn_cuda_driver *driver, CUstream stream, int *capability) {
  CUcontext current = NULL, own = NULL;
  int result = driver->cuCtxGetCurrent(&current);
  if (result == 0 && stream)
    result = driver->cuStreamGetCtx(stream, &own);
  if (result != 0)
    return result;
  if (!own || own == current)
    return getCapability(driver, capability);
  result = driver->cuCtxPushCurrent(own);
  if (result != 0)
    return result;
  result = getCapability(driver, capability);
  driver->cuCtxPopCurrent(&current);
  return result;
}

/* Code for 9.0 to 11.x may have blocks with more shared memory than devices from 12.0 on have. */
static int isTooLarge(int code, int device) { return device >= 120 && code >= 90 && code < 120; }

int32_t attn_cuda_select_target(const attn_cuda_target *targets, int64_t count, CUstream stream) {
  const attn_cuda_driver *driver = attn_cuda_get_driver();
  if (!driver)
    return -ATTN_CUDA_NO_DRIVER;
  int capability = 0, result = getCapabilityOfStream(driver, stream, &capability);
  if (result != 0)
    return -attn_cuda_refuse_result(ATTN_CUDA_NO_CONTEXT, driver, result,
                                    "expected a current CUDA context on this thread, or a stream that has one");
  for (int64_t i = count - 1; i >= 0; --i)
    if (targets[i].is_exact ? capability == targets[i].capability
                            : capability >= targets[i].capability && !isTooLarge(targets[i].capability, capability))
      return (int32_t)i;
  char names[NAMES_SIZE] = "";
  int length = 0;
  for (int64_t i = 0; i < count && length < NAMES_SIZE; ++i)
    length += snprintf(names + length, (size_t)(NAMES_SIZE - length), "%s%s", i ? ", " : "", targets[i].name);
  return -attn_cuda_refuse(ATTN_CUDA_WRONG_DEVICE,
                           "expected a device that runs code for one of %s, found compute capability %d.%d; compile "
                           "with --target=sm_%d, if that is a target",
                           names, capability / 10, capability % 10, capability);
}
