//===- Origin.cpp - positions of a part in its whole ----------------------===//
//
// The operands of an op may be a part of a whole, such as a device's shard.
// Words give its origin: q_origin and k_origin per batch index, b_origin and
// h_origin. Indices in the user's regions then count from there. After
// attn-analyze-mask, the regions contain the sums; the words stay only where
// dropout, which is built later, needs them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// Above every position, and far enough below 2^63 that a position plus an origin, an offset and a bound does not wrap.
static constexpr int64_t kMaxOffset = int64_t(1) << 61;

/// The operand that holds the origin of positions of `kind`; null if it is 0.
static Value getOrigin(Operation *op, IndexKind kind) {
  // With one batch dimension, that dimension is the heads.
  if (kind == IndexKind::Batch && isStructuredOp(op) && getNumBatchDims(op) == 1)
    kind = IndexKind::Head;
  auto choose = [&](Value batch, Value head, Value query, Value key) -> Value {
    switch (kind) {
    case IndexKind::Batch: return batch;
    case IndexKind::Head: return head;
    case IndexKind::Query: return query;
    case IndexKind::Key: return key;
    default: return {};
    }
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<MaskOp>([&](auto mask) { return choose({}, {}, mask.getQOrigin(), mask.getKOrigin()); })
      .Case<SdpaOp, SdpaBackwardOp>([&](auto whole) {
        return choose(whole.getBOrigin(), whole.getHOrigin(), whole.getQOrigin(), whole.getKOrigin());
      })
      .Default([](Operation *) { return Value(); });
}

/// True once attn-analyze-mask has run on an op: its regions are shifted.
static bool isAnalyzed(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SdpaOp>([](SdpaOp sdpa) { return !sdpa.getKeyRanges().empty(); })
      .Case<SdpaBackwardOp>([](SdpaBackwardOp backward) { return !backward.getQueryRanges().empty(); })
      .Default([](Operation *) { return false; });
}

bool attn::isShifted(Operation *op, IndexKind kind) { return getOrigin(op, kind) && !isAnalyzed(op); }

bool attn::hasOrigins(Operation *op) {
  return llvm::any_of(std::array{IndexKind::Batch, IndexKind::Head, IndexKind::Query, IndexKind::Key},
                      [&](IndexKind kind) { return isShifted(op, kind); });
}

Value attn::readPerBatch(OpBuilder &b, Location loc, Value list) {
  Value batch = IndexOp::create(b, loc, b.getIndexType(), IndexKind::Batch);
  Value element = isa<TensorType>(list.getType()) ? tensor::ExtractOp::create(b, loc, list, batch).getResult()
                                                  : memref::LoadOp::create(b, loc, list, batch).getResult();
  Value number = b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), element);
  if (element.getType().isInteger(32))
    return number;
  // The extreme values of i64, which stand for no bound, would wrap where positions are added.
  number = arith::MinSIOp::create(b, loc, number, arith::ConstantIndexOp::create(b, loc, kMaxOffset));
  return arith::MaxSIOp::create(b, loc, number, arith::ConstantIndexOp::create(b, loc, -kMaxOffset));
}

Value attn::addOrigin(OpBuilder &b, Operation *op, IndexKind kind, Value position) {
  Value origin = getOrigin(op, kind);
  if (!origin)
    return position;
  Location loc = op->getLoc();
  Value first = isa<ShapedType>(origin.getType()) ? readPerBatch(b, loc, origin)
                                                  : b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), origin);
  return position ? b.createOrFold<arith::AddIOp>(loc, position, first) : first;
}

void attn::shiftByOrigins(OpBuilder &b, Operation *op, Region &region) {
  if (region.empty())
    return;
  OpBuilder::InsertionGuard guard(b);
  for (IndexOp index : llvm::make_early_inc_range(region.getOps<IndexOp>())) {
    if (!getOrigin(op, index.getKind()))
      continue;
    b.setInsertionPointAfter(index);
    Value shifted = addOrigin(b, op, index.getKind(), index);
    index.getResult().replaceAllUsesExcept(shifted, shifted.getDefiningOp());
  }
}

void attn::clearOrigins(Operation *op) {
  if (auto mask = dyn_cast<MaskOp>(op)) {
    mask.getQOriginMutable().clear();
    mask.getKOriginMutable().clear();
  }
  llvm::TypeSwitch<Operation *>(op).Case<SdpaOp, SdpaBackwardOp>([](auto whole) {
    if (whole.getDropoutP())
      return;
    whole.getQOriginMutable().clear();
    whole.getKOriginMutable().clear();
    whole.getBOriginMutable().clear();
    whole.getHOriginMutable().clear();
  });
}
