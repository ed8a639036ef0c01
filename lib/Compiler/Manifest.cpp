//===- Manifest.cpp - the compiled kernels, as JSON -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "attn/Compiler/Bundle.h"
#include "attn/Support/Version.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace attn {

/// Numbers as they are; names and products of names as strings.
static json::Array toJSON(ArrayRef<int64_t> numbers, ArrayRef<std::string> texts) {
  json::Array array;
  for (auto [number, text] : zip_equal(numbers, texts))
    array.push_back(mlir::ShapedType::isDynamic(number) ? json::Value(text) : json::Value(number));
  return array;
}

/// A size known only at run time is null.
static json::Value toJSON(const GpuLaunch &launch) {
  auto orNull = [](int64_t size) {
    return mlir::ShapedType::isDynamic(size) ? json::Value(nullptr) : json::Value(size);
  };
  auto toArray = [&](ArrayRef<int64_t> sizes) { return json::Array(map_range(sizes, orNull)); };
  json::Object object{{"kernel", launch.kernel},
                      {"grid", toArray(launch.grid)},
                      {"block", toArray(launch.block)},
                      {"dynamic_shared_bytes", orNull(launch.sharedBytes)},
                      {"parameters", json::Array(launch.parameters)}};
  if (!launch.target.empty())
    object["target"] = launch.target;
  if (launch.resources) {
    object["registers"] = launch.resources->registers;
    object["static_shared_bytes"] = launch.resources->staticSharedBytes;
    object["stack_bytes"] = launch.resources->stackBytes;
    object["spill_bytes"] = launch.resources->spillBytes;
  }
  return object;
}

/// A word under its name; for bounds, each side. Null where the kernel does not have it.
static void addConvention(json::Object &conventions, const WordInfo &word, const WordValue &value) {
  auto orNull = [](std::optional<int64_t> bound) { return bound ? json::Value(*bound) : json::Value(nullptr); };
  if (word.form == WordForm::Bounds) {
    KeyBounds bounds = std::holds_alternative<KeyBounds>(value) ? std::get<KeyBounds>(value) : KeyBounds();
    conventions[(word.name + "_left").str()] = orNull(bounds.left);
    conventions[(word.name + "_right").str()] = orNull(bounds.right);
    return;
  }
  conventions[word.name] = nullptr;
  if (const auto *alignment = std::get_if<Alignment>(&value))
    conventions[word.name] = printAlignment(*alignment);
  else if (const auto *number = std::get_if<int64_t>(&value))
    conventions[word.name] = *number;
  else if (const auto *real = std::get_if<double>(&value))
    conventions[word.name] = *real;
}

