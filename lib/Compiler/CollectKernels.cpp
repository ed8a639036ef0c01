//===- CollectKernels.cpp - what header and manifest say of kernels -------===//
//
// Notes on each function how it is compiled, while its ops still tell, and reads
// the notes of this or an earlier run.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Compiler.h"
#include "attn/IR/Words.h"

using namespace mlir;
using namespace attn;

/// Writes down, where no earlier run has, how the function will be compiled.
static void describePath(Operation *function, bool isReference) {
  Builder b(function->getContext());
  SmallVector<SdpaOp> ops;
  bool hasOnline = false, hasChain = false; // what is left of a chain is about to run materialised
  function->walk([&](Operation *op) {
    if (auto sdpa = dyn_cast<SdpaOp>(op))
      ops.push_back(sdpa);
    hasOnline |= isa<OnlineStepOp>(op);
    hasChain |= isChainOp(op);
  });
  bool isFlash = !isReference && (!ops.empty() || hasOnline);
  function->setAttr(kPathAttr, b.getStringAttr(!isFlash ? "reference" : hasChain ? "mixed" : "flash"));
  function->setAttr(kConventionsAttr, ops.size() == 1 ? noteWords(ops.front()) : b.getDictionaryAttr({}));
}

void Compiler::collectKernels() {
  kernels.clear();
  for (Operation &function : *module->getBody()) {
    if (!function.hasAttr(kArgumentsAttr))
      continue;
    if (!function.hasAttr(kPathAttr))
      describePath(&function, isReference());
    Kernel kernel;
    kernel.name = SymbolTable::getSymbolName(&function).str();
    kernel.isGpu = target.gpu.has_value();
    kernel.arguments = getKernelArguments(&function);
    kernel.sizes = getKernelSizes(&function);
    kernel.path = function.getAttrOfType<StringAttr>(kPathAttr).str();
    for (NamedAttribute note : function.getAttrOfType<DictionaryAttr>(kConventionsAttr))
      kernel.words[findWord(note.getName())->word] = *readWord(note);
    kernels.push_back(std::move(kernel));
  }
}
