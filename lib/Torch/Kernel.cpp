//===- Kernel.cpp - attn::kernel and attn::step in C++ --------------------===//
//
// Operators by PyTorch's stable ABI, so that one library serves all versions from 2.10 on. attn::kernel is what
// attn.torch.with_kernels puts in the place of calls of attn in an exported program: a kernel by its source; loaded
// before a package of AOTInductor, which finds the operator by its name. attn::step is a step of an engine in graphs of
// torch.compile, which python/attn/torch/_graph_step.py declares.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#define TORCH_TARGET_VERSION ((2ULL << 56) | (10ULL << 48))
#include "attn-c/attn.h"
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <unordered_map>
#include <vector>

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

/// pybind11's class of what knows its error in Python. PyTorch's bindings find it by its name; others see its base.
namespace pybind11 {
struct builtin_exception : std::runtime_error {
  using runtime_error::runtime_error;
  virtual void set_error() const = 0;
};
} // namespace pybind11

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

/// A tensor as the C API takes it, which has shape and strides as long as it lives; those of one that is contiguous
/// follow from its shape.
DLTensor describe(const Tensor &tensor) {
  STD_TORCH_CHECK(tensor.is_cpu(), "attn::kernel: expected tensors on the CPU");
  auto strides = tensor.is_contiguous() ? nullptr : const_cast<int64_t *>(tensor.strides().data());
  return {tensor.data_ptr(),
          {kDLCPU, 0},
          static_cast<int32_t>(tensor.dim()),
          getElementType(tensor.scalar_type()).inDLPack,
          const_cast<int64_t *>(tensor.sizes().data()),
          strides,
          0};
}

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
  std::vector<DLTensor> described;
  for (const std::vector<Tensor> *tensors : {&inputs, &results})
    for (const Tensor &tensor : *tensors)
      described.push_back(describe(tensor));
  std::vector<const DLTensor *> arguments;
  for (size_t place; words >> place;)
    arguments.push_back(&described.at(place));
  char message[1024];
  attn_status status = attn_module_call(module, nullptr, arguments.data(), static_cast<int64_t>(arguments.size()),
                                        message, sizeof message);
  STD_TORCH_CHECK(status == ATTN_OK, "attn::kernel: ", message);
  return results;
}

/// The kernel of steps of one form, and which tensor each argument of its entry is: of the operands in the order of the
/// schema, behind which the result stands.
struct Step {
  const attn_module *module = nullptr;
  std::string order;
};

/// An error of Python, by what sets one of a type: what Python raises itself does not come through the dispatcher.
struct Refused : pybind11::builtin_exception {
  Refused(const char *text, void *type, void (*set)(void *, const char *))
      : builtin_exception(text), type(type), set(set) {}
  void set_error() const override { set(type, what()); }

  void *type;
  void (*set)(void *, const char *);
};

/// What Python says while attn::plan_step runs: a kernel, or why there is none.
thread_local Step planned;
thread_local std::optional<Refused> refused;

constexpr size_t maxSteps = 4096;
constexpr size_t operandCount = 6;

/// What steps are found by: constants and all that a kernel does not leave open. The entry tests the rest.
std::string getForm(const std::string &constants, const Tensor (&operands)[operandCount]) {
  std::string form = constants;
  auto append = [&](int64_t value) { form.append(reinterpret_cast<const char *>(&value), sizeof value); };
  for (size_t n = 0; n < operandCount; ++n) {
    bool isContiguous = operands[n].is_contiguous(), isIndex = n > 2;
    append(static_cast<int64_t>(operands[n].scalar_type()) << 8 | operands[n].dim() << 1 | isContiguous);
    if (!isIndex)
      for (int64_t dim = 1; dim < operands[n].dim(); ++dim)
        append(operands[n].size(dim));
    if (!isIndex && !isContiguous)
      for (int64_t dim = 0; dim < operands[n].dim(); ++dim)
        append(operands[n].stride(dim));
  }
  return form;
}

/// The result of a step, none where the kernel's entry refuses it.
std::optional<Tensor> runStep(const Step &step, const Tensor (&operands)[operandCount]) {
  const Tensor &q = operands[0];
  int64_t sizes[] = {q.size(0), q.size(1), operands[2].size(3)}, strides[] = {sizes[1] * sizes[2], sizes[2], 1};
  int32_t type;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(q.get(), &type));
  AtenTensorHandle made;
  STABLE_TORCH_ERROR_CODE_CHECK(
      aoti_torch_empty_strided(3, sizes, strides, type, aoti_torch_device_type_cpu(), 0, &made));
  Tensor out(made);
  DLTensor described[operandCount + 1];
  std::transform(operands, operands + operandCount, described, describe);
  described[operandCount] = describe(out);
  const DLTensor *arguments[operandCount + 1];
  for (size_t n = 0; n <= operandCount; ++n)
    arguments[n] = &described[step.order[n] - '0'];
  char message[1024];
  attn_status status = attn_module_call(step.module, nullptr, arguments, operandCount + 1, message, sizeof message);
  return status == ATTN_OK ? std::optional(out) : std::nullopt;
}

/// Steps without others run here once Python has made their kernel: attn::plan_step, which runs all other ones.
Tensor step(std::string constants, Tensor q, Tensor keys, Tensor values, Tensor table, Tensor lengths, Tensor sums,
            std::vector<Tensor> others) {
  static std::mutex mutex;
  static std::unordered_map<std::string, Step> steps;
  const Tensor operands[] = {q, keys, values, table, lengths, sums};
  std::string form;
  if (others.empty()) {
    form = getForm(constants, operands);
    std::unique_lock<std::mutex> lock(mutex);
    if (auto found = steps.find(form); found != steps.end()) {
      Step step = found->second;
      lock.unlock();
      if (std::optional<Tensor> out = runStep(step, operands))
        return *out;
    }
  }
  using torch::stable::detail::from, torch::stable::detail::to;
  StableIValue stack[] = {from(constants), from(q),       from(keys), from(values),
                          from(table),     from(lengths), from(sums), from(others)};
  planned = {};
  refused.reset();
  STABLE_TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("attn::plan_step", "", stack, TORCH_ABI_VERSION));
  Tensor out = to<Tensor>(stack[0]);
  if (refused)
    throw Refused(*refused);
  if (planned.module && others.empty()) {
    std::lock_guard<std::mutex> lock(mutex);
    if (steps.size() >= maxSteps)
      steps.clear();
    steps.insert_or_assign(std::move(form), std::move(planned));
  }
  return out;
}

} // namespace

#define ATTN_FOR_PYTHON extern "C" __attribute__((visibility("default")))

ATTN_FOR_PYTHON void attn_torch_set_planned(const attn_module *module, const char *order) { planned = {module, order}; }

ATTN_FOR_PYTHON void attn_torch_set_refused(const char *text, void *type, void (*set)(void *, const char *)) {
  refused.emplace(text, type, set);
}

STABLE_TORCH_LIBRARY_FRAGMENT(attn, library) {
  library.def("kernel(str source, Tensor[] inputs, SymInt[] sizes, str entry) -> Tensor[]");
}

STABLE_TORCH_LIBRARY_IMPL(attn, CPU, library) {
  library.impl("kernel", TORCH_BOX(&runKernel));
  library.impl("step", TORCH_BOX(&step));
}