static json::Value toJSON(const Kernel &kernel) {
  json::Array arguments;
  for (const KernelArgument &argument : kernel.arguments) {
    const ElementInfo &element = getElementInfo(argument.element);
    arguments.push_back(json::Object{{"name", argument.name},
                                     {"role", argument.isOutput ? "output" : "input"},
                                     {"updated", argument.isUpdated},
                                     {"result", argument.isOutput ? json::Value(argument.result) : nullptr},
                                     {"passed_by", argument.isScalar ? "value" : "pointer"},
                                     {"dtype", element.numpyName},
                                     {"shape", toJSON(argument.shape, argument.printShape(kernel.sizes))},
                                     {"strides", toJSON(argument.getStrides(), argument.printStrides(kernel.sizes))},
                                     {"strided", argument.isStrided},
                                     {"alignment", argument.getAlignment(kernel.isGpu)}});
  }
  json::Object conventions{{"lse", "natural"},
                           {"mask", "true = attend"},
                           {"additive_minus_infinity", "removes the key"},
                           {"empty_row", kernel.kind == "backward" ? "all gradients 0" : "out 0, lse -inf"},
                           {"heads", "contiguous groups"}};
  for (const WordInfo &word : getWords())
    if (word.isAttribute() && word.form != WordForm::Probability)
      addConvention(conventions, word, kernel.words[word.word]);
  json::Object formulas;
  for (auto [name, formula] : zip_equal(kernel.sizes, kernel.formulas))
    if (!formula.empty())
      formulas[name] = formula.print(kernel.sizes);
  json::Array limits;
  for (const SizeLimit &limit : kernel.limits)
    limits.push_back(json::Array{limit.value.print(kernel.sizes), limit.limit.print(kernel.sizes)});
  json::Object object{{"name", kernel.name},
                      {"entry", kernel.name},
                      {"checked_entry", getCheckedName(kernel.name)},
                      {"path", kernel.path},
                      {"arguments", std::move(arguments)},
                      {"sizes", json::Array(kernel.sizes)},
                      {"size_formulas", std::move(formulas)},
                      {"size_limits", std::move(limits)},
                      {"workspace_bytes", kernel.isGpu || kernel.takesWorkspace
                                              ? json::Value(getWorkspaceBytesName(kernel.name))
                                              : json::Value(0)},
                      {"conventions", std::move(conventions)}};
  if (!kernel.isGpu) {
    auto orNull = [](std::optional<int64_t> bytes) { return bytes >= 0 ? json::Value(*bytes) : json::Value(nullptr); };
    object["heap_bytes"] = orNull(kernel.heapBytes);
    object["stack_bytes"] = orNull(kernel.stackBytes);
  }
  if (kernel.weightsBytes)
    object["weights"] = json::Object{{"bytes", int64_t(kernel.weightsBytes)}, {"map", getMapWeightsName(kernel.name)}};
  if (kernel.isGpu) {
    json::Array launches;
    for (const GpuLaunch &launch : kernel.launches)
      launches.push_back(toJSON(launch));
    object["launches"] = std::move(launches);
  }
  if (!kernel.kind.empty()) {
    object["kind"] = kernel.kind;
    object["pair"] = kernel.pair;
  }
  if (!kernel.onnx.empty())
    object["onnx"] = kernel.onnx;
  if (!kernel.problem.empty()) {
    object["problem"] = kernel.problem;
    object["features"] = kernel.features;
  }
  return object;
}

static json::Object toJSON(const TargetInfo &target) {
  if (target.gpu)
    return json::Object{{"name", target.name},
                        {"triple", target.triple},
                        {"cpu", target.cpu},
                        {"features", target.features},
                        {"compute_capability", int64_t(target.gpu->computeCapability)}};
  return json::Object{{"name", target.name},
                      {"triple", target.triple},
                      {"cpu", target.cpu},
                      {"features", target.features},
                      {"vector_bits", target.vectorBits}};
}

static std::string printManifest(json::Object target, const CompileOptions &options, ArrayRef<Kernel> kernels,
                                 json::Object more) {
  json::Array list;
  for (const Kernel &kernel : kernels)
    list.push_back(toJSON(kernel));
  more["attn"] = kVersion;
  more["target"] = std::move(target);
  more["parallel"] = kernels.empty() || !kernels.front().isGpu ? json::Value(options.parallel ? "openmp" : "none")
                                                               : json::Value("cuda");
  more["kernels"] = std::move(list);
  return formatv("{0:2}\n", json::Value(std::move(more))).str();
}

std::string writeManifest(ArrayRef<Kernel> kernels, const TargetInfo &target, const CompileOptions &options) {
  return printManifest(toJSON(target), options, kernels, {});
}

std::string writeBundleManifest(ArrayRef<Kernel> kernels, ArrayRef<Variant> variants, const BundleOptions &options) {
  json::Array list;
  std::string names;
  for (const Variant &variant : variants) {
    json::Object target = toJSON(variant.target);
    target["disabled_features"] = json::Array(variant.untested);
    list.push_back(std::move(target));
    names += (names.empty() ? "" : ",") + variant.target.name;
  }
  json::Object more{{"variants", std::move(list)}};
  if (!options.library.empty()) {
    json::Object library{{"name", options.library},
                         {"file", options.file},
                         {"call_entry", getCallName(options.library)},
                         {"find_entry", getFindName(options.library)}};
    if (variants.front().target.gpu)
      library["workspace_bytes_entry"] = getWorkspaceBytesName(options.library);
    else
      library["use_target_entry"] = getUseTargetName(options.library);
    more["library"] = std::move(library);
  }
  json::Object target{{"name", names}, {"triple", variants.front().target.triple}};
  return printManifest(std::move(target), options.compile, kernels, std::move(more));
}

} // namespace attn
