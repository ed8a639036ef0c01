//===- SpecializeWarps.cpp - attn-specialize-warps ------------------------===//
//
// Adds a producer warpgroup to the warps that multiply (FlashAttention-3, Shah et al., arXiv:2407.08608). One of its
// threads copies K and V, one box of a tensor map at a time (cp.async.bulk.tensor). Both have several stages, so the
// copies run ahead of the products without barriers of the whole block.
//
// Before: attn-pipeline-copies. After: the same ops, without barriers. Kernels with a producer have a parameter for
// each tensor map. Their copies of K and V name the map and the coordinates in its tensor. Each warp waits for stages
// of K and V, and releases them after their last reader: K of dQ has two. Biases, masks and Q are copied alike where
// shared memory holds their stages; warps then store their rows of the output as boxes. Launches have four more warps,
// and take the maps, which the host encodes.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PipelineCopies.h"
#include "ScoreOperands.h"
#include "Statistics.h"
#include "Warps/KernelTiles.h"
#include "attn/Conversion/Passes.h"
#include "attn/Target/PassTarget.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Pass/Pass.h"

namespace attn {
#define GEN_PASS_DEF_SPECIALIZEWARPSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

bool attn::nvvm::readsMemory(Value view) {
  FailureOr<SetVector<Operation *>> computation = getComputation(view);
  auto isLoad = [](Operation *op) { return isa<memref::LoadOp, LLVM::LoadOp>(op); };
  return failed(computation) || llvm::any_of(*computation, isLoad);
}

/// The copy that this token, possibly loop-carried, comes from.
static CopyOp findCopy(Value token) {
  while (token) {
    if (auto argument = dyn_cast<BlockArgument>(token)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      token = loop ? loop.getTiedLoopInit(argument)->get() : Value();
    } else if (auto loop = token.getDefiningOp<scf::ForOp>()) {
      token = loop.getInitArgs()[cast<OpResult>(token).getResultNumber()];
    } else if (auto branch = token.getDefiningOp<scf::IfOp>()) {
      token = branch.thenYield().getOperand(cast<OpResult>(token).getResultNumber());
    } else {
      return token.getDefiningOp<CopyOp>();
    }
  }
  return {};
}

namespace {
class Specialization {
public:
  Specialization(gpu::GPUFuncOp kernel, ArrayRef<gpu::LaunchFuncOp> launches)
      : kernel(kernel), launches(launches), schedule(kernel->getAttrOfType<BlockAttr>(kScheduleAttr)), boxes(kernel),
        b(kernel.getContext()) {}

  /// Why the kernel cannot have a producer; empty where it can.
  StringRef findObstacle(int64_t largestBytes) {
    StringRef obstacle;
    SetVector<Value> tiles = findColumnTiles(kernel);
    kernel.walk([&](Operation *op) {
      if (isa<GatherPagesOp, ClassifyTileOp>(op))
        obstacle = "all threads of the block look rows up, or look at the mask of a tile";
      if (auto copy = dyn_cast<CopyOp>(op); copy && tiles.contains(getRoot(copy.getOutput())))
        boxes.add(copy, schedule.getKeyTile());
    });
    if (boxes.get().empty())
      return "there is no key to copy";
    if (!obstacle.empty())
      return obstacle;
    if (KernelTiles(kernel).getLayout(schedule).bytes > largestBytes)
      return "the stages do not fit the shared memory";
    if (!isCopiedOnce(tiles))
      return "a tile is copied once and multiplied several times";
    return boxes.findObstacle();
  }

  void run(int64_t largestBytes) {
    stageScoreOperands(kernel, schedule, largestBytes, boxes);
    stageQueries(largestBytes);
    stageOutput();
    boxes.place();
    // Stages say when a tile may be read or filled.
    kernel.walk([](gpu::BarrierOp barrier) { barrier.erase(); });
    createWaits();
    createQueryWaits();
    statistics = createStatistics(b, kernel, schedule);
    createReleases();
    int32_t threads = schedule.getThreads() + kProducerThreads;
    kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({threads, 1, 1}));
    setSharedBytes();
    for (gpu::LaunchFuncOp launch : launches) {
      boxes.encode(launch);
      b.setInsertionPoint(launch);
      launch.getBlockSizeXMutable().assign(arith::ConstantIndexOp::create(b, launch.getLoc(), threads));
    }
  }

