//===- Exports.cpp - exports the emulated driver's functions by name ------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CudaEmulator.h"

using attn::ptx::getEmulatedDriver;

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT int cuInit(unsigned flags) { return getEmulatedDriver().cuInit(flags); }
EXPORT int cuDriverGetVersion(int *version) { return getEmulatedDriver().cuDriverGetVersion(version); }
EXPORT int cuGetErrorName(int result, const char **name) { return getEmulatedDriver().cuGetErrorName(result, name); }
EXPORT int cuGetErrorString(int result, const char **text) {
  return getEmulatedDriver().cuGetErrorString(result, text);
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  return getEmulatedDriver().cuDeviceGetAttribute(value, attribute, device);
}
EXPORT int cuCtxGetCurrent(CUcontext *context) { return getEmulatedDriver().cuCtxGetCurrent(context); }
EXPORT int cuCtxPushCurrent_v2(CUcontext context) { return getEmulatedDriver().cuCtxPushCurrent(context); }
EXPORT int cuCtxPopCurrent_v2(CUcontext *context) { return getEmulatedDriver().cuCtxPopCurrent(context); }
EXPORT int cuCtxGetDevice(int *device) { return getEmulatedDriver().cuCtxGetDevice(device); }
EXPORT int cuCtxGetId(CUcontext context, unsigned long long *id) { return getEmulatedDriver().cuCtxGetId(context, id); }
EXPORT int cuStreamGetCtx(CUstream stream, CUcontext *context) {
  return getEmulatedDriver().cuStreamGetCtx(stream, context);
}
EXPORT int cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options, void **values) {
  return getEmulatedDriver().cuModuleLoadDataEx(module, image, count, options, values);
}
EXPORT int cuModuleUnload(CUmodule module) { return getEmulatedDriver().cuModuleUnload(module); }
EXPORT int cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  return getEmulatedDriver().cuModuleGetFunction(function, module, name);
}
EXPORT int cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  return getEmulatedDriver().cuFuncSetAttribute(function, attribute, value);
}
EXPORT int cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                          unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters,
                          void **extra) {
  return getEmulatedDriver().cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream,
                                            parameters, extra);
}
EXPORT int cuLaunchKernelEx(const attn_cuda_launch_config *config, CUfunction function, void **parameters,
                            void **extra) {
  return getEmulatedDriver().cuLaunchKernelEx(config, function, parameters, extra);
}
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
  return getEmulatedDriver().cuThreadExchangeStreamCaptureMode(mode);
}
EXPORT int cuDeviceGetCount(int *count) { return getEmulatedDriver().cuDeviceGetCount(count); }
EXPORT int cuDeviceGet(int *device, int ordinal) { return getEmulatedDriver().cuDeviceGet(device, ordinal); }
EXPORT int cuDevicePrimaryCtxRetain(CUcontext *context, int device) {
  return getEmulatedDriver().cuDevicePrimaryCtxRetain(context, device);
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) { return getEmulatedDriver().cuDevicePrimaryCtxRelease(device); }
EXPORT int cuCtxSetCurrent(CUcontext context) { return getEmulatedDriver().cuCtxSetCurrent(context); }
EXPORT int cuCtxSynchronize(void) { return getEmulatedDriver().cuCtxSynchronize(); }
EXPORT int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  return getEmulatedDriver().cuMemAlloc(address, bytes);
}
EXPORT int cuMemFree_v2(unsigned long long address) { return getEmulatedDriver().cuMemFree(address); }
EXPORT int cuMemcpyHtoD_v2(unsigned long long target, const void *source, size_t bytes) {
  return getEmulatedDriver().cuMemcpyHtoD(target, source, bytes);
}
EXPORT int cuMemcpyDtoH_v2(void *target, unsigned long long source, size_t bytes) {
  return getEmulatedDriver().cuMemcpyDtoH(target, source, bytes);
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads, size_t bytes) {
  return getEmulatedDriver().cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, bytes);
}
EXPORT int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                                  const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides,
                                  int interleave, int swizzle, int promotion, int fill) {
  return attn::ptx::encodeTiledTensorMap(map, type, rank, address, sizes, strides, box, elementStrides, interleave,
                                         swizzle, promotion, fill);
}

/* Not part of CUDA: sets the emulated device. */
EXPORT void attn_emulator_set_capability(int capability) { attn::ptx::CudaEmulator::get().capability = capability; }

EXPORT void attn_emulator_set_multiprocessors(int count) { attn::ptx::CudaEmulator::get().multiprocessors = count; }

} // extern "C"
