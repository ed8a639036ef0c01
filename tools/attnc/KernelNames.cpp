//===- KernelNames.cpp - --name and --entry -------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Support/CNames.h"
#include "attnc.h"

using namespace llvm;
using namespace attn;

static Error checkCName(const Twine &option, StringRef name) {
  if (isCFunctionName(name))
    return Error::success();
  return createStringError("expected " + option +
                           " to be a C identifier that is no keyword, no name of the C library or dlpack.h and does "
                           "not begin with attn_, found '" +
                           name + "'");
}

Expected<std::vector<KernelName>> driver::parseKernelNames(StringRef name, ArrayRef<std::string> entries) {
  if (!entries.empty() && !name.empty())
    return createStringError("expected --name=NAME, or --entry=FUNCTION:NAME for each kernel, found both");
  std::vector<KernelName> names;
  if (!name.empty()) {
    if (Error error = checkCName("--name", name))
      return std::move(error);
    names.push_back({"", name.str()});
  }
  for (StringRef entry : entries) {
    auto [function, given] = entry.rsplit(':');
    if (function.empty() || given.empty())
      return createStringError("expected --entry=FUNCTION:NAME, found '--entry=" + entry + "'");
    if (Error error = checkCName("the name in --entry=" + function + ":NAME", given))
      return std::move(error);
    for (const KernelName &other : names)
      if (other.function == function || other.name == given)
        return createStringError("expected each function and each name once in --entry, found '" +
                                 (other.function == function ? function : given) + "' twice");
    names.push_back({function.str(), given.str()});
  }
  return names;
}
