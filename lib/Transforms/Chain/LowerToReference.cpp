//===- LowerToReference.cpp - attn-lower-to-reference ---------------------===//
//
// Decomposes every attn op on tensors into linalg, until none is left. Scores are materialised and no tile is skipped.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {
#define GEN_PASS_DEF_LOWERTOREFERENCEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// The kind of a tile, evaluated for each row and key: 0 if no key is kept, 2 if all are, otherwise 1.
static Value decomposeClassifyTile(OpBuilder &builder, ClassifyTileOp op) {
  Location loc = op.getLoc();
  auto flag = [&](OpBuilder &b, bool value) { return arith::ConstantIntOp::create(b, loc, value, 1).getResult(); };
  auto loop = [&](OpBuilder &b, Value count, ValueRange init,
                  function_ref<SmallVector<Value>(OpBuilder &, Value, ValueRange)> body) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0), one = arith::ConstantIndexOp::create(b, loc, 1);
    return scf::ForOp::create(b, loc, zero, count, one, init,
                              [&](OpBuilder &nested, Location, Value iv, ValueRange carried) {
                                scf::YieldOp::create(nested, loc, body(nested, iv, carried));
                              });
  };
  SmallVector<Value> init = {flag(builder, false), flag(builder, true)};
  auto rows = loop(builder, op.getRows(), init, [&](OpBuilder &outer, Value row, ValueRange carried) {
    auto keys = loop(outer, op.getKeys(), carried, [&](OpBuilder &inner, Value key, ValueRange kinds) {
      Value keep = inlineRegion(inner, op.getMaskMod(), {}, [&](IndexOp index) -> Value {
                     if (index.getKind() == IndexKind::Query)
                       return row;
                     // A tile has one batch index and head, whose offsets are in the region.
                     return index.getKind() == IndexKind::Key ? key : arith::ConstantIndexOp::create(inner, loc, 0);
                   }).front();
      return SmallVector<Value>{arith::OrIOp::create(inner, loc, kinds[0], keep),
                                arith::AndIOp::create(inner, loc, kinds[1], keep)};
    });
    return SmallVector<Value>(keys.getResults());
  });
  Type i8 = builder.getI8Type();
  Value kind = arith::AddIOp::create(builder, loc, arith::ExtUIOp::create(builder, loc, i8, rows.getResult(0)),
                                     arith::ExtUIOp::create(builder, loc, i8, rows.getResult(1)));
  Value zero = arith::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(0));
  return arith::SelectOp::create(builder, loc, rows.getResult(0), kind, zero);
}

/// The rows of a tile from attn-tile: those from (batch, head, first_key), in the type of the tile.
static FailureOr<Value> decomposeTileOfPages(OpBuilder &builder, GatherPagesOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getOutput().getType());
  int64_t page = op.getPageSize();
  if (!type || ShapedType::isDynamic(page) || page < 1)
    return failure();
  Type element = type.getElementType();
  SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
  auto createElement = [&](OpBuilder &b, Location loc, ValueRange) {
    auto index = [&](unsigned dim, Value first) -> Value {
      return arith::AddIOp::create(b, loc, linalg::IndexOp::create(b, loc, dim), first);
    };
    auto load = [&](Value tensor, ValueRange position) -> Value {
      Value number = tensor::ExtractOp::create(b, loc, tensor, position);
      return arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
    };
    Value batch = index(0, op.getBatch()), head = index(1, op.getHead()), key = index(2, op.getFirstKey());
    Value column = linalg::IndexOp::create(b, loc, 3), size = arith::ConstantIndexOp::create(b, loc, page);
    Value isInside =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, key, load(op.getLengths(), ValueRange{batch}));
    auto choice = scf::IfOp::create(b, loc, element, isInside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, loc, arith::ConstantOp::create(b, loc, b.getZeroAttr(element)).getResult());
    b.setInsertionPointToStart(choice.thenBlock());
    Value entry = arith::DivUIOp::create(b, loc, key, size), row = arith::RemUIOp::create(b, loc, key, size);
    Value place = load(op.getBlockTable(), ValueRange{batch, entry});
    Value value = tensor::ExtractOp::create(b, loc, op.getCache(),
                                            op.getCacheDims().getPosition<Value>(place, row, head, column));
    scf::YieldOp::create(b, loc, convertScalarToDtype(b, loc, value, element, /*isUnsignedCast=*/false));
    b.setInsertionPointAfter(choice);
    linalg::YieldOp::create(b, loc, choice.getResult(0));
  };
  return linalg::GenericOp::create(builder, op.getLoc(), type, ValueRange(), op.getOutput(),
                                   builder.getMultiDimIdentityMap(type.getRank()), parallel, createElement)
      .getResult(0);
}

