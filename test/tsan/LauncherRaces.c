/*===- LauncherRaces.c - the launcher under ThreadSanitizer ---------------------===
 *
 *   attn_tsan_launcher launches | race
 *
 * `launches` are calls of one kernel from several threads, whose first ones load it, over a driver that does nothing
 * but count; `race` has a driver that counts without care, so that a test can see that races are seen.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "attn-c/attn_cuda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { NUM_THREADS = 4, NUM_LAUNCHES = 200, NUM_ROUNDS = 20, STEP = 1024 };

static atomic_int numLoads, numLaunches;
static int racedLaunches, isRace;
static char context, module, function;

static int succeed(unsigned flags) { return (void)flags, 0; }
static int getVersion(int *version) { return *version = 13000, 0; }
static int getText(int result, const char **text) { return (void)result, *text = "?", 0; }
static int getAttribute(int *value, int attribute, int device) {
  return (void)device, *value = attribute == 75 ? 8 : attribute == 76 ? 0 : 163 * 1024, 0;
}
static int getCurrent(CUcontext *current) { return *current = (CUcontext)(void *)&context, 0; }
static int push(CUcontext pushed) { return (void)pushed, 0; }
static int getDevice(int *device) { return *device = 0, 0; }
static int getStreamContext(CUstream stream, CUcontext *of) { return (void)stream, getCurrent(of); }
static int loadModule(CUmodule *loaded, const void *image, unsigned count, int *options, void **values) {
  (void)image, (void)count, (void)options, (void)values;
  atomic_fetch_add(&numLoads, 1);
  return *loaded = (CUmodule)(void *)&module, 0;
}
static int unload(CUmodule unloaded) { return (void)unloaded, 0; }
static int getFunction(CUfunction *found, CUmodule in, const char *name) {
  return (void)in, (void)name, *found = (CUfunction)(void *)&function, 0;
}
static int setAttribute(CUfunction of, int attribute, int value) { return (void)of, (void)attribute, (void)value, 0; }
static int launch(CUfunction launched, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared, CUstream stream, void **parameters, void **extra) {
  (void)launched, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
  (void)shared, (void)stream, (void)parameters, (void)extra;
  if (isRace)
    ++racedLaunches;
  atomic_fetch_add(&numLaunches, 1);
  return 0;
}

static const attn_cuda_driver driver = {.cuInit = succeed,
                                        .cuDriverGetVersion = getVersion,
                                        .cuGetErrorName = getText,
                                        .cuGetErrorString = getText,
                                        .cuDeviceGetAttribute = getAttribute,
                                        .cuCtxGetCurrent = getCurrent,
                                        .cuCtxPushCurrent = push,
                                        .cuCtxPopCurrent = getCurrent,
                                        .cuCtxGetDevice = getDevice,
                                        .cuStreamGetCtx = getStreamContext,
                                        .cuModuleLoadDataEx = loadModule,
                                        .cuModuleUnload = unload,
                                        .cuModuleGetFunction = getFunction,
                                        .cuFuncSetAttribute = setAttribute,
                                        .cuLaunchKernel = launch};

static attn_cuda_image image = {"", 0, NULL, 0, 80, 11080, 0, NULL};
static attn_cuda_kernel kernels[2] = {{&image, "one", NULL}, {&image, "two", NULL}};

/* Null where every launch returned 0. */
static void *runLaunches(void *unused) {
  (void)unused;
  static char failed;
  for (int i = 0; i < NUM_LAUNCHES; ++i)
    if (attn_cuda_launch(&kernels[i % 2], 1, 1, 1, 32, 1, 1, 47 * STEP + i / 8 * STEP, NULL, NULL) != 0)
      return &failed;
  return NULL;
}

int main(int argc, char **argv) {
  isRace = argc == 2 && !strcmp(argv[1], "race");
  int failures = attn_cuda_use_driver(&driver) != 0;
  for (int round = 0; round < NUM_ROUNDS; ++round) {
    pthread_t threads[NUM_THREADS];
    for (int i = 0; i < NUM_THREADS; ++i)
      failures += pthread_create(&threads[i], NULL, runLaunches, NULL) != 0;
    for (int i = 0; i < NUM_THREADS; ++i) {
      void *failed = NULL;
      pthread_join(threads[i], &failed);
      failures += failed != NULL;
    }
    attn_cuda_kernel *const all[] = {&kernels[0], &kernels[1]};
    attn_cuda_unload(&image, all, 2);
  }
  printf("%d loads, %d launches, %d failures\n", numLoads, numLaunches, failures);
  return failures != 0 || numLoads != NUM_ROUNDS || numLaunches != NUM_ROUNDS * NUM_THREADS * NUM_LAUNCHES;
}
