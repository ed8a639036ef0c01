//===- LowerTileToNvvm.cpp - attn-lower-tile-to-nvvm ----------------------===//
//
// Before: kernels whose blocks have tile-sized attn ops on memrefs. After: the code of one thread, in shared memory and
// registers; no attn op is left. Each kind of op has a file; this one lays out the tiles and walks the kernel.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "KernelTiles.h"
#include "Producer.h"
#include "WarpScores.h"
#include "attn/Conversion/Loops.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/RewriteOps.h"
#include "attn/Support/Dialects.h"
#include "attn/Target/PassTarget.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attn {
#define GEN_PASS_DEF_LOWERTILETONVVMPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Unroll factor for merging running states of key splits: one iteration's loads are issued before the previous merge
/// is done.
static constexpr int32_t kMergesAtOnce = 4;

Value attn::nvvm::getRoot(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

KernelLowering::KernelLowering(RewriterBase &rewriter, gpu::GPUFuncOp kernel, const GpuInfo &gpu)
    : rewriter(rewriter), kernel(kernel), wb(rewriter, kernel, kernel->getAttrOfType<BlockAttr>(kScheduleAttr)) {
  wb.hasFloat8 = gpu.hasFloat8();
  hasDependentLaunches = gpu.hasDependentLaunches();
}

std::optional<SharedTile> KernelLowering::findTile(Value memref) {
  auto found = tiles.find(getRoot(memref));
  if (found == tiles.end())
    return std::nullopt;
  SharedTile tile = found->second;
  // A view that drops the stage dimension selects one stage.
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
    auto slice = dyn_cast<memref::SubViewOp>(*view);
    if (slice && slice.getSourceType().getRank() > slice.getType().getRank())
      tile.stage = wb.multiply(wb.fromIndex(getValueOrCreateConstantIndexOp(wb.b, wb.loc, slice.getMixedOffsets()[0])),
                               tile.layout.getBytes());
    memref = view.getViewSource();
  }
  return tile;
}

/// Most chunks of a row for which the descriptors of a block's rows stay in registers.
static constexpr int64_t kMaxHeldChunks = 8;

bool attn::nvvm::isBuffer(Operation *op) { return isa_and_present<memref::AllocaOp, memref::AllocOp>(op); }

LogicalResult KernelLowering::placeTiles() {
  KernelTiles found(kernel);
  if (found.misfit)
    return found.misfit.emitOpError("expected the tiles of a kernel to have the same sizes");
  layout = found.getLayout(kernel->getAttrOfType<BlockAttr>(kScheduleAttr));
  queryType = found.queryType;
  for (auto [roots, placed] : {std::pair(found.columns, layout.columns), std::pair(found.rows, layout.rows)})
    for (auto [root, tile] : llvm::zip_equal(roots, placed))
      tiles[root] = {tile.layout, tile.offset};
  // Loops over columns read the same rows again.
  for (Value root : found.rows)
    tiles[root].isAddressedAgain = tiles[root].layout.chunks > kMaxHeldChunks;
  if (found.statistics) {
    tiles[found.statistics] = {BlockLayout::getStatistics(cast<MemRefType>(found.statistics.getType()).getDimSize(1)),
                               layout.statisticsOffset};
    tiles[found.statistics].isOfLanes = true;
  }
  for (auto [root, tile] : llvm::zip_equal(found.operands, layout.operands)) {
    tiles[root] = {tile.layout, tile.offset};
    tiles[root].isOfLanes = true;
  }
  if (found.exchange) {
    tiles[found.exchange] = {layout.exchange.layout, layout.exchange.offset};
    wb.b.setInsertionPointToStart(&kernel.getBody().front());
    exchanges = LLVM::AllocaOp::create(wb.b, wb.loc, LLVM::LLVMPointerType::get(wb.b.getContext()), wb.b.getI32Type(),
                                       wb.constant(1));
    wb.store(wb.constant(0), exchanges, 4);
  }
  for (Value root : found.queries) {
    tiles[root] = {layout.query, layout.queryOffset};
    tiles[root].isAddressedAgain = wb.columnGroups > 1;
  }
  for (Value root : found.keys)
    tiles[root] = {layout.key, layout.keyOffset};
  for (Value root : found.values)
    if (!found.keys.contains(root)) // V may be columns of K
      tiles[root] = {layout.value, layout.valueOffset};
  if (found.output)
    tiles[found.output] = {layout.output, /*offset=*/0};
  for (auto &[root, tile] : tiles)
    if (Type type = getElementTypeOrSelf(root.getType()); isQuantised(type))
      tile.bytes = type;
  return success();
}

