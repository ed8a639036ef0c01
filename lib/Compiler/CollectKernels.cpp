//===- CollectKernels.cpp - kernel facts for header and manifest ----------===//
//
// Records on each function how it is compiled, while its ops still show it, and reads the records of this or an earlier
// run.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SplitModule.h"
#include "attn/Compiler/Compiler.h"
#include "attn/IR/Attn.h"
#include "attn/IR/GradientAttrs.h"
#include "attn/IR/Words.h"
#include "attn/Onnx/Onnx.h"
#include "attn/Support/CNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

/// The only op of a function whose words are conventions of its kernel; null where there are none or several.
static Operation *findAttention(Operation *function) {
  SmallVector<Operation *> ops;
  function->walk([&](Operation *op) {
    if (isa<SdpaOp, SdpaBackwardOp>(op))
      ops.push_back(op);
  });
  return ops.size() == 1 ? ops.front() : nullptr;
}

/// The forward pass of a backward pass; null where the function is not a backward pass, or the module no longer has the
/// forward one.
static Operation *findForward(ModuleOp module, Operation *function) {
  auto kind = function->getAttrOfType<StringAttr>(kKindAttr);
  if (!kind || kind != "backward")
    return nullptr;
  return module.lookupSymbol(function->getAttrOfType<StringAttr>(kPairAttr).str() + "_forward");
}

void Compiler::noteKernels() {
  Builder b(module->getContext());
  for (Operation &function : *module->getBody()) {
    if (!function.hasAttr(kArgumentsAttr) || function.hasAttr(kPathAttr))
      continue;
    function.walk([&](Operation *op) {
      if (isChainOp(op))
        materialized.insert(&function);
    });
    // If scales have gradients, the backward op has scaled operands, so the words are those of the forward op.
    Operation *attention = findAttention(&function), *forward = findForward(*module, &function);
    if (attention && forward)
      if (Operation *ofForward = findAttention(forward))
        attention = ofForward;
    function.setAttr(kConventionsAttr, attention ? noteWords(attention) : b.getDictionaryAttr({}));
  }
}

/// Records how the function is compiled, unless an earlier run has done so: by the ops that the fallback has left.
static void describePath(Operation *function, bool isReference, bool isPartlyMaterialized) {
  bool hasFlash = function
                      ->walk([](Operation *op) {
                        return isa<SdpaOp, OnlineStepOp, SdpaBackwardOp, BackwardStepOp, LinearOp, LinearBackwardOp>(op)
                                   ? WalkResult::interrupt()
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
    // A kernel that an earlier run has lowered already has its entries.
    bool isOpen = isa<func::FuncOp>(function);
    kernel.takesWorkspace = function.hasAttr(kWorkspaceAttr) || (options.callerWorkspace && isOpen);
    kernel.arguments = getKernelArguments(&function);
    kernel.sizes = getKernelSizes(&function);
    kernel.formulas = getSizeFormulas(&function);
    kernel.limits = getSizeLimits(&function);
    if (auto heap = function.getAttrOfType<IntegerAttr>(kHeapAttr))
      kernel.heapBytes = heap.getInt();
    if (auto kind = function.getAttrOfType<StringAttr>(kKindAttr)) {
      kernel.kind = kind.str();
      kernel.pair = function.getAttrOfType<StringAttr>(kPairAttr).str();
    }
    if (auto part = function.getAttrOfType<StringAttr>(kOnnxAttr))
      kernel.onnx = part.str();
    kernel.path = function.getAttrOfType<StringAttr>(kPathAttr).str();
    for (NamedAttribute note : function.getAttrOfType<DictionaryAttr>(kConventionsAttr))
      kernel.words[findWord(note.getName())->word] = *readWord(note);
    kernels.push_back(std::move(kernel));
  }
}

/// Total bytes of the buffers that a kernel and its callees allocate; -1 where a size or a count is only known at run
/// time, as each thread of a parallel loop has its own.
static int64_t countHeapBytes(Operation *kernel, SymbolTableCollection &tables) {
  int64_t total = 0;
  llvm::SetVector<Operation *> functions;
  functions.insert(kernel);
  for (size_t i = 0; i < functions.size(); ++i)
    functions[i]->walk([&](Operation *op) {
      if (auto allocation = dyn_cast<memref::AllocOp>(op)) {
        MemRefType type = allocation.getType();
        bool isCounted = type.hasStaticShape() && type.getElementType().isIntOrFloat() && i == 0;
        int64_t bytes = isCounted ? type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8) : -1;
        total = total < 0 || bytes < 0 ? -1 : total + bytes;
      }
      for (NamedAttribute attribute : op->getAttrs())
        if (auto name = dyn_cast<SymbolRefAttr>(attribute.getValue()))
          if (Operation *other = tables.lookupNearestSymbolFrom(op, name))
            functions.insert(other);
    });
  return total;
}

void Compiler::countHeap() {
  SymbolTableCollection tables;
  for (Kernel &kernel : kernels) {
    Operation *function = module->lookupSymbol(kernel.name);
    kernel.heapBytes = kernel.takesWorkspace ? 0 : countHeapBytes(function, tables);
    function->setAttr(kHeapAttr, IntegerAttr::get(IntegerType::get(module->getContext(), 64), *kernel.heapBytes));
  }
}

void Compiler::noteStack(const StackBytes &stackBytes, StringRef suffix) {
  for (Kernel &kernel : kernels)
    if (auto found = stackBytes.find(suffix.empty() ? kernel.name : getVariantName(kernel.name, suffix));
        found != stackBytes.end() && !kernel.isGpu)
      kernel.stackBytes = found->second;
}
