//===- Arguments.cpp - buffers for a kernel's arguments -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <map>
#include <random>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

static const Align kArrayAlignment(64);
/// Dynamic sizes that are not given are drawn from 1 to these, by name.
static constexpr int64_t kMaxDrawnHeads = 4, kMaxDrawnSize = 80;

NpyType driver::getNpyType(const KernelArgument &argument) {
  switch (argument.element) {
  case ElementKind::F32: return NpyType::Float32;
  case ElementKind::F64: return NpyType::Float64;
  case ElementKind::BF16: return NpyType::BFloat16;
  case ElementKind::F16: return NpyType::Float16;
  case ElementKind::F8E4M3FN: return NpyType::Float8E4M3FN;
  case ElementKind::F8E5M2: return NpyType::Float8E5M2;
  case ElementKind::I1: return NpyType::Bool;
  case ElementKind::I8: return NpyType::Int8;
  case ElementKind::I32: return NpyType::Int32;
  case ElementKind::I64: return NpyType::Int64;
  }
  llvm_unreachable("all element kinds are handled");
}

Expected<std::map<std::string, int64_t>> driver::parseSizes(ArrayRef<std::string> texts) {
  std::map<std::string, int64_t> sizes;
  for (StringRef text : texts) {
    auto [name, number] = text.split('=');
    int64_t size;
    if (name.empty() || number.getAsInteger(10, size) || size < 0)
      return createStringError("expected --size=NAME=N with a number of at least 0, found '" + text + "'");
    if (!sizes.try_emplace(name.str(), size).second)
      return createStringError("expected each name once in --size, found '" + name + "' twice");
  }
  return sizes;
}

int64_t driver::getNumElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Expected<NpyArray> driver::createZeros(const KernelArgument &argument, ArrayRef<int64_t> shape) {
  NpyArray array;
  array.type = getNpyType(argument);
  array.shape.assign(shape.begin(), shape.end());
  // An empty dimension does not excuse an overflow of the others.
  int64_t bytes = getNpyTypeSize(array.type);
  bool overflows = false;
  for (int64_t size : shape)
    overflows |= MulOverflow(bytes, std::max<int64_t>(size, 1), bytes);
  bytes = is_contained(shape, 0) ? 0 : bytes;
  if (!overflows)
    array.buffer =
        WritableMemoryBuffer::getNewUninitMemBuffer(std::max<size_t>(bytes, 1), argument.name, kArrayAlignment);
  if (!array.buffer)
    return createStringError("not enough memory for '" + argument.name + "'" +
                             (overflows ? Twine() : " of " + Twine(bytes) + " bytes"));
  array.data = array.buffer->getBufferStart();
  std::memset(array.data, 0, bytes);
  return array;
}

static std::string printShape(ArrayRef<std::string> sizes) { return "[" + join(sizes, ", ") + "]"; }

/// Tests a file against its argument, and derives the dynamic sizes from it.
static Error checkInput(const NpyArray &array, const KernelArgument &argument, StringRef path, const Kernel &kernel,
                        std::map<std::string, int64_t> &sizes) {
  NpyType type = getNpyType(argument);
  if (array.type != type)
    return createStringError(path + ": expected " + getNpyTypeName(type) + " for '" + argument.name + "', found " +
                             getNpyTypeName(array.type));
  SmallVector<std::string> found;
  for (int64_t size : array.shape)
    found.push_back(std::to_string(size));
  auto refuse = [&] {
    return createStringError(path + ": expected shape " + printShape(argument.printShape(kernel.sizes)) + " for '" +
                             argument.name + "', found " + printShape(found));
  };
  if (array.shape.size() != argument.shape.size())
    return refuse();
  for (auto [size, expected, symbol] : zip_equal(array.shape, argument.shape, argument.symbols)) {
    if (symbol < 0 && size != expected)
      return refuse();
    if (symbol < 0)
      continue;
    auto [known, isNew] = sizes.try_emplace(kernel.sizes[symbol], size);
    if (known->second != size)
      return createStringError(path + ": expected " + known->first + " to be " + Twine(known->second) +
                               " as before, found " + Twine(size) + " in '" + argument.name + "'");
  }
  return Error::success();
}

