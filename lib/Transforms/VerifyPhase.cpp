//===- VerifyPhase.cpp - attn-verify-phase --------------------------------===//
//
// The contracts between phases. Each row of the table says what must no longer
// be there once a phase has run, and which pass would have removed it; or what must
// be there, as another role of the kernel waits for it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Schedule/Schedule.h"
#include "attn/Support/Dialects.h"
#include "attn/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attn {
#define GEN_PASS_DEF_VERIFYPHASEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct Contract {
  StringRef phase;
  bool (*isBroken)(Operation *op);
  StringRef expected;
};

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

bool isOutsideOfKernel(Operation *op) { return isOfDialect<AttnDialect>(op) && !op->getParentOfType<gpu::GPUFuncOp>(); }

/// Later passes leave such a kernel alone.
bool lacksSchedule(Operation *op) {
  auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
  auto isStep = [](Operation *inner) {
    return isOfDialect<AttnDialect>(inner) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return kernel && !kernel->hasAttr(kScheduleAttr) && kernel.walk(isStep).wasInterrupted();
}

/// Tiles in shared memory and warps are those of the kernel.
bool hasOtherSchedule(Operation *op) {
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  return kernel && isa<OnlineStepOp, BackwardStepOp>(op) && op->getAttr("schedule") != kernel->getAttr(kScheduleAttr);
}

/// A launch passes no memref: the kernel makes its own of a pointer and sizes.
bool takesMemref(Operation *op) {
  auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
  return kernel && kernel.isKernel() && llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<ShapedType, IndexType>);
}

/// The tile that a memref is a view of.
Value getTile(Value memref) { return memref::skipViewLikeOps(cast<MemrefValue>(memref)); }

bool waitsFor(Operation *op, Value tile) {
  auto wait = dyn_cast<WaitOp>(op);
  return wait && llvm::any_of(wait.getStages(), [&](Value stage) { return getTile(stage) == tile; });
}

bool releases(Operation *op, Value tile) {
  auto release = dyn_cast<ReleaseOp>(op);
  return release && getTile(release.getTile()) == tile;
}

/// The producer would wait for the stage for ever.
bool keepsStage(Operation *op) {
  auto wait = dyn_cast<WaitOp>(op);
  return wait && llvm::any_of(wait.getStages(), [&](Value stage) {
           Value tile = getTile(stage);
           Operation *next = wait->getNextNode();
           while (next && !waitsFor(next, tile) && !releases(next, tile))
             next = next->getNextNode();
           return !next || !releases(next, tile);
         });
}

/// The producer may be filling what the product reads.
bool readsNoStage(Operation *op) {
  auto product = dyn_cast<ProductOp>(op);
  if (!product || !isa<MemRefType>(product.getRhs().getType()))
    return false;
  Value tile = getTile(product.getRhs());
  auto isOfProducer = [](Operation *user) {
    auto copy = dyn_cast<CopyOp>(user);
    return copy && copy.getTensorMap();
  };
  if (llvm::none_of(tile.getUsers(), isOfProducer))
    return false;
  Operation *before = op->getPrevNode();
  while (before && !waitsFor(before, tile) && !releases(before, tile))
    before = before->getPrevNode();
  if (!before || releases(before, tile))
    return true;
  // The stage is read until the product has been computed.
  for (Operation *next = op->getNextNode(); product.getAsync() && next; next = next->getNextNode()) {
    if (isa<WaitProductOp, ScoreGradientsOp>(next) && llvm::is_contained(next->getOperands(), op->getResult(0)))
      return false;
    if (releases(next, tile))
      return true;
  }
  return false;
}

bool isOutsideOfProducer(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  auto roles = op->getParentOfType<WarpRolesOp>();
  return copy && copy.getTensorMap() && !(roles && roles.getProducer().isAncestor(op->getParentRegion()));
}

/// Only tiles in registers are lowered.
bool writesScoresToMemory(Operation *op) {
  auto product = dyn_cast<ProductOp>(op);
  return product && isa<MemRefType>(product.getOutput().getType());
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
    {"gpu", [](Operation *op) { return isa<scf::ForallOp>(op); },
     "no scf.forall after phase gpu, whose rounds are the blocks of a kernel; run attn-map-to-gpu"},
    {"gpu", isOutsideOfKernel, "attn ops in kernels alone after phase gpu; run attn-map-to-gpu"},
    {"gpu", lacksSchedule, "attn.schedule = #attn.block<…> on a kernel with attn ops after phase gpu"},
    {"gpu", hasOtherSchedule, "the schedule that attn.schedule of its kernel is after phase gpu"},
    {"gpu", takesMemref, "pointers and numbers as parameters of a kernel after phase gpu, and memrefs made of them"},
    {"steps", writesScoresToMemory, "products of tiles in registers after phase steps; run attn-tiles-to-registers"},
    {"steps", isOutsideOfProducer, "the producer of an attn.warp_roles around a copy of a box; run attn-split-roles"},
    {"steps", keepsStage,
     "an attn.release of each of its stages behind the last reader, in front of the next wait of the tile, found none; "
     "write attn.release %tile : …"},
    {"steps", readsNoStage,
     "an attn.wait of the stage that rhs is in front of it, and its attn.release behind it, or behind its "
     "attn.wait_product, found it not waited for or released; write attn.wait stages(%tile : …)"},
    {"nvvm", [](Operation *op) { return isOfDialect<AttnDialect>(op); },
     "no attn op after phase nvvm; only attention has GPU kernels, compile the rest for the host"},
};

struct VerifyPhasePass : public attn::impl::VerifyPhasePassBase<VerifyPhasePass> {
  using Base::Base;

  void runOnOperation() override {
    if (llvm::none_of(kContracts, [&](const Contract &contract) { return contract.phase == phase; })) {
      InFlightDiagnostic diag = getOperation()->emitError("attn-verify-phase: expected phase to be one of");
      StringRef last;
      for (const Contract &contract : kContracts)
        if (contract.phase != last)
          diag << (last.empty() ? " " : ", ") << (last = contract.phase);
      diag << ", found '" << phase << "'";
      return signalPassFailure();
    }
    WalkResult result = getOperation()->walk([&](Operation *op) {
      for (const Contract &contract : kContracts)
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
