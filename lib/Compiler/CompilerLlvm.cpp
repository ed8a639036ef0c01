//===- CompilerLlvm.cpp - the LLVM IR and the code of a compilation -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Cancellation.h"
#include "ProcessorCheck.h"
#include "SplitModule.h"
#include "Weights.h"
#include "attn/CodeGen/CodeGen.h"
#include "attn/CodeGen/LinkBitcode.h"
#include "attn/CodeGen/NarrowSizes.h"
#include "attn/Compiler/CheckBitcode.h"
#include "attn/Compiler/Compiler.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace attn;

/// Links functions of the runtime, where the first is called, as internal code, so that an emitted object needs only
/// the C library.
static LogicalResult linkRuntime(llvm::Module &module, StringRef bitcode, ArrayRef<StringRef> functions,
                                 llvm::raw_ostream &diagnostics) {
  if (!module.getFunction(functions.front()))
    return success();
  if (llvm::Error error = linkBitcode(module, bitcode)) {
    diagnostics << "error: " << llvm::toString(std::move(error)) << "\n";
    return failure();
  }
  for (StringRef name : functions)
    if (llvm::Function *function = module.getFunction(name)) // unused functions are not linked
      function->setLinkage(llvm::GlobalValue::InternalLinkage);
  return success();
}

/// The LLVM IR after all phases, for the target. Only the two entries of a kernel are visible from outside.
std::unique_ptr<llvm::Module> Compiler::translateOnly(llvm::LLVMContext &llvmContext,
                                                      const llvm::TargetMachine &machine) {
  llvm::DataLayout layout = machine.createDataLayout();
  // Alignments of pointers are chosen during translation; LLVM's default is for 64 bits.
  if (layout.getPointerSize() != sizeof(int64_t))
    (*module)->setAttr(LLVM::LLVMDialect::getDataLayoutAttrName(),
                       StringAttr::get(module->getContext(), layout.getStringRepresentation()));
  std::unique_ptr<llvm::Module> result = translateModuleToLLVMIR(*module, llvmContext, "attn");
  if (!result)
    return nullptr;
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(layout);
  narrowSizes(*result);
  for (llvm::Function &function : *result) {
    auto isEntry = [&](const Kernel &kernel) {
      std::string bytes = getWorkspaceBytesName(kernel.name);
      return llvm::is_contained(
          {kernel.name, getCheckedName(kernel.name), bytes, getCheckedName(bytes), getMapWeightsName(kernel.name)},
          function.getName());
    };
    if (!function.isDeclaration() && llvm::none_of(kernels, isEntry))
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  return result;
}

std::unique_ptr<llvm::Module> Compiler::translate(llvm::LLVMContext &llvmContext, ModulePart part, StringRef suffix) {
  if (gate)
    llvmContext.setOptPassGate(*gate);
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(objectTarget);
  if (!machine) {
    diagnostics << "error: " << llvm::toString(machine.takeError()) << "\n";
    return nullptr;
  }
  std::unique_ptr<llvm::Module> result = translateOnly(llvmContext, **machine);
  if (!result)
    return nullptr;
  if (part == ModulePart::Entries) {
    keepEntries(*result, kernels);
    return result;
  }
  if (part == ModulePart::Variant)
    keepVariant(*result, kernels, suffix);
  // The check is compiled for any processor: it gets the optimiser's pipeline, but not the kernel's vector attributes.
  const llvm::Triple &triple = result->getTargetTriple();
  if (failed(defineImages(*result)) ||
      failed(linkRuntime(*result, getMapWeightsBitcode(triple), {kMapWeights, kDescribeNoWeights}, diagnostics)) ||
      (part == ModulePart::Whole &&
       failed(linkRuntime(*result, getCheckArgumentsBitcode(triple),
                          {"attn_check_arguments", "attn_get_stride", "attn_describe_no_memory"}, diagnostics))))
    return nullptr;
  if (part == ModulePart::Whole)
    if (llvm::Error error = addProcessorCheck(*result, target, kernels)) {
      diagnostics << "error: " << llvm::toString(std::move(error)) << "\n";
      return nullptr;
    }
  if (options.emulatesVectors)
    emulateVectors(*result);
  return result;
}

EmitOptions Compiler::getEmitOptions() const {
  bool isFlash = llvm::all_of(kernels, [](const Kernel &kernel) { return kernel.path == "flash"; });
  bool isModel = llvm::any_of(kernels, [](const Kernel &kernel) { return kernel.onnx == "graph"; });
  return {/*vectorizeLoops=*/!isFlash && !options.isQuick, /*isSplit=*/isModel, options.isQuick, options.objectCache};
}

llvm::Expected<std::string> Compiler::emit(FileKind kind, ModulePart part) {
  if (isCancelled())
    return llvm::createStringError("the compilation was cancelled");
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = translate(llvmContext, part);
  if (!code)
    return llvm::createStringError("translation to LLVM IR failed");
  StackBytes stackBytes;
  llvm::Expected<std::string> bytes = compileModule(*code, objectTarget, kind, getEmitOptions(), &stackBytes);
  noteStack(stackBytes);
  return bytes;
}
