//===- CompilerGpu.cpp - the GPU part of a compilation --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Compiler.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace attn;

/// A constant's value, through the casts between index and integers.
static int64_t getSize(Value value) {
  if (!value)
    return 0;
  while (Operation *op = value.getDefiningOp()) {
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      return *constant;
    if (!isa<arith::IndexCastOp, arith::TruncIOp, arith::ExtUIOp, arith::ExtSIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return ShapedType::kDynamic;
}

/// Called while the steps still have their instruction.
void Compiler::collectProducts() {
  for (Kernel &kernel : kernels)
    if (auto function = module->lookupSymbol<func::FuncOp>(kernel.name))
      function.walk([&](OnlineStepOp step) {
        if (step.getSchedule() && step.getSchedule()->getInfo().inputBits > 0)
          kernel.inputBits = step.getSchedule()->getInfo().inputBits;
      });
}

void Compiler::collectLaunches() {
  for (Kernel &kernel : kernels) {
    kernel.launches.clear();
    auto function = module->lookupSymbol<func::FuncOp>(kernel.name);
    if (!function)
      continue;
    function.walk([&](gpu::LaunchFuncOp launch) {
      GpuLaunch entry{
          launch.getKernelName().str(),
          {getSize(launch.getGridSizeX()), getSize(launch.getGridSizeY()), getSize(launch.getGridSizeZ())},
          {getSize(launch.getBlockSizeX()), getSize(launch.getBlockSizeY()), getSize(launch.getBlockSizeZ())},
          getSize(launch.getDynamicSharedMemorySize()),
          {},
          std::nullopt};
      for (Type type : launch.getKernelOperands().getTypes()) {
        std::string text;
        llvm::raw_string_ostream(text) << type;
        entry.parameters.push_back(type.isIntOrFloat() ? text : "pointer");
      }
      kernel.launches.push_back(std::move(entry));
    });
  }
}

llvm::Expected<std::vector<Compiler::GpuImage>> Compiler::emitImages(bool needsCubin) {
  std::string ptxas = needsCubin || options.embedCubin ? findPtxas(options.ptxas) : "";
  if (needsCubin && ptxas.empty())
    return llvm::createStringError("expected ptxas for a cubin, found none in PATH and /usr/local/cuda/bin; write "
                                   "--ptxas=PATH, or --emit=ptx");
  if (!options.ptxas.empty() && !llvm::sys::fs::can_execute(options.ptxas))
    return llvm::createStringError("expected ptxas at '" + options.ptxas +
                                   "', found no program; write another --ptxas=PATH, or --emit=ptx");
  std::vector<GpuImage> images;
  for (auto gpuModule : module->getOps<gpu::GPUModuleOp>()) {
    GpuImage image;
    image.name = gpuModule.getName().str();
    if (options.ptx) {
      image.ptx = *options.ptx;
      images.push_back(std::move(image));
      continue;
    }
    llvm::LLVMContext llvmContext;
    if (gate)
      llvmContext.setOptPassGate(*gate);
    llvm::Expected<std::unique_ptr<llvm::Module>> code = translateGpuModule(gpuModule, target, llvmContext);
    if (!code)
      return code.takeError();
    llvm::Expected<std::string> ptx = compileModule(**code, target, FileKind::Assembly,
                                                    {.vectorizeLoops = false, .objectCache = options.objectCache});
    if (!ptx)
      return ptx.takeError();
    image.ptx = std::move(*ptx);
    if (!ptxas.empty() && !isCancelled()) {
      llvm::Expected<Cubin> cubin = assemblePTX(image.ptx, target, ptxas);
      if (!cubin)
        return cubin.takeError();
      for (const std::string &note : cubin->slowdowns)
        diagnostics << "warning: expected no slow code from ptxas, found its note " << note << "\n";
      image.cubin = std::move(cubin->bytes);
      for (Kernel &kernel : kernels)
        for (GpuLaunch &launch : kernel.launches)
          for (const KernelResources &resources : cubin->kernels)
            if (launch.kernel == resources.kernel)
              launch.resources = resources;
    }
    images.push_back(std::move(image));
  }
  return images;
}

llvm::Expected<std::string> Compiler::printGpuIR() {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto gpuModule : module->getOps<gpu::GPUModuleOp>()) {
    llvm::LLVMContext llvmContext;
    llvm::Expected<std::unique_ptr<llvm::Module>> code = translateGpuModule(gpuModule, target, llvmContext);
    if (!code)
      return code.takeError();
    if (llvm::Error error = optimizeModule(**code, target, {.vectorizeLoops = false}))
      return error;
    (*code)->print(os, nullptr);
  }
  return text;
}

LogicalResult Compiler::defineImages(llvm::Module &host) {
  if (!target.gpu)
    return success();
  llvm::Expected<std::vector<GpuImage>> images = emitImages();
  if (!images) {
    diagnostics << "error: " << llvm::toString(images.takeError()) << "\n";
    return failure();
  }
  for (const GpuImage &image : *images)
    defineImage(host, getImageName(image.name), image.ptx, image.cubin, target);
  return success();
}
