//===- Producer.cpp - producer and consumer warps -------------------------===//
//
// The roles of a kernel with a producer (attn-split-roles) are two branches: the first warps consume, and one thread of
// the others produces. K and V have stages s, each with two mbarriers:
//
//   full[s]    the producer expects bytes, the copies arrive; consumers wait
//   empty[s]   each consuming warp arrives when it has multiplied; the producer waits
//
// The n-th copy uses stage n mod stages, and its phase has parity n / stages mod 2. Each role keeps its own count,
// across all tiles of a block.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Producer.h"
#include "attn/Conversion/Loops.h"
#include "attn/Support/Dialects.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static constexpr RoleRegisters kRoleRegisters[] = {
    {Instruction::WGMMA, 8, /*blocks=*/1, 40, 232},
    {Instruction::WGMMA, 12, /*blocks=*/1, 32, 160},
};
/// Registers of a multiprocessor, and most registers of a thread.
static constexpr int64_t kRegisters = 65536, kMostRegisters = 255;

const RoleRegisters *attn::nvvm::findRoleRegisters(BlockAttr schedule) {
  const auto *found = llvm::find_if(kRoleRegisters, [&](const RoleRegisters &row) {
    return row.instruction == schedule.getInstruction().getValue() && row.consumers == schedule.getWarps();
  });
  return found == std::end(kRoleRegisters) ? nullptr : found;
}

