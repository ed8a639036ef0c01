//===- GridLoops.cpp - one scf.forall for each kernel ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "GridLoops.h"
#include "attn/IR/Attn.h"
#include "attn/Support/Dialects.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;

/// Also what reads memory, as starts of packed sequences: the host cannot.
static bool isOfTile(Operation &op) {
  if (isa<scf::ForallOp>(op))
    return false;
  WalkResult result = op.walk([](Operation *inner) {
    bool isFound = isOfDialect<AttnDialect>(inner) || isa<memref::AllocaOp, memref::LoadOp>(inner);
    return isFound ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// A tile of a mask is classified in each loop that asks for it: the host cannot, and a number has no place between
/// kernels.
static void sinkClassifications(func::FuncOp host) {
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
static bool isRead(Operation *op) {
  auto load = dyn_cast<memref::LoadOp>(op);
  return load && isa<BlockArgument>(load.getMemRef());
}

/// What a loop uses of what the function reads (starts of packed sequences) is read in the loop again: the host cannot
/// read it, and the kernel that does so for a single tile has no place to keep it.
static void sinkReads(func::FuncOp host) {
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
static bool isAccessedByCode(Value memref) {
  return llvm::any_of(memref.getUsers(), [](Operation *user) {
    if (isa<ViewLikeOpInterface>(user))
      return isAccessedByCode(user->getResult(0));
    return isa<memref::LoadOp, memref::StoreOp>(user);
  });
}

/// The host launches kernels one after the other: whole tiles in its loops and branches have none.
static LogicalResult verifyNoTilesInControlFlow(func::FuncOp host) {
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

/// Gradients have several kernels: what one of them writes ends it.
static bool endsKernel(Operation &op) {
  if (isa<RowDeltaOp>(op))
    return true;
  auto pack = dyn_cast<PackOp>(op);
  Value output = pack ? pack.getOutput() : Value();
  while (auto view = output ? output.getDefiningOp<ViewLikeOpInterface>() : ViewLikeOpInterface())
    output = view.getViewSource();
  return output && isa<BlockArgument>(output);
}

/// What `ops` share with what is behind them and the host cannot compute, reads and what follows from them, is computed
/// there again.
static void repeatSharedReads(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 16> group(llvm::from_range, ops), ofReads;
  Block *block = ops.front()->getBlock();
  OpBuilder b(ops.front()->getContext());
  b.setInsertionPointAfter(ops.back());
  IRMapping mapping;
  for (Operation *op : ops) {
    bool isOfRead =
        llvm::any_of(op->getOperands(), [&](Value operand) { return ofReads.contains(operand.getDefiningOp()); });
    if (!isRead(op) && !(isMemoryEffectFree(op) && (isOfRead || isa<ViewLikeOpInterface>(op))))
      continue;
    ofReads.insert(op);
    auto isBehind = [&](OpOperand &use) { return !group.contains(block->findAncestorOpInBlock(*use.getOwner())); };
    Operation *copy = b.clone(*op, mapping);
    op->replaceUsesWithIf(copy->getResults(), isBehind);
  }
  // Backwards: the last ones use the first ones.
  for (Operation *op : llvm::reverse(ops))
    if (ofReads.contains(op))
      if (Operation *copy = mapping.lookup(op->getResult(0)).getDefiningOp(); copy->use_empty())
        copy->erase();
}

/// Two attentions may have their states in one buffer, one after the other. What a state begins with overwrites all of
/// it, so from there on it may be another buffer, which one kernel alone has.
static void separateStates(func::FuncOp host) {
  Block &block = host.getBody().front();
  for (auto init : llvm::make_early_inc_range(block.getOps<InitStateOp>()))
    for (OpOperand &operand : init->getOpOperands()) {
      auto alloc = operand.get().getDefiningOp<memref::AllocOp>();
      if (!alloc)
        continue;
      auto isBefore = [&](Operation *user) { return block.findAncestorOpInBlock(*user)->isBeforeInBlock(init); };
      bool isUsed = llvm::any_of(alloc->getUsers(), isBefore);
      bool hasView = llvm::any_of(alloc->getUsers(), llvm::IsaPred<ViewLikeOpInterface>);
      if (!isUsed || hasView)
        continue;
      OpBuilder b(init);
      Value own = b.clone(*alloc)->getResult(0);
      alloc->getResult(0).replaceUsesWithIf(own, [&](OpOperand &use) { return !isBefore(use.getOwner()); });
    }
}

/// A loop of one tile folds away; its ops get a loop again. What they share with later loops is computed twice.
static LogicalResult wrapSingleTiles(func::FuncOp host) {
  Block &block = host.getBody().front();
  OpBuilder b(host.getContext());
  while (true) {
    auto first = llvm::find_if(block, isOfTile);
    if (first == block.end())
      return success();
    SmallVector<Operation *> ops;
    bool hasEnded = false;
    for (auto it = first; it != block.end() && !isa<scf::ForallOp, func::ReturnOp>(*it); ++it) {
      if (hasEnded && isOfTile(*it) && !endsKernel(*it))
        break;
      hasEnded |= endsKernel(*it);
      ops.push_back(&*it);
    }
    // With the store of what was found of a tile.
    while (!isOfTile(*ops.back()) && !isa<memref::StoreOp>(ops.back()))
      ops.pop_back();
    repeatSharedReads(ops);
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

LogicalResult attn::nvvm::makeGridLoops(func::FuncOp host) {
  if (failed(verifyNoTilesInControlFlow(host)))
    return failure();
  makeElementLoops(host);
  sinkClassifications(host);
  sinkReads(host);
  separateStates(host);
  return wrapSingleTiles(host);
}

LogicalResult attn::nvvm::verifyHost(func::FuncOp host) {
  for (Operation &op : host.getBody().getOps())
    if (isa<memref::CopyOp, linalg::LinalgOp>(op))
      return op.emitOpError("no GPU kernel for this op: only attention (attn.sdpa, or the chain that attn-fuse fuses), "
                            "elementwise ops, copies and attn.kv_append have one; out=weights, and scores or weights "
                            "with another use, keep a chain from fusing (--remarks=missed): leave them out, or compile "
                            "for the host");
  return success();
}
