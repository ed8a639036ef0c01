//===- NameKernels.cpp - C names of the kernels of a file -----------------===//
//
// Before: public functions with the user's names. After: kernels selected by --name or --entry have the given names.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "NameKernels.h"
#include "attn/Compiler/MainName.h"
#include "attn/IR/GradientAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace attn;

/// The kernel among `kernels` that `name` selects.
static FailureOr<func::FuncOp> findKernel(ModuleOp module, ArrayRef<func::FuncOp> kernels, const KernelName &name) {
  std::string found;
  for (func::FuncOp kernel : kernels) {
    if (kernel.getName() == name.function || (name.function.empty() && kernels.size() == 1))
      return kernel;
    found += (found.empty() ? "" : ", ") + kernel.getName().str();
  }
  if (found.empty())
    found = "none";
  if (name.function.empty())
    return module.emitError("expected one public func.func for --name, found ")
           << found << "; write --entry=FUNCTION:" << name.name << " with the one that is meant";
  return module.emitError("expected a public func.func '") << name.function << "' for --entry, found " << found;
}

/// Renames `main`: front ends use it for what they compile, but in C it is the program's own.
static LogicalResult renameMain(ModuleOp module) {
  SymbolTable symbols(module);
  auto kernel = symbols.lookup<func::FuncOp>(kMainName);
  if (!kernel || !kernel.isPublic() || kernel.isExternal() || kernel->hasAttr(kGradAttr))
    return success();
  std::string name = kMainKernelName.str();
  while (symbols.lookup(name))
    name += "_";
  if (failed(symbols.rename(kernel, name)))
    return kernel.emitError("expected uses of this symbol that can be renamed");
  module.getContext()->getDiagEngine().emit(kernel.getLoc(), DiagnosticSeverity::Note)
      << "the kernel '" << kMainName << "' is called '" << name << "', as C has a " << kMainName
      << " of its own; --name=NAME calls it otherwise";
  return success();
}

LogicalResult attn::nameKernels(ModuleOp module, ArrayRef<KernelName> names) {
  SmallVector<func::FuncOp> kernels;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      kernels.push_back(function);
  SmallVector<std::pair<func::FuncOp, StringRef>> renamed;
  for (const KernelName &name : names) {
    FailureOr<func::FuncOp> kernel = findKernel(module, kernels, name);
    if (failed(kernel))
      return failure();
    renamed.emplace_back(*kernel, name.name);
  }
  // All get unused names first, so that two kernels may swap names.
  SymbolTable symbols(module);
  for (auto [kernel, name] : renamed)
    if (failed(symbols.renameToUnique(kernel, {})))
      return kernel.emitError("expected uses of this symbol that can be renamed");
  for (auto [kernel, name] : renamed) {
    if (Operation *other = symbols.lookup(name))
      return (kernel.emitError("expected a free name for this kernel, found another '") << name << "'")
                 .attachNote(other->getLoc())
             << "here";
    if (failed(symbols.rename(kernel, name)))
      return kernel.emitError("expected uses of this symbol that can be renamed");
  }
  return renameMain(module);
}
