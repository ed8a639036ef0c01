//===- EmitEntry.cpp - attn-emit-entry ------------------------------------===//
//
// Before: kernels (functions with attn.arguments) on memrefs. After: C entries on plain pointers, with an int64 for
// each dynamic size, then for each run-time stride; the additional arguments of a GPU kernel follow. They return a
// code, 0 unless another one is known. Memref descriptors are built inside from the shapes. Upstream's bare-pointer
// convention does the same, but not for buffers without elements. Private functions become internal, so that the object
// exports only kernels.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn-c/attn.h"
#include "attn/Conversion/Kernels.h"
#include "attn/Conversion/Outlining.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace attn {
#define GEN_PASS_DEF_EMITENTRYPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Counts the workspace and its bytes, added by attn-plan-workspace, and for a GPU kernel the stream.
static size_t countAddedArguments(func::FuncOp kernel) {
  return kernel->hasAttr(kCudaEntryAttr) ? 3 : kernel->hasAttr(kWorkspaceAttr) ? 2 : 0;
}

/// The sizes of an argument's dynamic dimensions, among those of the kernel.
static SmallVector<Value> getDynamicSizes(const KernelArgument &argument, ValueRange sizes) {
  SmallVector<Value> result;
  for (int32_t symbol : argument.symbols)
    if (symbol >= 0)
      result.push_back(sizes[symbol]);
  return result;
}

static LogicalResult emitEntry(func::FuncOp kernel) {
  // A kernel that already has its entry: IR that was printed after this pass and parsed again.
  if (llvm::all_of(kernel.getArgumentTypes(), [](Type type) { return !isa<MemRefType>(type); }) &&
      llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<LLVM::LLVMPointerType>))
    return success();
  SmallVector<KernelArgument> arguments = getKernelArguments(kernel);
  size_t described = arguments.size(), added = countAddedArguments(kernel);
  if (kernel.getNumArguments() != described + added || kernel.getNumResults() != (added > 0))
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
  unsigned next = described;
  auto addParameters = [&](size_t count) {
    SmallVector<Value> parameters;
    while (parameters.size() < count)
      parameters.push_back(entry.insertArgument(next++, b.getI64Type(), kernel.getLoc()));
    return parameters;
  };
  SmallVector<Value> sizes = addParameters(getKernelSizes(kernel).size());
  SmallVector<SmallVector<Value>> strides;
  for (const KernelArgument &argument : arguments)
    strides.push_back(addParameters(argument.getStrideNames().size()));
  for (auto [argument, description, ownStrides] :
       llvm::zip(entry.getArguments().take_front(described), arguments, strides)) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      continue;
    if (type.getShape() != ArrayRef(description.shape))
      return kernel.emitOpError("expected buffers of the shapes that attn.arguments says, found ")
             << type << " for '" << description.name << "'";
    argument.setType(pointer);
    Value memref =
        createMemref(b, kernel.getLoc(), converter, type, argument, getDynamicSizes(description, sizes), ownStrides);
    // Everything but the descriptor itself reads the memref.
    argument.replaceUsesWithIf(memref, [&](OpOperand &use) { return !isa<LLVM::InsertValueOp>(use.getOwner()); });
  }
  if (added == 0) {
    Operation *end = entry.getTerminator();
    b.setInsertionPoint(end);
    end->setOperands(arith::ConstantOp::create(b, kernel.getLoc(), b.getI32IntegerAttr(ATTN_OK)).getResult());
  }
  kernel.setFunctionType(b.getFunctionType(entry.getArgumentTypes(), b.getI32Type()));
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