/// A formula widens each element that it reads, so no tensor has to be in memory in a wider type.
static void readNarrowInputs(Operation *op) {
  auto isOutput = [&](OpOperand &use) {
    auto dps = dyn_cast<DestinationStyleOpInterface>(op);
    return dps && dps.isDpsInit(&use);
  };
  for (OpOperand &use : op->getOpOperands())
    if (auto extension = use.get().getDefiningOp<arith::ExtFOp>(); extension && !isOutput(use))
      use.set(extension.getIn());
}

static void reportNoReferenceForm(Operation *op) {
  if (!isa<RankedTensorType>(op->getOperand(0).getType()))
    op->emitOpError("expected tensors, found memrefs; run attn-lower-to-reference before bufferisation");
  else if (auto gather = dyn_cast<GatherPagesOp>(op))
    op->emitOpError("expected a static page size of at least 1, found a cache ") << gather.getCache().getType();
  else if (isa<OnlineStepOp, PackOp>(op) && llvm::any_of(llvm::zip(op->getOperands(), getMaps(op)), [](auto operand) {
             return getNumParts(std::get<0>(operand), std::get<1>(operand)) > 1;
           }))
    op->emitOpError("has no reference form, as its operands are parts of elements; run attn-lower-to-reference before "
                    "attn-tile");
  else
    op->emitOpError("has no reference form: expected a static head size or a scale, projections expanded by "
                    "attn-expand-layers, and packed rows in the order (row, head, column)");
}

namespace {
struct LowerToReferencePass : public attn::impl::LowerToReferencePassBase<LowerToReferencePass> {
  using Base::Base;

  void runOnOperation() override {
    Builder types(&getContext());
    Type type = computeType == "f64" ? types.getF64Type() : computeType == "f32" ? types.getF32Type() : Type();
    if (!type && !computeType.empty()) {
      getOperation().emitError("attn-lower-to-reference: expected compute-type to be f32 or f64, found '")
          << computeType << "'";
      return signalPassFailure();
    }
    if (!chainOnly) {
      // Prefetches, and operands packed for an instruction, are not part of the formulas.
      getOperation().walk([](PrefetchOp op) { op.erase(); });
      getOperation().walk([](OnlineStepOp op) { op.getQueryBytesMutable().clear(); });
      getOperation().walk([](BackwardStepOp op) { op.getTransposedMutable().clear(); });
      getOperation().walk([](PackBytesOp op) {
        if (op->use_empty())
          op.erase();
      });
    }
    if (!chainOnly)
      getOperation().walk([](ClassifyTileOp op) {
        IRRewriter rewriter(op);
        rewriter.replaceOp(op, decomposeClassifyTile(rewriter, op));
      });
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (!gpu || !isa<LinearOp, LinearBackwardOp>(op))
        return WalkResult::advance();
      return WalkResult(op->emitOpError("has no kernel on a GPU; compile it for a processor, as --target=host"));
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    expandSoftmax();
    if (chainOnly)
      splitGathers();
    SmallVector<Operation *> worklist;
    getOperation().walk([&](Operation *op) {
      if ((isStructuredOp(op) || isa<GatherPagesOp>(op)) && !(chainOnly && belongsToFlashPath(op)))
        worklist.push_back(op);
    });
    if (chainOnly && !worklist.empty() && failed(reportFallback(worklist)))
      return signalPassFailure();
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val();
      IRRewriter rewriter(op);
      Operation *before = op->getPrevNode();
      FailureOr<SmallVector<Value>> values = failure();
      if (type)
        readNarrowInputs(op);
      if (auto gather = dyn_cast<GatherPagesOp>(op)) {
        FailureOr<Value> dense =
            gather.getBatch() ? decomposeTileOfPages(rewriter, gather) : decomposeGatherPages(rewriter, gather);
        if (succeeded(dense))
          values = SmallVector<Value>{*dense};
      } else {
        values = decompose(rewriter, op, type);
      }
      if (failed(values)) {
        reportNoReferenceForm(op);
        return signalPassFailure();
      }
      // sdpa decomposes into attn ops again.
      for (Operation *built = before ? before->getNextNode() : &op->getBlock()->front(); built != op;
           built = built->getNextNode())
        if (isStructuredOp(built))
          worklist.push_back(built);
      rewriter.replaceOp(op, *values);
    }
  }