LogicalResult KernelLowering::lowerTileOp(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<CopyOp>([&](auto op) { return lowerCopy(op); })
      .Case<GatherPagesOp>([&](auto op) { return lowerGatherPages(op); })
      .Case<WaitOp>([&](auto op) { return lowerWait(op); })
      .Case<gpu::BarrierOp>([&](auto) {
        wb.barrier();
        return success();
      })
      .Case<InitStateOp>([&](auto op) { return lowerInitState(op); })
      .Case<ProductOp>([&](auto op) { return lowerProduct(op); })
      .Case<WaitProductOp>([&](auto op) { return lowerWaitProduct(op); })
      .Case<CopyStatisticsOp>([&](auto op) { return lowerCopyStatistics(op); })
      .Case<ClearRowsOp>([&](auto op) { return lowerClearRows(op); })
      .Case<ReleaseOp>([&](auto op) { return lowerRelease(op); })
      .Case<AwaitOrderOp>([&](auto op) { return lowerAwaitOrder(op); })
      .Case<PassOrderOp>([&](auto op) { return lowerPassOrder(op); })
      .Case<ExchangeOp>([&](auto op) { return lowerExchange(op); })
      .Case<AddRowsOp>([&](auto op) { return lowerAddRows(op); })
      .Case<TakeTurnOp>([&](auto op) {
        // A product computes its tile addresses before its turn.
        return isa_and_present<ProductOp>(op->getNextNode()) ? success() : lowerTakeTurn();
      })
      .Case<PassTurnOp>([&](auto op) { return lowerPassTurn(op); })
      .Case<MapScoresOp>([&](auto op) { return lowerMapScores(op); })
      .Case<RowMaxOp>([&](auto op) { return lowerRowMax(op); })
      .Case<RescaleOp>([&](auto op) { return lowerRescale(op); })
      .Case<RescaleRowsOp>([&](auto op) { return lowerRescaleRows(op); })
      .Case<RescaleAccOp>([&](auto op) { return lowerRescaleAcc(op); })
      .Case<arith::TruncFOp>([&](auto op) { return lowerRounding(op); })
      .Case<WeightsOp>([&](auto op) { return lowerWeights(op); })
      .Case<StoreStateOp>([&](auto op) { return lowerStoreState(op); })
      .Case<MergeStatesOp>([&](auto op) { return lowerMergeStates(op); })
      .Case<FinalizeOp>([&](auto op) { return lowerFinalize(op); })
      .Case<ClassifyTileOp>([&](auto op) { return lowerClassifyTile(op); })
      .Case<linalg::FillOp>([&](auto op) { return lowerZeros(op); })
      .Case<ScoreGradientsOp>([&](auto op) { return lowerScoreGradients(op); })
      .Case<PackOp>([&](auto op) { return lowerPack(op); })
      .Case<RowDeltaOp>([&](auto op) { return lowerRowDelta(op); })
      .Case<tensor::EmptyOp>([](auto) { return success(); })
      .Case<tensor::ExtractSliceOp>([&](auto op) {
        LoweredTile whole = lowered.lookup(op.getSource());
        lowered[op.getResult()] = std::move(whole);
        return success();
      })
      .Case<OnlineStepOp, BackwardStepOp>(
          [](auto op) { return op.emitOpError("expected small ops; run attn-decompose-step"); })
      .Default([](Operation *op) { return op->emitOpError("no GPU lowering takes this op; compile it for a CPU"); });
}

static void unroll(scf::ForOp loop, int32_t rounds) {
  Builder b(loop.getContext());
  auto unroll = LLVM::LoopUnrollAttr::get(b.getContext(), /*disable=*/{}, b.getI32IntegerAttr(rounds),
                                          /*runtimeDisable=*/{}, /*full=*/{}, /*followupUnrolled=*/{},
                                          /*followupRemainder=*/{}, /*followupAll=*/{});
  loop->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(b.getContext(), {}, {}, {}, unroll, {}, {}, {}, {}, {},
                                                                 {}, {}, {}, {}, {}, {}));
}

/// A loop writes the tiles that it carries in place. CSE makes one op of tiles that begin with one value: each argument
/// of the loop has its own again.
static void separateFills(gpu::GPUFuncOp kernel) {
  kernel.walk([](scf::ForOp loop) {
    llvm::SmallPtrSet<Operation *, 4> taken;
    for (OpOperand &init : loop.getInitArgsMutable()) {
      auto fill = init.get().getDefiningOp<linalg::FillOp>();
      if (fill && isInRegisters(init.get().getType()) && !taken.insert(fill).second)
        init.set(OpBuilder(fill).clone(*fill)->getResult(0));
    }
  });
}

