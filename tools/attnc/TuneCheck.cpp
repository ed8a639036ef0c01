//===- TuneCheck.cpp - checks the results of tuned kernels ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TuneCheck.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Most scores that the reference materialises: 256 MB in f64, which take some seconds.
static constexpr double kMaxScores = 1 << 25;

Expected<TuneCheck> TuneCheck::create(const TuneCommand &command, const std::string &line, const Problem &problem,
                                      const LoadedKernel &policy) {
  const Kernel &description = policy.getDescription();
  Expected<Problem> resolved = resolveSizes(problem, description, command.sizes);
  if (!resolved)
    return resolved.takeError();
  ArgumentOptions options;
  for (const std::string &name : description.sizes)
    options.sizes[name] = command.sizes.find(name)->second;
  TuneCheck check;
  Expected<std::vector<NpyArray>> arguments = createArguments(description, options);
  if (!arguments)
    return arguments.takeError();
  check.arguments = std::move(*arguments);
  check.byReference =
      double(resolved->sizes.b) * resolved->sizes.hq * resolved->sizes.sq * resolved->sizes.sk <= kMaxScores;
  std::optional<LoadedKernel> reference;
  if (check.byReference) {
    Expected<LoadedKernel> compiled = compileReference({"", line}, command.options, description.name);
    if (!compiled)
      return compiled.takeError();
    reference = std::move(*compiled);
  }
  Expected<std::vector<NpyArray>> expected = createOutputs(reference ? *reference : policy, check.arguments);
  if (!expected)
    return expected.takeError();
  check.expected = std::move(*expected);
  if (Error error = callReference(reference ? *reference : policy, description, check.arguments, check.expected))
    return error;
  return check;
}

Expected<std::string> TuneCheck::findDifference(const LoadedKernel &kernel) {
  const Kernel &description = kernel.getDescription();
  Expected<std::vector<NpyArray>> found = createOutputs(kernel, arguments);
  if (!found)
    return found.takeError();
  if (Error error = callReference(kernel, description, arguments, *found))
    return error;
  auto swapOutputs = [&] {
    for (auto [i, argument] : enumerate(description.arguments))
      if (argument.isOutput)
        std::swap(arguments[i], (*found)[i]);
  };
  std::string text;
  raw_string_ostream os(text);
  swapOutputs();
  bool isFine = compareOutputs(description, arguments, expected, os);
  swapOutputs();
  if (isFine)
    return std::string();
  SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  return find_if(lines, [](StringRef each) { return each.contains("FAILED"); })->str();
}
