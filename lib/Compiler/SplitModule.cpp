//===- SplitModule.cpp - the halves of a kernel's module ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SplitModule.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace attn {

std::string getVariantName(StringRef kernel, StringRef suffix) { return (kernel + "." + suffix).str(); }

SmallVector<std::string> getCheckedEntries(const Kernel &kernel) {
  return {getCheckedName(kernel.name), getCheckedName(getWorkspaceBytesName(kernel.name))};
}

void keepVariant(Module &module, ArrayRef<Kernel> kernels, StringRef suffix) {
  for (const Kernel &kernel : kernels) {
    for (const std::string &name : getCheckedEntries(kernel))
      if (Function *function = module.getFunction(name))
        function->eraseFromParent();
    for (const std::string &name : {kernel.name, getWorkspaceBytesName(kernel.name)})
      if (Function *function = module.getFunction(name)) {
        function->setName(getVariantName(name, suffix));
        function->setVisibility(GlobalValue::HiddenVisibility);
      }
  }
}

void keepEntries(Module &module, ArrayRef<Kernel> kernels) {
  for (Function &function : module) {
    auto isEntry = [&](const Kernel &kernel) { return is_contained(getCheckedEntries(kernel), function.getName()); };
    if (!function.isDeclaration() && none_of(kernels, isEntry))
      function.deleteBody(); // sets external linkage too
  }
  for (Function &function : make_early_inc_range(module))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
  for (GlobalVariable &global : make_early_inc_range(module.globals()))
    if (global.isDeclaration() && global.use_empty())
      global.eraseFromParent();
}

} // namespace attn