/// A kernel that merges states may start while the one in front of it runs. It waits for the end of that one, and for
/// what it has written, in front of its first access of memory. A kernel that stores states lets the next one start
/// once all of its own blocks run: no block of the next one takes the place of one of them. An asm, as accesses of
/// memory may move across upstream's op.
void KernelLowering::startEarly() {
  bool merges = kernel.walk([](MergeStatesOp) { return WalkResult::interrupt(); }).wasInterrupted(),
       stores = kernel.walk([](StoreStateOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (!hasDependentLaunches || merges == stores)
    return;
  OpBuilder::InsertionGuard guard(wb.b);
  wb.b.setInsertionPointToStart(&kernel.getBody().front());
  wb.assemble(merges ? "griddepcontrol.wait;" : "griddepcontrol.launch_dependents;", "~{memory}", {});
  isDependent = merges;
}

LogicalResult KernelLowering::run() {
  startEarly();
  separateFills(kernel);
  if (failed(placeTiles()))
    return failure();
  takeTickets();
  FailureOr<scf::ForOp> loopOfRoles = lowerRoles();
  if (failed(loopOfRoles))
    return failure();
  tileLoop = *loopOfRoles;
  // The code of a step is long already, so its loop stays rolled. Merges of states are unrolled by a few.
  kernel.walk([](scf::ForOp loop) {
    if (loop.getOps<MergeStatesOp>().empty())
      keepRolled(loop);
    else
      unroll(loop, kMergesAtOnce);
  });
  if (failed(lower(kernel.getBody().front())))
    return failure();
  eraseTiles();
  for (Operation *op : llvm::reverse(loweredOps))
    rewriter.eraseOp(op);
  // Erases the remaining buffers of tiles.
  SmallVector<Operation *> views;
  kernel.walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (isBuffer(op) || isa<ViewLikeOpInterface>(op))
      views.push_back(op);
  });
  for (Operation *op : llvm::reverse(views))
    if (op->use_empty())
      rewriter.eraseOp(op);
  becomeFunction();
  return success();
}

/// A kernel takes only scalars, so its signature needs no conversion. (Upstream's pass from gpu to nvvm would turn math
/// functions of regions into libdevice calls, and libdevice may be missing.)
void KernelLowering::becomeFunction() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(kernel);
  MLIRContext *ctx = kernel.getContext();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(ctx), kernel.getFunctionType().getInputs());
  auto function = LLVM::LLVMFuncOp::create(rewriter, kernel.getLoc(), kernel.getName(), type);
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), rewriter.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), rewriter.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), kernel.getKnownBlockSizeAttr());
  if (isDependent)
    function->setAttr(kDependentAttr, rewriter.getUnitAttr());
  // ptxas ignores setmaxnreg unless it knows the number of blocks per multiprocessor.
  if (!rings.empty()) {
    const RoleRegisters *registers = findRoleRegisters(kernel->getAttrOfType<BlockAttr>(kScheduleAttr));
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      rewriter.getI32IntegerAttr(registers ? registers->blocks : 1));
  }
  // Parameters by value are tensor maps; they stay in parameter memory.
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    if (kernel.getArgAttr(i, LLVM::LLVMDialect::getByValAttrName())) {
      FunctionOpInterface(function).setArgAttrs(i, FunctionOpInterface(kernel).getArgAttrs(i));
      function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), rewriter.getUnitAttr());
    }
  rewriter.inlineRegionBefore(kernel.getBody(), function.getBody(), function.getBody().end());
  Operation *end = function.getBody().back().getTerminator();
  rewriter.setInsertionPoint(end);
  LLVM::ReturnOp::create(rewriter, end->getLoc(), ValueRange());
  rewriter.eraseOp(end);
  rewriter.eraseOp(kernel);
}

