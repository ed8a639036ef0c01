//===- SplitAccumulation.cpp - attn-split-accumulation --------------------===//
//
// Before: attn.sdpa with accumulate. After: one without, into new tensors, and an elementwise merge of its state with
// that of the outputs.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

namespace attn {
#define GEN_PASS_DEF_SPLITACCUMULATIONPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// `op` without accumulate, into empty tensors.
static SdpaOp createOverwriting(OpBuilder &b, SdpaOp op) {
  auto own = cast<SdpaOp>(b.clone(*op));
  own.removeAccumulateAttr();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(own);
  for (OpOperand &init : cast<DestinationStyleOpInterface>(*own).getDpsInitsMutable()) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, op.getLoc(), init.get());
    init.set(tensor::EmptyOp::create(b, op.getLoc(), sizes, getElementTypeOrSelf(init.get().getType())));
  }
  return own;
}

/// Applies `body` to the elements of `inputs`, with these maps over the dimensions of `output`, which has the type of
/// `like`.
static Value createElementwise(OpBuilder &b, Value like, ValueRange inputs, ArrayRef<AffineMap> inputMaps,
                               function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  Location loc = like.getLoc();
  auto type = cast<RankedTensorType>(like.getType());
  Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, like), type.getElementType());
  SmallVector<AffineMap> maps(inputMaps);
  maps.push_back(b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, loc, type, inputs, init, maps, parallel,
                                   [&](OpBuilder &nested, Location at, ValueRange x) {
                                     linalg::YieldOp::create(nested, at, body(nested, at, x));
                                   })
      .getResult(0);
}

static LogicalResult split(RewriterBase &b, SdpaOp op) {
  b.setInsertionPoint(op);
  Location loc = op.getLoc();
  SdpaOp own = createOverwriting(b, op);
  // Rows and columns of the output: packed sequences form the rows of one.
  SmallVector<unsigned> kept;
  unsigned numBatch = getNumBatchDims(op);
  for (unsigned i = getPackedSequences(op) ? 1 : 0; i < numBatch; ++i)
    kept.push_back(i);
  kept.append({getDomainPosition(op, DimKind::Query), getDomainPosition(op, DimKind::ValueSize)});
  SmallVector<AffineMap> outputs = llvm::map_to_vector(ArrayRef(getMaps(op)).take_back(op.getNumDpsInits()),
                                                       [&](AffineMap map) { return restrictDomain(map, kept); });
  bool hasTerms = op.getMax() && op.getLogSum();
  Value out = own->getResult(0), max = getRowResult(own, hasTerms ? RowResult::Max : RowResult::Lse),
        logSum = hasTerms ? getRowResult(own, RowResult::LogSum) : Value();
  // All row results have one map. l = 0 where m = -inf, otherwise exp(log_sum), or 1; acc = l out
  AffineMap rowMap = outputs[1], identity = b.getMultiDimIdentityMap(rowMap.getNumResults());
  SmallVector<Value> terms = {max};
  if (logSum)
    terms.push_back(logSum);
  Value sum = createElementwise(
      b, max, terms, SmallVector<AffineMap>(terms.size(), identity),
      [](OpBuilder &nested, Location at, ValueRange x) -> Value {
        Type type = x[0].getType();
        Value none = createFloatConstant(nested, at, type, -std::numeric_limits<double>::infinity());
        Value isEmpty = arith::CmpFOp::create(nested, at, arith::CmpFPredicate::OEQ, x[0], none);
        Value l = x.size() == 3 ? math::ExpOp::create(nested, at, x[1]).getResult()
                                : createFloatConstant(nested, at, type, 1);
        return arith::SelectOp::create(nested, at, isEmpty, createFloatConstant(nested, at, type, 0), l);
      });
  Value acc = out;
  if (logSum) { // from the dimensions of out to those of its row
    AffineMap outMap = inversePermutation(outputs[0]);
    acc = createElementwise(b, out, {out, sum}, {b.getMultiDimIdentityMap(kept.size()), rowMap.compose(outMap)},
                            [](OpBuilder &nested, Location at, ValueRange x) -> Value {
                              return arith::MulFOp::create(nested, at, x[0], x[1]);
                            });
  }
  SmallVector<AffineMap> maps = {outputs[0], rowMap, rowMap};
  llvm::append_range(maps, outputs);
  auto merge = FinalizeOp::create(b, loc, op.getResultTypes(), acc, max, sum, op.getOutput(), op.getLse(), op.getMax(),
                                  op.getLogSum(), /*cu_seqlens_q=*/Value(), b.getAffineMapArrayAttr(maps),
                                  op.getAccumulateAttr());
  FailureOr<SmallVector<Value>> merged = decompose(b, merge, /*computeType=*/Type());
  if (failed(merged))
    return op.emitOpError("expected outputs of whole rows beside accumulate on a GPU");
  b.replaceOp(op, *merged);
  b.eraseOp(merge);
  return success();
}

namespace {
struct SplitAccumulationPass : public attn::impl::SplitAccumulationPassBase<SplitAccumulationPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<SdpaOp> ops;
    getOperation().walk([&](SdpaOp op) {
      if (op.getAccumulate() && op->getNumResults() > 0)
        ops.push_back(op);
    });
    for (SdpaOp op : ops)
      if (failed(split(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
