/*===- CudaLaunch.c - launches, and the modules that they load ------------------===
 *
 * Each kernel has a list of its functions, and each image one of its modules, with one entry per context. Lists only
 * grow, at their heads and under a lock, and are read without it: a launch that finds its context takes no lock and
 * allocates nothing.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "Cuda.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* From cuda.h. */
enum {
  DEVICE_MULTIPROCESSORS = 16,
  DEVICE_SHARED_BYTES_OPTIN = 97,
  DEVICE_CAPABILITY_MAJOR = 75,
  DEVICE_CAPABILITY_MINOR = 76,
  FUNCTION_DYNAMIC_SHARED_BYTES = 8,
  JIT_ERROR_LOG = 5,
  JIT_ERROR_LOG_BYTES = 6,
  CAPTURE_MODE_RELAXED = 2,
  LAUNCH_PROGRAMMATIC = 6,
};
/* The first driver whose graphs have launches that start early. */
#define PROGRAMMATIC_DRIVER 12030
/* Shared memory of a function without an attribute. */
#define DEFAULT_SHARED_BYTES (48 * 1024)
#define MAX_GRID_X INT_MAX
#define MAX_GRID_YZ 65535
#define MAX_BLOCK 1024
#define LOG_SIZE 1024

/* A context. Its handle may be that of a destroyed context; an id is never reused. */
typedef struct Context {
  const attn_cuda_driver *driver;
  CUcontext handle;
  unsigned long long id;
} Context;

typedef struct LoadedModule {
  Context context;
  CUmodule module;
  int sharedLimit; /* most bytes of a block on the device */
  struct LoadedModule *next;
} LoadedModule;

typedef struct LoadedFunction {
  Context context;
  CUfunction function;
  int sharedLimit;
  atomic_int sharedBytes;    /* the function's current limit */
  atomic_int residentBlocks; /* blocks that the device can hold at once; 0 while unknown */
  struct LoadedFunction *next;
} LoadedFunction;

/* Guards changes of all lists. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int isSameContext(const Context *a, const Context *b) {
  return a->driver == b->driver && a->handle == b->handle && a->id == b->id;
}

static LoadedFunction *findFunction(attn_cuda_kernel *kernel, const Context *context) {
  LoadedFunction *entry = atomic_load_explicit((_Atomic(LoadedFunction *) *)&kernel->loaded, memory_order_acquire);
  while (entry && !isSameContext(&entry->context, context))
    entry = entry->next;
  return entry;
}

/*===----------------------------------------------------------------------===*/
/* Loading, with the lock held and in the context */
/*===----------------------------------------------------------------------===*/

static int32_t checkDevice(const attn_cuda_image *image, const attn_cuda_driver *driver, int *sharedLimit,
                           int *isOwnMajor) {
  int version = 0, device = 0, major = 0, minor = 0;
  int result = driver->cuDriverGetVersion(&version);
  if (result == 0 && version < image->driver_version)
    return attn_cuda_refuse(ATTN_CUDA_DRIVER_TOO_OLD, "expected a CUDA driver of version %d.%d or later, found %d.%d",
                            image->driver_version / 1000, image->driver_version % 1000 / 10, version / 1000,
                            version % 1000 / 10);
  if (result == 0)
    result = driver->cuCtxGetDevice(&device);
  if (result == 0)
    result = driver->cuDeviceGetAttribute(&major, DEVICE_CAPABILITY_MAJOR, device);
  if (result == 0)
    result = driver->cuDeviceGetAttribute(&minor, DEVICE_CAPABILITY_MINOR, device);
  if (result == 0)
    result = driver->cuDeviceGetAttribute(sharedLimit, DEVICE_SHARED_BYTES_OPTIN, device);
  if (result != 0)
    return attn_cuda_refuse_result(ATTN_CUDA_LOAD_FAILED, driver, result,
                                   "the device cannot be asked for its properties");
  if (10 * major + minor < image->capability)
    return attn_cuda_refuse(ATTN_CUDA_WRONG_DEVICE,
                            "expected a device of compute capability %d.%d or higher, found %d.%d; compile with "
                            "--target=sm_%d%d, if that is a target",
                            image->capability / 10, image->capability % 10, major, minor, major, minor);
  if (image->is_exact && 10 * major + minor != image->capability)
    return attn_cuda_refuse(ATTN_CUDA_WRONG_DEVICE,
                            "expected a device of compute capability %d.%d and no other, found %d.%d; compile with "
                            "--target=sm_%d%d, if that is a target, or with one of lower capability",
                            image->capability / 10, image->capability % 10, major, minor, major, minor);
  *isOwnMajor = major == image->capability / 10;
  return 0;
}

