//===- Specialize.cpp - branches selected at run time ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Specialize.h"
#include "attn/Target/PassTarget.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

LogicalResult attn::specializeAll(func::FuncOp func, StringRef pass, StringRef target,
                                  function_ref<LogicalResult(RewriterBase &, SdpaOp, const TargetInfo &)> specialize) {
  FailureOr<TargetInfo> info = getTarget(func, pass, target);
  if (failed(info))
    return failure();
  SmallVector<SdpaOp> ops;
  func.walk([&](SdpaOp op) { ops.push_back(op); });
  IRRewriter rewriter(func.getContext());
  for (SdpaOp op : ops)
    if (failed(specialize(rewriter, op, *info)))
      return failure();
  return success();
}

std::optional<unsigned> attn::findDim(AffineMap map, unsigned position) {
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    if (expr.isFunctionOfDim(position))
      return dim;
  return std::nullopt;
}

void attn::giveOwnDestinations(OpBuilder &b, SdpaOp op) {
  for (OpOperand &init : op.getDpsInitsMutable())
    if (auto empty = init.get().getDefiningOp<tensor::EmptyOp>())
      init.set(b.clone(*empty)->getResult(0));
}

SmallVector<Value> attn::cloneWithSchedule(OpBuilder &b, SdpaOp op, ScheduleAttr schedule) {
  auto copy = cast<SdpaOp>(b.clone(*op));
  if (schedule)
    copy.setScheduleAttr(schedule);
  return SmallVector<Value>(copy->getResults());
}
