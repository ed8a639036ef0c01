//===- SpecializeStrides.cpp - attn-specialize-strides --------------------===//
//
// The strides at run time decide in which order a decode kernel reads K and V:
//
//   if (stride of K and of V over heads < over keys) all heads of a key together  else head by head
//
// Before: sdpa without a schedule, masks analysed. After: where K and V have run-time strides, a copy of it with a
// decode schedule in each branch of an scf.if.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Specialize.h"
#include "Tile/TileBuilder.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {
#define GEN_PASS_DEF_SPECIALIZESTRIDESPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// stride over heads < stride over keys, for an argument with run-time strides; null for any other operand.
static Value areHeadsSideBySide(OpBuilder &b, SdpaOp op, Value rows, AffineMap map) {
  unsigned keyPos = getDomainPosition(op, DimKind::Key), headPos = getNumBatchDims(op) - 1;
  std::optional<unsigned> head = findDim(map, headPos), key = findDim(map, keyPos);
  if (!isStridedArgument(rows) || !head || !key)
    return Value();
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  auto layout = StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, strides);
  Value buffer = bufferization::ToBufferOp::create(
      b, op.getLoc(), MemRefType::get(type.getShape(), type.getElementType(), layout), rows, /*read_only=*/true);
  auto metadata = memref::ExtractStridedMetadataOp::create(b, op.getLoc(), buffer);
  return arith::CmpIOp::create(b, op.getLoc(), arith::CmpIPredicate::slt, metadata.getStrides()[*head],
                               metadata.getStrides()[*key]);
}

/// Replaces `op` by a branch for each order of K and V in memory, if it has a kernel for each.
static LogicalResult specializeStrides(RewriterBase &rewriter, SdpaOp op, const TargetInfo &target) {
  if (op.getSchedule() || getNumBatchDims(op) == 0 || !isStridedArgument(op.getKey()) ||
      !isStridedArgument(op.getValue()) || target.gpu || !isa<RankedTensorType>(op.getOutput().getType()))
    return success();
  FailureOr<ScheduleAttr> chosen = selectSchedule(op, target);
  if (failed(chosen))
    return failure();
  int64_t queries = getStaticSize(op, DimKind::Query);
  // Tiles have the keys of one head at a time.
  if (!isa<DecodeAttr>(*chosen) || chosen->getInfo().keyMultiple > 1)
    return success();
  std::optional<DecodeAttr> together = selectDecodeSchedule(op, queries, target, /*isSideBySide=*/true),
                            apart = selectDecodeSchedule(op, queries, target, /*isSideBySide=*/false);
  if (!together || !apart || together->getKvHeads() == 1)
    return success();
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  Value ofKey = areHeadsSideBySide(rewriter, op, op.getKey(), getMaps(op)[1]),
        ofValue = areHeadsSideBySide(rewriter, op, op.getValue(), getMaps(op)[2]);
  if (!ofKey || !ofValue)
    return success();
  giveOwnDestinations(rewriter, op);
  auto clone = [&](ScheduleAttr schedule) { return cloneWithSchedule(rewriter, op, schedule); };
  Value areBoth = arith::AndIOp::create(rewriter, loc, ofKey, ofValue);
  rewriter.replaceOp(
      op, createBranch(rewriter, loc, areBoth, [&] { return clone(*together); }, [&] { return clone(*apart); }));
  return success();
}

namespace {
struct SpecializeStridesPass : public attn::impl::SpecializeStridesPassBase<SpecializeStridesPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(specializeAll(getOperation(), getArgument(), target, specializeStrides)))
      signalPassFailure();
  }
};
} // namespace
