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

/// The kernel that --kernel names, or else the first.
static int runKernel(const RunCommand &command, const LoadedKernel &kernel) {
  const Kernel &description = kernel.getDescription();
  size_t numOutputs = count_if(description.arguments, [](const KernelArgument &argument) { return argument.isOutput; });
  if (!command.outputs.empty() && command.outputs.size() != numOutputs)
    return reportError(createStringError("expected " + Twine(numOutputs) + " --output files for kernel '" +
                                         description.name + "', found " + Twine(command.outputs.size())));
  Expected<std::vector<NpyArray>> arguments = createArguments(description, command.arguments);
  if (!arguments)
    return reportError(arguments.takeError());
  Expected<std::vector<NpyArray>> expected = createOutputs(description, *arguments);
  if (!expected)
    return reportError(expected.takeError());
  if (Error error = kernel.call(*arguments))
    return reportError(std::move(error));

  bool isFine = true;
  if (command.check) {
    Expected<bool> checked =
        checkOutputs(command.source, command.options, description, *arguments, std::move(*expected));
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

/// All kernels of the source, one after the other.
static int runAll(RunCommand command, ArrayRef<std::string> names) {
  int result = 0;
  for (const std::string &name : names) {
    if (command.check)
      outs() << "kernel " << name << ":\n";
    command.kernel = name;
    result = std::max(result, run(command));
  }
  return result;
}

int driver::run(const RunCommand &command) {
  Expected<LoadedKernel> kernel = LoadedKernel::compile(command.source, command.options, command.kernel);
  if (!kernel)
    return reportError(kernel.takeError());
  if (!command.kernel.empty() || kernel->getNames().size() == 1)
    return runKernel(command, *kernel);
  if (!command.arguments.inputs.empty() || !command.outputs.empty())
    return reportError(createStringError("expected --kernel with --input and --output, as there are several kernels: " +
                                         join(kernel->getNames(), " ")));
  return runAll(command, kernel->getNames());
}
