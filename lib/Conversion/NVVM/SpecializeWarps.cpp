//===- SpecializeWarps.cpp - attn-specialize-warps ------------------------===//
//
// A producer beside the warps that multiply (FlashAttention-3, Shah et al.,
// arXiv:2407.08608). One thread of it copies K and V, a box of a tensor map at a time
// (cp.async.bulk.tensor). Both have several stages, so it is ahead of the products,
// and no barrier of the whole block stands between them.
//
// Before: attn-pipeline-copies. After: the same ops. Kernels with a producer have the
// number of stages as an attribute, a parameter for each tensor map, and its number at
// each copy that reads it. Their launches have four more warps, more shared memory,
// and the maps, which the host encodes.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Producer.h"
#include "attn/Conversion/Passes.h"
#include "attn/Target/PassTarget.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Pass/Pass.h"

namespace attn {
#define GEN_PASS_DEF_SPECIALIZEWARPSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Stages of K and of V.
static constexpr int64_t kStages = 2;
/// Dimensions of a tensor map at most.
static constexpr unsigned kMaxRank = 5;
/// CUtensorMapDataType of cuda.h.
static constexpr int32_t kTypeF16 = 6, kTypeBF16 = 9;

/// What `view` is a slice of, or the same as; null where it is neither.
static Value getSource(Value view) {
  if (auto slice = view.getDefiningOp<memref::SubViewOp>())
    return slice.getSource();
  auto same = view.getDefiningOp<memref::CastOp>();
  return same ? same.getSource() : Value();
}

UnrealizedConversionCastOp attn::nvvm::findTensor(Value view) {
  while (Value source = getSource(view)) {
    auto slice = view.getDefiningOp<memref::SubViewOp>();
    bool isPlain = !slice || (slice.getSourceType().getRank() == slice.getType().getRank() &&
                              llvm::all_of(slice.getMixedStrides(), [](auto x) { return isConstantIntValue(x, 1); }));
    if (!isPlain)
      return {};
    view = source;
  }
  return view.getDefiningOp<UnrealizedConversionCastOp>();
}

Values attn::nvvm::getBegin(WarpBuilder &wb, Value view) {
  Values begin(cast<MemRefType>(view.getType()).getRank(), wb.constant(0));
  for (; Value source = getSource(view); view = source)
    if (auto slice = view.getDefiningOp<memref::SubViewOp>())
      for (auto [sum, offset] : llvm::zip_equal(begin, slice.getMixedOffsets()))
        sum = wb.add(wb.fromIndex(offset), sum);
  return begin;
}

/// The kernel's parameter that the struct of a memref begins with.
static BlockArgument findPointer(UnrealizedConversionCastOp tensor) {
  Value value = tensor.getInputs().size() == 1 ? tensor.getInputs()[0] : Value();
  while (value) {
    auto insert = value.getDefiningOp<LLVM::InsertValueOp>();
    if (!insert)
      return {};
    if (insert.getPosition() == ArrayRef<int64_t>{1})
      return dyn_cast<BlockArgument>(insert.getValue());
    value = insert.getContainer();
  }
  return {};
}

/// True where the place or the size of a view depends on what lies in memory.
static bool readsMemory(Value view) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  if (failed(getBackwardSlice(view, &slice, options)))
    return true;
  return llvm::any_of(slice, [](Operation *op) { return isa<memref::LoadOp, LLVM::LoadOp>(op); });
}

namespace {
/// A copy of K or V: the tensor, the parameter that points to it, and a box of it.
struct Source {
  CopyOp copy;
  BlockArgument pointer;
  MemRefType type;
  SmallVector<int64_t> box;
  friend bool operator==(const Source &x, const Source &y) { return x.pointer == y.pointer && x.box == y.box; }
};

class Specialization {
public:
  Specialization(gpu::GPUFuncOp kernel, ArrayRef<gpu::LaunchFuncOp> launches)
      : kernel(kernel), launches(launches), b(kernel.getContext()),
        pointerType(LLVM::LLVMPointerType::get(b.getContext())) {}

