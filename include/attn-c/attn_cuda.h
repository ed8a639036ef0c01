/*===- attn_cuda.h - how emitted GPU kernels reach the device -------------------===
 *
 * An object made with --target=sm_80 (or another GPU) carries its kernels as PTX, with a cubin where ptxas was there
 * when it was made, and starts them through this launcher: part of libattn_runtime, C11, over the CUDA driver API,
 * which is loaded on first use. Neither CUDA's headers nor its libraries are needed to build or link anything.
 *
 * Every function is safe to call from several threads at once. A launch makes no synchronising call and allocates
 * nothing but, once for each context, what loads the module; it can be captured into a CUDA graph.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_C_ATTN_CUDA_H
#define ATTN_C_ATTN_CUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As in cuda.h, which may be included beside this file in any order. */
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

/* What a GPU kernel's entries return beside 0 and the codes of attn_status (attn.h). */
typedef enum attn_cuda_status {
  ATTN_CUDA_NO_DRIVER = 30,      /* libcuda.so.1 cannot be loaded, or finds no device */
  ATTN_CUDA_DRIVER_TOO_OLD = 31, /* the driver is older than the PTX needs */
  ATTN_CUDA_NO_CONTEXT = 32,     /* no CUDA context is current on the calling thread, and the stream names none */
  ATTN_CUDA_WRONG_DEVICE = 33,   /* the device has another compute capability, or too little shared memory */
  ATTN_CUDA_WORKSPACE = 34,      /* the workspace is null, too small, or not aligned to ATTN_CUDA_WORKSPACE_ALIGNMENT */
  ATTN_CUDA_LOAD_FAILED = 35,    /* the driver refuses the module */
  ATTN_CUDA_LAUNCH_FAILED = 36   /* the driver refuses the launch */
} attn_cuda_status;

#define ATTN_CUDA_WORKSPACE_ALIGNMENT 256

/* Why the last call of this thread failed; "" if none has. Valid until the thread's next call. */
const char *attn_cuda_message(void);

/*===----------------------------------------------------------------------===*/
/* The driver */
/*===----------------------------------------------------------------------===*/

/* CUlaunchAttribute and CUlaunchConfig of cuda.h. */
typedef struct attn_cuda_launch_attribute {
  int id;
  union {
    int number;
    uint64_t bytes[8];
  } value;
} attn_cuda_launch_attribute;

typedef struct attn_cuda_launch_config {
  unsigned grid[3], block[3], sharedBytes;
  CUstream stream;
  attn_cuda_launch_attribute *attributes;
  unsigned numAttributes;
} attn_cuda_launch_config;

/* The functions of the driver API that are used, with the signatures of cuda.h; results are CUresult, device pointers
 * CUdeviceptr. Those after `cuLaunchKernel` may be null: a launch does not need them. */
typedef struct attn_cuda_driver {
  int (*cuInit)(unsigned flags);
  int (*cuDriverGetVersion)(int *version);
  int (*cuGetErrorName)(int result, const char **name);
  int (*cuGetErrorString)(int result, const char **text);
  int (*cuDeviceGetAttribute)(int *value, int attribute, int device);
  int (*cuCtxGetCurrent)(CUcontext *context);
  int (*cuCtxPushCurrent)(CUcontext context);
  int (*cuCtxPopCurrent)(CUcontext *context);
  int (*cuCtxGetDevice)(int *device);
  int (*cuStreamGetCtx)(CUstream stream, CUcontext *context);
  int (*cuModuleLoadDataEx)(CUmodule *module, const void *image, unsigned count, int *options, void **values);
  int (*cuModuleUnload)(CUmodule module);
  int (*cuModuleGetFunction)(CUfunction *function, CUmodule module, const char *name);
  int (*cuFuncSetAttribute)(CUfunction function, int attribute, int value);
  int (*cuLaunchKernel)(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters,
                        void **extra);
  int (*cuCtxGetId)(CUcontext context, unsigned long long *id);
  int (*cuThreadExchangeStreamCaptureMode)(int *mode);
  /* For kernels with tensor maps, of sm_90a. */
  int (*cuTensorMapEncodeTiled)(void *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                                const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides,
                                int interleave, int swizzle, int promotion, int fill);
  /* For kernels with persistent blocks; null is one block a multiprocessor. */
  int (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int *blocks, CUfunction function, int threads, size_t sharedBytes);
  /* For programs that have no buffers yet, as attnc. */
  int (*cuDeviceGetCount)(int *count);
  int (*cuDeviceGet)(int *device, int ordinal);
  int (*cuDevicePrimaryCtxRetain)(CUcontext *context, int device);
  int (*cuDevicePrimaryCtxRelease)(int device);
  int (*cuCtxSetCurrent)(CUcontext context);
  int (*cuCtxSynchronize)(void);
  int (*cuMemAlloc)(unsigned long long *address, size_t bytes);
  int (*cuMemFree)(unsigned long long address);
  int (*cuMemcpyHtoD)(unsigned long long target, const void *source, size_t bytes);
  int (*cuMemcpyDtoH)(void *target, unsigned long long source, size_t bytes);
  /* For kernels that may start before the one in front of them is complete; null: they start after it. */
  int (*cuLaunchKernelEx)(const attn_cuda_launch_config *config, CUfunction function, void **parameters, void **extra);
} attn_cuda_driver;

