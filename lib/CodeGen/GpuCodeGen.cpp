//===- GpuCodeGen.cpp - gpu.module to PTX ---------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/CodeGen/GpuCodeGen.h"
#include "attn/CodeGen/CodeGen.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace llvm;

namespace attn {

/// Makes addresses of shared memory 32 bits wide. LLVM has only its own flag for this, which is read when a target
/// machine is created.
static void useShortPointers() {
  auto &options = cl::getRegisteredOptions();
  if (auto found = options.find("nvptx-short-ptr"); found != options.end())
    static_cast<cl::opt<bool> *>(found->second)->setValue(true);
}

static Expected<std::unique_ptr<TargetMachine>> createGpuMachine(const TargetInfo &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    useShortPointers();
  });
  return createTargetMachine(target);
}

Expected<std::unique_ptr<Module>> translateGpuModule(mlir::Operation *gpuModule, const TargetInfo &target,
                                                     LLVMContext &context) {
  Expected<std::unique_ptr<TargetMachine>> machine = createGpuMachine(target);
  if (!machine)
    return machine.takeError();
  std::unique_ptr<Module> module =
      mlir::translateModuleToLLVMIR(gpuModule, context, mlir::SymbolTable::getSymbolName(gpuModule).getValue());
  if (!module)
    return createStringError("translation of the GPU kernels to LLVM IR failed");
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  for (Function &function : *module)
    if (!function.isDeclaration() && function.getCallingConv() != CallingConv::PTX_Kernel)
      function.setLinkage(GlobalValue::InternalLinkage);
  return module;
}

/// The CUDA version whose driver accepts the PTX: ISA 7.N came with CUDA 11.N, 8.N with 12.N, from 8.6 on with 12.N
/// + 1.
static int getDriverVersion(StringRef ptx) {
  unsigned major = 0, minor = 0;
  StringRef version = ptx.substr(ptx.find(".version ")).drop_front(StringRef(".version ").size());
  if (version.consumeInteger(10, major) || !version.consume_front(".") || version.consumeInteger(10, minor) ||
      major < 7)
    return 0;
  return (major + 4) * 1000 + (minor + (major == 8 && minor > 5)) * 10;
}

/// A private constant with these bytes.
static GlobalVariable *createBytes(Module &host, StringRef name, StringRef bytes, bool isTerminated) {
  Constant *data = ConstantDataArray::getString(host.getContext(), bytes, isTerminated);
  auto *global =
      new GlobalVariable(host, data->getType(), /*isConstant=*/true, GlobalValue::PrivateLinkage, data, name);
  global->setAlignment(Align(16));
  return global;
}

void defineImage(Module &host, StringRef name, StringRef ptx, StringRef cubin, const TargetInfo &target) {
  GlobalVariable *image = host.getGlobalVariable(name, /*AllowInternal=*/true);
  if (!image || image->hasInitializer())
    return;
  LLVMContext &context = host.getContext();
  Type *i64 = Type::getInt64Ty(context), *i32 = Type::getInt32Ty(context);
  Constant *null = ConstantPointerNull::get(PointerType::getUnqual(context));
  Constant *fields[] = {createBytes(host, (name + "_ptx").str(), ptx, /*isTerminated=*/true),
                        ConstantInt::get(i64, ptx.size()),
                        cubin.empty() ? null : createBytes(host, (name + "_cubin").str(), cubin, false),
                        ConstantInt::get(i64, cubin.size()),
                        ConstantInt::get(i32, target.gpu->computeCapability),
                        ConstantInt::get(i32, getDriverVersion(ptx)),
                        ConstantInt::get(i32, target.gpu->isExact),
                        null};
  image->setInitializer(ConstantStruct::get(cast<StructType>(image->getValueType()), fields));
  image->setLinkage(GlobalValue::InternalLinkage);
}

} // namespace attn
