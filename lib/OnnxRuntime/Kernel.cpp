//===- Kernel.cpp - attention nodes in sessions of ONNX Runtime -----------===//
//
// The operator `Kernel` of the domain `attn`, which `attnc --emit=ort` puts in the place of attention nodes: a kernel
// by its IR, compiled when the session is made. A program registers this library at its session options.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OrtApi.h"
#include "attn-c/attn.h"
#include "attn-c/attn_runtime.h"
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

/// Dimensions of a tensor that a kernel may have.
constexpr int32_t maxRank = 16;

/// The types by ONNXTensorElementDataType, which has the numbers of TensorProto.DataType.
DLDataType getDataType(int type) {
  constexpr uint8_t dlpackBool = ATTN_DLPACK_BOOL;
  switch (type) {
  case 1: return {kDLFloat, 32, 1};
  case 2: return {kDLUInt, 8, 1};
  case 3: return {kDLInt, 8, 1};
  case 6: return {kDLInt, 32, 1};
  case 7: return {kDLInt, 64, 1};
  case 9: return {dlpackBool, 8, 1};
  case 10: return {kDLFloat, 16, 1};
  case 11: return {kDLFloat, 64, 1};
  case 16: return {kDLBfloat, 16, 1};
  default:
    throw std::runtime_error("attn: expected tensors of a type that kernels take, found ONNX's type " +
                             std::to_string(type));
  }
}

/// A status is ONNX Runtime's own error, which goes back to it.
struct Failure {
  OrtStatus *status;
};

void check(OrtStatus *status) {
  if (status)
    throw Failure{status};
}

template <typename Body> OrtStatus *run(const OrtApi *api, Body body) {
  try {
    body();
    return nullptr;
  } catch (const Failure &failure) {
    return failure.status;
  } catch (const std::exception &error) {
    return ort::createStatus(api, ORT_FAIL, error.what());
  }
}

//===----------------------------------------------------------------------===//
// Threads of the session
//===----------------------------------------------------------------------===//

struct Caller {
  const OrtApi *api = nullptr;
  const OrtKernelContext *context = nullptr; ///< null inside of a loop
  int number = 0;
};
thread_local Caller caller;

void runOnSession(void (*function)(void *), void *context, unsigned threads, unsigned);
const attn_openmp pool = {runOnSession, [] { return caller.number; },
                          // More than the session has are one after the other, and find their share done.
                          [] { return caller.context ? static_cast<int>(std::thread::hardware_concurrency()) : 1; }};

/// The kernel's parallel loops on the threads of the session: those of OpenMP would wait for the same cores.
void runOnSession(void (*function)(void *), void *context, unsigned threads, unsigned) {
  struct Loop {
    void (*function)(void *);
    void *context;
  } loop = {function, context};
  auto runThread = [](void *opaque, size_t number) {
    const Caller outer = caller;
    caller = {nullptr, nullptr, static_cast<int>(number)};
    attn_use_pool(&pool);
    static_cast<Loop *>(opaque)->function(static_cast<Loop *>(opaque)->context);
    caller = outer;
    attn_use_pool(outer.context ? &pool : nullptr);
  };
  if (!caller.context)
    return runThread(&loop, 0);
  OrtStatus *status = ort::parallelFor(caller.api, caller.context, runThread, threads, threads, &loop);
  if (!status)
    return;
  ort::releaseStatus(caller.api, status);
  runThread(&loop, 0);
}

//===----------------------------------------------------------------------===//
// The operator
//===----------------------------------------------------------------------===//

/// The module of a source, compiled once a process.
const attn_module *getModule(const std::string &source) {
  struct Destroy {
    void operator()(attn_module *module) const { attn_module_destroy(module); }
  };
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<attn_module, Destroy>> modules;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<attn_module, Destroy> &module = modules[source];
  if (!module) {
    attn_module *made = nullptr;
    char *reason = nullptr;
    attn_status status = attn_compile(ATTN_SOURCE_MLIR, source.c_str(), nullptr, &made, &reason);
    std::string text = reason ? reason : "";
    attn_free_string(reason);
    if (status != ATTN_OK)
      throw std::runtime_error("attn: " + text);
    module.reset(made);
  }
  return module.get();
}

/// A tensor of the session as the C API takes it; its shape is kept here.
struct Borrowed {
  Borrowed(const OrtApi *api, const OrtValue *value) {
    OrtTensorTypeAndShapeInfo *info = nullptr;
    check(ort::getTensorTypeAndShape(api, value, &info));
    struct Release {
      const OrtApi *api;
      void operator()(OrtTensorTypeAndShapeInfo *info) const { ort::releaseTensorTypeAndShapeInfo(api, info); }
    };
    std::unique_ptr<OrtTensorTypeAndShapeInfo, Release> owner(info, Release{api});
    int type = 0;
    size_t rank = 0;
    void *data = nullptr;
    check(ort::getTensorElementType(api, info, &type));
    check(ort::getDimensionsCount(api, info, &rank));
    shape.resize(rank);
    check(ort::getDimensions(api, info, shape.data(), rank));
    check(ort::getTensorMutableData(api, const_cast<OrtValue *>(value), &data));
    described = {data, {kDLCPU, 0}, static_cast<int32_t>(rank), getDataType(type), shape.data(), nullptr, 0};
  }
  Borrowed(Borrowed &&) = default;