int64_t attn::nvvm::getConsumerRegisters(BlockAttr schedule) {
  const RoleRegisters *found = findRoleRegisters(schedule);
  return found ? found->ofConsumer : std::min(kMostRegisters, kRegisters / (schedule.getThreads() + kProducerThreads));
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

TileRing::TileRing(WarpBuilder &wb, const SharedTile &tile, int64_t stages, int64_t barriers)
    : tile(tile), stages(stages), barriers(barriers) {
  Type i32 = wb.b.getI32Type();
  count = LLVM::AllocaOp::create(wb.b, wb.loc, LLVM::LLVMPointerType::get(wb.b.getContext()), i32, wb.constant(1));
  wb.store(wb.constant(0), count, 4);
}

Value TileRing::getCount(WarpBuilder &wb, bool isAhead) const {
  return wb.add(wb.load(wb.b.getI32Type(), count, 4), isAhead);
}

Value TileRing::getBarrier(WarpBuilder &wb, bool isEmpty, bool isAhead) const {
  Value stage = wb.remainder(getCount(wb, isAhead), stages);
  return wb.sharedAt(
      wb.add(wb.multiply(stage, BlockLayout::kBarrierBytes), barriers + isEmpty * stages * BlockLayout::kBarrierBytes));
}

SharedTile TileRing::getTile(WarpBuilder &wb, bool isAhead) const {
  SharedTile current = tile;
  current.stage = wb.multiply(wb.remainder(getCount(wb, isAhead), stages), tile.layout.getBytes());
  return current;
}

void TileRing::advance(WarpBuilder &wb) const { wb.store(wb.add(getCount(wb), 1), count, 4); }

void TileRing::initialise(WarpBuilder &wb, int64_t consumers) const {
  for (int64_t i = 0; i < BlockLayout::kBarriersOfStage * stages; ++i)
    wb.assemble(
        "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}",
        {wb.sharedAt(wb.constant(barriers + i * BlockLayout::kBarrierBytes)), wb.constant(i < stages ? 1 : consumers)});
}

void TileRing::waitFor(WarpBuilder &wb, bool isEmpty, bool isAhead) const {
  Value parity = wb.remainder(wb.divide(getCount(wb, isAhead), stages), 2);
  // The phase before the first one counts as complete: all stages start empty.
  if (isEmpty)
    parity = arith::XOrIOp::create(wb.b, wb.loc, parity, wb.constant(1));
  wb.assemble("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra W; }", "r,r,~{memory}",
              {getBarrier(wb, isEmpty, isAhead), parity});
}

void TileRing::release(WarpBuilder &wb) const {
  // One lane arrives for its warp: a warp executes a wgmma as a unit.
  if (tile.isOfLanes)
    wb.syncWarp();
  wb.assemble("{ .reg .pred p; setp.eq.u32 p, $1, 0; @p mbarrier.arrive.shared::cta.b64 _, [$0]; }", "r,r,~{memory}",
              {getBarrier(wb, /*isEmpty=*/true), wb.lane});
  advance(wb);
}

void TileRing::clearRows(WarpBuilder &wb, const SharedTile &stage, Value count,
                         function_ref<Value(Value)> isEmpty) const {
  int64_t chunks = tile.layout.chunks, rows = tile.layout.rows;
  Value any = wb.isLess(count, wb.constant(rows));
  // The lanes of each warp test all rows, so all warps agree.
  for (int64_t first = 0; isEmpty && first < rows; first += wb.lanes)
    any = arith::OrIOp::create(wb.b, wb.loc, any, isEmpty(wb.add(wb.lane, first)));
  wb.when(isEmpty ? wb.anyOfWarp(any) : any, [&] {
    auto zero = arith::ConstantOp::create(wb.b, wb.loc,
                                          wb.b.getZeroAttr(VectorType::get({kChunkBytes / 4}, wb.b.getI32Type())));
    Value begin = isEmpty ? wb.thread : wb.add(wb.multiply(count, chunks), wb.thread);
    auto loop = scf::ForOp::create(wb.b, wb.loc, begin, wb.constant(rows * chunks), wb.constant(wb.threads));
    keepRolled(loop);
    OpBuilder::InsertionGuard guard(wb.b);
    wb.b.setInsertionPointToStart(loop.getBody());
    Value index = loop.getInductionVar(), row = wb.divide(index, chunks);
    Value isCleared;
    if (isEmpty)
      isCleared = arith::OrIOp::create(wb.b, wb.loc, wb.isLess(wb.add(count, -1), row), isEmpty(row));
    wb.when(isCleared, [&] { wb.store(zero, stage.at(wb, row, wb.remainder(index, chunks)), kChunkBytes); });
    wb.b.setInsertionPointAfter(loop);
    wb.publishToProducts();
    wb.barrier();
  });
}

static Value isFirstLane(WarpBuilder &wb) {
  return arith::CmpIOp::create(wb.b, wb.loc, arith::CmpIPredicate::eq, wb.remainder(wb.readThread(), wb.lanes),
                               wb.constant(0));
}

void attn::nvvm::copyPanels(WarpBuilder &wb, const SharedTileLayout &layout, Value first, Value map,
                            ArrayRef<Value> begin, int64_t elementBytes, Value barrier) {
  size_t rank = begin.size();
  std::string coordinates, constraints = "r,l,";
  for (size_t i = 0; i < rank; ++i) {
    coordinates += (i == 0 ? "$" : ", $") + std::to_string(i + 2);
    constraints += "r,";
  }
  std::string text = "cp.async.bulk.tensor." + std::to_string(rank) + "d.";
  text += barrier ? "shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {" + coordinates + "}], [$" +
                        std::to_string(rank + 2) + "];"
                  : "global.shared::cta.bulk_group [$1, {" + coordinates + "}], [$0];";
  constraints += barrier ? "r,~{memory}" : "~{memory}";
  for (int64_t panel = 0; panel * layout.getPanelBytes() < layout.getBytes(); ++panel) {
    Values operands{wb.add(first, panel * layout.getPanelBytes()), map};
    // The innermost dimension comes first.
    operands.push_back(wb.add(begin.back(), panel * kPanelChunks * kChunkBytes / elementBytes));
    llvm::append_range(operands, llvm::reverse(begin.drop_back()));
    if (barrier)
      operands.push_back(barrier);
    wb.assemble(text, constraints, operands);
  }
}

void TileRing::copyBox(WarpBuilder &wb, Value map, ArrayRef<Value> begin, int64_t elementBytes, bool isWarp) const {
  waitFor(wb, /*isEmpty=*/true);
  wb.when(isWarp ? isFirstLane(wb) : Value(), [&] {
    Value full = getBarrier(wb, /*isEmpty=*/false), first = getTile(wb).getAddress(wb);
    wb.assemble("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}",
                {full, wb.constant(tile.layout.getBytes())});
    copyPanels(wb, tile.layout, first, map, begin, elementBytes, full);
  });
  advance(wb);
}

void TileRing::fill(WarpBuilder &wb, function_ref<void(const SharedTile &, Value)> body) const {
  Value lane = wb.remainder(wb.readThread(), wb.lanes);
  waitFor(wb, /*isEmpty=*/true);
  body(getTile(wb), lane);
  wb.syncWarp();
  wb.when(isFirstLane(wb), [&] {
    wb.assemble("mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}", {getBarrier(wb, /*isEmpty=*/false)});
  });
  advance(wb);
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

// The barrier of a turn counts the threads that wait for it and the same number of threads that signal it.

LogicalResult KernelLowering::lowerTakeTurn() {
  int64_t warps = wb.instruction.warps;
  Value id = wb.add(wb.divide(wb.warp, warps), kFirstTurnBarrier), count = wb.constant(2 * warps * wb.lanes);
  NVVM::BarrierOp::create(wb.b, wb.loc, Type(), id, count, NVVM::BarrierReductionAttr(), Value());
  return success();
}

LogicalResult KernelLowering::lowerPassTurn(PassTurnOp op) {
  int64_t warps = wb.instruction.warps, consumers = wb.threads / wb.lanes;
  Value isLast = op.getFirst() ? wb.isLess(wb.constant(consumers - warps - 1), wb.warp) : Value();
  wb.when(isLast, [&] {
    Value next = wb.remainder(wb.add(wb.divide(wb.warp, warps), 1), consumers / warps);
    NVVM::BarrierArriveOp::create(wb.b, wb.loc, wb.add(next, kFirstTurnBarrier), wb.constant(2 * warps * wb.lanes));
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

bool attn::nvvm::storesTile(CopyOp copy) { return isBuffer(getRoot(copy.getInput()).getDefiningOp()); }

bool attn::nvvm::hasProducer(gpu::GPUFuncOp kernel) {
  auto findBox = [](CopyOp copy) { return copy.getTensorMap() ? WalkResult::interrupt() : WalkResult::advance(); };
  return kernel.walk(findBox).wasInterrupted();
}

const TileRing *KernelLowering::findRing(Value memref) const {
  auto found = rings.find(getRoot(memref));
  return found == rings.end() ? nullptr : &found->second;
}

LogicalResult KernelLowering::waitForStages(WaitOp op) {
  for (Value tile : op.getStages()) {
    const TileRing *ring = findRing(tile);
    if (!ring)
      return op.emitOpError("expected stages of tiles that a producer fills; run attn-specialize-warps");
    ring->waitFor(wb, /*isEmpty=*/false, op.getAhead());
  }
  return success();
}

LogicalResult KernelLowering::lowerClearRows(ClearRowsOp op) {
  const TileRing *ring = findRing(op.getTile()), *statistics = op.getStatistics() ? findRing(op.getStatistics()) : ring;
  if (!ring || !statistics)
    return op.emitOpError("expected tiles that a producer fills; run attn-specialize-warps");
  Value count = wb.fromIndex(op.getFirst());
  SharedTile stage = ring->getTile(wb, op.getAhead());
  if (!op.getStatistics()) {
    ring->clearRows(wb, stage, count, nullptr);
    return success();
  }
  SharedTile tile = statistics->getTile(wb);
  ring->clearRows(wb, stage, count, [&](Value row) {
    Value lse = wb.load(wb.b.getF32Type(), tile.atNumber(wb, int64_t(Statistic::Lse), row), sizeof(float));
    return wb.isEqual(lse, -std::numeric_limits<double>::infinity());
  });
  return success();
}

LogicalResult KernelLowering::lowerRelease(ReleaseOp op) {
  const TileRing *ring = findRing(op.getTile());
  if (!ring)
    return op.emitOpError("expected a tile that a producer fills; run attn-specialize-warps");
  ring->release(wb);
  return success();
}

Values attn::nvvm::getBegin(WarpBuilder &wb, CopyOp op) {
  return llvm::map_to_vector(op.getBegin(), [&](Value position) { return wb.fromIndex(position); });
}

LogicalResult KernelLowering::copyByProducer(CopyOp op) {
  const TileRing *ring = findRing(op.getOutput());
  if (!ring)
    return op.emitOpError("expected a tile with stages beside box; run attn-split-roles");
  AffineMap map = attn::getMaps(op)[0];
  Values begin = getBegin(wb, op);
  Value any;
  if (op.getFirst())
    any = wb.isLess(wb.fromIndex(op.getFirst()), GlobalView(wb, op.getInput(), map).getSize(wb, map.getNumDims() - 2));
  int64_t elementBytes = getElementBytes(op.getInput().getType());
  wb.when(any, [&] { ring->copyBox(wb, op.getTensorMap(), begin, elementBytes, isProducerWarp); });
  return success();
}

static void setRegisters(WarpBuilder &wb, StringRef change, int64_t count) {
  wb.assemble(("setmaxnreg." + change + ".sync.aligned.u32 " + Twine(count) + ";").str(), "~{memory}", {});
}

/// Makes each iteration compute its addresses and positions: a role has no registers to keep them for each tensor.
static void hideInductionVariables(WarpBuilder &wb, Block &role) {
  role.walk([&](scf::ForOp loop) {
    wb.b.setInsertionPointToStart(loop.getBody());
    Value variable = loop.getInductionVar();
    bool isIndex = variable.getType().isIndex();
    Value number = isIndex ? wb.fromIndex(variable, 64) : variable, hidden = wb.hide(number);
    Value again = isIndex ? arith::IndexCastOp::create(wb.b, wb.loc, wb.b.getIndexType(), hidden) : hidden;
    variable.replaceAllUsesExcept(again, isIndex ? number.getDefiningOp() : hidden.getDefiningOp());
  });
}

FailureOr<scf::ForOp> KernelLowering::lowerRoles() {
  auto all = kernel.getBody().front().getOps<WarpRolesOp>();
  if (all.empty())
    return scf::ForOp();
  WarpRolesOp op = *all.begin();
  // Counts are variables in the entry block, which LLVM promotes to registers.
  wb.b.setInsertionPointToStart(&kernel.getBody().front());
  wb.loc = kernel.getLoc();
  int64_t stages = op.getStages(), barriers = layout.barrierOffset;
  if (stages != layout.stages)
    return op.emitOpError("expected the stages of the kernel's schedule, ") << layout.stages << ", found " << stages;
  for (Value tile : op.getTiles()) {
    if (!tiles.contains(tile))
      return op.emitOpError("expected tiles in shared memory that the consumers read");
    rings.insert({tile, TileRing(wb, tiles.lookup(tile), stages, barriers)});
    barriers += stages * BlockLayout::kBarriersOfStage * BlockLayout::kBarrierBytes;
  }
  bool hasOrder = op.getProducer().walk([](AwaitOrderOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (hasOrder) {
    auto pointer = LLVM::LLVMPointerType::get(wb.b.getContext());
    Value current = LLVM::AllocaOp::create(wb.b, wb.loc, pointer, pointer, wb.constant(1));
    wb.store(LLVM::ZeroOp::create(wb.b, wb.loc, pointer), current, 8);
    order = OrderRing{TileRing(wb, SharedTile{BlockLayout::getStatistics(1)}, /*stages=*/1, layout.getOrderBarriers()),
                      current};
  }
  wb.b.setInsertionPoint(op);
  int64_t consumers = wb.threads / wb.lanes;
  auto isEqual = [&](Value x, int64_t y) {
    return arith::CmpIOp::create(wb.b, wb.loc, arith::CmpIPredicate::eq, x, wb.constant(y));
  };
  wb.when(isEqual(wb.thread, 0), [&] {
    for (auto &[root, ring] : rings)
      ring.initialise(wb, consumers);
    if (order)
      order->ring.initialise(wb, consumers);
    wb.assemble("fence.mbarrier_init.release.cluster;", "~{memory}", {});
  });
  wb.barrier();
  wb.barrierThreads = wb.threads;
  Value consumes = wb.isLess(wb.warp, wb.constant(consumers));
  auto roles = scf::IfOp::create(wb.b, wb.loc, consumes, /*withElseRegion=*/true);
  wb.b.setInsertionPointToStart(roles.elseBlock());
  if (std::optional<uint64_t> registers = op.getProducerRegisters())
    setRegisters(wb, "dec", *registers);
  // One thread starts the copies of boxes; statistics need all lanes of its warp.
  isProducerWarp = op.getProducer().walk([](CopyStatisticsOp) { return WalkResult::interrupt(); }).wasInterrupted();
  Value copier = isProducerWarp ? isEqual(wb.warp, consumers) : isEqual(wb.thread, wb.threads);
  auto copies = scf::IfOp::create(wb.b, wb.loc, copier, /*withElseRegion=*/false);
  auto splice = [](Block *to, Region &from) { to->getOperations().splice(to->begin(), from.front().getOperations()); };
  splice(copies.thenBlock(), op.getProducer());
  if (order) {
    hideInductionVariables(wb, *copies.thenBlock());
    // Passes the last turn.
    wb.b.setInsertionPoint(copies.thenBlock()->getTerminator());
    order->ring.waitFor(wb, /*isEmpty=*/true);
    wb.when(isFirstLane(wb), [&] { passTurn(); });
  }
  Block *consumer = roles.thenBlock();
  splice(consumer, op.getConsumer());
  auto findStore = [](CopyOp copy) { return storesTile(copy) ? WalkResult::interrupt() : WalkResult::advance(); };
  if (consumer->walk(findStore).wasInterrupted()) {
    wb.b.setInsertionPoint(consumer->getTerminator());
    waitForStores(wb); // shared memory ends with the block
  }
  if (order)
    hideInductionVariables(wb, *consumer);
  wb.b.setInsertionPointToStart(consumer);
  if (std::optional<uint64_t> registers = op.getConsumerRegisters())
    setRegisters(wb, "inc", *registers);
  rewriter.eraseOp(op);
  for (auto loop : consumer->getOps<scf::ForOp>())
    if (!loop.getOps<InitStateOp>().empty() || !loop.getOps<linalg::FillOp>().empty())
      return loop;
  return scf::ForOp();
}
