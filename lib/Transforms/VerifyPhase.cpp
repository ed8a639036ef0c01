//===- VerifyPhase.cpp - attn-verify-phase --------------------------------===//
//
// The contracts between phases. Each row of the table says what must no longer
// be there once a phase has run, and which pass would have removed it. Kernels of
// GPUs have a table of their own (KernelContracts.cpp).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PhaseContracts.h"
#include "attn/IR/Decompose.h"
#include "attn/Schedule/Schedule.h"
#include "attn/Support/Dialects.h"
#include "attn/Transforms/Passes.h"

namespace attn {
#define GEN_PASS_DEF_VERIFYPHASEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

bool isTensorOp(Operation *op) {
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  return llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor);
}

bool lacksScale(Operation *op) {
  auto sdpa = dyn_cast<SdpaOp>(op);
  return sdpa && !sdpa.getScale() && !sdpa.getScaleValue();
}

/// A block adds up one kind of rows, and a CPU's tile has K and V transposed beside them.
bool isTile(BackwardStepOp step) {
  if (step.getSchedule() && isa<BlockAttr>(*step.getSchedule()))
    return cast<BlockAttr>(*step.getSchedule()).getFused() ||
           (step.getDquery() || !step.getDcaptures().empty()) != (step.getDkey() || step.getDvalue());
  return !step.getTransposed().empty();
}

/// A kernel of a GPU adds up the rows of delta; a CPU has linalg for them.
bool hasKernelOfRows(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function && function
                         .walk([](BackwardStepOp step) {
                           bool isOfBlock = step.getSchedule() && isa<BlockAttr>(*step.getSchedule());
                           return isOfBlock ? WalkResult::interrupt() : WalkResult::advance();
                         })
                         .wasInterrupted();
}

const Contract kContracts[] = {
    {"canonicalize",
     [](Operation *op) { return lacksScale(op) && ShapedType::isDynamic(getStaticSize(op, DimKind::HeadSize)); },
     "a scale where the head size is dynamic; write scale = … or scale_value(…)"},
    {"canonicalize", lacksScale, "a scale after phase canonicalize; run attn-canonicalize"},
    {"fallback", isChainOp,
     "no op of the chain after phase fallback; fuse it into attn.sdpa (attn-fuse says why it did not), or run "
     "attn-lower-to-reference"},
    {"analyze-mask",
     [](Operation *op) {
       auto sdpa = dyn_cast<SdpaOp>(op);
       return sdpa && sdpa.getKeyRanges().empty();
     },
     "key ranges after phase analyze-mask; run attn-analyze-mask"},
    {"analyze-mask", [](Operation *op) { return isa<SdpaOp, SdpaBackwardOp>(op) && hasWordsToExpand(op); },
     "no word of masks, sinks, origins or score functions after phase analyze-mask; run attn-analyze-mask"},
    {"analyze-mask",
     [](Operation *op) {
       auto gradients = dyn_cast<SdpaBackwardOp>(op);
       return gradients && gradients.getQueryRanges().empty();
     },
     "query ranges after phase analyze-mask; run attn-analyze-mask"},
    {"select-schedule", [](Operation *op) { return isa<SdpaOp, SdpaBackwardOp>(op) && !op->hasAttr("schedule"); },
     "a schedule after phase select-schedule; run attn-select-schedule"},
    {"online", [](Operation *op) { return isa<SdpaOp>(op); },
     "no attn.sdpa after phase online; run attn-convert-to-online"},
    {"online", [](Operation *op) { return isa<SdpaBackwardOp>(op); },
     "no attn.sdpa_backward after phase online; run attn-convert-to-online"},
    {"tile",
     [](Operation *op) {
       auto step = dyn_cast<BackwardStepOp>(op);
       return step ? !isTile(step) : isa<RowDeltaOp>(op) && !hasKernelOfRows(op);
     },
     "one tile of queries and keys a backward step after phase tile; run attn-tile"},
    {"tile",
     [](Operation *op) {
       auto step = dyn_cast<OnlineStepOp>(op);
       return step && !hasTileRows(step);
     },
     "the query rows of its schedule's tile after phase tile; run attn-tile"},
    {"tile",
     [](Operation *op) {
       auto step = dyn_cast<OnlineStepOp>(op);
       return step && !hasTileKeys(step);
     },
     "one key tile a step after phase tile, of at most as many keys as its schedule says; run attn-tile"},
    {"bufferize", isTensorOp, "no tensors after phase bufferize; run one-shot-bufferize"},
    {"vector", [](Operation *op) { return isOfDialect<AttnDialect>(op); },
     "no attn op after phase vector; no CPU lowering took it (attn-lower-tile-to-vector, attn-lower-to-reference)"},
    {"nvvm", [](Operation *op) { return isOfDialect<AttnDialect>(op); },
     "no attn op after phase nvvm; only attention has GPU kernels, compile the rest for the host"},
};

SmallVector<Contract> getContracts() {
  SmallVector<Contract> contracts = llvm::to_vector(ArrayRef(kContracts));
  // In the order of the phases: nvvm, the last one, follows those of kernels.
  contracts.insert(std::prev(contracts.end()), getKernelContracts().begin(), getKernelContracts().end());
  return contracts;
}

struct VerifyPhasePass : public attn::impl::VerifyPhasePassBase<VerifyPhasePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Contract> contracts = getContracts();
    if (llvm::none_of(contracts, [&](const Contract &contract) { return contract.phase == phase; })) {
      InFlightDiagnostic diag = getOperation()->emitError("attn-verify-phase: expected phase to be one of");
      StringRef last;
      for (const Contract &contract : contracts)
        if (contract.phase != last)
          diag << (last.empty() ? " " : ", ") << (last = contract.phase);
      diag << ", found '" << phase << "'";
      return signalPassFailure();
    }
    WalkResult result = getOperation()->walk([&](Operation *op) {
      for (const Contract &contract : contracts)
        if (contract.phase == phase && contract.isBroken(op)) {
          op->emitOpError("expected ") << contract.expected;
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