  std::vector<int64_t> shape;
  DLTensor described;
};

struct Kernel {
  const OrtApi *api;
  const attn_module *module;

  void compute(OrtKernelContext *context) const {
    size_t numInputs = 0, numOutputs = 0;
    check(ort::getInputCount(api, context, &numInputs));
    check(ort::getOutputCount(api, context, &numOutputs));
    std::vector<Borrowed> borrowed;
    borrowed.reserve(numInputs + numOutputs);
    std::vector<const DLTensor *> arguments;
    for (size_t i = 0; i < numInputs; ++i) {
      const OrtValue *input = nullptr;
      check(ort::getInput(api, context, i, &input));
      arguments.push_back(&borrowed.emplace_back(api, input).described);
    }
    char message[1024];
    for (size_t i = 0; i < numOutputs; ++i) {
      int64_t shape[maxRank];
      int32_t rank = 0;
      if (attn_module_result_shape(module, nullptr, arguments.data(), static_cast<int64_t>(numInputs),
                                   static_cast<int64_t>(i), shape, maxRank, &rank, message, sizeof message) != ATTN_OK)
        throw std::runtime_error(std::string("attn: ") + message);
      OrtValue *output = nullptr;
      check(ort::getOutput(api, context, i, shape, static_cast<size_t>(rank), &output));
      arguments.push_back(&borrowed.emplace_back(api, output).described);
    }
    caller = {api, context, 0};
    attn_use_pool(&pool);
    attn_status status = attn_module_call(module, nullptr, arguments.data(), static_cast<int64_t>(arguments.size()),
                                          message, sizeof message);
    attn_use_pool(nullptr);
    caller = {};
    if (status != ATTN_OK)
      throw std::runtime_error(std::string("attn: ") + message);
  }
};

OrtStatus *createKernel(const OrtCustomOp *, const OrtApi *api, const OrtKernelInfo *info, void **kernel) {
  return run(api, [&] {
    // With its terminator.
    size_t size = 0;
    check(ort::getAttributeString(api, info, "source", nullptr, &size));
    std::string source(size, '\0');
    check(ort::getAttributeString(api, info, "source", source.data(), &size));
    source.resize(size - 1);
    *kernel = new Kernel{api, getModule(source)};
  });
}

/// Any number of inputs and outputs, of any types.
const OrtCustomOp kernelOp = {
    .version = 16,
    .createKernel = nullptr,
    .getName = [](const OrtCustomOp *) { return "Kernel"; },
    .getExecutionProviderType = [](const OrtCustomOp *) -> const char * { return nullptr; },
    .getInputType = [](const OrtCustomOp *, size_t) -> int { return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED; },
    .getInputTypeCount = [](const OrtCustomOp *) -> size_t { return 1; },
    .getOutputType = [](const OrtCustomOp *, size_t) -> int { return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED; },
    .getOutputTypeCount = [](const OrtCustomOp *) -> size_t { return 1; },
    .kernelCompute = nullptr,
    .kernelDestroy = [](void *kernel) { delete static_cast<Kernel *>(kernel); },
    .getInputCharacteristic = [](const OrtCustomOp *, size_t) -> int { return INPUT_OUTPUT_VARIADIC; },
    .getOutputCharacteristic = [](const OrtCustomOp *, size_t) -> int { return INPUT_OUTPUT_VARIADIC; },
    .getInputMemoryType = [](const OrtCustomOp *, size_t) -> int { return OrtMemTypeDefault; },
    .getVariadicInputMinArity = [](const OrtCustomOp *) { return 1; },
    .getVariadicInputHomogeneity = [](const OrtCustomOp *) { return 0; },
    .getVariadicOutputMinArity = [](const OrtCustomOp *) { return 1; },
    .getVariadicOutputHomogeneity = [](const OrtCustomOp *) { return 0; },
    .createKernelV2 = createKernel,
    .kernelComputeV2 =
        [](void *kernel, OrtKernelContext *context) {
          const Kernel &self = *static_cast<Kernel *>(kernel);
          return run(self.api, [&] { self.compute(context); });
        }};

} // namespace

/// What SessionOptions.register_custom_ops_library calls.
extern "C" ATTN_API OrtStatus *RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base) {
  const OrtApi *api = base->getApi(ort::apiVersion);
  if (!api)
    return ort::createStatus(base->getApi(1), ORT_FAIL,
                             "attn: expected ONNX Runtime 1.17 or later, found an older one");
  return run(api, [&] {
    // Domains of a session options must outlive its sessions; this one serves all.
    static OrtCustomOpDomain *domain = nullptr;
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    if (!domain) {
      check(ort::createCustomOpDomain(api, "attn", &domain));
      check(ort::addToDomain(api, domain, &kernelOp));
    }
    check(ort::addCustomOpDomain(api, options, domain));
  });
}
