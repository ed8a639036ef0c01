//===- Run.cpp - attnc run ------------------------------------------------===//
//
// Compiles in memory and runs on .npy files or random inputs, all kernels of the
// source or one; --check compares with the reference pipeline, whose
// intermediates are f64.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Support/OutputFile.h"
#include "attnc.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Runs one kernel; `reference` is null without --check.
static int runKernel(const RunCommand &command, const LoadedKernel &kernel, const LoadedKernel *reference) {
  const Kernel &description = kernel.getDescription();
  size_t numOutputs = count_if(description.arguments, [](const KernelArgument &argument) { return argument.isOutput; });
  if (!command.outputs.empty() && command.outputs.size() != numOutputs)
    return reportError(createStringError("expected " + Twine(numOutputs) + " --output files for kernel '" +
                                         description.name + "', found " + Twine(command.outputs.size())));
  Expected<std::vector<NpyArray>> arguments = createArguments(description, command.arguments);
  if (!arguments)
    return reportError(arguments.takeError());
  std::vector<NpyArray> expected;
  if (reference) {
    Expected<std::vector<NpyArray>> outputs = createOutputs(*reference, *arguments);
    if (!outputs)
      return reportError(outputs.takeError());
    expected = std::move(*outputs);
  }
  if (Error error = kernel.call(*arguments))
    return reportError(std::move(error));

  bool isFine = true;
  if (reference) {
    Expected<bool> checked = checkOutputs(*reference, description, *arguments, std::move(expected));
    if (!checked)
      return reportError(checked.takeError());
    isFine = *checked;
  } else if (command.outputs.empty()) {
    outs() << description.name
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
  return isFine ? 0 : 1;
}

/// All kernels of the source, one after the other. A size is that of the kernels that have it.
static int runAll(const RunCommand &command, const LoadedKernel &loaded, const LoadedKernel *references) {
  for (const auto &[name, size] : command.arguments.sizes)
    if (none_of(loaded.getKernels(), [&](const Kernel &kernel) { return is_contained(kernel.sizes, name); }))
      return reportError(createStringError("expected --size of a dynamic size of a kernel, found '" + name + "'"));
  int result = 0;
  for (const Kernel &each : loaded.getKernels()) {
    RunCommand own = command;
    std::erase_if(own.arguments.sizes, [&](const auto &size) { return !is_contained(each.sizes, size.first); });
    if (references)
      outs() << "kernel " << each.name << ":\n";
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
    result = std::max(result, runKernel(own, *kernel, reference ? &*reference : nullptr));
  }
  return result;
}

int driver::run(const RunCommand &command) {
  Expected<LoadedKernel> kernel =
      LoadedKernel::compile(command.source, command.options, command.kernel, errs(), command.isEmulated);
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
  return isOne ? runKernel(command, *kernel, found) : runAll(command, *kernel, found);
}
