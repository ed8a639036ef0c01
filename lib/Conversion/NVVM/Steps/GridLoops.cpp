//===- GridLoops.cpp - one scf.forall for each kernel ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "GridLoops.h"
#include "attn/IR/Attn.h"
#include "attn/Support/Dialects.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;

/// Includes ops that read memory, such as the starts of packed sequences: the host cannot.
static bool isOfTile(Operation &op) {
  if (isa<scf::ForallOp>(op))
    return false;
  WalkResult result = op.walk([](Operation *inner) {
    bool isFound = isOfDialect<AttnDialect>(inner) || isa<memref::AllocaOp, memref::LoadOp>(inner);
    return isFound ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Classifies a mask tile again in each loop that uses the kind: the host cannot compute it, and a scalar cannot pass
/// from kernel to kernel.
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

/// A load from an argument, which is never written.
static bool isRead(Operation *op) {
  auto load = dyn_cast<memref::LoadOp>(op);
  return load && isa<BlockArgument>(load.getMemRef());
}

/// Repeats reads of the function (starts of packed sequences) in each loop that uses them. The host cannot read device
/// memory, and a kernel that reads for a single tile cannot keep the value.
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
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && (isRead(&op) || isa<arith::IndexCastOp>(op))) // a sequence's start
      op.erase();
}

/// True where loads and stores access the buffer, so it has to be in memory. A buffer that only attn ops access becomes
/// a tile in shared memory or registers.
static bool isAccessedByCode(Value memref) {
  return llvm::any_of(memref.getUsers(), [](Operation *user) {
    if (isa<ViewLikeOpInterface>(user))
      return isAccessedByCode(user->getResult(0));
    return isa<memref::LoadOp, memref::StoreOp>(user);
  });
}

/// The host launches kernels one after the other, so its loops and branches must not contain whole tiles.
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

/// The last write of a kernel ends it.
static bool endsKernel(Operation &op) {
  if (isa<FinalizeOp, RowDeltaOp>(op))
    return true;
  auto pack = dyn_cast<PackOp>(op);
  Value output = pack ? pack.getOutput() : Value();
  while (auto view = output ? output.getDefiningOp<ViewLikeOpInterface>() : ViewLikeOpInterface())
    output = view.getViewSource();
  return output && isa<BlockArgument>(output);
}

/// Later ops may share reads with `ops`, and values computed from them, that the host cannot compute. Computes these
/// again there.
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
  // In reverse: later ops use earlier ones.
  for (Operation *op : llvm::reverse(ops))
    if (ofReads.contains(op))
      if (Operation *copy = mapping.lookup(op->getResult(0)).getDefiningOp(); copy->use_empty())
        copy->erase();
}

/// The ops that read or write `memref` or a view of it; the views are added to `views`.
static SmallVector<Operation *> findUsers(Value memref, SmallVectorImpl<Operation *> &views) {
  SmallVector<Operation *> users;
  for (Operation *user : memref.getUsers()) {
    if (!isa<ViewLikeOpInterface>(user)) {
      users.push_back(user);
      continue;
    }
    views.push_back(user);
    llvm::append_range(users, findUsers(user->getResult(0), views));
  }
  return users;
}

