/* Loads the kernel of small.mlir from a shared library, calls its checked entry on good tensors and then on tensors
 * with one thing wrong each; prints code and message, and whether the outputs stayed as they were. */

#include <attn-c/attn.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int32_t (*Entry)(const DLTensor *const *arguments, int64_t count, char *message, int64_t size);
enum { Q, K, V, OUT, LSE, COUNT };

static Entry entry;
static float memory[COUNT][2 * 5 * 6 + 1];
static int64_t shapes[COUNT][3] = {{2, 5, 6}, {1, 7, 6}, {1, 7, 3}, {2, 5, 3}, {2, 5}};
static DLTensor tensors[COUNT];
static const DLTensor *arguments[COUNT];

static void reset(void) {
  for (int i = 0; i < COUNT; ++i) {
    DLTensor good = {.data = memory[i],
                     .device = {kDLCPU, 0},
                     .ndim = i == LSE ? 2 : 3,
                     .dtype = {kDLFloat, 32, 1},
                     .shape = shapes[i]};
    tensors[i] = good;
    arguments[i] = &tensors[i];
  }
  memset(memory[OUT], 0x5a, sizeof memory[OUT]);
  memset(memory[LSE], 0x5a, sizeof memory[LSE]);
}

static void call(const char *what, const DLTensor *const *array, int64_t count) {
  char message[256] = "";
  float before[2][sizeof memory[0] / sizeof(float)];
  memcpy(before, memory[OUT], sizeof before);
  int32_t code = entry(array, count, message, sizeof message);
  printf("%s: %d, %s: %s\n", what, code, memcmp(before, memory[OUT], sizeof before) ? "written" : "untouched", message);
  /* Without a place for the message, and with one that is too short, the code is the same. */
  char two[2];
  if (entry(array, count, NULL, 0) != code || entry(array, count, two, sizeof two) != code)
    printf("%s: another code without a message\n", what);
  reset();
}

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (library)
    *(void **)&entry = dlsym(library, "small_checked");
  if (!entry) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  reset();
  call("good", arguments, COUNT);

  call("null array", NULL, COUNT);
  call("count", arguments, COUNT - 1);
  arguments[K] = NULL;
  call("null tensor", arguments, COUNT);
  tensors[V].data = NULL;
  call("null data", arguments, COUNT);
  tensors[V].shape = NULL;
  call("null shape", arguments, COUNT);
  tensors[Q].ndim = 2;
  call("rank", arguments, COUNT);
  int64_t longer[] = {1, 8, 6};
  tensors[K].shape = longer;
  call("shape", arguments, COUNT);
  tensors[V].dtype.bits = 64;
  call("type", arguments, COUNT);
  tensors[V].dtype.lanes = 2;
  call("lanes", arguments, COUNT);
  int64_t transposed[] = {30, 1, 5}, exact[] = {30, 6, 1};
  tensors[Q].strides = transposed;
  call("strides", arguments, COUNT);
  tensors[Q].strides = exact;
  call("exact strides", arguments, COUNT);
  tensors[LSE].byte_offset = 2;
  call("alignment", arguments, COUNT);
  tensors[OUT].device.device_type = kDLCUDA;
  call("device", arguments, COUNT);
  tensors[OUT].data = memory[Q] + 1;
  call("overlap", arguments, COUNT);
  tensors[LSE].data = memory[OUT];
  call("overlapping outputs", arguments, COUNT);
  return 0;
}
