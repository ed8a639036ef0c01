//===- KernelContracts.cpp - contracts of phases gpu and steps ------------===//
//
// What may stand in a kernel of a GPU, and the protocol of its roles: each stage is
// waited for, read and released once, turns and orders are passed on, barriers stand
// between who writes shared memory and who reads it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PhaseContracts.h"
#include "attn/IR/Attn.h"
#include "attn/Schedule/Schedule.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

namespace {

//===----------------------------------------------------------------------===//
// What may stand there
//===----------------------------------------------------------------------===//

bool isInKernel(Operation *op) { return op->getParentOfType<gpu::GPUFuncOp>() != nullptr; }

/// Ops of regions of scores, and of both phases.
bool isOfKernels(Operation *op) {
  return isa<InitStateOp, MergeStatesOp, FinalizeOp, RowDeltaOp, PackOp, GatherPagesOp, ClassifyTileOp, AwaitOrderOp,
             PassOrderOp, TakeTicketOp, IndexOp, ScoreFunction, RandomKeepOp, AccumulateOp, YieldOp>(op) ||
         isa<linalg::FillOp, linalg::GenericOp, linalg::YieldOp, linalg::IndexOp, UnrealizedConversionCastOp>(op) ||
         isOfDialect<arith::ArithDialect, math::MathDialect, affine::AffineDialect, scf::SCFDialect,
                     memref::MemRefDialect, gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>(op);
}

bool isForeignToSteps(Operation *op) {
  return isInKernel(op) && !isOfKernels(op) && !isOfDialect<tensor::TensorDialect>(op) &&
         !isa<ProductOp, WaitProductOp, MapScoresOp, RowMaxOp, RescaleOp, RescaleRowsOp, RescaleAccOp, WeightsOp,
              ScoreGradientsOp, StoreStateOp, CopyOp, WaitOp, ReleaseOp, ClearRowsOp, CopyStatisticsOp, ExchangeOp,
              AddRowsOp, TakeTurnOp, PassTurnOp, WarpRolesOp>(op);
}

bool isWholeStep(Operation *op) { return isa<OnlineStepOp, BackwardStepOp>(op); }

/// Kernels of phase steps go through the phases again where a compilation starts with them.
bool isForeignToGpu(Operation *op) {
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  if (!kernel || isOfKernels(op) || isWholeStep(op))
    return false;
  auto find = [](Operation *inner) { return isWholeStep(inner) ? WalkResult::interrupt() : WalkResult::advance(); };
  return isForeignToSteps(op) || kernel.walk(find).wasInterrupted();
}

bool hasTensorInMemory(Operation *op) {
  auto isInMemory = [](Type type) { return isa<TensorType>(type) && !isInRegisters(type); };
  return isInKernel(op) &&
         (llvm::any_of(op->getOperandTypes(), isInMemory) || llvm::any_of(op->getResultTypes(), isInMemory));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

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

/// The last op in front of `op` that waits for the tile or releases it; null without one. Around a loop that does not
/// release the tile, it may stand in front of the loop.
Operation *findWaitOrRelease(Operation *op, Value tile) {
  auto isRelease = [&](Operation *inner) {
    return releases(inner, tile) ? WalkResult::interrupt() : WalkResult::advance();
  };
  for (;; op = op->getParentOp()) {
    Operation *before = op->getPrevNode(), *parent = op->getParentOp();
    while (before && !waitsFor(before, tile) && !releases(before, tile))
      before = before->getPrevNode();
    if (before || isa<WarpRolesOp, FunctionOpInterface>(parent) || parent->walk(isRelease).wasInterrupted())
      return before;
  }
}

/// True where a stage that `op` reads has not been waited for, or has been released.
bool readsNoStage(Operation *op, Value tile) {
  Operation *before = findWaitOrRelease(op, tile);
  if (!before || releases(before, tile))
    return true;
  // The stage is read until the product has been computed.
  auto product = dyn_cast<ProductOp>(op);
  for (Operation *next = op->getNextNode(); product && product.getAsync() && next; next = next->getNextNode()) {
    if (isa<WaitProductOp, ScoreGradientsOp>(next) && llvm::is_contained(next->getOperands(), op->getResult(0)))
      return false;
    if (releases(next, tile))
      return true;
  }
  return false;
}

/// The producer may be filling what the op reads.
bool readsNoStage(Operation *op) {
  if (!isOfDialect<AttnDialect>(op) || isa<WaitOp, ReleaseOp, CopyOp, CopyStatisticsOp, WarpRolesOp>(op))
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    if (!isa<MemRefType>(operand.getType()))
      return false;
    Value tile = getTile(operand);
    return llvm::any_of(tile.getUsers(), llvm::IsaPred<WarpRolesOp>) && readsNoStage(op, tile);
  });
}

