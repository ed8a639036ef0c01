//===- MapToGpu.cpp - attn-map-to-gpu -------------------------------------===//
//
// Before: scf.forall on memrefs, with tiles of attn ops. After: a gpu.module with one kernel per forall, whose body is
// one block of threads, and a gpu.launch_func in place of the forall. A kernel takes only scalars: a pointer for each
// buffer that it reads or writes, its dynamic sizes, and the other host values that the body uses.
//
// The grid is one-dimensional, so the limit of 65535 of the other dimensions does not matter. BlockOrder.cpp defines
// the order of the blocks.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BlockOrder.h"
#include "GridLoops.h"
#include "attn/Conversion/Outlining.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "attn/Support/Dialects.h"
#include "attn/Target/PassTarget.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

namespace attn {
#define GEN_PASS_DEF_MAPTOGPUPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

namespace {

/// Threads per block where each thread runs one iteration of the loop.
constexpr int64_t kElementThreads = 256;

/// How a forall is lowered: by its own schedule, or by that of the function's other kernels.
struct KernelPlan {
  BlockAttr schedule;
  int64_t sharedBytes = 0;
  int64_t roundsPerBlock = 1; ///< iterations: one (a tile), or one per thread
};

class KernelOutliner {
public:
  KernelOutliner(func::FuncOp host, const GpuInfo &gpu)
      : host(host), gpu(gpu), b(host.getContext()), converter(host.getContext()),
        pointer(LLVM::LLVMPointerType::get(host.getContext())) {}

  LogicalResult outline(scf::ForallOp forall, const KernelPlan &plan) {
    Location loc = forall.getLoc();
    if (forall->getNumResults() != 0)
      return forall.emitOpError("expected a loop on memrefs, found results; run bufferisation first");
    collect(forall);
    gpu::GPUFuncOp kernel;
    if (failed(createKernel(forall, plan, kernel)))
      return failure();

    b.setInsertionPoint(forall);
    SmallVector<Value> operands;
    for (Value capture : captures)
      appendOperands(loc, capture, operands);
    Value one = arith::ConstantIndexOp::create(b, loc, 1), blocks = createTileCount(b, forall);
    if (plan.roundsPerBlock > 1)
      blocks = arith::CeilDivUIOp::create(b, loc, blocks, arith::ConstantIndexOp::create(b, loc, plan.roundsPerBlock));
    Value threads = arith::ConstantIndexOp::create(b, loc, plan.schedule.getThreads());
    Value shared = arith::ConstantIntOp::create(b, loc, plan.sharedBytes, 32);
    gpu::LaunchFuncOp::create(b, loc, kernel, gpu::KernelDim3{blocks, one, one}, gpu::KernelDim3{threads, one, one},
                              shared, operands);
    forall.erase();
    return success();
  }

private:
  /// Splits the outside values that the body reads into those rebuilt inside (constants, views) and those passed as
  /// parameters.
  void collect(scf::ForallOp forall) {
    captures.clear();
    rebuilt.clear();
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(forall.getRegion(), used);
    used.insert_range(forall->getOperands()); // bounds and steps
    for (Value value : used)
      visit(value);
  }

  void visit(Value value) {
    Operation *op = value.getDefiningOp();
    if (rebuilt.contains(op) || captures.contains(value))
      return;
    if (op && (op->hasTrait<OpTrait::ConstantLike>() || isa<ViewLikeOpInterface, memref::GetGlobalOp>(op))) {
      for (Value operand : op->getOperands())
        visit(operand);
      rebuilt.insert(op);
    } else {
      captures.insert(value);
    }
  }

  /// The host's side of a captured value: the operands of the launch.
  void appendOperands(Location loc, Value value, SmallVector<Value> &operands) {
    Type i64 = b.getI64Type();
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type) {
      operands.push_back(value.getType().isIndex() ? arith::IndexCastOp::create(b, loc, i64, value).getResult()
                                                   : value);
      return;
    }
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, value);
    address = arith::IndexCastOp::create(b, loc, i64, address);
    operands.push_back(LLVM::IntToPtrOp::create(b, loc, pointer, address));
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        operands.push_back(
            arith::IndexCastOp::create(b, loc, i64, memref::DimOp::create(b, loc, value, dim).getResult()));
    if (getNumStrides(type) == 0)
      return;
    auto facts = memref::ExtractStridedMetadataOp::create(b, loc, value);
    for (OpFoldResult stride : ArrayRef(facts.getConstifiedMixedStrides()).drop_back())
      operands.push_back(arith::IndexCastOp::create(b, loc, i64, getValueOrCreateConstantIndexOp(b, loc, stride)));
  }

