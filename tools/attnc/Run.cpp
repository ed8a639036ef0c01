//===- Run.cpp - attnc run ------------------------------------------------===//
//
// Compiles in memory and runs on .npy files or random inputs, all kernels of the source or one. --check compares with
// the reference pipeline, whose intermediates are f64.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../common/BeyondLengths.h"
#include "../common/StridedViews.h"
#include "Ceilings.h"
#include "attn/Support/OutputFile.h"
#include "attnc.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

namespace {
/// A forward kernel that has run, for the backward one of its pair.
struct ForwardPass {
  Kernel description;
  std::vector<NpyArray> arguments;
};
} // namespace

static raw_ostream &getReport(const RunCommand &command) { return command.report ? *command.report : outs(); }

/// The dynamic sizes of a run, by name.
static std::map<std::string, int64_t> getSizes(const Kernel &kernel, ArrayRef<NpyArray> arguments) {
  std::map<std::string, int64_t> sizes;
  for (auto [argument, array] : zip_equal(kernel.arguments, arguments))
    for (auto [size, symbol] : zip_equal(array.shape, argument.symbols))
      if (symbol >= 0)
        sizes[kernel.sizes[symbol]] = size;
  return sizes;
}

/// Moves the arguments and results of the forward pass to the arguments of the same names.
static void takeArguments(ForwardPass &forward, const Kernel &backward, MutableArrayRef<NpyArray> arguments) {
  for (auto [argument, array] : zip_equal(forward.description.arguments, forward.arguments))
    for (auto [own, place] : zip_equal(backward.arguments, arguments))
      if (!own.isOutput && own.name == argument.name)
        place = std::move(array);
}

/// Prints a line for each output with a NaN that the reference has too. True if there is one.
static bool reportNaN(const Kernel &kernel, ArrayRef<NpyArray> arguments, raw_ostream &os) {
  bool isAny = false;
  for (auto [argument, array] : zip_equal(kernel.arguments, arguments)) {
    if (!argument.isOutput || none_of(seq(getNumElements(array.shape)),
                                      [&, &array = array](int64_t i) { return std::isnan(readFloat(array, i)); }))
      continue;
    os << argument.name << ": expected no NaN of what lies beyond the lengths, found one: FAILED\n";
    isAny = true;
  }
  return isAny;
}

/// Fewest calls of a timing.
static constexpr size_t kMinCalls = 5;

/// Prints the time of a call, from more calls on copies of the arguments, as outputs may be updated.
static Error printTime(const RunCommand &command, const LoadedKernel &kernel, ArrayRef<NpyArray> arguments) {
  Expected<std::vector<NpyArray>> copy = copyArguments(kernel.getDescription(), arguments);
  if (!copy)
    return copy.takeError();
  std::vector<double> times;
  double start = getSeconds();
  while (times.size() < kMinCalls || getSeconds() - start < command.seconds) {
    double before = getSeconds();
    if (Error error = kernel.call(*copy))
      return error;
    times.push_back(getSeconds() - before);
  }
  llvm::sort(times);
  getReport(command) << kernel.getDescription().name << ": best " << format("%.3f", times.front() * 1e3)
                     << " ms, median " << format("%.3f", times[times.size() / 2] * 1e3) << " ms of " << times.size()
                     << " calls\n";
  return Error::success();
}

