/*===- CudaDriver.c - the CUDA driver by dlopen, and messages -------------------===
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "Cuda.h"
#include "Message.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Large enough for a log of the driver's PTX compiler. */
#define MESSAGE_SIZE 2048
static _Thread_local char lastMessage[MESSAGE_SIZE];

/*===----------------------------------------------------------------------===*/
/* Messages */
/*===----------------------------------------------------------------------===*/

const char *attn_cuda_message(void) { return lastMessage; }

void attn_cuda_copy_message(char *message, int64_t size) {
  if (!message || size <= 0)
    return;
  size_t length = strlen(lastMessage);
  if (length >= (uint64_t)size)
    length = (size_t)size - 1;
  memcpy(message, lastMessage, length);
  message[length] = 0;
}

int32_t attn_cuda_refuse(int32_t code, const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(lastMessage, sizeof(lastMessage), format, values);
  va_end(values);
  return code;
}

int32_t attn_cuda_refuse_result(int32_t code, const attn_cuda_driver *driver, int result, const char *what) {
  const char *name = NULL, *text = NULL;
  driver->cuGetErrorName(result, &name);
  driver->cuGetErrorString(result, &text);
  return attn_cuda_refuse(code, "%s: CUDA error %d (%s: %s)", what, result, name ? name : "unknown",
                          text ? text : "no description");
}

/*===----------------------------------------------------------------------===*/
/* The table */
/*===----------------------------------------------------------------------===*/

/* The symbol of each function; symbols that are not `required` may be missing. */
typedef struct Symbol {
  const char *name;
  size_t offset;
  int isRequired;
} Symbol;

