//===- LlvmPhase.cpp - from structured code to the LLVM dialect -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "attn/Conversion/Passes.h"
#include "attn/Transforms/Passes.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace attn;

/// From memrefs, vectors and structured control flow to the LLVM dialect. GPU kernels are already in it, and much
/// larger than the host code: passes that can run on a function skip them.
static void addLlvmConversions(OpPassManager &pm, bool isGpu) {
  auto add = [&](std::unique_ptr<Pass> pass) {
    if (isGpu)
      pm.addNestedPass<func::FuncOp>(std::move(pass));
    else
      pm.addPass(std::move(pass));
  };
  add(createLowerViewsPass());
  add(createLowerAffinePass());
  add(createSCFToControlFlowPass());
  // Before vectors: functions left to the C library are called for each lane.
  add(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.x86Vector = vectors.amx = true; // products of bf16 pairs
  add(createConvertVectorToLLVMPass(vectors));
  add(createLowerViewsPass()); // of gathers
  add(createLowerAffinePass());
  // All at once, by one walk of the module. Branches may carry tiles, whose type only amx converts.
  ConvertToLLVMPassOptions rest;
  rest.filterDialects = {"memref", "arith", "index", "cf", "amx", "func", "ub"};
  pm.addPass(createConvertToLLVMPass(rest));
  if (!isGpu) {
    pm.addPass(createReconcileUnrealizedCastsPass());
    pm.addPass(createCanonicalizer());
    return;
  }
  pm.addNestedPass<LLVM::LLVMFuncOp>(createReconcileUnrealizedCastsPass());
  pm.addNestedPass<LLVM::LLVMFuncOp>(createCanonicalizer());
  pm.addNestedPass<LLVM::GlobalOp>(createCanonicalizer()); // descriptors of images and kernels
}

void attn::buildLlvmPhase(OpPassManager &pm, const PhaseOptions &options) {
  bool isGpu = options.isGpu();
  if (isGpu || options.cpu.workspace)
    pm.addPass(createPlanWorkspacePass({/*processor=*/!isGpu}));
  pm.addPass(createEmitEntryPass());
  if (isGpu) {
    pm.addNestedPass<func::FuncOp>(createLowerAffinePass());
    pm.addNestedPass<func::FuncOp>(createSCFToControlFlowPass());
    pm.addPass(createLowerLaunchesPass());
  }
  addLlvmConversions(pm, isGpu);
  if (!isGpu)
    pm.addPass(createCheckAllocationsPass());
  pm.addPass(createEmitCheckedEntryPass());
}