  /// All threads copy, and each tile has one stage.
  void runWithout() {
    schedule = schedule.withoutProducer(/*stages=*/1);
    kernel->setAttr(kScheduleAttr, schedule);
    setSharedBytes();
  }

private:
  void setSharedBytes() {
    int64_t bytes = KernelTiles(kernel).getLayout(schedule).bytes;
    for (gpu::LaunchFuncOp launch : launches) {
      b.setInsertionPoint(launch);
      launch.getDynamicSharedMemorySizeMutable().assign(arith::ConstantIntOp::create(b, launch.getLoc(), bytes, 32));
    }
  }

  /// Lets the producer copy Q of the next tile while this one is computed, where the kernel has one copy of Q in front
  /// of its loops, and shared memory holds its stages beside the output.
  void stageQueries(int64_t largestBytes) {
    KernelTiles tiles(kernel);
    SmallVector<CopyOp> copies;
    kernel.walk([&](CopyOp copy) {
      if (tiles.queries.contains(getRoot(copy.getOutput())))
        copies.push_back(copy);
    });
    auto ends = kernel.getBody().front().getOps<FinalizeOp>();
    if (copies.size() != 1 || copies.front()->getParentOp() != kernel || !llvm::hasSingleElement(ends))
      return;
    ArrayRef<int64_t> shape = cast<MemRefType>(getRoot(copies.front().getOutput()).getType()).getShape();
    BlockLayout layout = tiles.getLayout(schedule);
    layout.addQueryStages();
    bool isOneHead = llvm::all_of(shape.drop_back(2), [](int64_t size) { return size == 1; });
    if (!isOneHead || layout.bytes > largestBytes)
      return;
    CopyBoxes own(kernel);
    own.add(copies.front(), schedule.getBlockRows());
    if (!own.findObstacle().empty())
      return;
    boxes.append(own);
    queries = copies.front();
  }

