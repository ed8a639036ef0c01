/*===- attn.h - the C API of the attn compiler ------------------------------===
 *
 * Compiles attention kernels in memory and calls them. No MLIR type crosses this interface; arguments are DLPack
 * tensors. Every function is safe to call from several threads at once; a module may be called concurrently.
 *
 * A program links with libattn.so (cc main.c -lattn). This one compiles a kernel of one head, 5 queries, 7 keys, and
 * calls it; with all keys alike, out is V's mean:
 *
 *     #include <attn-c/attn.h>
 *     #include <stdio.h>
 *
 *     static DLTensor describe(float *data, int64_t *shape) {
 *       return (DLTensor){data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, NULL, 0};
 *     }
 *
 *     int main(void) {
 *       attn_module *module;
 *       char *reason;
 *       if (attn_compile(ATTN_SOURCE_PROBLEM, "sq5 sk7 d8 f32", NULL, &module, &reason) != ATTN_OK) {
 *         fprintf(stderr, "%s\n", reason);
 *         attn_free_string(reason);
 *         return 1;
 *       }
 *       static float q[5 * 8], k[7 * 8], v[7 * 8], out[5 * 8];
 *       for (int j = 0; j < 7; ++j)
 *         v[8 * j] = (float)j;
 *       int64_t queries[] = {1, 1, 5, 8}, keys[] = {1, 1, 7, 8};
 *       DLTensor tensors[] = {describe(q, queries), describe(k, keys), describe(v, keys), describe(out, queries)};
 *       const DLTensor *arguments[] = {&tensors[0], &tensors[1], &tensors[2], &tensors[3]};
 *       char message[256];
 *       attn_status status = attn_module_call(module, NULL, arguments, 4, message, sizeof message);
 *       if (status == ATTN_OK)
 *         printf("out = %g\n", out[0]);
 *       else
 *         fprintf(stderr, "%s\n", message);
 *       attn_module_destroy(module);
 *       return status != ATTN_OK;
 *     }
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_C_ATTN_H
#define ATTN_C_ATTN_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTN_API __attribute__((visibility("default")))

/* The result of a call. A kernel's checked entry returns the codes 1 to 13 as well. */
typedef enum attn_status {
  ATTN_OK = 0,
  ATTN_NULL_ARGUMENT = 1, /* a tensor, its data, shape, or the argument array is null */
  ATTN_WRONG_COUNT = 2,   /* not as many tensors as the kernel has arguments */
  ATTN_WRONG_RANK = 3,
  ATTN_WRONG_SHAPE = 4,
  ATTN_WRONG_TYPE = 5,
  ATTN_WRONG_STRIDES = 6,
  ATTN_WRONG_ALIGNMENT = 7,
  ATTN_WRONG_DEVICE = 8,
  ATTN_WRONG_ALIASING = 9,   /* an output overlaps an input or another output */
  ATTN_WRONG_VALUE = 10,     /* a length, prefix sum, page number or position is out of its range */
  ATTN_WRONG_PROCESSOR = 11, /* this processor runs none of the targets of the object or module */
  ATTN_NO_MEMORY = 12,       /* the kernel got no memory for its own buffers; its outputs may hold anything */
  ATTN_NO_WEIGHTS = 13,      /* the weights of the object are not mapped, or the file has others */
  ATTN_COMPILE_ERROR = 20,   /* the source was refused; the message holds the diagnostics */
  ATTN_NO_SUCH_KERNEL = 21,
  ATTN_CANCELLED = 22 /* the caller of attn_compile_cancellable ended the compilation */
} attn_status;

/* What the text given to attn_compile is. */
typedef enum attn_source_kind {
  ATTN_SOURCE_MLIR = 0,    /* an IR file: every public function becomes a kernel */
  ATTN_SOURCE_PROBLEM = 1, /* one problem line, as "b2 hq8 hkv2 sq113 sk203 d64 f32" */
  ATTN_SOURCE_ONNX = 2, /* a serialised ONNX model, for attn_compile_bytes: a kernel an Attention node, or the graph */
  ATTN_SOURCE_ONNX_FILE = 3 /* the path of one, whose weights may lie in other files in its folder */
} attn_source_kind;

