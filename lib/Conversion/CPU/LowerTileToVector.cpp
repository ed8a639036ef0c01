//===- LowerTileToVector.cpp - attn-lower-tile-to-vector ------------------===//
//
// Before: tile-sized attn ops on memrefs, query rows innermost. After: scf
// loops over vectors of the target's width; no attn op is left. One file a
// kind of op; this one only walks.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LinearTile.h"
#include "VectorTile.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Decompose.h"
#include "attn/IR/RewriteOps.h"
#include "attn/Support/Dialects.h"
#include "attn/Target/PassTarget.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attn {
#define GEN_PASS_DEF_LOWERTILETOVECTORPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// 2 pi in three parts, of which the first two have so few bits that their products with up to 2^13 turns are exact.
static constexpr double kTurn[] = {6.28125, 0.0019350051879882812, 3.0199159795074593e-07};
/// The mark of an angle that is already less than half a turn.
static constexpr StringLiteral kReducedAttr = "attn.reduced";

namespace {
/// Angles of rotary positions are thousands of radians; upstream's approximation subtracts their quarters in one step.
template <typename OpTy> struct ReduceAngle : public OpRewritePattern<OpTy> {
  explicit ReduceAngle(MLIRContext *ctx) : OpRewritePattern<OpTy>(ctx, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32() || op->hasAttr(kReducedAttr))
      return rewriter.notifyMatchFailure(op, "expected an angle in f32 that is not reduced");
    Location loc = op.getLoc();
    auto getConstant = [&](double value) -> Value {
      TypedAttr attribute = rewriter.getF32FloatAttr(value);
      if (auto vector = dyn_cast<VectorType>(type))
        attribute = DenseElementsAttr::get(vector, attribute);
      return arith::ConstantOp::create(rewriter, loc, attribute);
    };
    // turns = floor(x / 2 pi + 1/2), x - turns * 2 pi
    Value ratio = arith::MulFOp::create(rewriter, loc, op.getOperand(), getConstant(0.5 / M_PI));
    Value turns = math::FloorOp::create(rewriter, loc, arith::AddFOp::create(rewriter, loc, ratio, getConstant(0.5)));
    Value angle = op.getOperand();
    for (double part : kTurn)
      angle =
          arith::SubFOp::create(rewriter, loc, angle, arith::MulFOp::create(rewriter, loc, turns, getConstant(part)));
    auto reduced = OpTy::create(rewriter, loc, angle);
    reduced->setAttr(kReducedAttr, rewriter.getUnitAttr());
    rewriter.replaceOp(op, reduced);
    return success();
  }
};
} // namespace

void cpu::populateLaneMathPatterns(RewritePatternSet &patterns) {
  patterns.add<ReduceAngle<math::SinOp>, ReduceAngle<math::CosOp>>(patterns.getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained({"math.exp", "math.expm1", "math.tanh", "math.erf", "math.sin", "math.cos"}, name);
  });
}

namespace {
/// x as f32 (f64): LLVM has no 8-bit floats to convert.
struct WidenFloat8 : public OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(op.getIn().getType())))
      return rewriter.notifyMatchFailure(op, "expected f8E4M3FN or f8E5M2");
    rewriter.replaceOp(
        op, convertQuantised(rewriter, op.getLoc(), op.getIn(), cast<FloatType>(getElementTypeOrSelf(op.getType()))));
    return success();
  }
};

/// f64 to bf16, or bf16 to f64, through f32. Not every C library has this narrowing, and none for vectors; LLVM would
/// keep the widened value, a shift of its bits, as bf16 and compare it by calls.
template <typename CastOp> struct CastThroughF32 : public OpRewritePattern<CastOp> {
  using OpRewritePattern<CastOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType()), to = getElementTypeOrSelf(op.getType());
    if (!(from.isF64() && to.isBF16()) && !(from.isBF16() && to.isF64()))
      return rewriter.notifyMatchFailure(op, "expected f64 and bf16");
    Type between = rewriter.getF32Type();
    if (auto vector = dyn_cast<VectorType>(op.getType()))
      between = vector.clone(between);
    Value single = CastOp::create(rewriter, op.getLoc(), between, op.getIn());
    rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), single);
    return success();
  }
};

