//===- AttnTransformOps.cpp - transform dialect ops for attention ---------===//
//
// Each op applies the pass of its name to the ops of a handle. An error of the pass is a silenceable failure here.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/TransformOps/AttnTransformOps.h"
#include "attn/Raise/Raise.h"
#include "attn/Target/PassTarget.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace attn;

#define GET_OP_CLASSES
#include "attn/TransformOps/AttnTransformOps.cpp.inc"

/// Runs `step`, which rewrites `op`; errors emitted in this thread become a silenceable failure.
static DiagnosedSilenceableFailure runSilenced(Operation *op, llvm::function_ref<LogicalResult()> step) {
  Location loc = op->getLoc();
  SmallVector<Diagnostic> errors;
  auto collect = [&, thread = llvm::get_threadid()](Diagnostic &diagnostic) {
    if (llvm::get_threadid() != thread || diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    errors.push_back(std::move(diagnostic));
    return success();
  };
  {
    ScopedDiagnosticHandler handler(op->getContext(), collect);
    if (succeeded(step()))
      return DiagnosedSilenceableFailure::success();
  }
  if (errors.empty())
    return emitSilenceableFailure(loc, "failed to apply");
  return DiagnosedSilenceableFailure::silenceableFailure(std::move(errors));
}

/// Like attn-analyze-mask before schedules are chosen.
static void findKeyRanges(RewriterBase &rewriter, SdpaOp op) {
  if (op.getKeyRanges().empty() && isa<RankedTensorType>(op.getOutput().getType()))
    analyzeMask(rewriter, op);
}

//===----------------------------------------------------------------------===//
// transform.attn.raise
//===----------------------------------------------------------------------===//

void RaiseTransformOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  transform::onlyReadsHandle(getTargetMutable(), effects);
  transform::producesHandle(getOperation()->getOpResults(), effects);
  transform::modifiesPayload(effects);
}

DiagnosedSilenceableFailure RaiseTransformOp::apply(transform::TransformRewriter &rewriter,
                                                    transform::TransformResults &results,
                                                    transform::TransformState &state) {
  RaiseOptions options = {getAssumeFiniteMask(), getAllowUnsafeSoftmax()};
  SmallVector<Operation *> chains;
  SmallVector<Operation *> targets = llvm::to_vector(state.getPayloadOps(getTarget()));
  for (Operation *target : targets) {
    SmallVector<std::pair<Operation *, std::string>> missed;
    auto collect = [&](linalg::LinalgOp op, StringRef reason) { missed.emplace_back(op, reason); };
    SmallVector<ApplyOp> raised = raiseAllAttention(rewriter, target, options, collect);
    chains.append(raised.begin(), raised.end());
    if (!raised.empty())
      continue;
    results.set(getOperation()->getOpResult(0), ArrayRef<Operation *>());
    if (missed.empty())
      return emitSilenceableFailure(target, "attention not raised: expected two products with a softmax between them, "
                                            "found none");
    DiagnosedSilenceableFailure failed =
        emitSilenceableFailure(missed[0].first, "attention not raised: " + missed[0].second);
    for (auto &[op, reason] : ArrayRef(missed).drop_front())
      failed.attachNote(op->getLoc()) << "attention not raised: " << reason;
    return failed;
  }
  results.set(getOperation()->getOpResult(0), chains);
  return DiagnosedSilenceableFailure::success();
}

//===----------------------------------------------------------------------===//
// The other ops
//===----------------------------------------------------------------------===//

DiagnosedSilenceableFailure FuseTransformOp::applyToOne(transform::TransformRewriter &rewriter, ApplyOp target,
                                                        transform::ApplyToEachResultList &results,
                                                        transform::TransformState &state) {
  std::string reason;
  FailureOr<SdpaOp> sdpa = fuseChain(rewriter, target, &reason);
  if (failed(sdpa))
    return emitSilenceableFailure(target, "chain not fused: " + reason);
  results.push_back(*sdpa);
  return DiagnosedSilenceableFailure::success();
}

LogicalResult SetScheduleTransformOp::verify() {
  if (getSchedule() || getTargetName())
    return success();
  return emitOpError("expected a schedule, or a target_name to choose one for, found neither");
}

void SetScheduleTransformOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  transform::onlyReadsHandle(getTargetMutable(), effects);
  transform::modifiesPayload(effects);
}

DiagnosedSilenceableFailure SetScheduleTransformOp::applyToOne(transform::TransformRewriter &rewriter, SdpaOp target,
                                                               transform::ApplyToEachResultList &results,
                                                               transform::TransformState &state) {
  return runSilenced(target, [&]() -> LogicalResult {
    FailureOr<TargetInfo> info;
    if (getTargetName() && failed(info = attn::getTarget(target, getOperationName(), *getTargetName())))
      return failure();
    findKeyRanges(rewriter, target);
    FailureOr<ScheduleAttr> schedule = getSchedule() ? *getSchedule() : selectSchedule(target, *info);
    if (failed(schedule) || failed(schedule->verifyFor(target, succeeded(info) ? &*info : nullptr)))
      return failure();
    rewriter.modifyOpInPlace(target, [&] { target.setScheduleAttr(*schedule); });
    return success();
  });
}

DiagnosedSilenceableFailure ConvertToOnlineTransformOp::applyToOne(transform::TransformRewriter &rewriter,
                                                                   SdpaOp target,
                                                                   transform::ApplyToEachResultList &results,
                                                                   transform::TransformState &state) {
  return runSilenced(target, [&]() -> LogicalResult {
    findKeyRanges(rewriter, target);
    FailureOr<FinalizeOp> finalize = convertToOnline(rewriter, target);
    if (succeeded(finalize))
      results.push_back(*finalize);
    return finalize;
  });
}

DiagnosedSilenceableFailure TileTransformOp::applyToOne(transform::TransformRewriter &rewriter, FinalizeOp target,
                                                        transform::ApplyToEachResultList &results,
                                                        transform::TransformState &state) {
  return runSilenced(target, [&]() -> LogicalResult {
    if (target->getNumResults() == 0)
      return target.emitOpError("expected tensors, found memrefs; run attn-memref-to-tensor");
    FailureOr<SmallVector<Value>> tiled = tileOnlineForm(rewriter, target);
    if (succeeded(tiled))
      results.push_back(tiled->front().getDefiningOp());
    return tiled;
  });
}

//===----------------------------------------------------------------------===//
// The extension
//===----------------------------------------------------------------------===//

namespace {
struct AttnTransformDialectExtension : public transform::TransformDialectExtension<AttnTransformDialectExtension> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AttnTransformDialectExtension)

  using Base::Base;

  void init() {
    declareDependentDialect<AttnDialect>(); // schedules occur in scripts
    declareGeneratedDialect<affine::AffineDialect>();
    declareGeneratedDialect<arith::ArithDialect>();
    declareGeneratedDialect<linalg::LinalgDialect>();
    declareGeneratedDialect<math::MathDialect>();
    declareGeneratedDialect<scf::SCFDialect>();
    declareGeneratedDialect<tensor::TensorDialect>();
    registerTransformOps<
#define GET_OP_LIST
#include "attn/TransformOps/AttnTransformOps.cpp.inc"
        >();
  }
};
} // namespace

void attn::registerTransformDialectExtension(DialectRegistry &registry) {
  registry.addExtensions<AttnTransformDialectExtension>();
}
