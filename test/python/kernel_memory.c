/* Calls the kernel `sdpa` by its checked entry on tensors of f32 of the shapes SHAPES, the last of which are outputs,
 * with malloc and free wrapped.
 *
 * HEAP: fails each allocation once; a code, a message, and nothing that is lost; prints how many there are.
 * STACK: prints the bytes of stack that a thread needs for a call, beyond those of a thread that does nothing.
 * WORKSPACE: no allocation; the bytes that the kernel asks for are enough, and it touches no others; of fewer, or of
 * other alignment, it writes nothing. Prints the output as raw floats. */

#define _GNU_SOURCE
#include "kernel.h"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t shapes[][4] = {SHAPES};
enum { kCount = sizeof(shapes) / sizeof(shapes[0]), kNoMemory = 12, kGuard = 4096, kStack = 1 << 22 };
static DLTensor tensors[kCount];
static const DLTensor *arguments[kCount];
static char message[256];
static atomic_long left = 1 << 30, live = 0;

void *__real_malloc(size_t bytes);
void __real_free(void *pointer);

void *__wrap_malloc(size_t bytes) {
  if (atomic_fetch_sub(&left, 1) <= 0)
    return NULL;
  atomic_fetch_add(&live, 1);
  return __real_malloc(bytes);
}

void __wrap_free(void *pointer) {
  atomic_fetch_sub(&live, pointer != NULL);
  __real_free(pointer);
}

static size_t getSize(const int64_t *shape) { return (size_t)(shape[0] * shape[1] * shape[2] * shape[3]); }

static void makeTensors(void) {
  for (int i = 0; i < kCount; ++i) {
    float *numbers = __real_malloc(getSize(shapes[i]) * sizeof(float));
    for (size_t n = 0; n < getSize(shapes[i]); ++n)
      numbers[n] = (float)((n * 37 + (size_t)i) % 101) / 50 - 1;
    tensors[i] = (DLTensor){.data = numbers, .device = {kDLCPU, 0}, .ndim = 4, .dtype = {kDLFloat, 32, 1}};
    tensors[i].shape = (int64_t *)shapes[i];
    arguments[i] = &tensors[i];
  }
}

#ifdef HEAP
int main(void) {
  makeTensors();
  for (long n = 0;; ++n) {
    atomic_store(&left, n);
    message[0] = 0;
    int32_t code = sdpa_checked(arguments, kCount, message, sizeof(message));
    assert(atomic_load(&live) == 0);
    if (code == 0)
      return printf("%ld\n", n) < 0;
    assert(code == kNoMemory && strstr(message, "expected memory for the kernel's own buffers"));
  }
}
#endif

#ifdef STACK
static void *call(void *run) {
  if (run)
    assert(sdpa_checked(arguments, kCount, message, sizeof(message)) == 0);
  return NULL;
}

static long measure(void *run) {
  static _Alignas(4096) unsigned char stack[kStack];
  memset(stack, 0xA5, sizeof(stack));
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, sizeof(stack));
  assert(pthread_create(&thread, &attributes, call, run) == 0);
  pthread_join(thread, NULL);
  long first = 0;
  while (stack[first] == 0xA5)
    ++first;
  return kStack - first;
}

int main(void) {
  makeTensors();
  long idle = measure(NULL);
  return printf("%ld\n", measure(tensors) - idle) < 0;
}
#endif

#ifdef WORKSPACE
int main(void) {
  makeTensors();
  atomic_store(&left, 0);
  int64_t bytes = sdpa_workspace_bytes_checked(arguments, kCount, message, sizeof(message));
  assert(bytes > 0);
  unsigned char *memory = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64 + 2 * kGuard), *workspace = memory + kGuard;
  memset(memory, 0xA5, (size_t)bytes + 2 * kGuard);
  const DLTensor *out = arguments[kCount - 1];
  size_t size = getSize(out->shape) * sizeof(float);
  void *before = __real_malloc(size);
  memcpy(before, out->data, size);
  for (int i = 0; i < 2; ++i) {
    assert(sdpa_checked(arguments, kCount, workspace + 32 * i, bytes + i - 1, message, sizeof(message)) == kNoMemory);
    assert(message[0] && memcmp(before, out->data, size) == 0);
  }
  assert(sdpa_checked(arguments, kCount, workspace, bytes, message, sizeof(message)) == 0);
  for (int i = 0; i < kGuard; ++i)
    assert(memory[i] == 0xA5 && workspace[bytes + i] == 0xA5);
  return fwrite(out->data, 1, size, stdout) != size;
}
#endif
