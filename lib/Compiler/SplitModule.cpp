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

void keepVariant(Module &module, ArrayRef<Kernel> kernels, StringRef suffix) {
  for (const Kernel &kernel : kernels) {
    module.getFunction(getCheckedName(kernel.name))->eraseFromParent();
    Function *function = module.getFunction(kernel.name);
    function->setName(getVariantName(kernel.name, suffix));
    function->setVisibility(GlobalValue::HiddenVisibility);
  }
}

void keepEntries(Module &module, ArrayRef<Kernel> kernels) {
  for (Function &function : module) {
    auto isEntry = [&](const Kernel &kernel) { return function.getName() == getCheckedName(kernel.name); };
    if (!function.isDeclaration() && none_of(kernels, isEntry))
      function.deleteBody(); // and external linkage
  }
  for (Function &function : make_early_inc_range(module))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
}

} // namespace attn