static int32_t loadCode(const attn_cuda_image *image, const attn_cuda_driver *driver, int isOwnMajor,
                        CUmodule *module) {
  /* Machine code runs on later devices of its major version. If the driver rejects the file, it gets the PTX. */
  if (image->cubin && isOwnMajor && driver->cuModuleLoadDataEx(module, image->cubin, 0, NULL, NULL) == 0)
    return 0;
  char log[LOG_SIZE] = "";
  int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
  void *values[] = {log, (void *)(uintptr_t)LOG_SIZE};
  int result = driver->cuModuleLoadDataEx(module, image->ptx, 2, options, values);
  if (result == 0)
    return 0;
  log[LOG_SIZE - 1] = 0;
  char what[LOG_SIZE + 64];
  snprintf(what, sizeof(what), "the driver refuses the module%s%s", log[0] ? ": " : "", log);
  return attn_cuda_refuse_result(ATTN_CUDA_LOAD_FAILED, driver, result, what);
}

static int32_t loadModule(attn_cuda_image *image, const Context *context, LoadedModule **loaded) {
  for (LoadedModule *entry = image->loaded; entry; entry = entry->next)
    if (isSameContext(&entry->context, context)) {
      *loaded = entry;
      return 0;
    }
  int sharedLimit = 0, isOwnMajor = 0;
  int32_t code = checkDevice(image, context->driver, &sharedLimit, &isOwnMajor);
  if (code != 0)
    return code;
  LoadedModule *entry = calloc(1, sizeof(*entry));
  if (!entry)
    return attn_cuda_refuse(ATTN_CUDA_LOAD_FAILED, "not enough memory for a module");
  code = loadCode(image, context->driver, isOwnMajor, &entry->module);
  if (code != 0) {
    free(entry);
    return code;
  }
  entry->context = *context;
  entry->sharedLimit = sharedLimit;
  entry->next = image->loaded;
  image->loaded = entry;
  *loaded = entry;
  return 0;
}

static int32_t loadFunction(attn_cuda_kernel *kernel, const Context *context, LoadedFunction **loaded) {
  *loaded = findFunction(kernel, context);
  if (*loaded)
    return 0; /* another thread was faster */
  LoadedModule *module;
  int32_t code = loadModule(kernel->image, context, &module);
  if (code != 0)
    return code;
  LoadedFunction *entry = calloc(1, sizeof(*entry));
  if (!entry)
    return attn_cuda_refuse(ATTN_CUDA_LOAD_FAILED, "not enough memory for a function");
  int result = context->driver->cuModuleGetFunction(&entry->function, module->module, kernel->name);
  if (result != 0) {
    free(entry);
    char what[LOG_SIZE];
    snprintf(what, sizeof(what), "the module has no kernel '%s'", kernel->name);
    return attn_cuda_refuse_result(ATTN_CUDA_LOAD_FAILED, context->driver, result, what);
  }
  entry->context = *context;
  entry->sharedLimit = module->sharedLimit;
  entry->sharedBytes = DEFAULT_SHARED_BYTES;
  entry->next = kernel->loaded;
  atomic_store_explicit((_Atomic(LoadedFunction *) *)&kernel->loaded, entry, memory_order_release);
  *loaded = entry;
  return 0;
}