bool isOutsideOfProducer(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  auto roles = op->getParentOfType<WarpRolesOp>();
  bool stores = copy && gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(cast<MemRefType>(copy.getInput().getType()));
  return copy && copy.getTensorMap() && !stores && !(roles && roles.getProducer().isAncestor(op->getParentRegion()));
}

/// Only tiles in registers are lowered.
bool writesScoresToMemory(Operation *op) {
  auto product = dyn_cast<ProductOp>(op);
  return product && isa<MemRefType>(product.getOutput().getType());
}

/// The op in front of `op` in its block, or behind it, of one of two kinds.
template <typename First, typename Second> Operation *findBefore(Operation *op) {
  Operation *before = op->getPrevNode();
  while (before && !isa<First, Second>(before))
    before = before->getPrevNode();
  return before;
}
template <typename First, typename Second> Operation *findBehind(Operation *op) {
  Operation *next = op->getNextNode();
  while (next && !isa<First, Second>(next))
    next = next->getNextNode();
  return next;
}

/// The producer would take the stage for free while others read it.
bool releasesNoStage(Operation *op) {
  auto release = dyn_cast<ReleaseOp>(op);
  if (!release)
    return false;
  Value tile = getTile(release.getTile());
  Operation *before = op->getPrevNode();
  while (before && !waitsFor(before, tile) && !releases(before, tile))
    before = before->getPrevNode();
  return !before || releases(before, tile);
}

bool isUnusedProduct(Operation *op) {
  auto product = dyn_cast<ProductOp>(op);
  return product && product->getNumResults() > 0 && product->use_empty();
}

/// The groups of warps would wait for each other for ever, or multiply at once.
bool breaksTurns(Operation *op) {
  if (auto turn = dyn_cast<PassTurnOp>(op))
    return !turn.getFirst() && !isa_and_nonnull<TakeTurnOp>(findBefore<TakeTurnOp, PassTurnOp>(op));
  return isa<TakeTurnOp>(op) && !isa_and_nonnull<PassTurnOp>(findBehind<TakeTurnOp, PassTurnOp>(op));
}

/// A turn of blocks is awaited, sums are added, and it is passed on.
bool breaksOrder(Operation *op) {
  if (isa<AddRowsOp>(op))
    return !isa_and_nonnull<AwaitOrderOp>(findBefore<AwaitOrderOp, PassOrderOp>(op)) ||
           !isa_and_nonnull<PassOrderOp>(findBehind<AwaitOrderOp, PassOrderOp>(op));
  if (auto wait = dyn_cast<AwaitOrderOp>(op); wait && !wait.getByProducer())
    return !isa_and_nonnull<AddRowsOp>(findBehind<AddRowsOp, PassOrderOp>(op));
  return isa<PassOrderOp>(op) && !isa_and_nonnull<AddRowsOp>(findBefore<AddRowsOp, PassOrderOp>(op));
}

