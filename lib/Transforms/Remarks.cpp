//===- Remarks.cpp - the reasons of decisions -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Transforms/Transforms.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

remark::detail::InFlightRemark attn::emitRemark(Operation *op, RemarkOutcome outcome, StringRef reason) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  remark::RemarkOpts options =
      remark::RemarkOpts::name(reason).category("attn").function(function ? function.getName() : StringRef());
  switch (outcome) {
  case RemarkOutcome::Passed: return remark::passed(op->getLoc(), options);
  case RemarkOutcome::Missed: return remark::missed(op->getLoc(), options);
  case RemarkOutcome::Analysis: return remark::analysis(op->getLoc(), options);
  }
  llvm_unreachable("covered switch");
}
