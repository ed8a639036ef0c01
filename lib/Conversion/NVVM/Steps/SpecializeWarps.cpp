//===- SpecializeWarps.cpp - attn-specialize-warps ------------------------===//
//
// Adds a producer warpgroup to the warps that multiply (FlashAttention-3, Shah et al., arXiv:2407.08608). One of its
// threads copies K and V, one box of a tensor map at a time (cp.async.bulk.tensor). Both have several stages, so the
// copies run ahead of the products without barriers of the whole block.
//
// Before: attn-pipeline-copies. After: the same ops, without barriers. Kernels with a producer have a parameter for
// each tensor map. Their copies of K and V name the map and the coordinates in its tensor. Each warp waits for stages
// of K and V, and releases them after their last reader: K of dQ has two. Launches have four more warps, and take the
// maps, which the host encodes.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Statistics.h"
#include "TensorMaps.h"
#include "Warps/KernelTiles.h"
#include "attn/Conversion/Passes.h"
#include "attn/Support/Dialects.h"
#include "attn/Target/PassTarget.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Pass/Pass.h"

namespace attn {
#define GEN_PASS_DEF_SPECIALIZEWARPSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Most dimensions of a tensor map.
static constexpr int64_t kMaxRank = 5;

/// The source of `view`: a slice with strides of 1, or the same shape; null where it is neither.
static Value getSource(Value view) {
  if (auto slice = view.getDefiningOp<memref::SubViewOp>())
    return llvm::all_of(slice.getMixedStrides(), [](auto x) { return isConstantIntValue(x, 1); }) ? slice.getSource()
                                                                                                  : Value();
  auto same = view.getDefiningOp<memref::CastOp>();
  return same ? same.getSource() : Value();
}

bool attn::nvvm::readsMemory(Value view) {
  FailureOr<SetVector<Operation *>> computation = getComputation(view);
  auto isLoad = [](Operation *op) { return isa<memref::LoadOp, LLVM::LoadOp>(op); };
  return failed(computation) || llvm::any_of(*computation, isLoad);
}

/// True where the host can compute `view` from the kernel's operands.
static bool isKnownToHost(Value view, gpu::GPUFuncOp kernel) {
  Block *entry = &kernel.getBody().front();
  FailureOr<SetVector<Operation *>> computation = getComputation(view);
  return succeeded(computation) && llvm::all_of(*computation, [&](Operation *op) {
           bool isOfHost = isOfDialect<memref::MemRefDialect, arith::ArithDialect, affine::AffineDialect,
                                       LLVM::LLVMDialect, BuiltinDialect>(op);
           return isOfHost && isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
                  llvm::all_of(op->getOperands(), [&](Value operand) {
                    auto argument = dyn_cast<BlockArgument>(operand);
                    return !argument || argument.getOwner() == entry;
                  });
         });
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
/// A copy of K or V.
struct Source {
  CopyOp copy;
  SmallVector<Value> views; ///< nested slices, the innermost one last
  Value tensor;             ///< one of them, or their source: the map describes it
  SmallVector<int64_t> box;
  friend bool operator==(const Source &x, const Source &y) { return x.tensor == y.tensor && x.box == y.box; }
};

class Specialization {
public:
  Specialization(gpu::GPUFuncOp kernel, ArrayRef<gpu::LaunchFuncOp> launches)
      : kernel(kernel), launches(launches), schedule(kernel->getAttrOfType<BlockAttr>(kScheduleAttr)),
        b(kernel.getContext()), pointerType(LLVM::LLVMPointerType::get(b.getContext())) {}

  /// Why the kernel cannot have a producer; empty where it can.
  StringRef findObstacle(int64_t largestBytes) {
    StringRef obstacle;
    SetVector<Value> tiles = findColumnTiles(kernel);
    kernel.walk([&](Operation *op) {
      if (isa<GatherPagesOp, ClassifyTileOp>(op))
        obstacle = "all threads of the block look rows up, or look at the mask of a tile";
      if (isa<StoreStateOp>(op))
        obstacle = "the state goes to memory";
      if (auto copy = dyn_cast<CopyOp>(op); copy && tiles.contains(getRoot(copy.getOutput())))
        addSource(copy);
    });
    if (sources.empty())
      return "there is no key to copy";
    if (!obstacle.empty())
      return obstacle;
    if (KernelTiles(kernel).getLayout(schedule).bytes > largestBytes)
      return "the stages do not fit the shared memory";
    if (!isCopiedOnce(tiles))
      return "a tile is copied once and multiplied several times";
    for (Source &source : sources)
      if (obstacle = findTensor(source); !obstacle.empty())
        return obstacle;
    return {};
  }

  void run() {
    SmallVector<Source> maps;
    unsigned numParameters = kernel.getNumArguments();
    Type mapType = LLVM::LLVMArrayType::get(b.getI8Type(), kMapBytes);
    DictionaryAttr byValue = b.getDictionaryAttr(
        {b.getNamedAttr(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(mapType)),
         b.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(kMapAlignment))});
    for (Source &source : sources) {
      auto *found = llvm::find(maps, source);
      unsigned number = numParameters + (found - maps.begin());
      if (found == maps.end()) {
        maps.push_back(source);
        (void)kernel.insertArgument(number, pointerType, byValue, kernel.getLoc());
      }
      addBox(source, kernel.getArgument(number));
    }
    // Stages say when a tile may be read or filled.
    kernel.walk([](gpu::BarrierOp barrier) { barrier.erase(); });
    createWaits();
    statistics = createStatistics(b, kernel, schedule);
    createReleases();
    int32_t threads = schedule.getThreads() + kProducerThreads;
    kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({threads, 1, 1}));
    for (gpu::LaunchFuncOp launch : launches) {
      b.setInsertionPoint(launch);
      SmallVector<Value> operands;
      for (const Source &map : maps)
        operands.push_back(TensorMapEncoder(b, kernel, launch).encode(map.tensor, map.box));
      launch.getKernelOperandsMutable().append(operands);
      launch.getBlockSizeXMutable().assign(arith::ConstantIndexOp::create(b, launch.getLoc(), threads));
    }
  }

