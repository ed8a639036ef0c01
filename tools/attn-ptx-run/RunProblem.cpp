//===- RunProblem.cpp - PTX as the kernels of a problem -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunProblem.h"
#include "CudaEmulator/CudaEmulator.h"
#include "Summary.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace attn;
using namespace attn::ptx;

/// "sm_80" of the line ".target sm_80, …".
static std::string findTarget(StringRef ptx) {
  constexpr StringLiteral directive = ".target";
  size_t place = ptx.find(directive);
  if (place == StringRef::npos)
    return "";
  return ptx.drop_front(place + directive.size())
      .ltrim()
      .take_while([](char c) { return llvm::isAlnum(c) || c == '_'; })
      .str();
}

Expected<bool> attn::ptx::runProblem(const ProblemRun &run) {
  CompileOptions options;
  options.target = findTarget(run.ptx);
  if (options.target.empty())
    return createStringError("expected a line '.target sm_80' or the like in the PTX, found none");
  options.schedule = run.schedule;
  options.embedCubin = false;
  options.ptx = run.ptx;
  Expected<driver::LoadedKernel> kernel = driver::LoadedKernel::compile(run.source, options, run.kernel);
  if (!kernel)
    return kernel.takeError();
  Expected<std::vector<NpyArray>> arguments = driver::createArguments(kernel->getDescription(), run.arguments);
  if (!arguments)
    return arguments.takeError();
  Expected<driver::LoadedKernel> reference =
      driver::compileReference(run.source, options, kernel->getDescription().name);
  if (!reference)
    return reference.takeError();
  Expected<std::vector<NpyArray>> expected = driver::createOutputs(*reference, *arguments);
  if (!expected)
    return expected.takeError();
  CudaEmulator &emulator = CudaEmulator::get();
  emulator.keepsLaunches = true;
  if (attn_cuda_use_driver(&getEmulatedDriver()) != 0)
    return createStringError(attn_cuda_message());
  if (Error error = kernel->call(*arguments))
    return error;
  for (const LaunchRecord &launch : emulator.launches)
    printSummary(launch.kernel, launch.report);
  return driver::checkOutputs(*reference, kernel->getDescription(), *arguments, std::move(*expected));
}