  /// Why the kernel can have no producer; empty where it can.
  StringRef findObstacle(int64_t largestBytes) {
    StringRef obstacle;
    llvm::SetVector<Value> tiles;
    kernel.walk([&](ProductOp product) { tiles.insert(getRoot(product.getRhs())); });
    kernel.walk([&](Operation *op) {
      if (isa<gpu::BarrierOp, GatherPagesOp>(op))
        obstacle = "each step copies its own tiles";
      if (auto state = dyn_cast<InitStateOp>(op); state && !isBuffer(getRoot(state.getAcc()).getDefiningOp()))
        obstacle = "the state goes to memory";
      if (auto copy = dyn_cast<CopyOp>(op); copy && tiles.contains(getRoot(copy.getOutput())))
        if (StringRef found = addSource(copy); !found.empty())
          obstacle = found;
    });
    if (sources.empty())
      return "there is no key to copy";
    if (getLayout().bytes > largestBytes)
      return "two stages do not fit the shared memory";
    return obstacle;
  }

  void run() {
    auto module = kernel->getParentOfType<ModuleOp>();
    SmallVector<Source> maps;
    unsigned numParameters = kernel.getNumArguments();
    for (Source &source : sources) {
      auto *found = llvm::find(maps, source);
      source.copy->setAttr(kMapAttr, b.getI64IntegerAttr(numParameters + (found - maps.begin())));
      if (found == maps.end())
        maps.push_back(source);
    }
    kernel->setAttr(kStagesAttr, b.getI64IntegerAttr(kStages));
    int32_t threads = kernel->getAttrOfType<BlockAttr>(kScheduleAttr).getThreads() + kProducerThreads;
    kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({threads, 1, 1}));
    Type mapType = LLVM::LLVMArrayType::get(b.getI8Type(), kMapBytes);
    DictionaryAttr byValue = b.getDictionaryAttr(
        {b.getNamedAttr(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(mapType)),
         b.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(kMapAlignment))});
    for (size_t i = 0; i < maps.size(); ++i)
      (void)kernel.insertArgument(kernel.getNumArguments(), pointerType, byValue, kernel.getLoc());
    for (gpu::LaunchFuncOp launch : launches) {
      b.setInsertionPoint(launch);
      SmallVector<Value> operands;
      for (const Source &map : maps)
        operands.push_back(encode(module, launch, map));
      launch.getKernelOperandsMutable().append(operands);
      launch.getBlockSizeXMutable().assign(arith::ConstantIndexOp::create(b, launch.getLoc(), threads));
      launch.getDynamicSharedMemorySizeMutable().assign(
          arith::ConstantIntOp::create(b, launch.getLoc(), getLayout().bytes, 32));
    }
  }

