/* Calls the library of library.txt through its dispatcher, from tensors of ones: out is 1 wherever a key is kept. The
 * library is linked in, or loaded from the file that is the first argument. */

#include <dlfcn.h>
#include <dlpack/dlpack.h>
#include <stdio.h>
#include <string.h>

typedef int32_t Call(const char *, const DLTensor *const *, int64_t, char *, int64_t);
typedef int32_t Find(const char *, const DLTensor *const *, int64_t, const char **, char *, int64_t);
typedef int32_t UseTarget(const char *, char *, int64_t);
typedef const char *Target(void);

#ifdef LINKED
Call lib_call;
Find lib_find;
UseTarget lib_use_target;
Target lib_target;
static Call *call = lib_call;
static Find *find = lib_find;
static UseTarget *useTarget = lib_use_target;
static Target *target = lib_target;
static int load(const char *path) { return path != NULL; }
#else
static Call *call;
static Find *find;
static UseTarget *useTarget;
static Target *target;
static int load(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  if (!library)
    return 0;
  *(void **)&call = dlsym(library, "lib_call");
  *(void **)&find = dlsym(library, "lib_find");
  *(void **)&useTarget = dlsym(library, "lib_use_target");
  *(void **)&target = dlsym(library, "lib_target");
  return call && find && useTarget && target;
}
#endif

enum { COUNT = 6, SIZE = 4096 };
static float memory[COUNT][SIZE];
static int64_t shapes[COUNT][4];
static DLTensor tensors[COUNT];
static const DLTensor *arguments[COUNT];

static void set(int index, int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
  int64_t shape[] = {a, b, c, d};
  memcpy(shapes[index], shape, sizeof shape);
  DLTensor tensor = {
      .data = memory[index], .device = {kDLCPU, 0}, .ndim = rank, .dtype = {kDLFloat, 32, 1}, .shape = shapes[index]};
  tensors[index] = tensor;
  arguments[index] = &tensors[index];
}

/* q, k, v, out of (b, heads, rows, columns) */
static void setHeads(int64_t b, int64_t h, int64_t sq, int64_t sk, int64_t d) {
  set(0, 4, b, h, sq, d);
  set(1, 4, b, h, sk, d);
  set(2, 4, b, h, sk, d);
  set(3, 4, b, h, sq, d);
}

static void report(const char *what, const char *features, int64_t count) {
  char message[512] = "";
  const char *kernel = "none";
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < SIZE; ++j)
      memory[i][j] = 1;
  for (int i = 3; i < COUNT; ++i)
    memset(memory[i], 0, sizeof memory[i]);
  memset(memory[3], count == 6 ? 1 : 0, SIZE); /* a mask of trues, or the output */
  int32_t code = find(features, arguments, count, &kernel, message, sizeof message);
  char again[512] = "";
  float *out = count == 6 ? memory[4] : memory[3];
  int32_t called = call(features, arguments, count, again, sizeof again);
  printf("%s: %d %s%s, %s%s\n", what, code, kernel, called == code ? "" : " (call says otherwise)",
         out[0] > 0.99999f && out[0] < 1.00001f ? "computed"
         : out[0] == 0                          ? "untouched"
                                                : "wrong",
         code ? ": " : "");
  if (code || called)
    printf("  %s\n", again);
}

int main(int argc, char **argv) {
  if (argc < 2 || !load(argv[1]))
    return 1;
  for (int i = 2; i < argc; ++i)
    if (useTarget(argv[i], NULL, 0) != 0 || strcmp(target(), argv[i]) != 0)
      return 2;
  setHeads(1, 2, 12, 20, 8);
  report("exact", "", 4);
  report("exact, null", NULL, 4);
  report("exact, causal", "causal=bottom_right", 4);
  setHeads(3, 2, 12, 20, 8);
  report("batch", "", 4);
  report("batch, causal", "causal=bottom_right", 4);
  setHeads(3, 4, 12, 20, 8);
  report("heads", "", 4);
  report("heads, causal", "causal=bottom_right", 4);
  setHeads(1, 2, 12, 20, 16);
  report("columns", "", 4);
  report("features", "causal=top_left softcap=30", 4);
  for (int i = 0; i < 4; ++i)
    set(i, 3, 2, 9, 8, 0);
  report("packed, one head", "layout=bsd hq1 hkv1", 4);
  report("packed, two heads", "hkv2 hq2 layout=bsd", 4);
  report("packed", "layout=bsd", 4);
  setHeads(1, 2, 12, 20, 8);
  set(3, 4, 1, 2, 12, 20);
  tensors[3].dtype.code = kDLUInt;
  tensors[3].dtype.bits = 8;
  set(4, 4, 1, 2, 12, 8);
  set(5, 3, 1, 2, 12, 0);
  report("mask and lse", "out=lse mask", 6);
  tensors[0].strides = shapes[5];
  report("strides", "out=lse mask", 6);
  setHeads(1, 2, 12, 20, 8);
  tensors[1].shape = NULL;
  report("null shape", "", 4);
  return 0;
}
