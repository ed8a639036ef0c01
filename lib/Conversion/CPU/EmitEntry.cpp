//===- EmitEntry.cpp - attn-emit-entry ------------------------------------===//
//
// Before: kernels (functions with attn.arguments) on memrefs. After: the same
// on plain pointers, the C entry; memref descriptors are built from the static
// shapes inside. Upstream's bare-pointer convention does the same, but not for
// buffers of no elements. Private functions become internal to the object, which
// so exports nothing but kernels.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Kernels.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"

namespace attn {
#define GEN_PASS_DEF_EMITENTRYPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static LogicalResult emitEntry(func::FuncOp kernel) {
  // A kernel that has its entry already: IR that was printed after this pass and read again.
  if (llvm::all_of(kernel.getArgumentTypes(), [](Type type) { return !isa<MemRefType>(type); }) &&
      llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<LLVM::LLVMPointerType>))
    return success();
  size_t described = getKernelArguments(kernel).size();
  if (kernel.getNumArguments() != described || kernel.getNumResults() != 0)
    return kernel.emitOpError("expected ")
           << described << " buffers and no results after bufferisation, as attn.arguments says, found "
           << kernel.getNumArguments() << " and " << kernel.getNumResults();
  if (!SymbolTable::symbolKnownUseEmpty(kernel, kernel->getParentOfType<ModuleOp>()))
    return kernel.emitOpError("expected no call of a kernel; a function that is called must be private");
  OpBuilder b(kernel.getContext());
  LLVMTypeConverter converter(kernel.getContext());
  Type pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  Block &entry = kernel.getBody().front();
  b.setInsertionPointToStart(&entry);
  for (BlockArgument argument : entry.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      continue;
    argument.setType(pointer);
    Value descriptor = MemRefDescriptor::fromStaticShape(b, kernel.getLoc(), converter, type, argument);
    auto memref = UnrealizedConversionCastOp::create(b, kernel.getLoc(), type, descriptor);
    // All but the descriptor itself reads the memref.
    argument.replaceUsesWithIf(memref.getResult(0),
                               [&](OpOperand &use) { return !isa<LLVM::InsertValueOp>(use.getOwner()); });
  }
  kernel.setFunctionType(b.getFunctionType(entry.getArgumentTypes(), {}));
  return success();
}

namespace {
struct EmitEntryPass : public attn::impl::EmitEntryPassBase<EmitEntryPass> {
  void runOnOperation() override {
    auto internal = LLVM::LinkageAttr::get(&getContext(), LLVM::Linkage::Internal);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(kArgumentsAttr) && failed(emitEntry(function)))
        return signalPassFailure();
      if (function.isPrivate() && !function.isExternal())
        function->setAttr("llvm.linkage", internal);
    }
  }
};
} // namespace
