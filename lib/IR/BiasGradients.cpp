//===- BiasGradients.cpp - how tasks add to the gradient of one bias ------===//
//
// Tasks, a batch index and head each, may share a bias. They add to its gradient in
// turn, or each has a part of its own, and the parts are summed.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/CaptureParts.h"
#include "attn/IR/Decompose.h"

using namespace mlir;
using namespace attn;

/// Tasks that share a bias take tiles of kTurnKeys keys in turn, if kTasksInTurn tasks, or all of them, run at a time.
static constexpr int64_t kTurnKeys = 128, kTasksInTurn = 8;

/// True if tasks that share a bias can take its keys in turn: no other gradient has a part per task.
template <typename OpTy> static bool canTakeTurns(OpTy op, AffineMap biasMap) {
  return biasMap.isFunctionOfDim(getNumBatchDims(op) + 1) && op.getDcaptures().empty() && !getPackedSequences(op);
}

bool attn::hasBiasGradientParts(SdpaBackwardOp op) {
  if (!op.getDbias() || isa_and_present<BlockAttr>(op.getScheduleAttr())) // a GPU's tiles have parts of their own
    return false;
  AffineMap map = getMaps(op).back();
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  bool isShared = false;
  int64_t elements = 1, tasks = 1;
  for (unsigned position = 0; position < numBatch + 2; ++position) {
    bool isHeld = map.isFunctionOfDim(position);
    isShared |= position < numBatch && !isHeld && domain[position] != 1;
    if (position >= numBatch && !isHeld)
      continue;
    if (ShapedType::isDynamic(domain[position]))
      return false;
    elements *= std::max<int64_t>(1, domain[position]);
    if (elements > kMaxPartElements)
      return false;
    if (position < numBatch)
      tasks = elements;
  }
  // Tasks that take the keys of the bias in turn need no parts; at most as many run at a time as there are tiles.
  bool isInTurn = canTakeTurns(op, map) &&
                  int64_t(llvm::divideCeil(domain[numBatch + 1], kTurnKeys)) >= std::min(tasks, kTasksInTurn);
  return isShared && !isInTurn;
}

bool attn::sharesBiasGradient(Operation *op) {
  auto sdpa = dyn_cast<SdpaBackwardOp>(op);
  if (sdpa ? !sdpa.getDbias() || hasBiasGradientParts(sdpa) : !cast<BackwardStepOp>(op).getDbias())
    return false;
  AffineMap map;
  for (auto [operandMap, spec] : llvm::zip(getMaps(op), getOperandSpecs(op)))
    if (spec.name == "dbias")
      map = operandMap;
  bool isInTurn = sdpa ? canTakeTurns(sdpa, map) : canTakeTurns(cast<BackwardStepOp>(op), map);
  SmallVector<int64_t> domain = getStaticDomain(op);
  return isInTurn && llvm::any_of(llvm::seq(getNumBatchDims(op)), [&](unsigned position) {
           return domain[position] != 1 && !map.isFunctionOfDim(position);
         });
}