struct LowerTileToVectorPass : public attn::impl::LowerTileToVectorPassBase<LowerTileToVectorPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getTarget(getOperation(), getArgument(), target);
    if (failed(info) || failed(verifyRegistered(getOperation())))
      return signalPassFailure();
    expandRandomKeep(getOperation()); // whose parts that are the same for all keys are computed once
    IRRewriter rewriter(&getContext());
    // A step takes the prefetches before it.
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (auto prefetch = dyn_cast<PrefetchOp>(op); prefetch && prefetch.getBeside() && hasStepBehind(op))
        return;
      if (isStructuredOp(op) || isa<GatherPagesOp, ClassifyTileOp, KvAppendOp, PackBytesOp, PrefetchOp, SolveOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (isa<RankedTensorType>(op->getOperand(0).getType())) {
        op->emitOpError("expected memrefs; run bufferisation before attn-lower-tile-to-vector");
        return signalPassFailure();
      }
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(op)
              .Case<PackOp>([&](auto op) { return cpu::lowerPack(rewriter, op, *info); })
              .Case<PackBytesOp>([&](auto op) { return cpu::lowerPackBytes(rewriter, op, *info); })
              .Case<PrefetchOp>([&](auto op) { return cpu::lowerPrefetch(rewriter, op, *info); })
              .Case<InitStateOp>([&](auto op) { return cpu::lowerInitState(rewriter, op, *info); })
              .Case<OnlineStepOp>([&](auto op) { return cpu::lowerOnlineStep(rewriter, op, *info); })
              .Case<BackwardStepOp>([&](auto op) { return cpu::lowerBackwardStep(rewriter, op, *info); })
              .Case<GatherPagesOp>([&](auto op) { return cpu::lowerGatherPages(rewriter, op, *info); })
              .Case<KvAppendOp>([&](auto op) { return cpu::lowerKvAppend(rewriter, op); })
              .Case<ClassifyTileOp>([&](auto op) { return cpu::lowerClassifyTile(rewriter, op, *info); })
              .Case<SolveOp>([&](auto op) { return cpu::lowerSolve(rewriter, op, *info); })
              .Case<MergeStatesOp>([&](auto op) { return cpu::lowerMergeStates(rewriter, op, *info); })
              .Case<FinalizeOp>([&](auto op) { return cpu::lowerFinalize(rewriter, op, *info); })
              .Case<SdpaOp>([](auto op) {
                return op->emitOpError(
                    "expected tiles, found an attn.sdpa on memrefs; run attn-to-flash on its tensors "
                    "first, or attn-lower-to-reference");
              })
              .Default([](Operation *op) {
                return op->emitOpError("no CPU lowering takes this op on memrefs; fuse it into attn.sdpa (attn-fuse) "
                                       "or lower it with attn-lower-to-reference before bufferisation");
              });
      if (failed(result))
        return signalPassFailure();
    }
    RewritePatternSet patterns(&getContext());
    cpu::populateLaneMathPatterns(patterns);
    patterns.add<WidenFloat8, CastThroughF32<arith::ExtFOp>, CastThroughF32<arith::TruncFOp>>(&getContext());
    auto isFunctionOrCast = [](Operation *op) {
      return isOfDialect<math::MathDialect>(op) || isa<arith::ExtFOp, arith::TruncFOp>(op);
    };
    if (failed(rewriteOps(getOperation(), std::move(patterns), isFunctionOrCast)))
      return signalPassFailure();
    if (getOperation().walk(refuseWithoutCode).wasInterrupted())
      signalPassFailure();
  }

  static bool hasStepBehind(Operation *op) {
    while ((op = op->getNextNode()))
      if (isa<OnlineStepOp>(op))
        return true;
    return false;
  }

  /// Ops of users' regions and linalg that neither LLVM nor the C library implements.
  static WalkResult refuseWithoutCode(Operation *op) {
    if (isa<math::IPowIOp>(op))
      return WalkResult(op->emitOpError("has no code for a CPU; write the product, arith.muli"));
    if (!isa<arith::TruncFOp, arith::ExtFOp>(op))
      return WalkResult::advance();
    for (Type type : {op->getOperand(0).getType(), op->getResult(0).getType()})
      if (Type element = getElementTypeOrSelf(type); element.getIntOrFloatBitWidth() < 16)
        return WalkResult(
            op->emitOpError("has no code for a CPU: expected floats of at least 16 bits, or f8E4M3FN or f8E5M2 "
                            "that arith.extf widens, found ")
            << element);
    return WalkResult::advance();
  }
};
} // namespace
