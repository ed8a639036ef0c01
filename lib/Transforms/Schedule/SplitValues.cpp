//===- SplitValues.cpp - attn-split-values --------------------------------===//
//
// Before: attn.sdpa with any number of value columns. After: several, each with as many columns as a block's
// accumulators hold, on slices of V and of the output. Each computes the scores again: that product is the price of
// columns beyond the limit, as in prefill of the latent heads of DeepSeek-V2 (576 and 512; arXiv:2405.04434). Where
// warpgroups share the rows of a block, as in decode of these heads with wgmma, it is one.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"
#include "attn/Schedule/Schedule.h"
#include "attn/Target/PassTarget.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace attn {
#define GEN_PASS_DEF_SPLITVALUESPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Parts begin at multiples of this many columns: at least 16 bytes, for any element type.
static constexpr int64_t kMultiple = 64;
/// Each part is a kernel, which bounds the code size.
static constexpr int64_t kMaxParts = 64;

namespace {
/// Columns [first, first + count) of V.
struct Columns {
  int64_t first, count;
};

/// A slice of one dimension, with strides of 1.
struct ColumnSlice {
  ColumnSlice(OpBuilder &b, Value tensor, unsigned dim, Columns columns)
      : offsets(cast<RankedTensorType>(tensor.getType()).getRank(), b.getIndexAttr(0)),
        sizes(tensor::getMixedSizes(b, tensor.getLoc(), tensor)), strides(sizes.size(), b.getIndexAttr(1)) {
    offsets[dim] = b.getIndexAttr(columns.first);
    sizes[dim] = b.getIndexAttr(columns.count);
  }
  SmallVector<OpFoldResult> offsets, sizes, strides;
};
} // namespace

/// Without rows there are no slices: offset 0 is out of bounds.
static bool isEmpty(Value tensor) { return llvm::is_contained(cast<RankedTensorType>(tensor.getType()).getShape(), 0); }

static Value slice(OpBuilder &b, Value tensor, unsigned dim, Columns columns) {
  ColumnSlice s(b, tensor, dim, columns);
  if (isEmpty(tensor))
    return tensor::EmptyOp::create(b, tensor.getLoc(), s.sizes, getElementTypeOrSelf(tensor.getType()));
  return tensor::ExtractSliceOp::create(b, tensor.getLoc(), tensor, s.offsets, s.sizes, s.strides);
}

/// Pages stay pages: the cache is sliced instead.
static Value sliceValue(OpBuilder &b, Value value, unsigned dim, Columns columns) {
  auto gather = value.getDefiningOp<GatherPagesOp>();
  if (!gather)
    return slice(b, value, dim, columns);
  auto part = cast<GatherPagesOp>(b.clone(*gather));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(part);
  auto getLast = [](Value tensor) { return cast<ShapedType>(tensor.getType()).getRank() - 1; };
  part.getCacheMutable().assign(slice(b, gather.getCache(), getLast(gather.getCache()), columns));
  part.getOutputMutable().assign(slice(b, gather.getOutput(), getLast(gather.getOutput()), columns));
  part->getResult(0).setType(part.getOutput().getType());
  return part->getResult(0);
}

/// Removes row statistics; all parts share them.
static void dropRowStatistics(SdpaOp op) {
  // An operand range caches the segment sizes at its creation.
  for (auto get : {&SdpaOp::getLogSumMutable, &SdpaOp::getMaxMutable, &SdpaOp::getLseMutable}) {
    MutableOperandRange statistic = (op.*get)();
    if (statistic.empty())
      continue;
    if (ArrayAttr maps = op.getMapsAttr()) {
      SmallVector<Attribute> kept(maps.getValue());
      kept.erase(kept.begin() + statistic[0].getOperandNumber());
      op.setMapsAttr(ArrayAttr::get(op.getContext(), kept));
    }
    statistic.clear();
  }
}

/// `op` on these columns of V and of `output`, which has the previous columns; the first part writes the row
/// statistics.
static SdpaOp createPart(OpBuilder &b, SdpaOp op, Value output, unsigned valueDim, unsigned outputDim,
                         Columns columns) {
  auto part = cast<SdpaOp>(b.clone(*op));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(part);
  part.getValueMutable().assign(sliceValue(b, op.getValue(), valueDim, columns));
  part.getOutputMutable().assign(slice(b, output, outputDim, columns));
  if (columns.first > 0)
    dropRowStatistics(part);
  SmallVector<Type> types(ValueRange(cast<DestinationStyleOpInterface>(*part).getDpsInits()).getTypes());
  OperationState state(op.getLoc(), part->getName(), part->getOperands(), types, part->getAttrs());
  for (unsigned i = 0; i < part->getNumRegions(); ++i)
    state.addRegion()->takeBody(part->getRegion(i));
  auto typed = cast<SdpaOp>(b.create(state));
  part.erase();
  return typed;
}

static void split(RewriterBase &b, SdpaOp op, int64_t size) {
  int64_t parts = llvm::divideCeil(size, kMaxBlockValueSize);
  int64_t count = llvm::alignTo(llvm::divideCeil(size, parts), kMultiple);
  emitRemark(op, RemarkOutcome::Missed, "scores-again")
      << llvm::formatv("{0} columns of V do not fit the registers of a block: {1} kernels, each of which computes the "
                       "scores",
                       size, parts)
             .str();
  AffineExpr column = getAffineDimExpr(getDomainPosition(op, DimKind::ValueSize), op.getContext());
  SmallVector<AffineMap> maps = getMaps(op);
  auto findDim = [&](MutableOperandRange range) {
    auto results = maps[range.begin()->getOperandNumber()].getResults();
    return llvm::find(results, column) - results.begin();
  };
  unsigned valueDim = findDim(op.getValueMutable()), outputDim = findDim(op.getOutputMutable());
  b.setInsertionPoint(op);
  SmallVector<Value> results(op->getResults());
  results.front() = op.getOutput();
  for (int64_t first = 0; first < size; first += count) {
    Columns columns{first, std::min(count, size - first)};
    SdpaOp part = createPart(b, op, results.front(), valueDim, outputDim, columns);
    ColumnSlice s(b, results.front(), outputDim, columns);
    if (!isEmpty(results.front()))
      results.front() = tensor::InsertSliceOp::create(b, op.getLoc(), part->getResult(0), results.front(), s.offsets,
                                                      s.sizes, s.strides);
    if (first == 0)
      std::copy(part->result_begin() + 1, part->result_end(), results.begin() + 1);
  }
  b.replaceOp(op, results);
}

namespace {
struct SplitValuesPass : public attn::impl::SplitValuesPassBase<SplitValuesPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    SmallVector<SdpaOp> ops;
    getOperation().walk([&](SdpaOp op) { ops.push_back(op); });
    for (SdpaOp op : ops) {
      int64_t size = getStaticSize(op, DimKind::ValueSize);
      if (ShapedType::isDynamic(size) || size <= kMaxBlockValueSize || op->getNumResults() == 0)
        continue;
      if (canShareRows(op, *info))
        continue;
      // Diagnostics refer to the sizes in the source.
      if (failed(verifyGpuOp(op, kMaxParts * kMaxBlockValueSize)))
        return signalPassFailure();
      split(rewriter, op, size);
    }
  }
};
} // namespace