  /// Strides passed to a kernel: for a view with dynamic strides, all but the last one, which is 1.
  static int64_t getNumStrides(MemRefType type) { return type.getLayout().isIdentity() ? 0 : type.getRank() - 1; }

  SmallVector<Type> getParameterTypes() {
    SmallVector<Type> types;
    for (Value value : captures) {
      auto type = dyn_cast<MemRefType>(value.getType());
      types.push_back(type ? Type(pointer) : value.getType().isIndex() ? Type(b.getI64Type()) : value.getType());
      if (type)
        types.append(type.getNumDynamicDims() + getNumStrides(type), b.getI64Type());
    }
    return types;
  }

  /// The kernel's side: rebuilds a captured value from its parameters.
  Value rebuild(Location loc, Value value, ArrayRef<BlockArgument> &parameters) {
    Value first = parameters.front();
    parameters = parameters.drop_front();
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type)
      return value.getType().isIndex() ? arith::IndexCastOp::create(b, loc, b.getIndexType(), first).getResult()
                                       : first;
    ArrayRef<BlockArgument> sizes = parameters.take_front(type.getNumDynamicDims());
    parameters = parameters.drop_front(sizes.size());
    ArrayRef<BlockArgument> strides = parameters.take_front(getNumStrides(type));
    parameters = parameters.drop_front(strides.size());
    return createMemref(b, loc, converter, type, first, SmallVector<Value>(sizes), SmallVector<Value>(strides));
  }

  gpu::GPUModuleOp getGpuModule() {
    auto module = host->getParentOfType<ModuleOp>();
    std::string name = (host.getName() + "_gpu").str();
    if (auto existing = module.lookupSymbol<gpu::GPUModuleOp>(name))
      return existing;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(host);
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(), b.getUnitAttr());
    return gpu::GPUModuleOp::create(b, host.getLoc(), name);
  }

  /// Copies a constant of the host's module to the device's.
  void copyGlobal(memref::GetGlobalOp constant, gpu::GPUModuleOp gpuModule) {
    if (SymbolTable::lookupSymbolIn(gpuModule, constant.getName()))
      return;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(gpuModule.getBody());
    b.clone(*SymbolTable::lookupNearestSymbolFrom(host, constant.getNameAttr()));
  }

  /// True where rows are contiguous and the offset is 0.
  static bool hasRows(MemRefType type) {
    SmallVector<int64_t> strides;
    int64_t offset;
    return type.getLayout().isIdentity() || (succeeded(type.getStridesAndOffset(strides, offset)) && offset == 0 &&
                                             !strides.empty() && strides.back() == 1);
  }

  /// The op that orders the blocks that add to one tile; null where no two blocks do.
  static AwaitOrderOp findOrder(scf::ForallOp forall) {
    AwaitOrderOp found;
    forall.walk([&](AwaitOrderOp op) { found = op; });
    return found;
  }

  LogicalResult createKernel(scf::ForallOp forall, const KernelPlan &plan, gpu::GPUFuncOp &kernel) {
    Location loc = forall.getLoc();
    for (Value value : captures)
      if (auto type = dyn_cast<MemRefType>(value.getType()); type && !hasRows(type))
        return forall.emitOpError("expected buffers with elements of a row side by side, found ") << type;
    OpBuilder::InsertionGuard guard(b);
    gpu::GPUModuleOp gpuModule = getGpuModule();
    b.setInsertionPointToEnd(gpuModule.getBody());
    std::string name = (host.getName() + "_kernel").str();
    if (SymbolTable::lookupSymbolIn(gpuModule, name))
      name += "_" + std::to_string(llvm::range_size(gpuModule.getOps<gpu::GPUFuncOp>()));
    kernel = gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(getParameterTypes(), {}));
    kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
    int32_t threads = plan.schedule.getThreads();
    kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({threads, 1, 1}));
    kernel->setAttr(kScheduleAttr, plan.schedule);
    b.setInsertionPointToStart(&kernel.getBody().front());
    IRMapping mapping;
    ArrayRef<BlockArgument> parameters = kernel.getBody().getArguments();
    for (Value value : captures)
      mapping.map(value, rebuild(loc, value, parameters));
    for (Operation *op : rebuilt) {
      if (auto constant = dyn_cast<memref::GetGlobalOp>(op))
        copyGlobal(constant, gpuModule);
      b.clone(*op, mapping);
    }
    gpu::ReturnOp end = gpu::ReturnOp::create(b, loc);
    b.setInsertionPoint(end);
    if (AwaitOrderOp order = findOrder(forall)) {
      // A ticket orders blocks by their start, so no block waits for one that has not started.
      cloneTile(b, forall, TakeTicketOp::create(b, loc, mapping.lookup(order.getTurns())), mapping);
      return success();
    }
    Value block = toIndex(loc, NVVM::BlockIdXOp::create(b, loc, b.getI32Type()));
    if (plan.roundsPerBlock == 1) {
      bool turnsGroups = plan.schedule.getProducer() || plan.schedule.getInstruction().getInfo().readsPanels();
      cloneTile(b, forall, createRoundOfBlock(b, forall, block, mapping, gpu, turnsGroups), mapping);
      return success();
    }
    Value first = arith::MulIOp::create(b, loc, block, arith::ConstantIndexOp::create(b, loc, plan.roundsPerBlock));
    Value thread = toIndex(loc, NVVM::ThreadIdXOp::create(b, loc, b.getI32Type()));
    Value round = arith::AddIOp::create(b, loc, first, thread), count = createTileCount(b, forall, mapping);
    Value isInside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, round, count);
    b.setInsertionPointToStart(scf::IfOp::create(b, loc, isInside, /*withElseRegion=*/false).thenBlock());
    cloneTile(b, forall, round, mapping);
    return success();
  }

  Value toIndex(Location loc, Value number) { return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), number); }

  func::FuncOp host;
  const GpuInfo &gpu;
  OpBuilder b;
  LLVMTypeConverter converter;
  LLVM::LLVMPointerType pointer;
  llvm::SetVector<Value> captures;
  llvm::SetVector<Operation *> rebuilt;
};