#define REQUIRED(function, symbol) {symbol, offsetof(attn_cuda_driver, function), 1}
#define OPTIONAL(function, symbol) {symbol, offsetof(attn_cuda_driver, function), 0}
static const Symbol symbols[] = {
    REQUIRED(cuInit, "cuInit"),
    REQUIRED(cuDriverGetVersion, "cuDriverGetVersion"),
    REQUIRED(cuGetErrorName, "cuGetErrorName"),
    REQUIRED(cuGetErrorString, "cuGetErrorString"),
    REQUIRED(cuDeviceGetAttribute, "cuDeviceGetAttribute"),
    REQUIRED(cuCtxGetCurrent, "cuCtxGetCurrent"),
    REQUIRED(cuCtxPushCurrent, "cuCtxPushCurrent_v2"),
    REQUIRED(cuCtxPopCurrent, "cuCtxPopCurrent_v2"),
    REQUIRED(cuCtxGetDevice, "cuCtxGetDevice"),
    REQUIRED(cuStreamGetCtx, "cuStreamGetCtx"),
    REQUIRED(cuModuleLoadDataEx, "cuModuleLoadDataEx"),
    REQUIRED(cuModuleUnload, "cuModuleUnload"),
    REQUIRED(cuModuleGetFunction, "cuModuleGetFunction"),
    REQUIRED(cuFuncSetAttribute, "cuFuncSetAttribute"),
    REQUIRED(cuLaunchKernel, "cuLaunchKernel"),
    OPTIONAL(cuCtxGetId, "cuCtxGetId"),
    OPTIONAL(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode"),
    OPTIONAL(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled"),
    OPTIONAL(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor"),
    OPTIONAL(cuDeviceGetCount, "cuDeviceGetCount"),
    OPTIONAL(cuDeviceGet, "cuDeviceGet"),
    OPTIONAL(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain"),
    OPTIONAL(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2"),
    OPTIONAL(cuCtxSetCurrent, "cuCtxSetCurrent"),
    OPTIONAL(cuCtxSynchronize, "cuCtxSynchronize"),
    OPTIONAL(cuMemAlloc, "cuMemAlloc_v2"),
    OPTIONAL(cuMemFree, "cuMemFree_v2"),
    OPTIONAL(cuMemcpyHtoD, "cuMemcpyHtoD_v2"),
    OPTIONAL(cuMemcpyDtoH, "cuMemcpyDtoH_v2"),
    OPTIONAL(cuLaunchKernelEx, "cuLaunchKernelEx"),
};

#define DEFAULT_PATH "libcuda.so.1"
/* Guards loading. The table itself is read without it, and never freed: another thread may be using it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(const attn_cuda_driver *) inUse;

static int32_t initialise(const attn_cuda_driver *driver) {
  int result = driver->cuInit(0);
  return result == 0 ? 0 : attn_cuda_refuse_result(ATTN_CUDA_NO_DRIVER, driver, result, "cuInit");
}

static int32_t findSymbols(void *library, const char *path, attn_cuda_driver *driver) {
  for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); ++i) {
    void *address = dlsym(library, symbols[i].name);
    if (!address && symbols[i].isRequired)
      return attn_cuda_refuse(ATTN_CUDA_DRIVER_TOO_OLD,
                              "expected %s in the CUDA driver %s, found none; install a newer one", symbols[i].name,
                              path);
    memcpy((char *)driver + symbols[i].offset, &address, sizeof(address));
  }
  return 0;
}

/* The caller holds the lock. */
static int32_t load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return attn_cuda_refuse(ATTN_CUDA_NO_DRIVER, "no CUDA driver: cannot load %s (%s)", path, reason ? reason : "");
  }
  attn_cuda_driver *driver = calloc(1, sizeof(*driver));
  if (!driver) {
    dlclose(library);
    return attn_cuda_refuse(ATTN_CUDA_NO_DRIVER, "not enough memory to load the CUDA driver");
  }
  int32_t code = findSymbols(library, path, driver);
  if (code == 0)
    code = initialise(driver);
  if (code != 0) {
    free(driver);
    dlclose(library);
    return code;
  }
  atomic_store_explicit(&inUse, driver, memory_order_release);
  return 0;
}

int32_t attn_cuda_load_driver(const char *path) {
  pthread_mutex_lock(&lock);
  int32_t code = load(path ? path : DEFAULT_PATH);
  pthread_mutex_unlock(&lock);
  return code;
}

int32_t attn_cuda_use_driver(const attn_cuda_driver *driver) {
  if (!driver)
    return attn_cuda_load_driver(NULL);
  int32_t code = initialise(driver);
  if (code == 0)
    atomic_store_explicit(&inUse, driver, memory_order_release);
  return code;
}

const attn_cuda_driver *attn_cuda_get_driver(void) {
  const attn_cuda_driver *driver = atomic_load_explicit(&inUse, memory_order_acquire);
  if (driver)
    return driver;
  pthread_mutex_lock(&lock);
  if (!atomic_load_explicit(&inUse, memory_order_relaxed))
    load(DEFAULT_PATH);
  driver = atomic_load_explicit(&inUse, memory_order_relaxed);
  pthread_mutex_unlock(&lock);
  return driver;
}

int32_t attn_cuda_use_device(int32_t device) {
  const attn_cuda_driver *driver = attn_cuda_get_driver();
  if (!driver)
    return ATTN_CUDA_NO_DRIVER;
  CUcontext context = NULL;
  int handle = 0, result = driver->cuCtxGetCurrent(&context);
  if (result == 0 && context)
    return 0;
  if (!driver->cuDeviceGet || !driver->cuDevicePrimaryCtxRetain || !driver->cuCtxSetCurrent)
    return attn_cuda_refuse(ATTN_CUDA_NO_CONTEXT, "expected a current CUDA context on this thread, found none, and a "
                                                  "driver without primary contexts; call cuCtxSetCurrent before");
  if (result == 0)
    result = driver->cuDeviceGet(&handle, device);
  if (result == 0)
    result = driver->cuDevicePrimaryCtxRetain(&context, handle);
  if (result == 0)
    result = driver->cuCtxSetCurrent(context);
  return result == 0 ? 0
                     : attn_cuda_refuse_result(ATTN_CUDA_NO_CONTEXT, driver, result,
                                               "the primary context of the device cannot be made current");
}