/* Set the driver for all later calls of the process: the functions of a table, which must outlive them, or those of a
 * shared library. Null is libcuda.so.1, the default, which is loaded on first use. Return 0 or an attn_cuda_status. */
int32_t attn_cuda_use_driver(const attn_cuda_driver *driver);
int32_t attn_cuda_load_driver(const char *path);
/* The driver in use, loaded and initialised. Null if there is none; attn_cuda_message says why. */
const attn_cuda_driver *attn_cuda_get_driver(void);
/* Makes the primary context of a device current on the calling thread if none is, as cudaSetDevice does, and retains
 * it: a thread of a framework, as those of PyTorch's backward passes, may have called nothing yet that does. Returns 0
 * or an attn_cuda_status. */
int32_t attn_cuda_use_device(int32_t device);

/*===----------------------------------------------------------------------===*/
/* What emitted code calls */
/*===----------------------------------------------------------------------===*/

/* The code of a module. An emitter of constants writes it as the LLVM struct
 * { ptr, i64, ptr, i64, i32, i32, i32, ptr }. */
typedef struct attn_cuda_image {
  const char *ptx; /* terminated */
  int64_t ptx_bytes;
  const void *cubin; /* null where there is none */
  int64_t cubin_bytes;
  int32_t capability;     /* of the device at least, 10 * major + minor */
  int32_t driver_version; /* at least, as cuDriverGetVersion has it */
  int32_t is_exact;       /* 1: no other capability, as for sm_90a; 0: higher ones as well */
  void *loaded;           /* the launcher's; null at the start */
} attn_cuda_image;

/* A kernel of it: { ptr, ptr, ptr }. */
typedef struct attn_cuda_kernel {
  attn_cuda_image *image;
  const char *name;
  void *loaded; /* the launcher's; null at the start */
} attn_cuda_kernel;

/* Starts a kernel on the stream, in the stream's context; for the null stream, in the thread's current one.
 * `parameters` are as cuLaunchKernel takes them. For a grid without blocks it does nothing. */
int32_t attn_cuda_launch(attn_cuda_kernel *kernel, int64_t gridX, int64_t gridY, int64_t gridZ, int64_t blockX,
                         int64_t blockY, int64_t blockZ, int64_t sharedBytes, CUstream stream, void **parameters);

/* The same of a kernel whose blocks go through `gridX` tiles: it starts no more blocks than the device holds at once.
 */
int32_t attn_cuda_launch_persistent(attn_cuda_kernel *kernel, int64_t gridX, int64_t gridY, int64_t gridZ,
                                    int64_t blockX, int64_t blockY, int64_t blockZ, int64_t sharedBytes,
                                    CUstream stream, void **parameters);

/* The same of a kernel that waits for the one in front of it on the stream before it accesses memory
 * (griddepcontrol.wait): it may start before that one is complete. */
int32_t attn_cuda_launch_dependent(attn_cuda_kernel *kernel, int64_t gridX, int64_t gridY, int64_t gridZ,
                                   int64_t blockX, int64_t blockY, int64_t blockZ, int64_t sharedBytes, CUstream stream,
                                   void **parameters);

/* A target of an object that holds code for several. */
typedef struct attn_cuda_target {
  const char *name;
  int32_t capability; /* of the device at least, 10 * major + minor */
  int32_t is_exact;   /* whether later devices cannot run its code (sm_90a) */
} attn_cuda_target;

/* The place in the list, best last, of the last target whose code the device of the stream runs; for the null stream,
 * that of the thread's current context. A code as a negative number where there is none. */
int32_t attn_cuda_select_target(const attn_cuda_target *targets, int64_t count, CUstream stream);

/* Encodes the map of a tensor of 16-bit elements, for copies of boxes of it to shared memory in panels of 128 bytes:
 * ATTN_CUDA_MAP_BYTES at a multiple of 64. `type` is a CUtensorMapDataType; sizes and box have the outermost of `rank`
 * dimensions first, at most five. Strides are bytes, multiples of 16, of all dimensions but the innermost, whose
 * elements lie side by side. */
#define ATTN_CUDA_MAP_BYTES 128
int32_t attn_cuda_encode_map(void *map, void *address, int32_t type, int64_t rank, const int64_t *sizes,
                             const int64_t *strides, const int64_t *box);

/* 0 if the workspace is valid and `bytes` are at least `needed`. */
int32_t attn_cuda_check_workspace(const void *workspace, int64_t bytes, int64_t needed);

/* Copies attn_cuda_message() to a caller's buffer of `size` bytes, which may be null. */
void attn_cuda_copy_message(char *message, int64_t size);

/* Unloads what launches have loaded of an image and of all its kernels, in contexts that still exist. No launch of them
 * may be in progress. This is for code that is unloaded itself; other programs leave it to the end of the process. */
void attn_cuda_unload(attn_cuda_image *image, attn_cuda_kernel *const *kernels, int64_t count);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_ATTN_CUDA_H */