LogicalResult KernelLowering::lowerClassifyTile(ClassifyTileOp op) {
  // Each thread tests some of the scores; barriers with a reduction give all threads the result.
  OpBuilder &b = wb.b;
  int64_t queries = op.getQueryTile(), keyTile = wb.keyTile;
  Value rows = wb.fromIndex(op.getRows()), keys = wb.fromIndex(op.getKeys());
  Value none = arith::ConstantIntOp::create(b, wb.loc, 0, 1), all = arith::ConstantIntOp::create(b, wb.loc, 1, 1);
  auto loop = scf::ForOp::create(b, wb.loc, wb.thread, wb.constant(queries * keyTile), wb.constant(wb.threads),
                                 ValueRange{none, all});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value query = wb.divide(loop.getInductionVar(), keyTile), key = wb.remainder(loop.getInductionVar(), keyTile);
    Value isInside = wb.both(wb.isLess(query, rows), wb.isLess(key, keys));
    Value last = wb.add(keys, -1);
    Value kept = evaluateRegion(wb, op.getMaskMod(), {}, [&](IndexOp index) {
      return index.getKind() == IndexKind::Query ? query
             : index.getKind() == IndexKind::Key ? wb.minimum(key, last)
                                                 : Value();
    });
    Value outside = arith::XOrIOp::create(b, wb.loc, isInside, all);
    Value any = arith::OrIOp::create(b, wb.loc, loop.getRegionIterArgs()[0], wb.both(isInside, kept));
    Value every =
        arith::AndIOp::create(b, wb.loc, loop.getRegionIterArgs()[1], arith::OrIOp::create(b, wb.loc, outside, kept));
    scf::YieldOp::create(b, wb.loc, ValueRange{any, every});
  }
  auto reduce = [&](NVVM::BarrierReduction kind, Value flag) -> Value {
    Value number = arith::ExtUIOp::create(b, wb.loc, b.getI32Type(), flag);
    Value found = NVVM::BarrierOp::create(b, wb.loc, b.getI32Type(), Value(), Value(),
                                          NVVM::BarrierReductionAttr::get(b.getContext(), kind), number)
                      .getRes();
    return arith::CmpIOp::create(b, wb.loc, arith::CmpIPredicate::ne, found, wb.constant(0));
  };
  Value any = reduce(NVVM::BarrierReduction::OR, loop.getResult(0)),
        every = reduce(NVVM::BarrierReduction::AND, loop.getResult(1));
  // 0 for none, otherwise 1, and 2 for all
  Type i8 = b.getI8Type();
  Value kind = arith::AddIOp::create(b, wb.loc, arith::ExtUIOp::create(b, wb.loc, i8, any),
                                     arith::ExtUIOp::create(b, wb.loc, i8, every));
  Value zero = arith::ConstantOp::create(b, wb.loc, b.getI8IntegerAttr(0));
  op.getResult().replaceAllUsesWith(wb.select(any, kind, zero));
  return success();
}

/// Expands math functions of regions by upstream's approximations in f32, as libdevice may be missing. All others must
/// be instructions; LLVM aborts on the rest.
static LogicalResult lowerFunctions(gpu::GPUModuleOp module, const TargetInfo &info) {
  RewritePatternSet patterns(module.getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef) { return true; });
  if (failed(rewriteOps(module, std::move(patterns), isOfDialect<math::MathDialect>)))
    return failure();
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    using namespace math;
    if (!isOfDialect<MathDialect>(op) ||
        isa<AbsFOp, AbsIOp, CeilOp, CopySignOp, CountLeadingZerosOp, CountTrailingZerosOp, CtPopOp, FloorOp, FmaOp,
            IsFiniteOp, IsNaNOp, IsNormalOp, RoundOp, RoundEvenOp, RsqrtOp, SqrtOp, TruncOp>(op) ||
        (isa<Exp2Op>(op) && getElementTypeOrSelf(op->getResult(0).getType()).isF32()))
      return WalkResult::advance();
    if (isa<IPowIOp>(op))
      return op->emitOpError("has no code for ") << info.name << "; write the product, arith.muli";
    return op->emitOpError("expected a function with code for ")
           << info.name << ", found one of " << op->getResult(0).getType()
           << " that is not; write it by others, of f32: exp, exp2, log, log2, sin, cos, tanh, erf, sqrt, rsqrt";
  });
  return failure(result.wasInterrupted());
}

/// LLVM has no code for products of wider types and aborts on them; it does not know narrower floats.
static LogicalResult checkNumbers(gpu::GPUModuleOp module, const TargetInfo &info) {
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    if (!isOfDialect<arith::ArithDialect, math::MathDialect>(op) || isa<arith::BitcastOp, arith::ConstantOp>(op))
      return WalkResult::advance();
    for (Type type :
         llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes()))) {
      Type element = getElementTypeOrSelf(type);
      bool isKnown = element.isIntOrIndex() ? element.isIndex() || element.getIntOrFloatBitWidth() <= 64
                                            : element.isF16() || element.isBF16() || element.isF32() || element.isF64();
      if (!isKnown)
        return op->emitOpError("expected numbers with code for ")
               << info.name << ", found " << type << "; write integers of at most 64 bits, f16, bf16, f32 or f64";
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct LowerTileToNvvmPass : public attn::impl::LowerTileToNvvmPassBase<LowerTileToNvvmPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getGpuTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<gpu::GPUFuncOp>())) {
      if (!kernel->hasAttr(kScheduleAttr))
        continue; // not our kernels
      if (failed(KernelLowering(rewriter, kernel, *info->gpu).run()))
        return signalPassFailure();
    }
    if (failed(checkNumbers(getOperation(), *info)) || failed(lowerFunctions(getOperation(), *info)))
      signalPassFailure();
  }
};
} // namespace