/// Other warps may not have written their part yet.
bool readsExchangeTooEarly(Operation *op) {
  auto exchange = dyn_cast<ExchangeOp>(op);
  if (!exchange)
    return false;
  Value tile = getTile(exchange.getOutput());
  for (Operation *next = op->getNextNode(); next && !isa<gpu::BarrierOp>(next); next = next->getNextNode())
    if (auto product = dyn_cast<ProductOp>(next))
      for (Value operand : {product.getLhs(), product.getRhs()})
        if (isa<MemRefType>(operand.getType()) && getTile(operand) == tile)
          return true;
  return !isa_and_nonnull<gpu::BarrierOp>(findBehind<gpu::BarrierOp, gpu::BarrierOp>(op));
}

/// The same op directly behind itself, which waits for nothing.
bool isRepeated(Operation *op) {
  if (!isa<gpu::BarrierOp, WaitOp, CopyOp, CopyStatisticsOp, ClearRowsOp, ExchangeOp, TakeTicketOp, AwaitOrderOp,
           PassOrderOp>(op))
    return false;
  Operation *before = op->getPrevNode();
  return isInKernel(op) && before &&
         OperationEquivalence::isEquivalentTo(before, op, OperationEquivalence::exactValueMatch,
                                              /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

const Contract kContracts[] = {
    {"gpu", [](Operation *op) { return isa<scf::ForallOp>(op); },
     "no scf.forall after phase gpu, whose rounds are the blocks of a kernel; run attn-map-to-gpu"},
    {"gpu", isOutsideOfKernel, "attn ops in kernels alone after phase gpu; run attn-map-to-gpu"},
    {"gpu", lacksSchedule, "attn.schedule = #attn.block<…> on a kernel with attn ops after phase gpu"},
    {"gpu", hasOtherSchedule, "the schedule that attn.schedule of its kernel is after phase gpu"},
    {"gpu", takesMemref, "pointers and numbers as parameters of a kernel after phase gpu, and memrefs made of them"},
    {"gpu", isForeignToGpu,
     "in a kernel after phase gpu only ops on whole tiles (attn.online_step, attn.backward_step and what stands around "
     "them), found another one; run attn-map-to-gpu"},
    {"gpu", hasTensorInMemory, "memrefs alone in a kernel after phase gpu; run one-shot-bufferize"},
    {"steps", isForeignToSteps,
     "in a kernel after phase steps only the ops of a step, its copies and its roles, found another one; run "
     "attn-decompose-step"},
    {"steps", hasTensorInMemory,
     "tensors of #attn.registers alone in a kernel after phase steps; run attn-tiles-to-registers"},
    {"steps", writesScoresToMemory, "products of tiles in registers after phase steps; run attn-tiles-to-registers"},
    {"steps", isOutsideOfProducer, "the producer of an attn.warp_roles around a copy of a box; run attn-split-roles"},
    {"steps", keepsStage,
     "an attn.release of each of its stages behind the last reader, in front of the next wait of the tile, found none; "
     "write attn.release %tile : …"},
    {"steps", readsNoStage,
     "an attn.wait of the stages that it reads in front of it, and their attn.release behind it, or behind its "
     "attn.wait_product, found one not waited for or released; write attn.wait stages(%tile : …)"},
    {"steps", releasesNoStage,
     "an attn.wait of the stage in front of it, which no other attn.release has released, found none; write attn.wait "
     "stages(%tile : …)"},
    {"steps", isUnusedProduct, "an op that reads the result of each product after phase steps, found none; remove it"},
    {"steps", breaksTurns, "attn.take_turn and attn.pass_turn in turn in each block after phase steps"},
    {"steps", breaksOrder,
     "attn.await_order, attn.add_rows and attn.pass_order one after the other in each block after phase steps"},
    {"steps", readsExchangeTooEarly,
     "a gpu.barrier behind it, in front of the products that read its output after phase steps"},
    {"steps", isRepeated, "not the same op directly in front of it after phase steps; remove one of them"},
};

} // namespace

ArrayRef<Contract> attn::getKernelContracts() { return kContracts; }
