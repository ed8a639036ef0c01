//===- LowerTosa.cpp - attn-lower-tosa ------------------------------------===//
//
// Before: functions with TOSA ops. After: linalg, arith and tensor, by upstream's passes, in which attn-raise finds
// attention. Other functions are unchanged.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Raise/Raise.h"
#include "attn/Support/Dialects.h"
#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Pass/PassManager.h"

namespace attn {
#define GEN_PASS_DEF_LOWERTOSAPASS
#include "attn/Raise/Passes.h.inc"
} // namespace attn

using namespace mlir;

namespace {
struct LowerTosaPass : public attn::impl::LowerTosaPassBase<LowerTosaPass> {
  using LowerTosaPassBase::LowerTosaPassBase;

  LowerTosaPass() { addPasses(lowering); }
  LowerTosaPass(const LowerTosaPass &other) : LowerTosaPassBase(other) { addPasses(lowering); }

  static void addPasses(OpPassManager &pm) {
    pm.addPass(tosa::createTosaToLinalgNamed());
    pm.addPass(tosa::createTosaToLinalg());
    pm.addPass(createTosaToTensorPass());
    pm.addPass(createTosaToArithPass());
  }

  void getDependentDialects(DialectRegistry &registry) const override { lowering.getDependentDialects(registry); }

  void runOnOperation() override {
    auto findTosa = [](Operation *op) {
      return attn::isOfDialect<tosa::TosaDialect>(op) ? WalkResult::interrupt() : WalkResult::advance();
    };
    if (getOperation().walk(findTosa).wasInterrupted() && failed(runPipeline(lowering, getOperation())))
      signalPassFailure();
  }

private:
  OpPassManager lowering{func::FuncOp::getOperationName()};
};
} // namespace
