//===- MakePersistent.cpp - attn-make-persistent --------------------------===//
//
// Persistent blocks compute one tile after the other. A kernel with a producer fills a multiprocessor with one block.
// Where each tile has a block of its own, the tensor cores idle while a block starts, waits for the first K, and stores
// the output. A persistent block starts once, and its producer copies K and V of the next tile while the consumers
// finish the current one.
//
// The tile of round i of block b, of n blocks:
//
//   i · n + b in even rounds, i · n + n - 1 - b in odd ones
//
// The alternating order matters where tiles are sorted by length: the block with the longest tile of a round gets the
// shortest of the next one. It needs no counter in memory, so results, graphs and workspaces stay the same
// (docs/Rationale.md).
//
// Before: attn-specialize-warps. After: a loop around the body of such a kernel, and a mark at its launch. The grid
// stays the same: the launcher starts as many blocks as the device can hold at once.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Warps/Producer.h"
#include "attn/Conversion/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace attn {
#define GEN_PASS_DEF_MAKEPERSISTENTPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// True for a kernel whose grid has one block per tile.
static bool hasOneTile(gpu::GPUFuncOp kernel) {
  Block &body = kernel.getBody().front();
  return llvm::hasSingleElement(body.getOps<NVVM::BlockIdXOp>()) && body.getOps<NVVM::GridDimXOp>().empty();
}

/// The number of tiles as i32: the grid size of the launches.
static Value createTileCount(OpBuilder &b, gpu::GPUFuncOp kernel, ArrayRef<gpu::LaunchFuncOp> launches) {
  Location loc = kernel.getLoc();
  gpu::LaunchFuncOp any = launches.front();
  std::optional<int64_t> count = getConstantIntValue(any.getGridSizeX());
  if (count && llvm::all_of(launches, [&](gpu::LaunchFuncOp launch) {
        return isConstantIntValue(launch.getGridSizeX(), *count);
      }))
    return arith::ConstantIntOp::create(b, loc, *count, 32);
  unsigned place = kernel.getNumArguments();
  (void)kernel.insertArgument(place, b.getI64Type(), {}, loc);
  for (gpu::LaunchFuncOp launch : launches) {
    OpBuilder host(launch);
    Value tiles = arith::IndexCastOp::create(host, launch.getLoc(), b.getI64Type(), launch.getGridSizeX());
    launch.getKernelOperandsMutable().append(tiles);
  }
  // A grid has fewer than 2^31 blocks.
  return arith::TruncIOp::create(b, loc, b.getI32Type(), kernel.getBody().getArgument(place));
}

static void makePersistent(gpu::GPUFuncOp kernel, ArrayRef<gpu::LaunchFuncOp> launches) {
  Block &body = kernel.getBody().front();
  Location loc = kernel.getLoc();
  NVVM::BlockIdXOp block = *body.getOps<NVVM::BlockIdXOp>().begin();
  Operation *first = block->getNextNode();
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : block->getUses())
    uses.push_back(&use);
  OpBuilder b(first);
  auto number = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, loc, value, 32); };
  Value blocks = NVVM::GridDimXOp::create(b, loc, b.getI32Type()), tiles = createTileCount(b, kernel, launches);
  Value zero = number(0), one = number(1), last = arith::SubIOp::create(b, loc, blocks, one),
        mirrored = arith::SubIOp::create(b, loc, last, block);
  auto getPlace = [&](Value round) -> Value {
    Value isOdd = arith::TruncIOp::create(b, loc, b.getI1Type(), round);
    return arith::SelectOp::create(b, loc, isOdd, mirrored, block);
  };
  // Rounds in which each block has a tile, and one more if this block has one of the remaining tiles.
  Value rounds = arith::DivUIOp::create(b, loc, tiles, blocks);
  Value left = arith::SubIOp::create(b, loc, tiles, arith::MulIOp::create(b, loc, rounds, blocks));
  Value hasMore = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, getPlace(rounds), left);
  rounds = arith::AddIOp::create(b, loc, rounds, arith::ExtUIOp::create(b, loc, b.getI32Type(), hasMore));
  auto loop = scf::ForOp::create(b, loc, zero, rounds, one);
  Operation *end = loop.getBody()->getTerminator();
  loop.getBody()->getOperations().splice(end->getIterator(), body.getOperations(), first->getIterator(),
                                         body.getTerminator()->getIterator());
  // The output was staged in the tile of Q, which the next round fills.
  b.setInsertionPoint(end);
  if (!copiesQueries(kernel))
    gpu::BarrierOp::create(b, loc);
  b.setInsertionPointToStart(loop.getBody());
  Value round = loop.getInductionVar();
  Value tile = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, round, blocks), getPlace(round));
  for (OpOperand *use : uses)
    use->set(tile);
  for (gpu::LaunchFuncOp launch : launches)
    launch->setAttr(kPersistentAttr, b.getUnitAttr());
}

namespace {
struct MakePersistentPass : public attn::impl::MakePersistentPassBase<MakePersistentPass> {
  void runOnOperation() override {
    llvm::MapVector<Operation *, SmallVector<gpu::LaunchFuncOp>> launches;
    getOperation().walk([&](gpu::LaunchFuncOp launch) {
      launches[SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr())].push_back(launch);
    });
    for (auto &[op, calls] : launches)
      if (auto kernel = dyn_cast_or_null<gpu::GPUFuncOp>(op); kernel && hasProducer(kernel) && hasOneTile(kernel))
        makePersistent(kernel, calls);
  }
};
} // namespace
