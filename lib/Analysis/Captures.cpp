//===- Captures.cpp - where regions read captured tensors -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Analysis/Captures.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attn;

namespace {

/// What decides on the values of a region: a bit for each kind of index, and one for the arguments.
class Origins {
public:
  explicit Origins(Region &region) {
    for (Value argument : region.getArguments())
      origins[argument] = kArgument;
    for (Operation &op : region.front()) {
      unsigned sum = 0;
      if (auto index = dyn_cast<IndexOp>(op))
        sum = getBit(index.getKind());
      for (Value operand : op.getOperands())
        sum |= origins.lookup(operand);
      for (Value result : op.getResults())
        origins[result] = sum;
    }
  }

  bool isOn(Value value, IndexKind kind) const { return origins.lookup(value) & getBit(kind); }
  bool isOnArgument(Value value) const { return origins.lookup(value) & kArgument; }

  /// The index itself plus or minus what is the same at every position: another value for each index.
  bool isShifted(Value value, IndexKind kind) const {
    while (Operation *op = value.getDefiningOp()) {
      if (auto index = dyn_cast<IndexOp>(op))
        return index.getKind() == kind;
      bool isSum = isa<arith::AddIOp>(op);
      if (isSum && origins.lookup(op->getOperand(0)) == 0)
        value = op->getOperand(1);
      else if ((isSum || isa<arith::SubIOp>(op)) && origins.lookup(op->getOperand(1)) == 0)
        value = op->getOperand(0);
      else
        return false;
    }
    return false;
  }

private:
  static constexpr unsigned kArgument = 1u << 31;
  static unsigned getBit(IndexKind kind) { return 1u << unsigned(kind); }

  DenseMap<Value, unsigned> origins; // none of a value from outside
};

} // namespace

CaptureAccess attn::classifyCapture(Region &region, ValueRange indices) {
  Origins origins(region);
  auto isOn = [&](IndexKind kind) {
    return llvm::any_of(indices, [&](Value index) { return origins.isOn(index, kind); });
  };
  auto has = [&](IndexKind kind) {
    return llvm::any_of(indices, [&](Value index) { return origins.isShifted(index, kind); });
  };
  CaptureAccess access{CaptureClass::Scattered, has(IndexKind::Batch), has(IndexKind::Head) || has(IndexKind::KvHead)};
  if (llvm::any_of(indices, [&](Value index) { return origins.isOnArgument(index); }))
    return access;
  bool isOnQuery = isOn(IndexKind::Query), isOnKey = isOn(IndexKind::Key);
  if (!isOnQuery && !isOnKey)
    access.kind = CaptureClass::HeadBatch;
  else if (!isOnKey)
    access.kind = CaptureClass::Query;
  else if (!isOnQuery)
    access.kind = CaptureClass::Key;
  else if (has(IndexKind::Query) && has(IndexKind::Key))
    access.kind = CaptureClass::QueryKey;
  return access;
}
