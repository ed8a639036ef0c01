//===- OrtApi.h - what is called of ONNX Runtime's C API --------*- C++ -*-===//
//
// The functions by their place in OrtApi, and OrtCustomOp of version 16. Both are an ABI: a place never changes, and
// members are only added.
//
// Source: onnxruntime_c_api.h and onnxruntime_c_api.cc of ONNX Runtime 1.18.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNXRUNTIME_ORTAPI_H
#define ATTN_LIB_ONNXRUNTIME_ORTAPI_H

#include <cstddef>
#include <cstdint>

struct OrtStatus;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtValue;
struct OrtTensorTypeAndShapeInfo;
struct OrtSessionOptions;
struct OrtCustomOpDomain;
struct OrtCustomOp;
struct OrtApi;

/// OrtErrorCode, ONNXTensorElementDataType, OrtMemType and OrtCustomOpInputOutputCharacteristic, as far as named here.
enum { ORT_FAIL = 1 };
enum { ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0 };
enum { OrtMemTypeDefault = 0 };
enum { INPUT_OUTPUT_VARIADIC = 2 };

namespace ort {

/// The first version of OrtApi that has all functions below.
constexpr uint32_t apiVersion = 17;

/// A function of OrtApi, by its place.
template <size_t place, typename Function> struct Slot;
template <size_t place, typename Result, typename... Arguments> struct Slot<place, Result(Arguments...)> {
  Result operator()(const OrtApi *api, Arguments... arguments) const {
    return reinterpret_cast<Result (*const *)(Arguments...)>(api)[place](arguments...);
  }
};

constexpr Slot<0, OrtStatus *(int, const char *)> createStatus;
constexpr Slot<26, OrtStatus *(const char *, OrtCustomOpDomain **)> createCustomOpDomain;
constexpr Slot<27, OrtStatus *(OrtCustomOpDomain *, const OrtCustomOp *)> addToDomain;
constexpr Slot<28, OrtStatus *(OrtSessionOptions *, OrtCustomOpDomain *)> addCustomOpDomain;
constexpr Slot<51, OrtStatus *(OrtValue *, void **)> getTensorMutableData;
constexpr Slot<60, OrtStatus *(const OrtTensorTypeAndShapeInfo *, int *)> getTensorElementType;
constexpr Slot<61, OrtStatus *(const OrtTensorTypeAndShapeInfo *, size_t *)> getDimensionsCount;
constexpr Slot<62, OrtStatus *(const OrtTensorTypeAndShapeInfo *, int64_t *, size_t)> getDimensions;
constexpr Slot<65, OrtStatus *(const OrtValue *, OrtTensorTypeAndShapeInfo **)> getTensorTypeAndShape;
constexpr Slot<87, OrtStatus *(const OrtKernelInfo *, const char *, char *, size_t *)> getAttributeString;
constexpr Slot<88, OrtStatus *(const OrtKernelContext *, size_t *)> getInputCount;
constexpr Slot<89, OrtStatus *(const OrtKernelContext *, size_t *)> getOutputCount;
constexpr Slot<90, OrtStatus *(const OrtKernelContext *, size_t, const OrtValue **)> getInput;
constexpr Slot<91, OrtStatus *(OrtKernelContext *, size_t, const int64_t *, size_t, OrtValue **)> getOutput;
constexpr Slot<93, void(OrtStatus *)> releaseStatus;
constexpr Slot<99, void(OrtTensorTypeAndShapeInfo *)> releaseTensorTypeAndShapeInfo;
constexpr Slot<274, OrtStatus *(const OrtKernelContext *, void (*)(void *, size_t), size_t, size_t, void *)>
    parallelFor;

} // namespace ort

struct OrtApiBase {
  const OrtApi *(*getApi)(uint32_t version);
  const char *(*getVersionString)();
};

struct OrtCustomOp {
  uint32_t version;
  void *(*createKernel)(const OrtCustomOp *, const OrtApi *, const OrtKernelInfo *);
  const char *(*getName)(const OrtCustomOp *);
  const char *(*getExecutionProviderType)(const OrtCustomOp *);
  int (*getInputType)(const OrtCustomOp *, size_t);
  size_t (*getInputTypeCount)(const OrtCustomOp *);
  int (*getOutputType)(const OrtCustomOp *, size_t);
  size_t (*getOutputTypeCount)(const OrtCustomOp *);
  void (*kernelCompute)(void *, OrtKernelContext *);
  void (*kernelDestroy)(void *);
  int (*getInputCharacteristic)(const OrtCustomOp *, size_t);
  int (*getOutputCharacteristic)(const OrtCustomOp *, size_t);
  int (*getInputMemoryType)(const OrtCustomOp *, size_t);
  int (*getVariadicInputMinArity)(const OrtCustomOp *);
  int (*getVariadicInputHomogeneity)(const OrtCustomOp *);
  int (*getVariadicOutputMinArity)(const OrtCustomOp *);
  int (*getVariadicOutputHomogeneity)(const OrtCustomOp *);
  OrtStatus *(*createKernelV2)(const OrtCustomOp *, const OrtApi *, const OrtKernelInfo *, void **);
  OrtStatus *(*kernelComputeV2)(void *, OrtKernelContext *);
};

#endif // ATTN_LIB_ONNXRUNTIME_ORTAPI_H