/* A load may allocate on the device. A thread whose stream is being captured must declare this harmless. */
static int32_t loadInAnyMode(attn_cuda_kernel *kernel, const Context *context, LoadedFunction **loaded) {
  int mode = CAPTURE_MODE_RELAXED;
  int (*exchange)(int *) = context->driver->cuThreadExchangeStreamCaptureMode;
  int isExchanged = exchange && exchange(&mode) == 0;
  pthread_mutex_lock(&lock);
  int32_t code = loadFunction(kernel, context, loaded);
  pthread_mutex_unlock(&lock);
  if (isExchanged)
    exchange(&mode);
  return code;
}

/*===----------------------------------------------------------------------===*/
/* Launching */
/*===----------------------------------------------------------------------===*/

static int32_t checkSizes(const char *name, const int64_t *grid, const int64_t *block, int64_t sharedBytes) {
  if (grid[0] > MAX_GRID_X || grid[1] > MAX_GRID_YZ || grid[2] > MAX_GRID_YZ)
    return attn_cuda_refuse(ATTN_CUDA_LAUNCH_FAILED,
                            "'%s': expected a grid of at most %d x %d x %d blocks, found %" PRId64 " x %" PRId64
                            " x %" PRId64,
                            name, MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ, grid[0], grid[1], grid[2]);
  for (int i = 0; i < 3; ++i)
    if (block[i] < 1 || block[i] > MAX_BLOCK)
      return attn_cuda_refuse(ATTN_CUDA_LAUNCH_FAILED, "'%s': expected blocks of 1 to %d threads, found %" PRId64, name,
                              MAX_BLOCK, block[i]);
  if (sharedBytes < 0 || sharedBytes > INT_MAX)
    return attn_cuda_refuse(ATTN_CUDA_LAUNCH_FAILED, "'%s': expected less than 2 GiB of shared memory, found %" PRId64,
                            name, sharedBytes);
  return 0;
}

/* The attribute only grows; if two threads set it concurrently, the result satisfies both. */
static int32_t allowSharedBytes(LoadedFunction *function, const char *name, int bytes) {
  if (bytes <= atomic_load_explicit(&function->sharedBytes, memory_order_acquire))
    return 0;
  if (bytes > function->sharedLimit)
    return attn_cuda_refuse(ATTN_CUDA_WRONG_DEVICE,
                            "'%s' needs %d bytes of shared memory, a block of this device has %d", name, bytes,
                            function->sharedLimit);
  pthread_mutex_lock(&lock);
  int result = 0;
  if (bytes > atomic_load_explicit(&function->sharedBytes, memory_order_relaxed)) {
    result = function->context.driver->cuFuncSetAttribute(function->function, FUNCTION_DYNAMIC_SHARED_BYTES, bytes);
    if (result == 0)
      atomic_store_explicit(&function->sharedBytes, bytes, memory_order_release);
  }
  pthread_mutex_unlock(&lock);
  return result == 0 ? 0
                     : attn_cuda_refuse_result(ATTN_CUDA_LAUNCH_FAILED, function->context.driver, result,
                                               "the driver refuses so much shared memory");
}

/* Every launch of a kernel has the same threads and shared memory, so the answer does not change. It comes from the
 * device, not from a table of targets: chips of one capability differ, and a MIG instance has a part of one.
 */
