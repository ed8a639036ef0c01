//===- SpecializeQueries.cpp - attn-specialize-queries --------------------===//
//
// A kernel with a dynamic number of queries has a branch for each kind of kernel, selected at run time:
//
//   if (Sq == 1) sdpa of one query  else if (Sq <= few and Sk is not) sdpa, a decode kernel  else sdpa
//
// Before: sdpa without a schedule, masks analysed. After: a copy of it in each branch of an scf.if; the copy for few
// queries has a schedule.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Specialize.h"
#include "Tile/TileBuilder.h"
#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {
#define GEN_PASS_DEF_SPECIALIZEQUERIESPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// With fewer keys, tiles of few rows (attn-tile) are faster than key splits.
static constexpr int64_t kMinKeys = 65;

/// Clones `op` for one query at the builder's position; returns the results in their original types.
static SmallVector<Value> cloneForOneQuery(OpBuilder &b, SdpaOp op) {
  Location loc = op.getLoc();
  auto resize = [&](RankedTensorType type, unsigned dim) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = 1;
    return type.clone(shape);
  };
  IRMapping mapping;
  // The value that regions read as the number of queries.
  unsigned queryPos = getDomainPosition(op, DimKind::Query);
  std::optional<unsigned> queryDim = findDim(getMaps(op)[0], queryPos);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (auto dim = operand.getDefiningOp<tensor::DimOp>();
          dim && dim.getSource() == op.getQuery() && dim.getConstantIndex() == *queryDim)
        mapping.map(operand, one);
  });
  auto copy = cast<SdpaOp>(b.clone(*op, mapping));
  SmallVector<AffineMap> maps = getMaps(op);
  SmallVector<Slice> slices;
  // Operands after those with maps are scalars.
  for (auto [operand, map] : llvm::zip(copy->getOpOperands(), maps)) {
    std::optional<unsigned> dim = findDim(map, queryPos);
    if (!dim)
      continue;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(copy);
    auto type = cast<RankedTensorType>(operand.get().getType());
    if (!copy.isDpsInit(&operand)) {
      operand.set(tensor::CastOp::create(b, loc, resize(type, *dim), operand.get()));
      continue;
    }
    // A slice: a cast of a tensor.empty would fold into one of the branch's own, which is copied in the end.
    Slice slice;
    slice.sizes = tensor::getMixedSizes(b, loc, operand.get());
    slice.sizes[*dim] = b.getIndexAttr(1);
    slice.offsets.assign(slice.sizes.size(), b.getIndexAttr(0));
    slice.strides.assign(slice.sizes.size(), b.getIndexAttr(1));
    operand.set(tensor::ExtractSliceOp::create(b, loc, resize(type, *dim), operand.get(), slice.offsets, slice.sizes,
                                               slice.strides));
    slices.push_back(slice);
  }
  SmallVector<Value> results;
  for (auto [result, whole, part, slice] :
       llvm::zip_equal(copy->getResults(), op.getDpsInits(), copy.getDpsInits(), slices)) {
    result.setType(part.getType());
    results.push_back(tensor::InsertSliceOp::create(b, loc, result, whole, slice.offsets, slice.sizes, slice.strides));
  }
  return results;
}

/// Replaces `op`, with a dynamic number of queries, by a branch for each kind of kernel, if there is more than one.
static LogicalResult specializeQueries(RewriterBase &rewriter, SdpaOp op, const TargetInfo &target) {
  if (op.getSchedule() || !isa<RankedTensorType>(op.getOutput().getType()))
    return success();
  std::optional<FewQueries> few = selectFewQueries(op, target);
  std::optional<unsigned> queryDim = findDim(getMaps(op)[0], getDomainPosition(op, DimKind::Query)),
                          keyDim = findDim(getMaps(op)[1], getDomainPosition(op, DimKind::Key));
  if (!few || !queryDim || !keyDim)
    return success();
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  giveOwnDestinations(rewriter, op);
  Value queries = rewriter.createOrFold<tensor::DimOp>(loc, op.getQuery(), *queryDim),
        keys = rewriter.createOrFold<tensor::DimOp>(loc, op.getKey(), *keyDim);
  auto compare = [&](Value size, arith::CmpIPredicate predicate, int64_t number) {
    Value bound = arith::ConstantIndexOp::create(rewriter, loc, number);
    return rewriter.createOrFold<arith::CmpIOp>(loc, predicate, size, bound);
  };
  auto clone = [&](ScheduleAttr schedule) { return cloneWithSchedule(rewriter, op, schedule); };
  auto branchOnFew = [&] {
    if (few->maxQueries == 1)
      return clone({});
    Value isFew =
        rewriter.createOrFold<arith::AndIOp>(loc, compare(queries, arith::CmpIPredicate::sle, few->maxQueries),
                                             compare(keys, arith::CmpIPredicate::sge, kMinKeys));
    return createBranch(rewriter, loc, isFew, [&] { return clone(few->schedule); }, [&] { return clone({}); });
  };
  rewriter.replaceOp(op, createBranch(
                             rewriter, loc, compare(queries, arith::CmpIPredicate::eq, 1),
                             [&] { return cloneForOneQuery(rewriter, op); }, branchOnFew));
  return success();
}

namespace {
struct SpecializeQueriesPass : public attn::impl::SpecializeQueriesPassBase<SpecializeQueriesPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(specializeAll(getOperation(), getArgument(), target, specializeQueries)))
      signalPassFailure();
  }
};
} // namespace
