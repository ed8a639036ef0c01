//===- ConstantBytes.cpp - large constants as bytes -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ConstantBytes.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/Support/SwapByteOrder.h"

using namespace llvm;

/// Bytes from which on a constant is large.
static constexpr uint64_t kLargeBytes = 4096;

/// Appends the bytes of nested arrays of numbers; false for another constant.
static bool appendBytes(const Constant &constant, std::string &bytes) {
  if (const auto *data = dyn_cast<ConstantDataArray>(&constant)) {
    bytes += data->getRawDataValues();
    return true;
  }
  const auto *array = dyn_cast<ConstantArray>(&constant);
  return array && all_of(array->operands(), [&](const Use &part) { return appendBytes(*cast<Constant>(part), bytes); });
}

void attn::makeConstantsBytes(Module &module) {
  const DataLayout &layout = module.getDataLayout();
  if (layout.isBigEndian() != sys::IsBigEndianHost)
    return; // constants have their bytes in the order of the host
  for (GlobalVariable &global : make_early_inc_range(module.globals())) {
    if (!global.isConstant() || !global.hasInitializer())
      continue;
    uint64_t size = layout.getTypeAllocSize(global.getValueType());
    std::string bytes;
    if (size < kLargeBytes || !appendBytes(*global.getInitializer(), bytes) || bytes.size() != size)
      continue;
    Constant *data = ConstantDataArray::getRaw(bytes, size, Type::getInt8Ty(module.getContext()));
    auto *replacement = new GlobalVariable(module, data->getType(), /*isConstant=*/true, global.getLinkage(), data, "",
                                           &global, global.getThreadLocalMode(), global.getAddressSpace());
    replacement->copyAttributesFrom(&global);
    replacement->setAlignment(layout.getPreferredAlign(&global));
    replacement->takeName(&global);
    global.replaceAllUsesWith(replacement);
    global.eraseFromParent();
  }
}