  /// All threads copy, and each tile has one stage.
  void runWithout() {
    schedule = schedule.withoutProducer(/*stages=*/1);
    kernel->setAttr(kScheduleAttr, schedule);
    int64_t bytes = KernelTiles(kernel).getLayout(schedule).bytes;
    for (gpu::LaunchFuncOp launch : launches) {
      b.setInsertionPoint(launch);
      launch.getDynamicSharedMemorySizeMutable().assign(arith::ConstantIntOp::create(b, launch.getLoc(), bytes, 32));
    }
  }

private:
  void addSource(CopyOp copy) {
    Source source{copy, {}, {}, {}};
    for (Value view = copy.getInput(); view; view = getSource(view))
      source.views.insert(source.views.begin(), view);
    sources.push_back(source);
  }

  /// True where each wait is for one copy of a tile, and the tile's readers follow the wait in its block. Copies ahead
  /// of the products always are so. Where each step copies its own tiles, after a barrier, this is checked.
  bool isCopiedOnce(const SetVector<Value> &columns) {
    bool hasBarriers = kernel.walk([](gpu::BarrierOp) { return WalkResult::interrupt(); }).wasInterrupted();
    auto findWait = [](Source &source) {
      Value token = source.copy.getToken();
      auto wait = token.hasOneUse() ? dyn_cast<WaitOp>(*token.user_begin()) : WaitOp();
      return wait && wait->getBlock() == source.copy->getBlock() ? wait : WaitOp();
    };
    auto readsAwaited = [&](ProductOp product) {
      bool isAwaited = llvm::any_of(sources, [&](Source &source) {
        WaitOp wait = findWait(source);
        return wait && getRoot(source.copy.getOutput()) == getRoot(product.getRhs()) &&
               wait->getBlock() == product->getBlock() && wait->isBeforeInBlock(product);
      });
      return isAwaited || !columns.contains(getRoot(product.getRhs())) ? WalkResult::advance()
                                                                       : WalkResult::interrupt();
    };
    return !hasBarriers || (llvm::all_of(sources, findWait) && !kernel.walk(readsAwaited).wasInterrupted());
  }

  /// The tensor is the last view that all copies from it share and that the host can compute. So rows beyond a caller's
  /// slice become 0, like those beyond a tensor.
  StringRef findTensor(Source &source) {
    size_t shared = 0;
    auto isShared = [&](const Source &other) {
      return other.views.front() != source.views.front() ||
             (other.views.size() > shared && other.views[shared] == source.views[shared]);
    };
    while (shared < source.views.size() && llvm::all_of(sources, isShared) &&
           isKnownToHost(source.views[shared], kernel))
      ++shared;
    BlockArgument pointer = shared == 0 ? BlockArgument() : findPointer(source.views[shared - 1]);
    if (!pointer || pointer.getOwner() != &kernel.getBody().front())
      return "rows do not come from slices of a tensor of the call";
    source.tensor = source.views[shared - 1];
    auto type = cast<MemRefType>(source.tensor.getType());
    auto tile = cast<MemRefType>(source.copy.getOutput().getType());
    if (type.getElementType() != tile.getElementType())
      return "rows are converted";
    AffineMap map = attn::getMaps(source.copy)[0];
    AffineExpr column = getAffineDimExpr(map.getNumDims() - 1, b.getContext());
    SmallVector<unsigned> dims = followSlices(source, [](unsigned, OpFoldResult) {});
    ViewDivisors divisors = getViewDivisors(source.tensor);
    int64_t multiple = kChunkBytes / kElementBytes;
    SmallVector<int64_t> strides;
    int64_t offset;
    bool hasRows = succeeded(type.getStridesAndOffset(strides, offset)) && type.getRank() <= kMaxRank &&
                   map.getResults().back() == column && dims.back() == type.getRank() - 1 && strides.back() == 1 &&
                   divisors.offset % multiple == 0 &&
                   llvm::all_of(ArrayRef(divisors.strides).drop_back(),
                                [&](int64_t stride) { return stride > 0 && stride % multiple == 0; });
    if (!hasRows)
      return "rows do not lie as one of five dimensions, at multiples of 16 bytes";
    source.box.assign(type.getRank(), 1);
    source.box[getRowDim(source, dims)] = tile.getShape()[tile.getRank() - 2];
    source.box.back() = kPanelChunks * kChunkBytes / kElementBytes;
    return {};
  }