/* How to compile. Start from ATTN_DEFAULT_OPTIONS; a null string means the default. */
typedef struct attn_compile_options {
  const char *target;   /* "host" (default), "x86-64", "x86-64-v3", "x86-64-v4", …, or a GPU: "sm_80", "sm_90", … */
  const char *parallel; /* "openmp" (default) or "none" */
  int reference;        /* nonzero: the materialised reference pipeline, computed in f64 */
  int fail_on_fallback; /* nonzero: a missed flash lowering is an error */
} attn_compile_options;

#define ATTN_DEFAULT_OPTIONS {NULL, NULL, 0, 0}

/* A compiled module: one kernel or more, with their code in memory. */
typedef struct attn_module attn_module;

/* Compiles `text` and stores the module in `*module`. If the text is refused, `*module` is null, and `*message` has the
 * diagnostics if `message` is not null. Free it with attn_free_string. */
ATTN_API attn_status attn_compile(attn_source_kind kind, const char *text, const attn_compile_options *options,
                                  attn_module **module, char **message);
/* The same for `size` bytes at `data`, which may contain zeros: a source of any kind. */
ATTN_API attn_status attn_compile_bytes(attn_source_kind kind, const char *data, size_t size,
                                        const attn_compile_options *options, attn_module **module, char **message);
/* The same, but another thread may end it. It stores a value other than 0 to `*cancel` (atomically; null means never).
 * Soon after, the call returns ATTN_CANCELLED: first it completes the current pass, or the machine code of the current
 * function. `*cancel` must stay valid until the call returns. */
ATTN_API attn_status attn_compile_cancellable(attn_source_kind kind, const char *data, size_t size,
                                              const attn_compile_options *options, const int32_t *cancel,
                                              attn_module **module, char **message);
ATTN_API void attn_module_destroy(attn_module *module);

/* The manifest of the module as JSON, the same text as `attnc --manifest` writes. Owned by the module. */
ATTN_API const char *attn_module_manifest(const attn_module *module);

/* Calls a kernel of the module by its name (null: the first) through its checked entry. `arguments` has all arguments
 * in the order of the manifest. If the call is refused, no tensor is written, and `message` says why (at most `size`
 * bytes, always terminated; may be null). */
ATTN_API attn_status attn_module_call(const attn_module *module, const char *kernel, const DLTensor *const *arguments,
                                      int64_t count, char *message, size_t size);

/* The sizes of a result, for the caller to allocate it: `inputs` are the arguments that are no results, in their order;
 * results are numbered in the same way. Writes at most `capacity` sizes to `shape`, and their number to `*rank`. The
 * elements of the inputs are not read. */
ATTN_API attn_status attn_module_result_shape(const attn_module *module, const char *kernel,
                                              const DLTensor *const *inputs, int64_t count, int64_t result,
                                              int64_t *shape, int32_t capacity, int32_t *rank, char *message,
                                              size_t size);

/* A call for modules of GPU targets ("sm_80", …). Their kernels are started on a stream of the driver API (CUstream;
 * null is the legacy default stream) and take tensors in the memory of its device. The first function returns the bytes
 * of workspace that the second needs there, at a multiple of 256, or a code as a negative number. Codes are those of
 * attn_status and, from 30 on, of attn_cuda.h. */
ATTN_API int64_t attn_module_workspace_bytes(const attn_module *module, const char *kernel,
                                             const DLTensor *const *arguments, int64_t count, char *message,
                                             size_t size);
ATTN_API int32_t attn_module_call_cuda(const attn_module *module, const char *kernel, const DLTensor *const *arguments,
                                       int64_t count, void *workspace, int64_t workspace_bytes, void *stream,
                                       char *message, size_t size);
/* Sets the library that is loaded as the CUDA driver. Null is libcuda.so.1, which the first launch loads by default.
 * Returns 0 or a code of attn_cuda.h. */
ATTN_API int32_t attn_use_cuda_driver(const char *path, char *message, size_t size);

/* Threads that the parallel loops of kernels use; 0 restores the setting of PyTorch, and without PyTorch that of
 * OpenMP. */
ATTN_API void attn_set_num_threads(int threads);
ATTN_API int attn_get_num_threads(void);

/* Runs the parallel loops of calls by this thread on a pool of the program's own (attn_runtime_use_pool of
 * attn_runtime.h); null restores OpenMP. */
struct attn_openmp;
ATTN_API void attn_use_pool(const struct attn_openmp *pool);

/* "0.1.0", and the names of the targets that attn_compile takes, separated by spaces. Static strings. */
ATTN_API const char *attn_version(void);
ATTN_API const char *attn_targets(void);

ATTN_API void attn_free_string(char *string);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_ATTN_H */
