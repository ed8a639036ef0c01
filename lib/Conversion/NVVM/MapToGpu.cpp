//===- MapToGpu.cpp - attn-map-to-gpu -------------------------------------===//
//
// Before: scf.forall on memrefs, tiles of attn ops in it. After: a gpu.module
// with one kernel a forall, whose body is one block of threads, and a
// gpu.launch_func in its place. A kernel takes scalars alone: a pointer for each
// buffer that it reads or writes, its dynamic sizes, and whatever else the body
// needs from the host.
//
// The grid has one dimension: the tiles of one head follow each other, so that
// blocks that run together share K and V in the second-level cache, and no limit
// of 65535 is near. The order of the tiles is that of the loop.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Outlining.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "attn/Target/BlockLayout.h"
#include "attn/Target/PassTarget.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
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

namespace {

/// What a forall of a function is lowered with: its own schedule, or that of the function's other kernels.
struct KernelPlan {
  ScheduleAttr schedule;
  int64_t sharedBytes = 0;
};

class KernelOutliner {
public:
  explicit KernelOutliner(func::FuncOp host)
      : host(host), b(host.getContext()), converter(host.getContext()),
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
    Value threads = arith::ConstantIndexOp::create(b, loc, plan.schedule.getLanes() * plan.schedule.getWarps());
    Value shared = arith::ConstantIntOp::create(b, loc, plan.sharedBytes, 32);
    gpu::LaunchFuncOp::create(b, loc, kernel, gpu::KernelDim3{blocks, one, one}, gpu::KernelDim3{threads, one, one},
                              shared, operands);
    forall.erase();
    return success();
  }

private:
  /// Splits what the body reads from outside into what is built again inside (constants, views) and what travels.
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
    if (op && (op->hasTrait<OpTrait::ConstantLike>() || isa<ViewLikeOpInterface>(op))) {
      for (Value operand : op->getOperands())
        visit(operand);
      rebuilt.insert(op);
    } else {
      captures.insert(value);
    }
  }

  /// The host's side of one captured value: the operands of the launch.
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
  }

  SmallVector<Type> getParameterTypes() {
    SmallVector<Type> types;
    for (Value value : captures) {
      auto type = dyn_cast<MemRefType>(value.getType());
      types.push_back(type ? Type(pointer) : value.getType().isIndex() ? Type(b.getI64Type()) : value.getType());
      if (type)
        types.append(type.getNumDynamicDims(), b.getI64Type());
    }
    return types;
  }

  /// The kernel's side: a value of the captured one's type from its parameters.
  Value rebuild(Location loc, Value value, ArrayRef<BlockArgument> &parameters) {
    Value first = parameters.front();
    parameters = parameters.drop_front();
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type)
      return value.getType().isIndex() ? arith::IndexCastOp::create(b, loc, b.getIndexType(), first).getResult()
                                       : first;
    ArrayRef<BlockArgument> sizes = parameters.take_front(type.getNumDynamicDims());
    parameters = parameters.drop_front(sizes.size());
    return createContiguousMemref(b, loc, converter, type, first, SmallVector<Value>(sizes));
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

  LogicalResult createKernel(scf::ForallOp forall, const KernelPlan &plan, gpu::GPUFuncOp &kernel) {
    Location loc = forall.getLoc();
    for (Value value : captures)
      if (auto type = dyn_cast<MemRefType>(value.getType()); type && !type.getLayout().isIdentity())
        return forall.emitOpError("expected contiguous buffers, found ") << type;
    OpBuilder::InsertionGuard guard(b);
    gpu::GPUModuleOp gpuModule = getGpuModule();
    b.setInsertionPointToEnd(gpuModule.getBody());
    std::string name = (host.getName() + "_kernel").str();
    if (SymbolTable::lookupSymbolIn(gpuModule, name))
      name += "_" + std::to_string(llvm::range_size(gpuModule.getOps<gpu::GPUFuncOp>()));
    kernel = gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(getParameterTypes(), {}));
    kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
    int32_t threads = plan.schedule.getLanes() * plan.schedule.getWarps();
    kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({threads, 1, 1}));
    kernel->setAttr(kScheduleAttr, plan.schedule);
    b.setInsertionPointToStart(&kernel.getBody().front());
    IRMapping mapping;
    ArrayRef<BlockArgument> parameters = kernel.getBody().getArguments();
    for (Value value : captures)
      mapping.map(value, rebuild(loc, value, parameters));
    for (Operation *op : rebuilt)
      b.clone(*op, mapping);
    Value block = NVVM::BlockIdXOp::create(b, loc, b.getI32Type());
    cloneTile(b, forall, arith::IndexCastUIOp::create(b, loc, b.getIndexType(), block), mapping);
    gpu::ReturnOp::create(b, loc);
    return success();
  }

  func::FuncOp host;
  OpBuilder b;
  LLVMTypeConverter converter;
  LLVM::LLVMPointerType pointer;
  llvm::SetVector<Value> captures;
  llvm::SetVector<Operation *> rebuilt;
};

