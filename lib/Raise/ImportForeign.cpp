//===- ImportForeign.cpp - attn-import-foreign ----------------------------===//
//
// Before: attention ops of IREE and torch-mlir in generic form, as ops of unlinked dialects. After: attn.sdpa, on
// builtin tensors.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ForeignAttention.h"
#include "attn/IR/Decompose.h"
#include "attn/Raise/Raise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace attn {
#define GEN_PASS_DEF_IMPORTFOREIGNPASS
#include "attn/Raise/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::raise;

static constexpr StringLiteral kIree = "iree_linalg_ext.attention";
static constexpr StringLiteral kIreeOnline = "iree_linalg_ext.online_attention";
static constexpr StringLiteral kTensor = "tm_tensor.attention";

//===----------------------------------------------------------------------===//
// iree_linalg_ext
//===----------------------------------------------------------------------===//

/// Rewrites maps with dimensions in any order to those of attn; fails where there is more than one key, head or value
/// dimension.
static LogicalResult orderDims(Operation *op, ForeignAttention &a) {
  auto has = [](AffineMap map, unsigned dim) { return map.isFunctionOfDim(dim); };
  SmallVector<unsigned> batch, queries, keys, heads, values;
  for (unsigned dim = 0; dim < a.queryMap.getNumDims(); ++dim) {
    bool inQuery = has(a.queryMap, dim), inKey = has(a.keyMap, dim), inValue = has(a.valueMap, dim);
    if (!has(a.outputMap, dim))
      (inQuery ? heads : keys).push_back(dim);
    else if (!inQuery)
      values.push_back(dim);
    else
      (inKey || inValue ? batch : queries).push_back(dim);
  }
  if (queries.empty() || keys.size() != 1 || heads.size() != 1 || values.size() != 1)
    return op->emitError("expected indexing maps of dimensions (batch…, query, key, head, value), each but batch once");
  batch.append(queries.begin(), queries.end() - 1); // query heads that share a key head
  SmallVector<unsigned> order = batch;
  order.append({queries.back(), keys[0], heads[0], values[0]});
  SmallVector<AffineExpr> positions(order.size());
  for (auto [position, dim] : llvm::enumerate(order))
    positions[dim] = getAffineDimExpr(position, op->getContext());
  for (AffineMap *map : {&a.queryMap, &a.keyMap, &a.valueMap, &a.maskMap, &a.outputMap})
    if (*map)
      *map = map->replaceDimsAndSymbols(positions, {}, order.size(), 0);
  return success();
}

/// The operands of both IREE ops: query, key, value, scale, a mask, destinations.
static FailureOr<ForeignAttention> readIree(Operation *op, unsigned numOutputs) {
  auto maps = dyn_cast_or_null<ArrayAttr>(getForeignAttribute(op, "indexing_maps"));
  unsigned numInputs = op->getNumOperands() - numOutputs;
  if (!maps || maps.size() != op->getNumOperands() || numInputs < 4 || numInputs > 5 ||
      op->getNumResults() != numOutputs || !llvm::all_of(maps, llvm::IsaPred<AffineMapAttr>))
    return op->emitError("expected a query, a key, a value, a scale, a mask or none, ")
           << numOutputs << " destinations, and an indexing map for each";
  for (auto [result, destination] : llvm::zip_equal(op->getResults(), op->getOperands().drop_front(numInputs)))
    if (result.getType() != destination.getType())
      return op->emitError("expected results of the types of their destinations, found ")
             << result.getType() << " and " << destination.getType();
  auto getMap = [&](unsigned i) { return cast<AffineMapAttr>(maps[i]).getValue(); };
  ForeignAttention a;
  a.query = op->getOperand(0), a.key = op->getOperand(1), a.value = op->getOperand(2);
  a.scaleValue = op->getOperand(3);
  a.queryMap = getMap(0), a.keyMap = getMap(1), a.valueMap = getMap(2);
  if (numInputs == 5)
    a.mask = op->getOperand(4), a.maskMap = getMap(4);
  a.output = op->getOperand(numInputs);
  a.outputMap = getMap(numInputs);
  if (op->getNumRegions() == 1 && !op->getRegion(0).empty())
    a.scoreMod = &op->getRegion(0);
  return failed(orderDims(op, a)) ? FailureOr<ForeignAttention>() : a;
}

static Value createFilled(OpBuilder &b, Location loc, Value like, double value) {
  auto type = cast<RankedTensorType>(like.getType());
  Value empty = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, like), type.getElementType());
  return linalg::FillOp::create(b, loc, createFloatConstant(b, loc, type.getElementType(), value), empty).getResult(0);
}

static LogicalResult importIree(OpBuilder &b, Operation *op) {
  FailureOr<ForeignAttention> a = readIree(op, 1);
  if (failed(a))
    return failure();
  FailureOr<SdpaValues> result = createSdpa(b, op, *a);
  if (failed(result))
    return failure();
  op->getResult(0).replaceAllUsesWith(result->output);
  return success();
}

/// A whole row in one step: the state is only divided by its sum, so sdpa's output and a sum of 1 are equivalent.
static LogicalResult importIreeOnline(OpBuilder &b, Operation *op) {
  FailureOr<ForeignAttention> a = readIree(op, 3);
  if (failed(a))
    return failure();
  auto isZero = [](Value state) {
    auto fill = state.getDefiningOp<linalg::FillOp>();
    return fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  };
  unsigned first = op->getNumOperands() - 3;
  Value acc = op->getResult(0), sum = op->getResult(2);
  if (!isZero(op->getOperand(first)) || !isZero(op->getOperand(first + 2)) || !op->getResult(1).use_empty() ||
      !acc.hasOneUse() || !sum.hasOneUse() || *acc.user_begin() != *sum.user_begin())
    return op->emitError("expected an online attention that starts from zeros and whose sum then divides it, found "
                         "another use; write it as iree_linalg_ext.attention");
  Location loc = op->getLoc();
  FailureOr<SdpaValues> result = createSdpa(b, op, *a); // in the type of the accumulator
  if (failed(result))
    return failure();
  acc.replaceAllUsesWith(result->output);
  sum.replaceAllUsesWith(createFilled(b, loc, op->getOperand(first + 2), 1));
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ImportForeignPass : public attn::impl::ImportForeignPassBase<ImportForeignPass> {
  using ImportForeignPassBase::ImportForeignPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<Operation *> ops;
    bool isTorch = false;
    function.walk([&](Operation *op) {
      bool isOfTorch = isTorchAttention(op);
      isTorch |= isOfTorch;
      if (isOfTorch || llvm::is_contained({StringRef(kIree), StringRef(kIreeOnline), StringRef(kTensor)},
                                          op->getName().getStringRef()))
        ops.push_back(op);
    });
    if (isTorch)
      convertTorchArguments(function);
    for (Operation *op : ops) {
      OpBuilder b(op);
      StringRef name = op->getName().getStringRef();
      auto import = name == kIree         ? importIree
                    : name == kIreeOnline ? importIreeOnline
                    : name == kTensor     ? importTmTensor
                                          : importTorch;
      if (failed(import(b, op)))
        return signalPassFailure();
      op->erase();
    }
    if (isTorch)
      finishTorchFunction(function);
    WalkResult unknown = function.walk([&](Operation *op) {
      if (ops.empty() || op->isRegistered())
        return WalkResult::advance();
      op->emitError("expected linalg beside the attention, found ") << op->getName() << "; lower it to linalg first";
      return WalkResult::interrupt();
    });
    if (unknown.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