/// Keeps the ops for which `isKept` holds, in block order.
static void keepInOrder(SmallVectorImpl<Operation *> &ops, function_ref<bool(Operation *)> isKept) {
  llvm::erase_if(ops, [&](Operation *op) { return !isKept(op); });
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

/// True where an op between `fill` and `end` writes what `fill` reads.
static bool isOverwritten(Block *block, Operation *fill, Operation *end) {
  return llvm::any_of(fill->getOperands().drop_back(), [&](Value read) {
    while (auto view = read.getDefiningOp<ViewLikeOpInterface>())
      read = view.getViewSource();
    SmallVector<Operation *> views;
    return llvm::any_of(findUsers(read, views), [&](Operation *user) {
      Operation *at = block->findAncestorOpInBlock(*user);
      bool isBetween = fill->isBeforeInBlock(at) && at->isBeforeInBlock(end);
      return isBetween && llvm::any_of(user->getOperands(), [&](Value operand) {
               bool isView = operand == read || llvm::is_contained(views, operand.getDefiningOp());
               return isView && hasEffect<MemoryEffects::Write>(user, operand);
             });
    });
  });
}

/// Two attentions may share a buffer for tiles or states, and a tile that both read. The kernel of `ops` keeps the
/// buffer. Later ops get a buffer of their own, and fill it again if their first access is a read.
static LogicalResult separateBuffers(ArrayRef<Operation *> ops) {
  Operation *last = ops.back();
  Block *block = last->getBlock();
  auto isBehind = [&](Operation *op) { return last->isBeforeInBlock(block->findAncestorOpInBlock(*op)); };
  for (auto alloc : llvm::to_vector(block->getOps<memref::AllocOp>())) {
    SmallVector<Operation *> copied = {alloc};
    SmallVector<Operation *> users = findUsers(alloc, copied);
    auto fills = [&](Operation *op) {
      return isa<InitStateOp, PackOp, GatherPagesOp>(op) &&
             llvm::any_of(cast<DestinationStyleOpInterface>(op).getDpsInits(),
                          [&](Value output) { return llvm::is_contained(copied, output.getDefiningOp()); });
    };
    Operation *fill = nullptr, *firstBehind = nullptr; // the last fill in `ops`, the first use after them
    bool isRead = false;
    block->walk([&](Operation *op) {
      if (firstBehind || !llvm::is_contained(users, op))
        return;
      Operation *&found = isBehind(op) ? firstBehind : fill;
      if (isBehind(op) || fills(op))
        found = op;
      else
        isRead = true;
    });
    if (!fill || !isRead || !firstBehind || isAccessedByCode(alloc))
      continue;
    bool fillsAgain = !fills(firstBehind);
    if (fillsAgain && (isa<InitStateOp>(fill) || fill->getBlock() != block))
      continue; // not a tile
    if (fillsAgain && isOverwritten(block, fill, block->findAncestorOpInBlock(*firstBehind)))
      return fill->emitOpError("expected the rows that two attentions read to stay as they are, found them overwritten "
                               "between the two; write what is between into another tensor");
    if (fillsAgain)
      copied.push_back(fill);
    keepInOrder(copied, [&](Operation *op) { return op->getBlock() == block && !isBehind(op); });
    OpBuilder b(last->getContext());
    b.setInsertionPointAfter(last);
    IRMapping mapping;
    SmallVector<Operation *> copies;
    for (Operation *op : copied) {
      copies.push_back(b.clone(*op, mapping));
      op->replaceUsesWithIf(copies.back()->getResults(), [&](OpOperand &use) { return isBehind(use.getOwner()); });
    }
    for (Operation *copy : llvm::reverse(copies))
      if (isa<ViewLikeOpInterface>(copy) && copy->use_empty())
        copy->erase();
  }
  return success();
}

/// Moves loops of other kernels after `last` in front of the ops that the next tile shares with this one.
static void moveToTile(Operation *last, Operation *tile) {
  for (Operation *op = tile->getPrevNode(), *previous; op != last; op = previous) {
    previous = op->getPrevNode();
    bool isUsedBefore = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return tile->getBlock()->findAncestorOpInBlock(*user)->isBeforeInBlock(tile);
    });
    if (isa<scf::ForallOp>(op) || isUsedBefore)
      continue;
    op->moveBefore(tile);
    tile = op;
  }
}

/// A loop of one tile folds away; wraps its ops in a loop again. Values that later loops share with it are computed
/// twice.
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
      if (hasEnded && isOfTile(*it) && !(isa<PackOp>(*it) && endsKernel(*it)))
        break;
      hasEnded |= endsKernel(*it);
      ops.push_back(&*it);
    }
    // The kernel includes the store of a classified tile.
    while (!isOfTile(*ops.back()) && !isa<memref::StoreOp>(ops.back()))
      ops.pop_back();
    auto next = std::find_if(std::next(ops.back()->getIterator()), block.end(), isOfTile);
    if (next != block.end()) {
      if (failed(separateBuffers(ops)))
        return failure();
      repeatSharedReads(ops);
      moveToTile(ops.back(), &*next);
    } else {
      repeatSharedReads(ops);
    }
    b.setInsertionPoint(ops.front());
    auto forall = scf::ForallOp::create(b, ops.front()->getLoc(), ArrayRef<OpFoldResult>{b.getIndexAttr(1)},
                                        ValueRange(), std::nullopt);
    for (Operation *op : ops) {
      // Buffers between kernels, and sizes that other loops also use, stay outside.
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
    // Buffers used by this tile alone move into the loop.
    for (auto alloc : llvm::make_early_inc_range(block.getOps<memref::AllocOp>())) {
      SmallVector<Operation *> moved = {alloc};
      bool isOfTileAlone =
          llvm::all_of(findUsers(alloc, moved), [&](Operation *user) { return forall->isAncestor(user); });
      if (!isOfTileAlone || isAccessedByCode(alloc))
        continue;
      keepInOrder(moved, [&](Operation *op) { return op->getBlock() == &block; });
      for (Operation *op : llvm::reverse(moved))
        op->moveBefore(&forall.getBody()->front());
    }
  }
}

LogicalResult attn::nvvm::makeGridLoops(func::FuncOp host) {
  if (failed(verifyNoTilesInControlFlow(host)))
    return failure();
  makeElementLoops(host);
  sinkClassifications(host);
  sinkReads(host);
  return wrapSingleTiles(host);
}

LogicalResult attn::nvvm::verifyHost(func::FuncOp host) {
  for (Operation &op : host.getBody().getOps())
    if (isa<memref::CopyOp, linalg::LinalgOp>(op))
      return op.emitOpError(
          "no GPU kernel for this op: only attention (attn.sdpa, or the chain that attn-fuse fuses), "
          "elementwise ops, sums, copies and attn.kv_append have one; out=weights, and scores or weights "
          "with another use, keep a chain from fusing (--remarks=missed): leave them out, or compile "
          "for the host");
  return success();
}