BlockAttr getSchedule(Operation *step) { return step->getAttrOfType<BlockAttr>("schedule"); }

/// The schedule of an op on rows without a step: its rows are the first `rank` dimensions of `tile`.
BlockAttr getScheduleOfRows(Value tile, unsigned rank) {
  int64_t rows = 1;
  for (int64_t size : cast<MemRefType>(tile.getType()).getShape().take_front(rank))
    rows *= size;
  MLIRContext *context = tile.getContext();
  return BlockAttr::get(context, rows, /*key_tile=*/16, /*warps=*/llvm::divideCeil(rows, 16), /*warp_rows=*/16,
                        InstructionAttr::getFMA(context), /*shared_keys=*/false, /*split_keys=*/0, /*stages=*/1,
                        /*producer=*/false);
}

/// The plan of a loop without tiles: one thread per iteration.
KernelPlan getElementPlan(MLIRContext *context) {
  constexpr int64_t warps = kElementThreads / 32;
  auto schedule = BlockAttr::get(context, /*query_tile=*/16 * warps, /*key_tile=*/16, warps, /*warp_rows=*/16,
                                 InstructionAttr::getFMA(context), /*shared_keys=*/false, /*split_keys=*/0,
                                 /*stages=*/1, /*producer=*/false);
  return {schedule, /*sharedBytes=*/0, kElementThreads};
}

