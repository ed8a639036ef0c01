/*===- ProcessThreads.c - the pool of threads of the process ------------------===
 *
 * PyTorch has its own OpenMP, in its wheels under a name with a hash. A look-up through the handle of libtorch_cpu
 * searches the libraries that it needs, and so finds the one that PyTorch calls. JAX, ONNX Runtime and NumPy's OpenBLAS
 * have pools of POSIX threads, on which no OpenMP region runs.
 *
 * PyTorch may be loaded after us, so each loop searches until it is found. If no library was loaded since the last
 * search, that reads one counter of the loader.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#define _GNU_SOURCE /* dl_iterate_phdr, RTLD_NOLOAD */
#include "ProcessThreads.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>

static const char kTorch[] = "libtorch_cpu.so";
/* Not omp_get_max_threads(), which differs in a thread that has not called PyTorch yet. */
static const char kTorchThreads[] = "_ZN2at15get_num_threadsEv";

static attn_openmp torchOpenMP, torchOpenMPInChild;
/* Null, or one of the two. */
static _Atomic(const attn_openmp *) found = NULL;
/* Libraries that the process had loaded at the last search. */
static _Atomic unsigned long long seenLoads = 0;
/* Not a mutex: a child of fork could find it locked by a thread that it does not have. */
static atomic_flag isTaken = ATOMIC_FLAG_INIT;

/* libgomp's threads do not survive a fork, and its next region would wait for them; ours creates new ones. */
static void leaveRegionsInChild(void) { atomic_store(&found, &torchOpenMPInChild); }

static int readLoads(struct dl_phdr_info *info, size_t size, void *loads) {
  (void)size;
  *(unsigned long long *)loads = info->dlpi_adds;
  return 1; /* The first library is enough: the count is the process's. */
}

static void lookForTorch(void) {
  /* Stays open: a pool is never unloaded. */
  void *library = dlopen(kTorch, RTLD_NOLOAD | RTLD_LAZY);
  if (!library)
    return;
  void *parallel = dlsym(library, "GOMP_parallel");
  void *threadNumber = dlsym(library, "omp_get_thread_num");
  void *maxThreads = dlsym(library, kTorchThreads);
  /* Without OpenMP, PyTorch has a pool of its own threads. */
  if (!parallel || !threadNumber || !maxThreads || atomic_flag_test_and_set(&isTaken)) {
    dlclose(library);
    return;
  }
  *(void **)&torchOpenMP.parallel = parallel;
  *(void **)&torchOpenMP.get_thread_num = threadNumber;
  *(void **)&torchOpenMP.get_max_threads = maxThreads;
  torchOpenMPInChild.get_max_threads = torchOpenMP.get_max_threads;
  pthread_atfork(NULL, NULL, leaveRegionsInChild);
  atomic_store(&found, &torchOpenMP);
}

const attn_openmp *attn_find_openmp(void) {
  const attn_openmp *openmp = atomic_load_explicit(&found, memory_order_acquire);
  if (openmp)
    return openmp;
  unsigned long long loads = 0;
  dl_iterate_phdr(readLoads, &loads);
  if (loads != atomic_load(&seenLoads)) {
    lookForTorch();
    atomic_store(&seenLoads, loads);
  }
  return atomic_load(&found);
}
