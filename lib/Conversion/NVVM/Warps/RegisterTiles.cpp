//===- RegisterTiles.cpp - the registers of tiles from op to op -----------===//
//
// Scores are values of a thread. A state, sums and rounded weights have registers of their own, which LLVM makes of an
// array. An op that writes them returns the registers of its destination, and loops and branches carry them. So acc is
// never copied.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RegisterTiles.h"
#include "attn/Support/Dialects.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// True where `op`, possibly nested in a region, precedes `writer` or is in another branch.
static bool isInFront(Operation *op, Operation *writer) {
  for (Operation *inner = writer; inner; inner = inner->getParentOp())
    if (Operation *found = inner->getBlock()->findAncestorOpInBlock(*op))
      return found == inner ? isa<scf::IfOp>(inner) && inner != writer : found->isBeforeInBlock(inner);
  return false;
}

LogicalResult attn::nvvm::verifyLastUse(OpOperand &use) {
  Operation *writer = use.getOwner();
  bool isRepeated = false;
  for (Operation *op = writer; op->getBlock() != use.get().getParentBlock(); isRepeated |= isa<scf::ForOp>(op))
    op = op->getParentOp();
  bool isLast = llvm::all_of(use.get().getUses(),
                             [&](OpOperand &other) { return &other == &use || isInFront(other.getOwner(), writer); });
  if (isLast && !isRepeated)
    return success();
  return writer->emitOpError("expected no use behind it of a state that it writes; its result has the registers");
}

static bool isInPlace(const LoweredTile &tile) {
  return std::holds_alternative<TileState>(tile) || std::holds_alternative<RegisterArray>(tile) ||
         std::holds_alternative<PackedWeights>(tile);
}

/// True where both use the same registers.
static bool isSame(const LoweredTile &x, const LoweredTile &y) {
  if (x.index() != y.index())
    return false;
  if (auto *state = std::get_if<TileState>(&x))
    return state->acc == std::get<TileState>(y).acc;
  if (auto *rows = std::get_if<RegisterArray>(&x))
    return *rows == std::get<RegisterArray>(y);
  auto *weights = std::get_if<PackedWeights>(&x);
  return weights && weights->registers == std::get<PackedWeights>(y).registers;
}

LogicalResult KernelLowering::lower(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return lower(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return lower(branch);
  bool isTileOp = isOfDialect<AttnDialect>(op) || isa<gpu::BarrierOp, linalg::FillOp>(op) ||
                  llvm::any_of(op->getResultTypes(), isInRegisters);
  if (!isTileOp)
    return success();
  if (tileLoop && tileLoop->isProperAncestor(op)) {
    wb.b.setInsertionPointToStart(tileLoop.getBody());
    wb.placeAgain();
    tileLoop = scf::ForOp();
  }
  wb.b.setInsertionPoint(op);
  wb.loc = op->getLoc();
  loweredOps.push_back(op);
  if (failed(lowerTileOp(op)))
    return failure();
  // A result without a new value keeps the registers of its destination.
  auto dps = dyn_cast<DestinationStyleOpInterface>(op);
  if (!dps)
    return success();
  for (OpResult result : op->getResults()) {
    OpOperand *init = dps.getTiedOpOperand(result);
    LoweredTile tile = lowered.lookup(init->get());
    if (!isInPlace(tile))
      continue;
    if (failed(verifyLastUse(*init)))
      return failure();
    lowered.try_emplace(result, tile);
  }
  return success();
}

LogicalResult KernelLowering::lower(Block &block) {
  SmallVector<Operation *> ops = llvm::map_to_vector(block, [](Operation &op) { return &op; });
  for (Operation *op : ops)
    if (failed(lower(op)))
      return failure();
  return success();
}

/// A loop carries a tile in the registers of its initial value.
LogicalResult KernelLowering::lower(scf::ForOp loop) {
  for (auto [init, argument, result] :
       llvm::zip_equal(loop.getInitArgsMutable(), loop.getRegionIterArgs(), loop.getResults())) {
    LoweredTile tile = lowered.lookup(init.get());
    if (!isInRegisters(result.getType()))
      continue;
    if (!isInPlace(tile))
      return loop.emitOpError("expected to carry states, sums and rounded weights alone, found another tile");
    if (failed(verifyLastUse(init)))
      return failure();
    lowered[argument] = tile;
    lowered[result] = std::move(tile);
  }
  if (failed(lower(*loop.getBody())))
    return failure();
  Operation *yield = loop.getBody()->getTerminator();
  wb.b.setInsertionPoint(yield);
  for (auto [value, argument] : llvm::zip_equal(yield->getOperands(), loop.getRegionIterArgs())) {
    if (!isInRegisters(value.getType()))
      continue;
    LoweredTile from = lowered.lookup(value), to = lowered.lookup(argument);
    auto *weights = std::get_if<PackedWeights>(&from), *carried = std::get_if<PackedWeights>(&to);
    if (weights && carried) {
      for (auto [i, number] : llvm::enumerate(weights->registers.getAll(wb, wb.b.getI32Type())))
        carried->registers.set(wb, i, number);
    } else if (!isSame(from, to)) {
      return yield->emitOpError("expected a state or sums in the registers that the loop carries them in");
    }
  }
  return success();
}

LogicalResult KernelLowering::lower(scf::IfOp branch) {
  for (Region &region : branch->getRegions())
    for (Block &block : region)
      if (failed(lower(block)))
        return failure();
  for (OpResult result : branch->getResults()) {
    if (!isInRegisters(result.getType()))
      continue;
    unsigned i = result.getResultNumber();
    LoweredTile tile = lowered.lookup(branch.thenYield().getOperand(i));
    if (!isSame(tile, lowered.lookup(branch.elseYield().getOperand(i))))
      return branch.emitOpError("expected branches that yield a state or sums in the same registers");
    lowered[result] = tile;
  }
  return success();
}
