/* Runs the kernel `sdpa` (f32, 2 heads, 37 x 37, D = 16, causal) of an object of several targets, linked in or loaded
 * from the shared library that is the first argument, on each target whose name follows; prints for each what both
 * entries came to. With no name: on the target that the object chooses itself, from several threads at once. */

#include <dlfcn.h>
#include <dlpack/dlpack.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { H = 2, S = 37, D = 16, SIZE = H * S * D, THREADS = 4 };

typedef void Plain(const float *, const float *, const float *, float *);
typedef int32_t Checked(const DLTensor *const *, int64_t, char *, int64_t);
typedef int32_t UseTarget(const char *, char *, int64_t);
typedef const char *Target(void);

#ifdef LINKED
Plain sdpa;
Checked sdpa_checked;
UseTarget sdpa_use_target;
Target sdpa_target;
static Plain *plain = sdpa;
static Checked *checked = sdpa_checked;
static UseTarget *useTarget = sdpa_use_target;
static Target *target = sdpa_target;
static int load(const char *path) { return path != NULL; }
#else
static Plain *plain;
static Checked *checked;
static UseTarget *useTarget;
static Target *target;
static int load(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  if (!library)
    return 0;
  *(void **)&plain = dlsym(library, "sdpa");
  *(void **)&checked = dlsym(library, "sdpa_checked");
  *(void **)&useTarget = dlsym(library, "sdpa_use_target");
  *(void **)&target = dlsym(library, "sdpa_target");
  return plain && checked && useTarget && target;
}
#endif

static float q[SIZE], k[SIZE], v[SIZE];
static double expected[SIZE];

static void fill(void) {
  for (int i = 0; i < SIZE; ++i) {
    q[i] = (float)sin(i);
    k[i] = (float)cos(3 * i);
    v[i] = (float)sin(5 * i + 1);
  }
  for (int row = 0; row < H * S; ++row) {
    int first = row / S * S;
    double sum = 0, *out = &expected[row * D];
    for (int key = first; key <= row; ++key) {
      double score = 0;
      for (int d = 0; d < D; ++d)
        score += (double)q[row * D + d] * k[key * D + d];
      double weight = exp(score / 4);
      sum += weight;
      for (int d = 0; d < D; ++d)
        out[d] += weight * v[key * D + d];
    }
    for (int d = 0; d < D; ++d)
      out[d] /= sum;
  }
}

static int isRight(const float *out) {
  for (int i = 0; i < SIZE; ++i)
    if (!(fabs(out[i] - expected[i]) <= 1e-5))
      return 0;
  return 1;
}

static int callChecked(float *out, char *message, int64_t size) {
  int64_t shape[] = {1, H, S, D};
  float *data[] = {q, k, v, out};
  DLTensor tensors[4];
  const DLTensor *arguments[4];
  for (int i = 0; i < 4; ++i) {
    DLTensor tensor = {.data = data[i], .device = {kDLCPU, 0}, .ndim = 4, .dtype = {kDLFloat, 32, 1}, .shape = shape};
    tensors[i] = tensor;
    arguments[i] = &tensors[i];
  }
  return checked(arguments, 4, message, size);
}

/* Both entries, the plain one in a process of its own, which it may end. Says whether the bits are those of the first
 * call: without FMA instructions they are others than with. */
static void callBoth(const char *name) {
  static float first[SIZE];
  static int calls;
  float out[SIZE], checkedOut[SIZE];
  char message[256];
  memset(checkedOut, 0, sizeof checkedOut);
  int code = callChecked(checkedOut, message, sizeof message);
  printf("%s: checked %d%s%s%s", name, code, code ? ": " : "", message, code || !isRight(checkedOut) ? "" : " right");
  if (calls++ == 0)
    memcpy(first, checkedOut, sizeof first);
  else
    printf(memcmp(first, checkedOut, sizeof first) ? " with other bits" : " with the same bits");
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    plain(q, k, v, out);
    _exit(isRight(out) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    printf(", plain ended by %s\n", WTERMSIG(status) == SIGILL ? "SIGILL" : "another signal");
  else
    printf(", plain %s\n", WEXITSTATUS(status) == 0 ? "right" : "WRONG");
}

static void *callPlain(void *out) {
  plain(q, k, v, out);
  return NULL;
}

static void callFromThreads(void) {
  static float out[THREADS][SIZE];
  pthread_t threads[THREADS];
  int right = 0;
  for (int i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, callPlain, out[i]);
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    right += isRight(out[i]);
  }
  printf("%d of %d threads right, on %s\n", right, THREADS, target());
}

int main(int argc, char **argv) {
  if (argc < 2 || !load(argv[1]))
    return 1;
  fill();
  if (argc == 2 && target())
    callFromThreads();
  else if (argc == 2)
    callBoth("own choice");
  for (int i = 2; i < argc; ++i) {
    char message[256], before[64];
    snprintf(before, sizeof before, "%s", target() ? target() : "none");
    int code = useTarget(argv[i], message, sizeof message);
    if (code == 0 && strcmp(target(), argv[i]) == 0)
      callBoth(argv[i]);
    else
      printf("%s: refused %d%s: %s\n", argv[i], code,
             strcmp(before, target() ? target() : "none") ? " but changed" : "", message);
  }
  if (argc > 2 && useTarget(NULL, NULL, 0) == 0)
    printf("and back to %s\n", target());
  return 0;
}
