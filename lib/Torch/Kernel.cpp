//===- Kernel.cpp - attn::kernel for programs in C++ ----------------------===//
//
// The operator that attn.torch.with_kernels puts in the place of calls of attn in an exported program: a kernel by its
// source. Registered by PyTorch's stable ABI, so that one library serves all versions from 2.10 on; loaded before a
// package of AOTInductor, which finds the operator by its name.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#define TORCH_TARGET_VERSION ((2ULL << 56) | (10ULL << 48))
#include "attn-c/attn.h"
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <vector>

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

namespace {

struct ElementType {
  ScalarType type;
  const char *name;
  DLDataType inDLPack;
};

// Codes of DLPack that older headers do not name.
constexpr uint8_t dlpackBool = 6, dlpackE4M3 = 10, dlpackE5M2 = 12;

const ElementType elementTypes[] = {
    {ScalarType::Float, "float32", {kDLFloat, 32, 1}},
    {ScalarType::Double, "float64", {kDLFloat, 64, 1}},
    {ScalarType::Half, "float16", {kDLFloat, 16, 1}},
    {ScalarType::BFloat16, "bfloat16", {kDLBfloat, 16, 1}},
    {ScalarType::Float8_e4m3fn, "float8_e4m3fn", {dlpackE4M3, 8, 1}},
    {ScalarType::Float8_e5m2, "float8_e5m2", {dlpackE5M2, 8, 1}},
    {ScalarType::Char, "int8", {kDLInt, 8, 1}},
    {ScalarType::Int, "int32", {kDLInt, 32, 1}},
    {ScalarType::Long, "int64", {kDLInt, 64, 1}},
    {ScalarType::Bool, "bool", {dlpackBool, 8, 1}},
};

const ElementType &getElementType(ScalarType type) {
  for (const ElementType &each : elementTypes)
    if (each.type == type)
      return each;
  STD_TORCH_CHECK(false, "attn::kernel: expected a tensor of a type that kernels take, found ScalarType ",
                  static_cast<int>(type));
}

ScalarType getScalarType(const std::string &name) {
  for (const ElementType &each : elementTypes)
    if (name == each.name)
      return each.type;
  STD_TORCH_CHECK(false, "attn::kernel: expected a type of a result, found ", name);
}

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
    attn_status status = attn_compile(ATTN_SOURCE_PROBLEM, source.c_str(), nullptr, &made, &reason);
    std::string text = reason ? reason : "";
    attn_free_string(reason);
    STD_TORCH_CHECK(status == ATTN_OK, "attn::kernel: ", text);
    module.reset(made);
  }
  return module.get();
}

/// A tensor as the C API takes it; shape and strides are kept here.
struct Borrowed {
  explicit Borrowed(const Tensor &tensor) {
    STD_TORCH_CHECK(tensor.is_cpu(), "attn::kernel: expected tensors on the CPU");
    for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
      shape.push_back(tensor.size(dim));
      strides.push_back(tensor.stride(dim));
    }
    described = {tensor.data_ptr(),
                 {kDLCPU, 0},
                 static_cast<int32_t>(tensor.dim()),
                 getElementType(tensor.scalar_type()).inDLPack,
                 shape.data(),
                 strides.data(),
                 0};
  }
  Borrowed(Borrowed &&) = default;

  std::vector<int64_t> shape, strides;
  DLTensor described;
};

/// `entry` is "COUNT (TYPE RANK)… ORDER…": the results, whose sizes are in `sizes`, and which input or result each
/// argument of the kernel's entry is.
std::vector<Tensor> runKernel(std::string source, std::vector<Tensor> inputs, std::vector<int64_t> sizes,
                              std::string entry) {
  const attn_module *module = getModule(source);
  std::istringstream words(entry);
  size_t count = 0, next = 0;
  words >> count;
  std::vector<Tensor> results;
  std::string type;
  for (size_t rank; results.size() < count && words >> type >> rank; next += rank) {
    STD_TORCH_CHECK(next + rank <= sizes.size(), "attn::kernel: expected a size of each dimension, found ",
                    sizes.size());
    results.push_back(torch::stable::new_empty(inputs.at(0), {sizes.data() + next, rank}, getScalarType(type)));
  }
  std::vector<Borrowed> borrowed;
  for (const std::vector<Tensor> *tensors : {&inputs, &results})
    for (const Tensor &tensor : *tensors)
      borrowed.emplace_back(tensor);
  std::vector<const DLTensor *> arguments;
  for (size_t place; words >> place;)
    arguments.push_back(&borrowed.at(place).described);
  char message[1024];
  attn_status status = attn_module_call(module, nullptr, arguments.data(), static_cast<int64_t>(arguments.size()),
                                        message, sizeof message);
  STD_TORCH_CHECK(status == ATTN_OK, "attn::kernel: ", message);
  return results;
}

} // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(attn, library) {
  library.def("kernel(str source, Tensor[] inputs, SymInt[] sizes, str entry) -> Tensor[]");
}

STABLE_TORCH_LIBRARY_IMPL(attn, CPU, library) { library.impl("kernel", TORCH_BOX(&runKernel)); }
