//===- Run.cpp - attnc run ------------------------------------------------===//
//
// Compiles in memory and runs on .npy files or random inputs; --check compares
// with the reference pipeline, whose intermediates are f64.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/OutputFile.h"
#include "attnc.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

int driver::run(const RunCommand &command) {
  Expected<LoadedKernel> kernel = LoadedKernel::compile(command.source, command.options, command.kernel);
  if (!kernel)
    return reportError(kernel.takeError());
  ArrayRef<KernelArgument> descriptions = kernel->getDescription().arguments;
  size_t numOutputs = count_if(descriptions, [](const KernelArgument &argument) { return argument.isOutput; });
  if (!command.outputs.empty() && command.outputs.size() != numOutputs)
    return reportError(createStringError("expected " + Twine(numOutputs) + " --output files for kernel '" +
                                         kernel->getDescription().name + "', found " + Twine(command.outputs.size())));
  Expected<std::vector<NpyArray>> arguments = createArguments(kernel->getDescription(), command.arguments);
  if (!arguments)
    return reportError(arguments.takeError());
  Expected<std::vector<NpyArray>> expected = createOutputs(kernel->getDescription(), *arguments);
  if (!expected)
    return reportError(expected.takeError());
  if (Error error = kernel->call(*arguments))
    return reportError(std::move(error));

  bool isFine = true;
  if (command.check) {
    Expected<bool> checked =
        checkOutputs(command.source, command.options, kernel->getDescription(), *arguments, std::move(*expected));
    if (!checked)
      return reportError(checked.takeError());
    isFine = *checked;
  }
  OutputFiles files;
  for (const auto &[argument, array] : zip_equal(descriptions, *arguments)) {
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