private:
  BlockLayout getLayout() {
    auto schedule = kernel->getAttrOfType<BlockAttr>(kScheduleAttr);
    int64_t d = 0, dv = 0;
    kernel.walk([&](ProductOp op) {
      bool isScores = op.getContraction() == Contraction::Scores;
      (isScores ? d : dv) = getStaticSize(op, isScores ? DimKind::HeadSize : DimKind::ValueSize);
    });
    return BlockLayout::get(schedule.getBlockRows(), schedule.getKeyTile(), d, dv, /*elementBytes=*/2,
                            /*hasPanels=*/true, kStages);
  }

  StringRef addSource(CopyOp copy) {
    UnrealizedConversionCastOp tensor = findTensor(copy.getInput());
    BlockArgument pointer = tensor ? findPointer(tensor) : BlockArgument();
    if (!pointer || pointer.getOwner() != &kernel.getBody().front())
      return "rows do not come from slices of a tensor of the call";
    auto type = cast<MemRefType>(tensor.getResult(0).getType());
    auto tile = cast<MemRefType>(copy.getOutput().getType());
    AffineMap map = attn::getMaps(copy)[0];
    AffineExpr column = getAffineDimExpr(map.getNumDims() - 1, b.getContext()),
               row = getAffineDimExpr(map.getNumDims() - 2, b.getContext());
    if (type.getElementType() != tile.getElementType())
      return "rows are converted";
    if (type.getRank() > kMaxRank || map.getResults().back() != column)
      return "the elements of a row do not lie side by side";
    if (readsMemory(copy.getInput()))
      return "rows beyond lengths in memory may be NaN, and are copied with the others";
    Source source{copy, pointer, type, SmallVector<int64_t>(type.getRank(), 1)};
    for (auto [length, expr] : llvm::zip_equal(source.box, map.getResults()))
      if (expr == row)
        length = tile.getShape()[tile.getRank() - 2];
    source.box.back() = kPanelChunks * kChunkBytes / 2;
    sources.push_back(source);
    return {};
  }

  /// The map, on the host's stack. attn-lower-launches returns where the call fails.
  Value encode(ModuleOp module, gpu::LaunchFuncOp launch, const Source &source) {
    Location loc = launch.getLoc();
    Type i64 = b.getI64Type();
    auto one = [&] { return LLVM::ConstantOp::create(b, loc, i64, 1); };
    auto number = [&](int64_t value) -> Value { return LLVM::ConstantOp::create(b, loc, i64, value); };
    auto allocate = [&](Type type, unsigned alignment) -> Value {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&launch->getParentOfType<FunctionOpInterface>().getFunctionBody().front());
      return LLVM::AllocaOp::create(b, loc, pointerType, type, one(), alignment);
    };
    Value map = allocate(LLVM::LLVMArrayType::get(b.getI8Type(), kMapBytes), kMapAlignment);
    OperandRange operands = launch.getKernelOperands();
    unsigned place = source.pointer.getArgNumber();
    auto store = [&](ArrayRef<int64_t> values, bool isSizes) {
      auto arrayType = LLVM::LLVMArrayType::get(i64, values.size());
      Value array = allocate(arrayType, 8);
      unsigned next = place + 1; // dynamic sizes follow the pointer
      for (auto [i, value] : llvm::enumerate(values)) {
        Value element = LLVM::GEPOp::create(b, loc, pointerType, arrayType, array, ArrayRef<LLVM::GEPArg>{0, int(i)});
        bool isDynamic = isSizes && ShapedType::isDynamic(value);
        LLVM::StoreOp::create(b, loc, isDynamic ? operands[next++] : number(value), element);
      }
      return array;
    };
    Value sizes = store(source.type.getShape(), /*isSizes=*/true), box = store(source.box, /*isSizes=*/false);
    Value type =
        LLVM::ConstantOp::create(b, loc, b.getI32Type(), source.type.getElementType().isBF16() ? kTypeBF16 : kTypeF16);
    LLVM::CallOp::create(b, loc, declareEncode(module),
                         ValueRange{map, operands[place], type, number(source.type.getRank()), sizes, box});
    return map;
  }

  LLVM::LLVMFuncOp declareEncode(ModuleOp module) {
    if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(kEncodeMap))
      return existing;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    Type types[] = {pointerType, pointerType, b.getI32Type(), b.getI64Type(), pointerType, pointerType};
    return LLVM::LLVMFuncOp::create(b, module.getLoc(), kEncodeMap, LLVM::LLVMFunctionType::get(b.getI32Type(), types));
  }

  gpu::GPUFuncOp kernel;
  ArrayRef<gpu::LaunchFuncOp> launches;
  OpBuilder b;
  LLVM::LLVMPointerType pointerType;
  SmallVector<Source> sources;
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
      if (!schedule || !schedule.getInstruction().getInfo().readsPanels() || kernel->hasAttr(kStagesAttr))
        continue;
      Specialization specialization(kernel, calls);
      StringRef obstacle = specialization.findObstacle(info->gpu->sharedBytesPerBlock);
      if (obstacle.empty())
        specialization.run();
      else
        emitRemark(calls.front(), RemarkOutcome::Missed, "no-producer") << obstacle;
    }
  }
};
} // namespace
