//===- CollectKernels.cpp - what header and manifest say of kernels -------===//
//
// Notes on each function how it is compiled, while its ops still tell, and reads
// the notes of this or an earlier run.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Compiler.h"
#include "attn/IR/GradientAttrs.h"
#include "attn/IR/Words.h"

using namespace mlir;
using namespace attn;

void Compiler::noteKernels() {
  Builder b(module->getContext());
  for (Operation &function : *module->getBody()) {
    if (!function.hasAttr(kArgumentsAttr) || function.hasAttr(kPathAttr))
      continue;
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) {
      if (isa<SdpaOp, SdpaBackwardOp>(op))
        ops.push_back(op);
      if (isChainOp(op))
        materialized.insert(&function);
    });
    function.setAttr(kConventionsAttr, ops.size() == 1 ? noteWords(ops.front()) : b.getDictionaryAttr({}));
  }
}

/// Writes down, where no earlier run has, how the function is compiled: by what the fallback has left.
static void describePath(Operation *function, bool isReference, bool isPartlyMaterialized) {
  bool hasFlash = function
                      ->walk([](Operation *op) {
                        return isa<SdpaOp, OnlineStepOp, SdpaBackwardOp, BackwardStepOp>(op) ? WalkResult::interrupt()
                                                                                             : WalkResult::advance();
                      })
                      .wasInterrupted();
  StringRef path = isReference || !hasFlash ? "reference" : isPartlyMaterialized ? "mixed" : "flash";
  function->setAttr(kPathAttr, StringAttr::get(function->getContext(), path));
}

void Compiler::collectKernels() {
  kernels.clear();
  for (Operation &function : *module->getBody()) {
    if (!function.hasAttr(kArgumentsAttr))
      continue;
    if (!function.hasAttr(kPathAttr))
      describePath(&function, isReference(), materialized.contains(&function));
    Kernel kernel;
    kernel.name = SymbolTable::getSymbolName(&function).str();
    kernel.isGpu = target.gpu.has_value();
    kernel.arguments = getKernelArguments(&function);
    kernel.sizes = getKernelSizes(&function);
    if (auto kind = function.getAttrOfType<StringAttr>(kKindAttr)) {
      kernel.kind = kind.str();
      kernel.pair = function.getAttrOfType<StringAttr>(kPairAttr).str();
    }
    kernel.path = function.getAttrOfType<StringAttr>(kPathAttr).str();
    for (NamedAttribute note : function.getAttrOfType<DictionaryAttr>(kConventionsAttr))
      kernel.words[findWord(note.getName())->word] = *readWord(note);
    kernels.push_back(std::move(kernel));
  }
}
