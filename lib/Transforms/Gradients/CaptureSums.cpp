//===- CaptureSums.cpp - sums of captured tensors in tiles ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CaptureSums.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

CaptureSums::CaptureSums(OpBuilder &b, BackwardStepOp step)
    : b(b), loc(step.getLoc()), step(step), numBatch(getNumBatchDims(step)),
      panelKeys(cast<BackwardAttr>(*step.getSchedule()).getPanelKeys()) {
  for (Value destination : step.getDcaptures()) {
    Capture capture{getCaptureParts(step.getScoreGrad(), destination), {}};
    for (unsigned position = 0; position < numBatch; ++position)
      if (position + 1 == numBatch ? !capture.parts.headDim : position != 0 || !capture.parts.batchDim)
        capture.taskDims.push_back(position);
    captures.push_back(capture);
  }
}

void CaptureSums::createParts(ArrayRef<OpFoldResult> bounds, SmallVectorImpl<Value> &inits) {
  for (auto [capture, destination] : llvm::zip(captures, step.getDcaptures())) {
    if (!capture.isPart()) {
      inits.push_back(destination);
      continue;
    }
    SmallVector<OpFoldResult> shape;
    for (unsigned position : capture.taskDims)
      shape.push_back(bounds[position]);
    llvm::append_range(shape, tensor::getMixedSizes(b, loc, destination));
    Type type = getElementTypeOrSelf(destination.getType());
    if (capture.parts.hasLanes) {
      shape.push_back(b.getIndexAttr(panelKeys));
      type = b.getF64Type();
    }
    Value empty = tensor::EmptyOp::create(b, loc, shape, type);
    inits.push_back(linalg::FillOp::create(b, loc, createFloatConstant(b, loc, type, 0), empty).getResult(0));
  }
}

void CaptureSums::addSlices(scf::ForallOp forall, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                            SmallVectorImpl<Slice> &slices, SmallVectorImpl<Value> &parts) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  for (auto [capture, whole] : llvm::zip(captures, forall.getRegionIterArgs().take_back(captures.size()))) {
    SmallVector<OpFoldResult> shape = tensor::getMixedSizes(b, loc, whole);
    SmallVector<OpFoldResult> start(shape.size(), zero), strides(shape.size(), one);
    auto set = [&](unsigned dim, OpFoldResult offset, OpFoldResult size) {
      start[dim] = offset;
      shape[dim] = size;
    };
    unsigned first = capture.taskDims.size();
    for (auto [dim, position] : llvm::enumerate(capture.taskDims))
      set(dim, forall.getInductionVars()[position], one);
    if (capture.parts.batchDim)
      set(first + *capture.parts.batchDim, offsets[0], one);
    if (capture.parts.headDim && capture.parts.isByKvHead)
      set(first + *capture.parts.headDim, forall.getInductionVars()[numBatch - 1], one);
    else if (capture.parts.headDim)
      set(first + *capture.parts.headDim, offsets[numBatch - 1], sizes[numBatch - 1]);
    slices.push_back({start, shape, strides});
    SmallVector<int64_t> kept;
    for (OpFoldResult size : ArrayRef(shape).drop_front(first))
      kept.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
    auto type = RankedTensorType::get(kept, getElementTypeOrSelf(whole.getType()));
    parts.push_back(tensor::ExtractSliceOp::create(b, loc, type, whole, start, shape, strides));
  }
}

void CaptureSums::redirect(BackwardStepOp tile, Value head) {
  if (captures.empty() || tile.getScoreGrad().empty())
    return;
  OpBuilder::InsertionGuard guard(b);
  for (auto [capture, old, destination] : llvm::zip(captures, step.getDcaptures(), tile.getDcaptures()))
    for (AccumulateOp op : llvm::make_early_inc_range(tile.getScoreGrad().getOps<AccumulateOp>())) {
      if (op.getDestination() != old)
        continue;
      b.setInsertionPoint(op);
      SmallVector<Value> indices(op.getIndices());
      auto zero = [&] { return arith::ConstantIndexOp::create(b, loc, 0); };
      if (capture.parts.batchDim)
        indices[*capture.parts.batchDim] = zero();
      if (capture.parts.headDim)
        indices[*capture.parts.headDim] = capture.parts.isByKvHead ? zero().getResult() : head;
      Value value = op.getValue();
      if (capture.parts.hasLanes) {
        Value key = IndexOp::create(b, loc, IndexKind::Key);
        indices.push_back(arith::RemUIOp::create(b, loc, key, arith::ConstantIndexOp::create(b, loc, panelKeys)));
        value = convertFloat(b, loc, value, b.getF64Type());
      }
      AccumulateOp::create(b, op.getLoc(), value, destination, indices);
      op.erase();
    }
}

SmallVector<Value> CaptureSums::sumParts(ValueRange results) {
  SmallVector<Value> sums(results.drop_back(captures.size()));
  for (auto [capture, part, destination] :
       llvm::zip(captures, results.take_back(captures.size()), step.getDcaptures())) {
    if (!capture.isPart()) {
      sums.push_back(part);
      continue;
    }
    unsigned rank = cast<ShapedType>(part.getType()).getRank(),
             ownRank = cast<ShapedType>(destination.getType()).getRank(), first = capture.taskDims.size();
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::reduction);
    std::fill_n(iterators.begin() + first, ownRank, utils::IteratorType::parallel);
    AffineMap own =
        AffineMap::getMultiDimMapWithTargets(rank, llvm::to_vector(llvm::seq(first, first + ownRank)), b.getContext());
    auto add = [&](OpBuilder &nested, Location at, ValueRange x) {
      Value sum = arith::AddFOp::create(nested, at, x[1], convertFloat(nested, at, x[0], x[1].getType()));
      linalg::YieldOp::create(nested, at, sum);
    };
    sums.push_back(linalg::GenericOp::create(b, loc, destination.getType(), part, destination,
                                             ArrayRef<AffineMap>{b.getMultiDimIdentityMap(rank), own}, iterators, add)
                       .getResult(0));
  }
  return sums;
}