Expected<std::vector<NpyArray>> driver::createArguments(const Kernel &kernel, const ArgumentOptions &options) {
  SmallVector<const KernelArgument *> given;
  SmallVector<StringRef> names;
  for (bool updated : {false, true})
    for (const KernelArgument &argument : kernel.arguments)
      if (updated ? argument.isUpdated : !argument.isOutput) {
        given.push_back(&argument);
        names.push_back(argument.name);
      }
  if (!options.inputs.empty() && options.inputs.size() != given.size())
    return createStringError("expected " + Twine(given.size()) + " --input files for kernel '" + kernel.name + "' (" +
                             join(names, ", ") + "), found " + Twine(options.inputs.size()));
  std::map<std::string, int64_t> sizes = options.sizes;
  for (auto [name, formula] : zip_equal(kernel.sizes, kernel.formulas))
    if (!formula.empty() && sizes.count(name))
      return createStringError("expected no --size of '" + name + "', which is " + formula.printInfix(kernel.sizes) +
                               ", found " + Twine(sizes[name]) + "; leave it out");
  for (const auto &[name, size] : sizes)
    if (!is_contained(kernel.sizes, name))
      return createStringError("expected --size of a dynamic size of kernel '" + kernel.name + "' (" +
                               (kernel.sizes.empty() ? "it has none" : join(kernel.sizes, ", ")) + "), found '" + name +
                               "'");
  std::map<const KernelArgument *, NpyArray> inputs;
  for (auto [argument, path] : zip(given, options.inputs)) {
    Expected<NpyArray> array = readNpy(path);
    if (!array)
      return array.takeError();
    if (Error error = checkInput(*array, *argument, path, kernel, sizes))
      return error;
    inputs.emplace(argument, std::move(*array));
  }
  std::mt19937_64 generator(options.seed);
  const std::map<std::string, int64_t> known = sizes;
  auto isGiven = [&](const std::string &name) { return known.count(name) > 0; };
  for (const std::string &name : kernel.sizes) {
    bool isSmall = name == "b" || name == "hq", isOfSums = name == "b_plus_1"; // rows need a sequence
    std::uniform_int_distribution<int64_t> distribution(isOfSums ? 2 : 1,
                                                        isSmall || isOfSums ? kMaxDrawnHeads : kMaxDrawnSize);
    sizes.try_emplace(name, distribution(generator));
  }
  SmallVector<int64_t> values;
  for (const std::string &name : kernel.sizes)
    values.push_back(sizes[name]);
  for (const SizeLimit &limit : kernel.limits)
    if (std::optional<int64_t> size = limit.value.getSize(); size && !isGiven(kernel.sizes[*size]))
      values[*size] = sizes[kernel.sizes[*size]] = std::min(values[*size], limit.limit.evaluate(values));
  for (auto [name, formula] : zip_equal(kernel.sizes, kernel.formulas))
    if (!formula.empty())
      sizes[name] = std::max<int64_t>(formula.evaluate(values), 0);
  // Lengths of keys determine the number of sequences.
  if (is_contained(kernel.sizes, "b_plus_1") && sizes.count("b") && !options.sizes.count("b_plus_1"))
    sizes["b_plus_1"] = sizes["b"] + 1;

  std::vector<NpyArray> arrays;
  for (const KernelArgument &argument : kernel.arguments) {
    if (auto found = inputs.find(&argument); found != inputs.end()) {
      arrays.push_back(std::move(found->second));
      continue;
    }
    SmallVector<int64_t> shape = argument.shape;
    for (auto [size, symbol] : zip_equal(shape, argument.symbols))
      if (symbol >= 0)
        size = sizes[kernel.sizes[symbol]];
    Expected<NpyArray> array = createZeros(argument, shape);
    if (!array)
      return array.takeError();
    arrays.push_back(std::move(*array));
  }
  if (options.inputs.empty())
    fillRandom(kernel, arrays, options);
  return arrays;
}