/// How a loop is lowered; `common` is the schedule of the function's other kernels.
KernelPlan getPlan(scf::ForallOp forall, BlockAttr common) {
  KernelPlan plan = isElementLoop(forall) ? getElementPlan(forall.getContext()) : KernelPlan{common};
  forall.walk([&](Operation *step) {
    if (!isa<OnlineStepOp, BackwardStepOp>(step))
      return;
    plan.schedule = getSchedule(step);
    plan.sharedBytes = std::max(plan.sharedBytes, plan.schedule.getSharedBytes(step));
  });
  // Without keys there is no step: the remaining ops write empty rows.
  forall.walk([&](Operation *op) {
    if (plan.schedule)
      return;
    if (auto finalize = dyn_cast<FinalizeOp>(op))
      plan.schedule =
          getScheduleOfRows(finalize.getRowMax(), cast<MemRefType>(finalize.getRowMax().getType()).getRank());
    if (auto zeros = dyn_cast<linalg::FillOp>(op)) {
      Value sums = zeros.getOutputs()[0];
      plan.schedule = getScheduleOfRows(sums, cast<MemRefType>(sums.getType()).getRank() - 1);
    }
  });
  return plan;
}

/// Checks that attention is on tiles in memrefs.
LogicalResult verifyTiles(func::FuncOp host) {
  WalkResult result = host.walk([](Operation *op) {
    if (!isOfDialect<AttnDialect>(op))
      return WalkResult::advance();
    if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>))
      return WalkResult(op->emitOpError("expected memrefs; run bufferisation before attn-map-to-gpu"));
    if (isa<SdpaOp, SdpaBackwardOp>(op))
      return WalkResult(
          op->emitOpError("expected tiles, found the whole op; run attn-to-flash first, for this target"));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The schedule of the last step; null without a step. Verifies all of them.
FailureOr<BlockAttr> findSchedule(func::FuncOp host, const TargetInfo &info) {
  BlockAttr found;
  WalkResult result = host.walk([&](Operation *step) {
    if (!isa<OnlineStepOp, BackwardStepOp>(step))
      return WalkResult::advance();
    BlockAttr schedule = getSchedule(step);
    if (!schedule)
      return WalkResult(step->emitOpError("expected a schedule #attn.block<…>; run attn-select-schedule for target ")
                        << info.name);
    Type sum = getAccumulationType(getElementTypeOrSelf(step->getOperand(0).getType()));
    if (failed(schedule.verifyTarget(step, sum, info)))
      return WalkResult::interrupt();
    found = schedule;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return found;
}

struct MapToGpuPass : public attn::impl::MapToGpuPassBase<MapToGpuPass> {
  using Base::Base;

  /// True for a function of the user's in the module: neither a kernel nor one with tiles.
  static bool isForeign(func::FuncOp function) {
    auto findTile = [](Operation *op) {
      bool isFound = isOfDialect<AttnDialect>(op) || isa<scf::ForallOp>(op);
      return isFound ? WalkResult::interrupt() : WalkResult::advance();
    };
    return !function->hasAttr(kArgumentsAttr) && !function.walk(findTile).wasInterrupted();
  }

  LogicalResult mapFunction(func::FuncOp host, const TargetInfo &info) {
    if (isForeign(host))
      return success();
    if (failed(verifyTiles(host)) || failed(makeGridLoops(host)))
      return failure();
    SmallVector<scf::ForallOp> loops;
    host.walk([&](scf::ForallOp op) { loops.push_back(op); });
    FailureOr<BlockAttr> common = findSchedule(host, info);
    if (failed(common) || failed(verifyHost(host)))
      return failure();
    KernelOutliner outliner(host, *info.gpu);
    for (scf::ForallOp forall : loops) {
      KernelPlan plan = getPlan(forall, *common);
      if (!plan.schedule)
        return forall.emitOpError("expected attention in this loop, or beside it; found none");
      if (failed(outliner.outline(forall, plan)))
        return failure();
    }
    return success();
  }

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getGpuTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    for (func::FuncOp host : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!host.isExternal() && failed(mapFunction(host, *info)))
        return signalPassFailure();
    WalkResult result = getOperation().walk([](gpu::GPUFuncOp kernel) { return WalkResult(verifyRegistered(kernel)); });
    if (result.wasInterrupted())
      return signalPassFailure();
  }
};
} // namespace
