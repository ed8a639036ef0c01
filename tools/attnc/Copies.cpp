//===- Copies.cpp - the arguments for bench and tune ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Ceilings.h"
#include "attnc.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Most copies of the arguments of a small problem.
static constexpr int64_t kMaxCopies = 4096;

Error driver::createMissingSizeError(StringRef line, const Kernel &kernel, StringRef name) {
  return createStringError("expected --size of every dynamic size of '" + line + "', found none of " + name +
                           "; write --size=" + join(kernel.sizes, "=N,") + "=N");
}

Expected<std::vector<NpyArray>> driver::copyArguments(const Kernel &kernel, ArrayRef<NpyArray> arguments) {
  std::vector<NpyArray> copy;
  for (auto [argument, array] : zip_equal(kernel.arguments, arguments)) {
    Expected<NpyArray> target = createZeros(argument, array.shape);
    if (!target)
      return target.takeError();
    std::memcpy(target->data, array.data, getNpyTypeSize(array.type) * getNumElements(array.shape));
    copy.push_back(std::move(*target));
  }
  return copy;
}

Expected<std::vector<std::vector<NpyArray>>> driver::createCopies(const Kernel &kernel, std::vector<NpyArray> arguments,
                                                                  int64_t bytes, bool isDecode) {
  std::vector<std::vector<NpyArray>> copies;
  copies.push_back(std::move(arguments));
  int64_t count = isDecode ? divideCeil(kReadBytes, std::max<int64_t>(bytes, 1)) : 1;
  while (int64_t(copies.size()) < std::min(count, kMaxCopies)) {
    Expected<std::vector<NpyArray>> copy = copyArguments(kernel, copies.front());
    if (!copy)
      return copy.takeError();
    copies.push_back(std::move(*copy));
  }
  return copies;
}
