//===- Arguments.cpp - buffers for a kernel's arguments -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attnc.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>
#include <dlpack/dlpack.h>
#include <random>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// What dlpack.h before 0.8 has no name for.
static constexpr uint8_t kDLBool = 6;
static const Align kArrayAlignment(64);
/// Share of a random boolean mask that is true.
static constexpr double kKeptShare = 0.75;

static Expected<NpyType> getNpyType(const KernelArgument &argument) {
  switch (argument.element) {
  case ElementKind::F32: return NpyType::Float32;
  case ElementKind::F64: return NpyType::Float64;
  case ElementKind::I1: return NpyType::Bool;
  case ElementKind::I32: return NpyType::Int32;
  default:
    return createStringError("attnc run takes float32, float64, bool and int32, found " +
                             getElementInfo(argument.element).numpyName + " argument '" + argument.name + "'");
  }
}

static int64_t getNumElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

static Expected<NpyArray> createArray(const KernelArgument &argument) {
  Expected<NpyType> type = getNpyType(argument);
  if (!type)
    return type.takeError();
  NpyArray array;
  array.type = *type;
  array.shape.assign(argument.shape.begin(), argument.shape.end());
  size_t bytes = getNumElements(argument.shape) * getNpyTypeSize(*type);
  array.buffer =
      WritableMemoryBuffer::getNewUninitMemBuffer(std::max<size_t>(bytes, 1), argument.name, kArrayAlignment);
  if (!array.buffer)
    return createStringError("not enough memory for " + Twine(bytes) + " bytes of '" + argument.name + "'");
  array.data = array.buffer->getBufferStart();
  std::memset(array.data, 0, bytes);
  return array;
}

template <typename T> static void fillNormal(NpyArray &array, std::mt19937_64 &generator) {
  std::normal_distribution<T> distribution(0, 1);
  for (T &element : MutableArrayRef(reinterpret_cast<T *>(array.data), getNumElements(array.shape)))
    element = distribution(generator);
}

static void fillRandom(NpyArray &array, std::mt19937_64 &generator) {
  switch (array.type) {
  case NpyType::Float32: return fillNormal<float>(array, generator);
  case NpyType::Float64: return fillNormal<double>(array, generator);
  case NpyType::Bool: {
    std::bernoulli_distribution distribution(kKeptShare);
    for (char &element : MutableArrayRef(array.data, getNumElements(array.shape)))
      element = distribution(generator);
    return;
  }
  case NpyType::Int32: return;
  }
}

static Error checkShape(const NpyArray &array, const KernelArgument &argument, StringRef path) {
  Expected<NpyType> type = getNpyType(argument);
  if (!type)
    return type.takeError();
  if (array.type != *type)
    return createStringError(path + ": expected " + getNpyTypeName(*type) + " for input '" + argument.name +
                             "', found " + getNpyTypeName(array.type));
  if (ArrayRef(array.shape) == ArrayRef(argument.shape))
    return Error::success();
  auto print = [](ArrayRef<int64_t> shape) {
    return "[" + join(map_range(shape, [](int64_t size) { return std::to_string(size); }), ", ") + "]";
  };
  return createStringError(path + ": expected shape " + print(argument.shape) + " for input '" + argument.name +
                           "', found " + print(array.shape));
}

Expected<std::vector<NpyArray>> driver::createArguments(const Kernel &kernel, ArrayRef<std::string> inputs,
                                                        uint64_t seed) {
  size_t expected = count_if(kernel.arguments, [](const KernelArgument &argument) { return !argument.isOutput; });
  if (!inputs.empty() && inputs.size() != expected)
    return createStringError("expected " + Twine(expected) + " --input files for kernel '" + kernel.name + "', found " +
                             Twine(inputs.size()));
  std::vector<NpyArray> arrays;
  std::mt19937_64 generator(seed);
  for (const KernelArgument &argument : kernel.arguments) {
    if (argument.isOutput || inputs.empty()) {
      Expected<NpyArray> array = createArray(argument);
      if (!array)
        return array.takeError();
      if (!argument.isOutput)
        fillRandom(*array, generator);
      arrays.push_back(std::move(*array));
      continue;
    }
    Expected<NpyArray> array = readNpy(inputs.front());
    if (!array)
      return array.takeError();
    if (Error error = checkShape(*array, argument, inputs.front()))
      return error;
    arrays.push_back(std::move(*array));
    inputs = inputs.drop_front();
  }
  return arrays;
}

Error LoadedKernel::call(ArrayRef<NpyArray> arguments) const {
  using Entry = int32_t (*)(const DLTensor *const *, int64_t, char *, int64_t);
  std::vector<DLTensor> tensors;
  tensors.reserve(arguments.size());
  for (auto [array, argument] : zip_equal(arguments, description.arguments)) {
    const ElementInfo &element = getElementInfo(argument.element);
    DLTensor tensor = {};
    tensor.data = array.data;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = array.shape.size();
    tensor.dtype = {uint8_t(element.dlpackCode == kDLBool ? uint8_t(kDLUInt) : element.dlpackCode),
                    uint8_t(element.bytes * 8), 1};
    tensor.shape = const_cast<int64_t *>(array.shape.data());
    tensors.push_back(tensor);
  }
  std::vector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  char message[512] = "";
  int32_t code = reinterpret_cast<Entry>(entry)(pointers.data(), pointers.size(), message, sizeof(message));
  return code == 0 ? Error::success()
                   : createStringError(Twine("kernel '") + description.name + "' refused: " + message);
}
