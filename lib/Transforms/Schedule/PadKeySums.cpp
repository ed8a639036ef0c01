//===- PadKeySums.cpp - attn-pad-key-sums ---------------------------------===//
//
// Before: sums of weights per key, as the gradient of a column of ones. After: the sums of as many columns as a GPU
// copies at a time, of which only the first is used.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "attn/Target/BlockLayout.h"
#include "attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {
#define GEN_PASS_DEF_PADKEYSUMSPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// True for a tensor of ones, of any type.
static bool isOnes(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  return fill && (matchPattern(fill.getInputs()[0], m_One()) || matchPattern(fill.getInputs()[0], m_OneFloat()));
}

/// True where only the gradient of a column of ones is used.
static bool isOfOneColumn(SdpaBackwardOp op) {
  return op->getNumResults() == 3 && op->getResult(0).use_empty() && op->getResult(1).use_empty() &&
         getStaticSize(op, DimKind::ValueSize) == 1 && isOnes(op.getValue()) && isOnes(op.getDout()) &&
         isOnes(op.getOutput());
}

/// A tensor with the sizes of `like` and another type; dimension `dim` has size `columns` if that is given.
static Value createEmpty(OpBuilder &b, Value like, Type type, unsigned dim = 0, int64_t columns = 0) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, like.getLoc(), like);
  if (columns > 0)
    sizes[dim] = b.getIndexAttr(columns);
  return tensor::EmptyOp::create(b, like.getLoc(), sizes, type);
}

/// outs = results of `body` on the elements of `inputs`, which have the layout of `output`.
static Value createElementwise(OpBuilder &b, ValueRange inputs, Value output,
                               function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  auto type = cast<RankedTensorType>(output.getType());
  SmallVector<AffineMap> maps(inputs.size() + 1, b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, output.getLoc(), type, inputs, output, maps, parallel,
                                   [&](OpBuilder &nested, Location at, ValueRange x) {
                                     linalg::YieldOp::create(nested, at, body(nested, at, x));
                                   })
      .getResult(0);
}

static void pad(RewriterBase &b, SdpaBackwardOp op) {
  b.setInsertionPoint(op);
  Type type = getElementTypeOrSelf(op.getQuery().getType());
  int64_t columns = kChunkBytes * 8 / type.getIntOrFloatBitWidth();
  AffineExpr column = b.getAffineDimExpr(getDomainPosition(op, DimKind::ValueSize));
  SmallVector<AffineMap> maps = getMaps(op);
  auto padded = cast<SdpaBackwardOp>(b.clone(*op));
  b.setInsertionPoint(padded);
  unsigned columnDim = 0;
  for (auto [spec, map] : llvm::zip(getOperandSpecs(op), maps)) {
    std::optional<unsigned> dim = map.getResultPosition(column);
    if (!dim)
      continue;
    auto set = [&](Value old, MutableOperandRange operand) {
      // Not linalg.fill, which would initialise a sum in registers.
      Value empty = createEmpty(b, old, getElementTypeOrSelf(old.getType()), *dim, columns),
            one = old.getDefiningOp<linalg::FillOp>().getInputs()[0];
      operand.assign(createElementwise(b, {}, empty, [&](OpBuilder &, Location, ValueRange) { return one; }));
    };
    if (spec.name == "value")
      set(op.getValue(), padded.getValueMutable());
    else if (spec.name == "dout")
      set(op.getDout(), padded.getDoutMutable());
    else if (spec.name == "output")
      set(op.getOutput(), padded.getOutputMutable());
    else if (spec.name == "dvalue") {
      columnDim = *dim;
      Type sumType = getElementTypeOrSelf(op.getDvalue().getType());
      padded.getDvalueMutable().assign(createEmpty(b, op.getDvalue(), sumType, *dim, columns));
    }
  }
  Value sums = padded->getResult(2);
  sums.setType(padded.getDvalue().getType());
  b.setInsertionPointAfter(padded);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, op.getLoc(), op.getDvalue());
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0)), strides(sizes.size(), b.getIndexAttr(1));
  sizes[columnDim] = b.getIndexAttr(1);
  Value first = tensor::ExtractSliceOp::create(b, op.getLoc(), cast<RankedTensorType>(op.getDvalue().getType()), sums,
                                               offsets, sizes, strides);
  Value result = createElementwise(b, first, op.getDvalue(), [](OpBuilder &, Location, ValueRange x) { return x[0]; });
  b.replaceAllUsesWith(op->getResult(2), result);
  b.eraseOp(op);
}

namespace {
struct PadKeySumsPass : public attn::impl::PadKeySumsPassBase<PadKeySumsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<SdpaBackwardOp> ops;
    getOperation().walk([&](SdpaBackwardOp op) {
      if (isOfOneColumn(op))
        ops.push_back(op);
    });
    for (SdpaBackwardOp op : ops)
      pad(rewriter, op);
  }
};
} // namespace