  /// Lets each warp store its rows of the output as a box, which is read from shared memory while the warp goes on with
  /// the next tile: where the output has a place there, apart from Q, and a row is whole panels.
  void stageOutput() {
    if (!queries)
      return;
    FinalizeOp end = *kernel.getBody().front().getOps<FinalizeOp>().begin();
    auto type = cast<MemRefType>(end.getOutput().getType());
    AffineMap map = attn::getMaps(end)[3];
    int64_t columns = getStaticSize(end, DimKind::ValueSize), numBatch = getNumBatchDims(end);
    SmallVector<int64_t> shape(numBatch, 1);
    shape.append({schedule.getBlockRows(), columns});
    // What a box has beyond the tile's rows or columns would be stored too.
    if (getElementBytes(type) != 2 || columns * 2 % (kPanelChunks * kChunkBytes) != 0 ||
        schedule.getQueryTile() != schedule.getBlockRows())
      return;
    Location loc = end.getLoc();
    b.setInsertionPointToStart(&kernel.getBody().front());
    Value tile = createSharedTile(b, loc, shape, type.getElementType());
    b.setInsertionPoint(end);
    SmallVector<OpFoldResult> sizes(shape.size(), b.getIndexAttr(1));
    for (int64_t dim : {numBatch, numBatch + 1})
      sizes[dim] = memref::getMixedSize(b, loc, end.getOutput(), *map.getResultPosition(b.getAffineDimExpr(dim)));
    Value part = getPartOfTile(b, loc, tile, sizes);
    b.setInsertionPointAfter(end);
    Value thread = NVVM::ThreadIdXOp::create(b, loc, b.getI32Type());
    auto number = [&](int64_t value) { return arith::ConstantIntOp::create(b, loc, value, 32); };
    Value warp = arith::DivUIOp::create(b, loc, thread, number(BlockAttr::getLanes()));
    Value row = arith::MulIOp::create(b, loc, warp, number(schedule.getWarpRows()));
    row = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), row);
    AffineMap identity = b.getMultiDimIdentityMap(map.getNumDims());
    auto copy =
        CopyOp::create(b, loc, part, end.getOutput(), /*lse=*/Value(), row, b.getAffineMapArrayAttr({identity, map}));
    CopyBoxes own(kernel);
    own.add(copy, schedule.getWarpRows());
    if (!own.findObstacle().empty()) {
      copy.erase();
      if (part != tile)
        part.getDefiningOp()->erase();
      return tile.getDefiningOp()->erase();
    }
    boxes.append(own);
    SmallVector<AffineMap> maps = attn::getMaps(end);
    maps[3] = identity;
    end.getOutputMutable().assign(part);
    end.setMapsAttr(b.getAffineMapArrayAttr(maps));
  }

  /// Each warp waits for Q once, and releases it in front of the output: the last product of scores has read it.
  void createQueryWaits() {
    if (!queries)
      return;
    Value tile = getRoot(queries.getOutput());
    b.setInsertionPointAfter(queries);
    WaitOp::create(b, queries.getLoc(), /*tokens=*/ValueRange(), tile);
    FinalizeOp end = *kernel.getBody().front().getOps<FinalizeOp>().begin();
    b.setInsertionPoint(end);
    ReleaseOp::create(b, end.getLoc(), tile);
  }

  /// True where each wait is for one copy of a tile, and the tile's readers follow the wait in its block. Copies ahead
  /// of the products always are so. Where each step copies its own tiles, after a barrier, this is checked.
  bool isCopiedOnce(const SetVector<Value> &columns) {
    bool hasBarriers = kernel.walk([](gpu::BarrierOp) { return WalkResult::interrupt(); }).wasInterrupted();
    auto findWait = [](const BoxCopy &source) {
      CopyOp copy = source.copy;
      Value token = copy.getToken();
      auto wait = token.hasOneUse() ? dyn_cast<WaitOp>(*token.user_begin()) : WaitOp();
      return wait && wait->getBlock() == copy->getBlock() ? wait : WaitOp();
    };
    auto readsAwaited = [&](ProductOp product) {
      bool isAwaited = llvm::any_of(boxes.get(), [&](const BoxCopy &source) {
        WaitOp wait = findWait(source);
        CopyOp copy = source.copy;
        return wait && getRoot(copy.getOutput()) == getRoot(product.getRhs()) &&
               wait->getBlock() == product->getBlock() && wait->isBeforeInBlock(product);
      });
      return isAwaited || !columns.contains(getRoot(product.getRhs())) ? WalkResult::advance()
                                                                       : WalkResult::interrupt();
    };
    return !hasBarriers || (llvm::all_of(boxes.get(), findWait) && !kernel.walk(readsAwaited).wasInterrupted());
  }

  /// Each warp waits for stages of K and V. Consumers that copy Q wait for it together.
  void createWaits() {
    kernel.walk([&](WaitOp wait) {
      if (!wait.getStages().empty())
        return;
      SmallVector<Value> tokens, stages;
      for (Value token : wait.getTokens())
        if (CopyOp copy = findCopy(token); copy && copy.getTensorMap() && copy != queries) {
          tokens.push_back(token);
          stages.push_back(getRoot(copy.getOutput()));
        }
      if (stages.empty())
        return wait.erase();
      wait.getTokensMutable().assign(tokens);
      wait.getStagesMutable().assign(stages);
      wait.setPending(0);
    });
    kernel.walk([&](CopyOp copy) {
      if (copy.getTensorMap())
        return;
      b.setInsertionPointAfter(copy);
      WaitOp::create(b, copy.getLoc(), copy.getToken());
    });
  }

  /// A box knows neither the end of a slice in memory nor lse. For K alone, such rows do no harm: their scores are
  /// removed.
  void clearRows(ArrayRef<Operation *> readers, Value tile, CopyOp copy, bool hasGradients) {
    auto first = cast<ProductOp>(readers.front());
    bool readsValues = llvm::any_of(readers, [](Operation *op) {
      auto product = dyn_cast<ProductOp>(op);
      return product && product.getContraction() == Contraction::Values;
    });
    bool hasEnd = (hasGradients || readsValues) && readsMemory(first.getRhs());
    bool mayBeEmpty = bool(copy.getLse());
    if (!hasEnd && !mayBeEmpty)
      return;
    Location loc = first.getLoc();
    b.setInsertionPoint(first);
    OpFoldResult rows = memref::getMixedSize(b, loc, first.getRhs(), cast<MemRefType>(tile.getType()).getRank() - 2);
    if (mayBeEmpty) {
      copy.getLseMutable().clear();
      copy.setMapsAttr(b.getAffineMapArrayAttr(ArrayRef(attn::getMaps(copy)).drop_back()));
    }
    ClearRowsOp::create(b, loc, tile, getValueOrCreateConstantIndexOp(b, loc, rows), mayBeEmpty ? statistics : Value());
  }

  /// The readers of a stage that `wait` waits for: those before the next wait for the tile.
  SmallVector<Operation *> findReaders(WaitOp wait, Value tile) {
    SmallVector<Operation *> readers;
    for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
      if (auto next = dyn_cast<WaitOp>(op); next && llvm::is_contained(next.getStages(), tile))
        break;
      auto product = dyn_cast<ProductOp>(op);
      auto isTile = [&](Value operand) { return isa<MemRefType>(operand.getType()) && getRoot(operand) == tile; };
      bool readsNumbers =
          isa<ScoreGradientsOp, ClearRowsOp, MapScoresOp>(op) && llvm::any_of(op->getOperands(), isTile);
      if ((product && isTile(product.getRhs())) || readsNumbers)
        readers.push_back(op);
    }
    return readers;
  }

  /// Rows of a stage are cleared before its readers; it is released after them.
  void createReleases() {
    bool hasGradients = kernel.walk([](ScoreGradientsOp) { return WalkResult::interrupt(); }).wasInterrupted();
    kernel.walk([&](WaitOp wait) {
      for (auto [token, tile] : llvm::zip(wait.getTokens(), wait.getStages()))
        if (SmallVector<Operation *> readers = findReaders(wait, tile); !readers.empty())
          clearRows(readers, tile, findCopy(token), hasGradients);
    });
    kernel.walk([&](WaitOp wait) {
      for (Value tile : wait.getStages())
        if (SmallVector<Operation *> readers = findReaders(wait, tile); !readers.empty()) {
          b.setInsertionPointAfter(readers.back());
          ReleaseOp::create(b, readers.back()->getLoc(), tile);
        }
    });
  }

  gpu::GPUFuncOp kernel;
  ArrayRef<gpu::LaunchFuncOp> launches;
  BlockAttr schedule;
  CopyBoxes boxes; ///< of K and V, of operands of scores, and of Q
  CopyOp queries;  ///< the copy of Q, where the producer has it
  OpBuilder b;
  Value statistics; ///< tile with lse and delta of the gradients' queries
};
} // namespace

namespace {
struct SpecializeWarpsPass : public attn::impl::SpecializeWarpsPassBase<SpecializeWarpsPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getGpuTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    llvm::MapVector<Operation *, SmallVector<gpu::LaunchFuncOp>> launches;
    getOperation().walk([&](gpu::LaunchFuncOp launch) {
      launches[SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr())].push_back(launch);
    });
    for (auto &[op, calls] : launches) {
      auto kernel = dyn_cast_or_null<gpu::GPUFuncOp>(op);
      auto schedule = kernel ? kernel->getAttrOfType<BlockAttr>(kScheduleAttr) : BlockAttr();
      if (!schedule || !schedule.getProducer() || hasProducer(kernel))
        continue;
      WalkResult products = kernel.walk([](ProductOp) { return WalkResult::interrupt(); });
      if (!products.wasInterrupted())
        continue;
      Specialization specialization(kernel, calls);
      StringRef obstacle = specialization.findObstacle(info->gpu->sharedBytesPerBlock);
      if (obstacle.empty()) {
        specialization.run(info->gpu->sharedBytesPerBlock);
        continue;
      }
      emitRemark(calls.front(), RemarkOutcome::Missed, "no-producer") << obstacle;
      specialization.runWithout();
    }
  }
};
} // namespace
