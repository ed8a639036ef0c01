//===- PromoteBuffers.cpp - attn-promote-buffers --------------------------===//
//
// Before: buffers of tiles on the heap, as left by bufferisation. After: those that fit a thread's stack are on it.
// Uses upstream's pass with a condition that its options cannot express.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

namespace attn {
#define GEN_PASS_DEF_PROMOTEBUFFERSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;

/// Buffers up to this size are moved to the stack: those of a tile, which its schedule bounds, and small ones of a
/// whole function, whose number is unbounded. A block of rows of a chain may have several score matrices: if all
/// buffers of a tile exceed what a thread's stack should hold (4 MB for OpenMP's), only small ones are moved.
static constexpr int64_t kMaxTileBufferBytes = 1024 * 1024, kMaxTileBytes = 2 * 1024 * 1024,
                         kMaxFunctionBufferBytes = 64 * 1024;

static scf::ForallOp getTile(Value buffer) {
  return buffer.getDefiningOp() ? buffer.getDefiningOp()->getParentOfType<scf::ForallOp>() : scf::ForallOp();
}

/// The bytes of a buffer of static size.
static std::optional<int64_t> countBytes(Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return std::nullopt;
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

static bool belongsOnStack(Value buffer) {
  std::optional<int64_t> bytes = countBytes(buffer);
  if (!bytes)
    return false;
  int64_t most = kMaxFunctionBufferBytes;
  if (scf::ForallOp tile = getTile(buffer)) {
    int64_t total = 0;
    tile.walk([&](Operation *op) {
      if (isa<memref::AllocOp, memref::AllocaOp>(op))
        total += countBytes(op->getResult(0)).value_or(0);
    });
    if (total <= kMaxTileBytes)
      most = kMaxTileBufferBytes;
  }
  return *bytes <= most;
}

namespace {
struct PromoteBuffersPass : public attn::impl::PromoteBuffersPassBase<PromoteBuffersPass> {
  using Base::Base;

  void runOnOperation() override {
    OpPassManager pm(func::FuncOp::getOperationName());
    pm.addPass(bufferization::createPromoteBuffersToStackPass(
        [this](Value buffer) { return belongsOnStack(buffer) && (!tilesOnly || getTile(buffer)); }));
    if (failed(runPipeline(pm, getOperation())))
      signalPassFailure();
  }
};
} // namespace