/// Runs one kernel; `reference` is null without --check. A forward pass is stored in `forward`, where its backward pass
/// reads it.
static int runKernel(const RunCommand &command, const LoadedKernel &kernel, const LoadedKernel *reference,
                     ForwardPass &forward) {
  const Kernel &description = kernel.getDescription();
  size_t numOutputs = count_if(description.arguments, [](const KernelArgument &argument) { return argument.isOutput; });
  if (!command.outputs.empty() && command.outputs.size() != numOutputs)
    return reportError(createStringError("expected " + Twine(numOutputs) + " --output files for kernel '" +
                                         description.name + "', found " + Twine(command.outputs.size())));
  Expected<std::vector<NpyArray>> arguments = createArguments(description, command.arguments);
  if (!arguments)
    return reportError(arguments.takeError());
  bool isBackward = description.kind == "backward",
       hasForward = isBackward && description.pair == forward.description.pair;
  if (hasForward)
    takeArguments(forward, description, *arguments);
  // Random inputs of a problem line: data beyond lengths reaches no output. For a backward pass alone, lse does not
  // show which rows are empty.
  bool isPoisoned = command.source.problem && command.arguments.inputs.empty() && (hasForward || !isBackward) &&
                    poisonBeyondLengths(description, *arguments);
  std::vector<NpyArray> expected;
  if (reference) {
    Expected<std::vector<NpyArray>> outputs = createOutputs(*reference, *arguments);
    if (!outputs)
      return reportError(outputs.takeError());
    expected = std::move(*outputs);
  }
  StridedViews views;
  if (command.arguments.inputs.empty())
    views = StridedViews(description, *arguments, command.arguments.seed);
  if (Error error = kernel.call(*arguments, &views))
    return reportError(std::move(error));

  bool isFine = true;
  if (reference) {
    Expected<bool> checked = checkOutputs(*reference, description, *arguments, std::move(expected), getReport(command));
    if (!checked)
      return reportError(checked.takeError());
    bool hasNaN = isPoisoned && reportNaN(description, *arguments, getReport(command));
    isFine = *checked && !hasNaN;
  } else if (command.outputs.empty() && !command.isTimed) {
    getReport(command) << description.name
                       << ": ran; --check compares its outputs with the reference, --output=FILE.npy writes them\n";
  }
  OutputFiles files;
  for (const auto &[argument, array] : zip_equal(description.arguments, *arguments)) {
    if (!argument.isOutput || command.outputs.empty())
      continue;
    auto write = [&](raw_ostream &os) { writeNpy(os, array.type, array.shape, array.data); };
    if (Error error = files.add(command.outputs[argument.result], write))
      return reportError(std::move(error));
  }
  if (Error error = files.keep())
    return reportError(std::move(error));
  if (command.isTimed)
    if (Error error = printTime(command, kernel, *arguments))
      return reportError(std::move(error));
  if (description.kind == "forward")
    forward = {description, std::move(*arguments)};
  return isFine ? 0 : 1;
}

/// Runs all kernels of the source in order. A size is that of the kernels that have it.
static int runAll(const RunCommand &command, const LoadedKernel &loaded, const LoadedKernel *references) {
  for (const auto &[name, size] : command.arguments.sizes)
    if (none_of(loaded.getKernels(), [&](const Kernel &kernel) { return is_contained(kernel.sizes, name); }))
      return reportError(createStringError("expected --size of a dynamic size of a kernel, found '" + name + "'"));
  int result = 0;
  ForwardPass forward;
  for (const Kernel &each : loaded.getKernels()) {
    RunCommand own = command;
    if (each.kind == "backward" && each.pair == forward.description.pair)
      own.arguments.sizes.merge(getSizes(forward.description, forward.arguments));
    std::erase_if(own.arguments.sizes, [&](const auto &size) { return !is_contained(each.sizes, size.first); });
    if (references)
      getReport(command) << "kernel " << each.name << ":\n";
    Expected<LoadedKernel> kernel = loaded.getKernel(each.name);
    if (!kernel)
      return reportError(kernel.takeError());
    std::optional<LoadedKernel> reference;
    if (references) {
      Expected<LoadedKernel> found = references->getKernel(each.name);
      if (!found)
        return reportError(found.takeError());
      reference = std::move(*found);
    }
    result = std::max(result, runKernel(own, *kernel, reference ? &*reference : nullptr, forward));
  }
  return result;
}

int driver::run(const RunCommand &command) {
  Expected<LoadedKernel> kernel = LoadedKernel::compile(command.source, command.options, command.kernel, errs(),
                                                        command.isEmulated, command.runner);
  if (!kernel)
    return reportError(kernel.takeError());
  ArrayRef<Kernel> kernels = kernel->getKernels();
  bool isOne = !command.kernel.empty() || kernels.size() == 1;
  if (!isOne && (!command.arguments.inputs.empty() || !command.outputs.empty()))
    return reportError(createStringError("expected --kernel with --input and --output, as there are several kernels: " +
                                         join(map_range(kernels, [](const Kernel &each) { return each.name; }), " ")));
  std::optional<LoadedKernel> reference;
  if (command.check) {
    Expected<LoadedKernel> compiled = compileReference(command.source, command.options, command.kernel);
    if (!compiled)
      return reportError(compiled.takeError());
    reference = std::move(*compiled);
  }
  const LoadedKernel *found = reference ? &*reference : nullptr;
  ForwardPass none;
  return isOne ? runKernel(command, *kernel, found, none) : runAll(command, *kernel, found);
}
