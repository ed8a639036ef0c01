//===- OnlineStep.cpp - a tile accumulates one key tile -------------------===//
//
// The schedule says which of the two kinds of tile it is. Lanes are query rows in
// PrefillStep.cpp, and columns in DecodeStep.cpp.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeStep.h"
#include "PrefillStep.h"

using namespace mlir;
using namespace attn;

LogicalResult attn::cpu::lowerOnlineStep(RewriterBase &rewriter, OnlineStepOp op, const TargetInfo &target) {
  if (!op.getSchedule())
    return op.emitOpError("expected a schedule on a tile; run attn-tile");
  if (failed(op.getSchedule()->verifyTarget(op, getElementTypeOrSelf(op.getAcc().getType()), target)))
    return failure();
  return isa<DecodeAttr>(*op.getSchedule()) ? lowerDecodeStep(rewriter, op, target)
                                            : lowerPrefillStep(rewriter, op, target);
}