  /// A user's softmax, over any dimension: not a step of attention.
  void expandSoftmax() {
    SmallVector<linalg::SoftmaxOp> ops;
    getOperation().walk([&](linalg::SoftmaxOp op) { ops.push_back(op); });
    for (linalg::SoftmaxOp op : ops) {
      IRRewriter rewriter(op);
      // Cannot fail on tensors; other passes lower it on memrefs.
      if (FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter); succeeded(values))
        rewriter.replaceOp(op, *values);
    }
  }

  /// Kernels read pages through the whole view; a slice of a gathered tile is in memory already.
  bool readsPages(Operation *user) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user)) {
      auto gather = slice.getSource().getDefiningOp<GatherPagesOp>();
      return (!gather || gather.getBatch()) &&
             llvm::none_of(user->getUsers(), [&](Operation *reader) { return readsDenseRows(reader); });
    }
    if (isa<SdpaBackwardOp>(user))
      return !gpu && hasBackwardKernel(user);
    return isa<SdpaOp, OnlineStepOp, PackOp>(user);
  }
  /// All other readers need contiguous rows.
  bool readsDenseRows(Operation *user) { return !isa<tensor::DimOp>(user) && !readsPages(user); }

  /// Splits a view with both kinds of readers into two.
  void splitGathers() {
    SmallVector<GatherPagesOp> gathers;
    getOperation().walk([&](GatherPagesOp op) { gathers.push_back(op); });
    for (GatherPagesOp gather : gathers) {
      auto isDense = [&](Operation *user) { return readsDenseRows(user); };
      if (llvm::none_of(gather->getUsers(), [&](Operation *user) { return readsPages(user); }) ||
          llvm::none_of(gather->getUsers(), isDense))
        continue;
      OpBuilder builder(gather);
      Operation *dense = builder.clone(*gather);
      gather->replaceUsesWithIf(dense, [&](OpOperand &use) { return readsDenseRows(use.getOwner()); });
    }
  }

  /// True for sdpa, the ops that later phases of the flash path have made of it, and everything on memrefs.
  bool belongsToFlashPath(Operation *op) {
    if (isa<PackOp>(op) || !isa<RankedTensorType>(op->getOperand(0).getType()))
      return true;
    if (isa<SdpaOp>(op)) // without columns of V, a kernel computes only lse
      return getStaticSize(op, DimKind::ValueSize) != 0;
    if (isa<LinearOp, LinearBackwardOp>(op))
      return true;
    if (isa<SdpaBackwardOp>(op))
      return gpu || hasBackwardKernel(op); // attn-select-schedule reports ops without a GPU kernel
    if (auto step = dyn_cast<BackwardStepOp>(op))
      return step.getSchedule().has_value();
    if (isa<RowDeltaOp>(op))
      return llvm::any_of(op->getUsers(),
                          [&](Operation *user) { return isa<BackwardStepOp>(user) && belongsToFlashPath(user); });
    if (isa<GatherPagesOp>(op))
      return llvm::none_of(op->getUsers(), [&](Operation *user) { return readsDenseRows(user); });
    if (auto step = dyn_cast<OnlineStepOp>(op))
      return step.getSchedule().has_value();
    auto function = op->getParentOfType<FunctionOpInterface>();
    if (!isa<InitStateOp, FinalizeOp>(op) || !function)
      return false;
    // A tile without keys has no step; an attribute marks its function as one of this path.
    WalkResult result = function.walk(
        [](OnlineStepOp step) { return step.getSchedule() ? WalkResult::interrupt() : WalkResult::advance(); });
    return result.wasInterrupted() || function->hasAttr(kPathAttr);
  }

  /// Reports ops that run materialised. A state is not a score matrix: ops on states of whole tensors are elementwise,
  /// and linalg is their proper form.
  LogicalResult reportFallback(ArrayRef<Operation *> ops) {
    for (Operation *op : ops) {
      if (isa<InitStateOp, MergeStatesOp, FinalizeOp, GatherPagesOp>(op))
        continue;
      std::string reason = isa<SdpaBackwardOp>(op) ? explainNoBackwardKernel(op) : "";
      if (failOnFallback && !reason.empty())
        return op->emitOpError("falls back to the materialised path (--fail-on-fallback): ") << reason;
      if (failOnFallback)
        return op->emitOpError(
            "falls back to the materialised path (--fail-on-fallback); fuse the chain into attn.sdpa: "
            "--remarks=missed says what stands in the way");
      std::string what = (op->getName().getStringRef() + " runs on the materialised path, not as a flash kernel").str();
      emitRemark(op, RemarkOutcome::Missed, "materialized") << (reason.empty() ? what : what + ": " + reason);
    }
    return success();
  }
};
} // namespace