static int32_t getResidentBlocks(LoadedFunction *function, int threads, int sharedBytes, int *blocks) {
  const attn_cuda_driver *driver = function->context.driver;
  *blocks = atomic_load_explicit(&function->residentBlocks, memory_order_relaxed);
  if (*blocks > 0)
    return 0;
  int device = 0, multiprocessors = 0, each = 1;
  int result = driver->cuCtxGetDevice(&device);
  if (result == 0)
    result = driver->cuDeviceGetAttribute(&multiprocessors, DEVICE_MULTIPROCESSORS, device);
  if (result == 0 && driver->cuOccupancyMaxActiveBlocksPerMultiprocessor)
    result = driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, function->function, threads, sharedBytes);
  if (result != 0)
    return attn_cuda_refuse_result(ATTN_CUDA_LAUNCH_FAILED, driver, result,
                                   "the device cannot be asked how many blocks it holds at once");
  *blocks = multiprocessors * each > 0 ? multiprocessors * each : 1; /* the launch reports what does not fit */
  atomic_store_explicit(&function->residentBlocks, *blocks, memory_order_relaxed);
  return 0;
}

static int32_t getContext(const attn_cuda_driver *driver, CUstream stream, Context *context, CUcontext *current) {
  *context = (Context){driver, NULL, 0};
  int result = driver->cuCtxGetCurrent(current);
  context->handle = *current;
  if (result == 0 && stream)
    result = driver->cuStreamGetCtx(stream, &context->handle);
  if (result == 0 && context->handle && driver->cuCtxGetId)
    result = driver->cuCtxGetId(context->handle, &context->id);
  if (result != 0)
    return attn_cuda_refuse_result(ATTN_CUDA_NO_CONTEXT, driver, result, "the context of the stream is not known");
  if (!context->handle)
    return attn_cuda_refuse(ATTN_CUDA_NO_CONTEXT, "expected a current CUDA context on this thread, found none; call "
                                                  "cuCtxSetCurrent or cudaSetDevice before");
  return 0;
}

typedef enum LaunchKind { WHOLE, PERSISTENT, DEPENDENT } LaunchKind;

/* Others start a dependent kernel once the one before it is complete, where its wait does nothing. */
static int startsEarly(const attn_cuda_driver *driver) {
  int version = 0;
  return driver->cuLaunchKernelEx && driver->cuDriverGetVersion(&version) == 0 && version >= PROGRAMMATIC_DRIVER;
}

static int32_t launchInContext(attn_cuda_kernel *kernel, const Context *context, const int64_t *grid,
                               const int64_t *block, int sharedBytes, CUstream stream, void **parameters,
                               LaunchKind kind) {
  LoadedFunction *function = findFunction(kernel, context);
  int32_t code = function ? 0 : loadInAnyMode(kernel, context, &function);
  if (code == 0)
    code = allowSharedBytes(function, kernel->name, sharedBytes);
  int blocks = (int)grid[0], most = blocks;
  if (code == 0 && kind == PERSISTENT)
    code = getResidentBlocks(function, (int)(block[0] * block[1] * block[2]), sharedBytes, &most);
  if (code != 0)
    return code;
  if (most < blocks)
    blocks = most;
  attn_cuda_launch_attribute attribute = {.id = LAUNCH_PROGRAMMATIC, .value.number = 1};
  const attn_cuda_launch_config config = {{(unsigned)blocks, (unsigned)grid[1], (unsigned)grid[2]},
                                          {(unsigned)block[0], (unsigned)block[1], (unsigned)block[2]},
                                          (unsigned)sharedBytes,
                                          stream,
                                          &attribute,
                                          1};
  int result = kind == DEPENDENT && startsEarly(context->driver)
                   ? context->driver->cuLaunchKernelEx(&config, function->function, parameters, NULL)
                   : context->driver->cuLaunchKernel(function->function, config.grid[0], config.grid[1], config.grid[2],
                                                     config.block[0], config.block[1], config.block[2],
                                                     config.sharedBytes, stream, parameters, NULL);
  if (result == 0)
    return 0;
  char what[LOG_SIZE];
  snprintf(what, sizeof(what), "launch of '%s' failed", kernel->name);
  return attn_cuda_refuse_result(ATTN_CUDA_LAUNCH_FAILED, context->driver, result, what);
}

