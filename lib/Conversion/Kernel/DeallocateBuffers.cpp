//===- DeallocateBuffers.cpp - attn-deallocate-buffers --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace attn {
#define GEN_PASS_DEF_DEALLOCATEBUFFERSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;

/// True if the op makes a buffer that somebody must free, or hands one to its caller.
static bool handsOutBuffer(Operation *op) {
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    return llvm::any_of(function.getResultTypes(), llvm::IsaPred<BaseMemRefType>);
  if (llvm::none_of(op->getResultTypes(), llvm::IsaPred<BaseMemRefType>) || isa<memref::AllocaOp>(op))
    return false;
  return isa<CallOpInterface>(op) || hasEffect<MemoryEffects::Allocate>(op);
}

namespace {
struct DeallocateBuffersPass : public attn::impl::DeallocateBuffersPassBase<DeallocateBuffersPass> {
  using Base::Base;

  void runOnOperation() override {
    auto visit = [](Operation *op) { return handsOutBuffer(op) ? WalkResult::interrupt() : WalkResult::advance(); };
    if (!getOperation()->walk(visit).wasInterrupted())
      return;
    OpPassManager pipeline(ModuleOp::getOperationName());
    memref::ExpandReallocPassOptions realloc;
    realloc.emitDeallocs = false;
    pipeline.addPass(memref::createExpandReallocPass(realloc));
    pipeline.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
    pipeline.addPass(createCanonicalizerPass(
        GreedyRewriteConfig().setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)));
    pipeline.addPass(bufferization::createBufferDeallocationSimplificationPass());
    pipeline.addPass(bufferization::createLowerDeallocationsPass());
    if (failed(runPipeline(pipeline, getOperation())))
      signalPassFailure();
  }
};
} // namespace
