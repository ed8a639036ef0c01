//===- ResultDestinations.cpp - the tensors in which results are computed -===//
//
// Walks from a result back to the tensor in which it is computed: through ops that write a destination, views, loops
// and both regions of a branch. Also gives each result a separate tensor.empty on this path.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ResultDestinations.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace attn;

static bool isView(Operation *op) { return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op); }

/// The operand in whose memory `value` is, written by its op or seen with another shape; null where there is none.
static OpOperand *getDestinationOperand(Value value) {
  Operation *op = value.getDefiningOp();
  if (isView(op))
    return &op->getOpOperand(0);
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    return dps.getTiedOpOperand(cast<OpResult>(value));
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  return loop ? loop.getTiedLoopInit(cast<OpResult>(value)) : nullptr;
}

/// The value outside of `branch` in whose memory both its regions compute result `number`; null where there is none.
static Value getBranchDestination(scf::IfOp branch, unsigned number) {
  Value common;
  for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    if (region->empty())
      return {};
    Value value = region->front().getTerminator()->getOperand(number);
    while (value && region->isAncestor(value.getParentRegion())) {
      Operation *op = value.getDefiningOp();
      if (!op)
        return {};
      if (auto inner = dyn_cast<scf::IfOp>(op))
        value = getBranchDestination(inner, cast<OpResult>(value).getResultNumber());
      else if (auto castOp = dyn_cast<tensor::CastOp>(op))
        value = castOp.getSource();
      else if (OpOperand *destination = getDestinationOperand(value))
        value = destination->get();
      else
        return {};
    }
    if (!value || (common && common != value))
      return {};
    common = value;
  }
  return common;
}

/// True where only `branch` uses `tensor`, except for its sizes.
static bool isUsedOnlyIn(scf::IfOp branch, Value tensor) {
  return llvm::all_of(tensor.getUsers(),
                      [&](Operation *user) { return isa<tensor::DimOp>(user) || branch->isProperAncestor(user); });
}

/// True where only one result of `branch` is computed in `tensor`: CSE merges tensor.empty ops of equal types.
static bool isOfOneResult(scf::IfOp branch, Value tensor) {
  return llvm::count_if(llvm::seq<unsigned>(0, branch.getNumResults()),
                        [&](unsigned number) { return getBranchDestination(branch, number) == tensor; }) == 1;
}

/// Makes `use` be computed in `to` instead of `from`, in both regions of a branch.
static void moveDestination(OpBuilder &b, OpOperand &use, Value from, Value to) {
  OpOperand *operand = &use;
  while (Operation *op = operand->get().getDefiningOp()) {
    if (operand->get() == from)
      return operand->set(to);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned number = cast<OpResult>(operand->get()).getResultNumber();
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
        moveDestination(b, region->front().getTerminator()->getOpOperand(number), from, to);
      return;
    }
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      if (slice.getSource() != from)
        return;
      b.setInsertionPoint(op);
      IRMapping mapping;
      mapping.map(from, to);
      return operand->set(b.clone(*op, mapping)->getResult(0));
    }
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      moveDestination(b, insert.getSourceMutable(), from, to);
    operand = isa<tensor::CastOp>(op) ? &op->getOpOperand(0) : getDestinationOperand(operand->get());
    if (!operand)
      return;
  }
}

void attn::splitBranchDestinations(OpBuilder &b, scf::IfOp branch) {
  for (unsigned number = 0; number < branch.getNumResults(); ++number) {
    Value common = getBranchDestination(branch, number);
    if (!common || !common.getDefiningOp<tensor::EmptyOp>() || isOfOneResult(branch, common))
      continue;
    b.setInsertionPoint(common.getDefiningOp());
    Value own = b.clone(*common.getDefiningOp())->getResult(0);
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
      moveDestination(b, region->front().getTerminator()->getOpOperand(number), common, own);
  }
}

/// A loop of one tile has folded away: the tile is a slice of the tensor into which it is inserted. Another insertion
/// would be that of another result.
static bool isSlicedTile(Value tensor) {
  auto isOfTile = llvm::IsaPred<tensor::ExtractSliceOp, tensor::InsertSliceOp>;
  return llvm::all_of(tensor.getUsers(), isOfTile) &&
         llvm::count_if(tensor.getUsers(), llvm::IsaPred<tensor::InsertSliceOp>) == 1;
}

/// The start of the destination chain of `result`: an argument, or the result of another op. Null where a branch on the
/// path has none; `branch` is set to the last one on the path.
static Value findStart(Value result, scf::IfOp &branch) {
  Value value = result;
  while (value && value.getDefiningOp()) {
    if (auto inner = value.getDefiningOp<scf::IfOp>()) {
      branch = inner;
      value = getBranchDestination(inner, cast<OpResult>(value).getResultNumber());
    } else if (OpOperand *destination = getDestinationOperand(value)) {
      value = destination->get();
    } else {
      break;
    }
  }
  return value;
}

tensor::EmptyOp attn::findEmptyOfResult(Value result) {
  scf::IfOp branch;
  Value start = findStart(result, branch);
  auto empty = start ? start.getDefiningOp<tensor::EmptyOp>() : tensor::EmptyOp();
  if (!empty || empty.getType() != result.getType())
    return nullptr;
  if (branch)
    return isUsedOnlyIn(branch, empty) && isOfOneResult(branch, empty) ? empty : nullptr;
  return isSlicedTile(empty) || empty->hasOneUse() ? empty : nullptr;
}

Value attn::createEmptyLike(OpBuilder &b, Value value) {
  return tensor::EmptyOp::create(b, value.getLoc(), tensor::getMixedSizes(b, value.getLoc(), value),
                                 getElementTypeOrSelf(value));
}

void attn::ownDestination(OpBuilder &b, Value result) {
  Value value = result;
  while (Operation *op = value.getDefiningOp()) {
    OpOperand *destination = getDestinationOperand(value);
    if (!destination)
      return;
    Value old = destination->get();
    b.setInsertionPoint(op);
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    auto dps = dyn_cast<DestinationStyleOpInterface>(op);
    auto isOther = [&](OpOperand &use) {
      if (use.getOwner() == op) // another of its destinations
        return &use != destination && (!dps || dps.isDpsInit(&use));
      return !isa<tensor::DimOp>(use.getOwner());
    };
    if (llvm::none_of(old.getUses(), isOther) || isSlicedTile(old)) {
      value = old;
    } else if (Operation *start = old.getDefiningOp(); isa_and_nonnull<tensor::EmptyOp, linalg::FillOp>(start)) {
      destination->set(b.clone(*start)->getResult(0));
      value = destination->get();
    } else if (linalgOp && !linalgOp.payloadUsesValueFromOperand(destination)) {
      return destination->set(createEmptyLike(b, old));
    } else {
      auto copy = linalg::CopyOp::create(b, op->getLoc(), old, createEmptyLike(b, old));
      return destination->set(copy->getResult(0));
    }
  }
}

BlockArgument attn::findArgumentOfResult(Value result, ArrayRef<KernelArgument> descriptions) {
  if (auto argument = dyn_cast<BlockArgument>(getDestination(result)))
    return argument;
  scf::IfOp branch;
  auto argument = dyn_cast_or_null<BlockArgument>(findStart(result, branch));
  bool isOutput = argument && argument.getType() == result.getType() && descriptions[argument.getArgNumber()].isOutput;
  return isOutput ? argument : BlockArgument();
}

Value attn::skipViews(Value value) {
  while (value.getDefiningOp() && isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}