  /// The tensor's dimension of rows.
  unsigned getRowDim(const Source &source, ArrayRef<unsigned> dims) {
    AffineMap map = attn::getMaps(source.copy)[0];
    AffineExpr row = getAffineDimExpr(map.getNumDims() - 2, b.getContext());
    return dims[llvm::find(map.getResults(), row) - map.getResults().begin()];
  }

  OpFoldResult add(Location loc, OpFoldResult x, OpFoldResult y) {
    if (isConstantIntValue(x, 0))
      return y;
    if (isConstantIntValue(y, 0))
      return x;
    return b.createOrFold<arith::AddIOp>(loc, getValueOrCreateConstantIndexOp(b, loc, x),
                                         getValueOrCreateConstantIndexOp(b, loc, y));
  }

  /// Maps the dimensions of the view to those of the tensor. `addOffset` is called for each offset of a slice in
  /// between.
  SmallVector<unsigned> followSlices(const Source &source, function_ref<void(unsigned, OpFoldResult)> addOffset) {
    auto dims = llvm::to_vector(llvm::seq<unsigned>(0, cast<MemRefType>(source.tensor.getType()).getRank()));
    ArrayRef<Value> views = source.views;
    for (Value view : views.drop_front(llvm::find(views, source.tensor) - views.begin() + 1)) {
      auto slice = view.getDefiningOp<memref::SubViewOp>();
      if (!slice)
        continue;
      llvm::SmallBitVector isDropped = slice.getDroppedDims();
      SmallVector<unsigned> kept;
      for (auto [i, offset] : llvm::enumerate(slice.getMixedOffsets())) {
        addOffset(dims[i], offset);
        if (!isDropped[i])
          kept.push_back(dims[i]);
      }
      dims = kept;
    }
    return dims;
  }

  void addBox(const Source &source, Value map) {
    CopyOp copy = source.copy;
    b.setInsertionPoint(copy);
    SmallVector<OpFoldResult> begin(source.box.size(), b.getIndexAttr(0));
    auto addOffset = [&](unsigned dim, OpFoldResult offset) { begin[dim] = add(copy.getLoc(), begin[dim], offset); };
    SmallVector<unsigned> dims = followSlices(source, addOffset);
    if (copy.getFirst())
      addOffset(getRowDim(source, dims), copy.getFirst());
    copy.getTensorMapMutable().assign(map);
    copy.getBeginMutable().assign(getValueOrCreateConstantIndexOp(b, copy.getLoc(), begin));
  }

  /// Each warp waits for stages of K and V. Consumers that copy Q wait for it together.
  void createWaits() {
    kernel.walk([](WaitOp wait) {
      SmallVector<Value> tokens, stages;
      for (Value token : wait.getTokens())
        if (CopyOp copy = findCopy(token); copy && copy.getTensorMap()) {
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
  void clearRows(ProductOp first, Value tile, CopyOp copy, bool hasGradients) {
    bool hasEnd = (hasGradients || first.getContraction() == Contraction::Values) && readsMemory(first.getRhs());
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
      bool readsStatistics = isa<ScoreGradientsOp, ClearRowsOp>(op) && llvm::is_contained(op->getOperands(), tile);
      if ((product && getRoot(product.getRhs()) == tile) || readsStatistics)
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
          clearRows(cast<ProductOp>(readers.front()), tile, findCopy(token), hasGradients);
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
  OpBuilder b;
  LLVM::LLVMPointerType pointerType;
  SmallVector<Source> sources;
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
        specialization.run();
        continue;
      }
      emitRemark(calls.front(), RemarkOutcome::Missed, "no-producer") << obstacle;
      specialization.runWithout();
    }
  }
};
} // namespace