/// Also what reads memory, as starts of packed sequences: the host cannot.
bool isOfTile(Operation &op) {
  if (isa<scf::ForallOp>(op))
    return false;
  WalkResult result = op.walk([](Operation *inner) {
    bool isFound = isa<AttnDialect>(inner->getDialect()) || isa<memref::AllocaOp, memref::LoadOp>(inner);
    return isFound ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// A tile of a mask is classified in each loop that asks for it: the host cannot, and a number has no place between
/// kernels.
void sinkClassifications(func::FuncOp host) {
  Block &block = host.getBody().front();
  OpBuilder b(host.getContext());
  for (ClassifyTileOp op : llvm::make_early_inc_range(block.getOps<ClassifyTileOp>())) {
    llvm::DenseMap<Operation *, Operation *> copies;
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      auto forall = dyn_cast<scf::ForallOp>(block.findAncestorOpInBlock(*use.getOwner()));
      if (!forall)
        continue;
      Operation *&copy = copies[forall];
      b.setInsertionPointToStart(forall.getBody());
      if (!copy)
        copy = b.clone(*op);
      use.set(copy->getResult(0));
    }
    if (op->use_empty())
      op->erase();
  }
}

/// Of an argument, which nobody writes.
bool isRead(Operation *op) {
  auto load = dyn_cast<memref::LoadOp>(op);
  return load && isa<BlockArgument>(load.getMemRef());
}

/// What a loop uses of what the function reads (starts of packed sequences) is read in the loop again: the host cannot
/// read it, and the kernel that does so for a single tile has no place to keep it.
void sinkReads(func::FuncOp host) {
  Block &block = host.getBody().front();
  OpBuilder b(host.getContext());
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == &block && (isMemoryEffectFree(op) || isRead(op)); };
  for (auto forall : block.getOps<scf::ForallOp>()) {
    SetVector<Value> used;
    getUsedValuesDefinedAbove(forall.getRegion(), used);
    IRMapping mapping;
    b.setInsertionPointToStart(forall.getBody());
    for (Value value : used) {
      SetVector<Operation *> slice;
      if (failed(getBackwardSlice(value, &slice, options)) || llvm::none_of(slice, isRead))
        continue;
      for (Operation *op : slice)
        if (!mapping.contains(op))
          b.clone(*op, mapping);
      replaceAllUsesInRegionWith(value, mapping.lookup(value), forall.getRegion());
    }
  }
}

/// True where loads and stores reach the buffer: it has to be memory. What attn ops alone see becomes a tile in shared
/// memory or registers.
bool isAccessedByCode(Value memref) {
  return llvm::any_of(memref.getUsers(), [](Operation *user) {
    if (isa<ViewLikeOpInterface>(user))
      return isAccessedByCode(user->getResult(0));
    return isa<memref::LoadOp, memref::StoreOp>(user);
  });
}

/// The host launches kernels one after the other: whole tiles in its loops and branches have none.
LogicalResult verifyNoTilesInControlFlow(func::FuncOp host) {
  for (Operation &op : host.getBody().getOps()) {
    if (isa<scf::ForallOp>(op))
      continue;
    WalkResult found = op.walk([&](Operation *inner) {
      return inner != &op && isa<scf::ForallOp, FinalizeOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (found.wasInterrupted())
      return op.emitOpError("has attention in it, which a GPU has no kernel for: expected attention in the function "
                            "itself; write rounds as batch dimensions, or loop where the kernel is called");
  }
  return success();
}

/// A loop of one tile folds away; its ops get a loop again. What they share with later loops is computed twice.
LogicalResult wrapSingleTiles(func::FuncOp host) {
  Block &block = host.getBody().front();
  OpBuilder b(host.getContext());
  while (true) {
    auto first = llvm::find_if(block, isOfTile);
    if (first == block.end())
      return success();
    SmallVector<Operation *> ops;
    for (auto it = first; it != block.end() && !isa<scf::ForallOp, func::ReturnOp>(*it); ++it)
      ops.push_back(&*it);
    // With the store of what was found of a tile.
    while (!isOfTile(*ops.back()) && !isa<memref::StoreOp>(ops.back()))
      ops.pop_back();
    b.setInsertionPoint(ops.front());
    auto forall = scf::ForallOp::create(b, ops.front()->getLoc(), ArrayRef<OpFoldResult>{b.getIndexAttr(1)},
                                        ValueRange(), std::nullopt);
    for (Operation *op : ops) {
      // Buffers between kernels, and sizes that other loops use as well, stay outside.
      bool isUsedOutside = llvm::any_of(op->getUsers(), [&](Operation *user) {
        return !llvm::is_contained(ops, block.findAncestorOpInBlock(*user)) && !forall->isAncestor(user);
      });
      bool isComputed = isMemoryEffectFree(op) && !isa<ViewLikeOpInterface>(op) && !isOfTile(*op);
      bool isMemory = isa<memref::AllocOp>(op) && (isUsedOutside || isAccessedByCode(op->getResult(0)));
      if (isMemory || (isUsedOutside && isComputed)) {
        if (llvm::any_of(op->getOperands(), [&](Value operand) {
              return operand.getDefiningOp() && forall->isAncestor(operand.getDefiningOp());
            }))
          return op->emitOpError("expected sizes that do not depend on a tile");
        op->moveBefore(forall);
        continue;
      }
      if (isUsedOutside)
        return op->emitOpError("expected a value that the tile alone uses");
      op->moveBefore(forall.getBody()->getTerminator());
    }
    // Buffers of the tile alone go along.
    for (auto alloc : llvm::make_early_inc_range(block.getOps<memref::AllocOp>()))
      if (!isAccessedByCode(alloc) &&
          llvm::all_of(alloc->getUsers(), [&](Operation *user) { return forall->isAncestor(user); }))
        alloc->moveBefore(&forall.getBody()->front());
  }
}

/// Shared memory of the tile that `step` works on.
int64_t getSharedBytes(OnlineStepOp step) {
  ScheduleAttr schedule = *step.getSchedule();
  int64_t bytes = getElementTypeOrSelf(step.getQuery().getType()).getIntOrFloatBitWidth() / 8;
  return BlockLayout::get(schedule.getBlockRows(), schedule.getKeyTile(), getStaticSize(step, DimKind::HeadSize),
                          getStaticSize(step, DimKind::ValueSize), bytes)
      .bytes;
}

ScheduleAttr getScheduleOfRows(FinalizeOp finalize) {
  int64_t rows = 1;
  for (int64_t size : cast<MemRefType>(finalize.getRowMax().getType()).getShape())
    rows *= size;
  return ScheduleAttr::get(finalize.getContext(), rows, /*key_tile=*/16, /*lanes=*/32, /*row_block=*/16,
                           /*lane_vectors=*/1, KernelKind::Prefill, ProductKind::FMA, /*split_keys=*/0, /*prefetch=*/0,
                           /*warps=*/llvm::divideCeil(rows, 16), /*kv_heads=*/1);
}

/// What of the user's makes such an op: it is of a phase before.
LogicalResult refuseOnHost(Operation *op) {
  if (isa<memref::CopyOp>(op))
    return op->emitOpError("no GPU kernel for copies: expected each result in an output of its own, found one that is "
                           "returned twice, or written over an input; write a tensor.empty for each in outs(…)");
  return op->emitOpError("no GPU kernel for this op: only attention (attn.sdpa, or the chain that attn-fuse fuses) has "
                         "one; out=weights, and scores or weights with another use, keep a chain from fusing "
                         "(--remarks=missed): leave them out, or compile for the host");
}

struct MapToGpuPass : public attn::impl::MapToGpuPassBase<MapToGpuPass> {
  using Base::Base;

  LogicalResult mapFunction(func::FuncOp host, const TargetInfo &info) {
    WalkResult others = host.walk([](Operation *op) {
      if (!isa<AttnDialect>(op->getDialect()))
        return WalkResult::advance();
      if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>))
        return WalkResult(op->emitOpError("expected memrefs; run bufferisation before attn-map-to-gpu"));
      if (isa<SdpaOp>(op))
        return WalkResult(
            op->emitOpError("expected tiles, found the whole op; run attn-to-flash first, for this target"));
      return WalkResult::advance();
    });
    if (others.wasInterrupted())
      return failure();
    if (failed(verifyNoTilesInControlFlow(host)))
      return failure();
    sinkClassifications(host);
    sinkReads(host);
    if (failed(wrapSingleTiles(host)))
      return failure();
    SmallVector<scf::ForallOp> loops;
    host.walk([&](scf::ForallOp op) { loops.push_back(op); });
    KernelPlan common;
    WalkResult found = host.walk([&](OnlineStepOp step) {
      if (!step.getSchedule() || !step.getSchedule()->isGpu())
        return WalkResult(
            step.emitOpError("expected a schedule of a GPU, with warps; run attn-select-schedule for target ")
            << info.name);
      common.schedule = *step.getSchedule();
      return WalkResult::advance();
    });
    if (found.wasInterrupted())
      return failure();
    // What is left outside of loops would run on the host, on the device's memory.
    for (Operation &op : host.getBody().getOps())
      if (isa<memref::CopyOp, linalg::LinalgOp>(op))
        return refuseOnHost(&op);
    KernelOutliner outliner(host);
    for (scf::ForallOp forall : loops) {
      KernelPlan plan = common;
      forall.walk([&](OnlineStepOp step) {
        plan.schedule = *step.getSchedule();
        plan.sharedBytes = std::max(plan.sharedBytes, getSharedBytes(step));
      });
      // Without keys there is no step: what is left writes rows of nothing.
      forall.walk([&](FinalizeOp finalize) {
        if (!plan.schedule)
          plan.schedule = getScheduleOfRows(finalize);
      });
      if (!plan.schedule)
        return forall.emitOpError("expected attention in this loop, or beside it; found none");
      if (plan.sharedBytes > info.gpu->sharedBytesPerBlock)
        return forall.emitOpError("needs ")
               << llvm::divideCeil(plan.sharedBytes, 1024) << " KiB of shared memory, " << info.name << " has "
               << info.gpu->sharedBytesPerBlock / 1024 << "; write a schedule with fewer rows or keys";
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
  }
};
} // namespace