static int32_t launch(attn_cuda_kernel *kernel, const int64_t *grid, const int64_t *block, int64_t sharedBytes,
                      CUstream stream, void **parameters, LaunchKind kind) {
  if (grid[0] <= 0 || grid[1] <= 0 || grid[2] <= 0)
    return 0;
  int32_t code = checkSizes(kernel->name, grid, block, sharedBytes);
  if (code != 0)
    return code;
  const attn_cuda_driver *driver = attn_cuda_get_driver();
  if (!driver)
    return ATTN_CUDA_NO_DRIVER;
  Context context;
  CUcontext current;
  code = getContext(driver, stream, &context, &current);
  if (code != 0)
    return code;
  int isOther = context.handle != current;
  int result = isOther ? driver->cuCtxPushCurrent(context.handle) : 0;
  if (result != 0)
    return attn_cuda_refuse_result(ATTN_CUDA_NO_CONTEXT, driver, result,
                                   "the context of the stream cannot be made current");
  code = launchInContext(kernel, &context, grid, block, (int)sharedBytes, stream, parameters, kind);
  if (isOther)
    driver->cuCtxPopCurrent(&current);
  return code;
}

int32_t attn_cuda_launch(attn_cuda_kernel *kernel, int64_t gridX, int64_t gridY, int64_t gridZ, int64_t blockX,
                         int64_t blockY, int64_t blockZ, int64_t sharedBytes, CUstream stream, void **parameters) {
  const int64_t grid[] = {gridX, gridY, gridZ}, block[] = {blockX, blockY, blockZ};
  return launch(kernel, grid, block, sharedBytes, stream, parameters, WHOLE);
}

int32_t attn_cuda_launch_persistent(attn_cuda_kernel *kernel, int64_t gridX, int64_t gridY, int64_t gridZ,
                                    int64_t blockX, int64_t blockY, int64_t blockZ, int64_t sharedBytes,
                                    CUstream stream, void **parameters) {
  const int64_t grid[] = {gridX, gridY, gridZ}, block[] = {blockX, blockY, blockZ};
  return launch(kernel, grid, block, sharedBytes, stream, parameters, PERSISTENT);
}

int32_t attn_cuda_launch_dependent(attn_cuda_kernel *kernel, int64_t gridX, int64_t gridY, int64_t gridZ,
                                   int64_t blockX, int64_t blockY, int64_t blockZ, int64_t sharedBytes, CUstream stream,
                                   void **parameters) {
  const int64_t grid[] = {gridX, gridY, gridZ}, block[] = {blockX, blockY, blockZ};
  return launch(kernel, grid, block, sharedBytes, stream, parameters, DEPENDENT);
}

/*===----------------------------------------------------------------------===*/
/* Unloading */
/*===----------------------------------------------------------------------===*/

/* A destroyed context has taken its modules with it. */
static int isAlive(const Context *context) {
  unsigned long long id = 0;
  if (!context->driver->cuCtxGetId)
    return 0; /* it may be destroyed: better a leak */
  return context->driver->cuCtxGetId(context->handle, &id) == 0 && id == context->id;
}

static void unloadModule(const LoadedModule *entry) {
  const attn_cuda_driver *driver = entry->context.driver;
  CUcontext other;
  if (!isAlive(&entry->context) || driver->cuCtxPushCurrent(entry->context.handle) != 0)
    return;
  driver->cuModuleUnload(entry->module);
  driver->cuCtxPopCurrent(&other);
}

void attn_cuda_unload(attn_cuda_image *image, attn_cuda_kernel *const *kernels, int64_t count) {
  pthread_mutex_lock(&lock);
  for (int64_t i = 0; i < count; ++i) {
    for (LoadedFunction *entry = kernels[i]->loaded, *next; entry; entry = next) {
      next = entry->next;
      free(entry);
    }
    kernels[i]->loaded = NULL;
  }
  for (LoadedModule *entry = image->loaded, *next; entry; entry = next) {
    next = entry->next;
    unloadModule(entry);
    free(entry);
  }
  image->loaded = NULL;
  pthread_mutex_unlock(&lock);
}
