//===- SizeClasses.cpp - which sizes of a kernel are equal ----------------===//
//
// A union-find over (tensor, dimension). One int64 of the C entry stands for a
// class, and the checked entry tests that its dimensions agree: so a class must
// hold every size that the code of the kernel takes to be one.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SizeClasses.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

SizeClasses::SizeClasses(func::FuncOp function) {
  function.walk([&](Operation *op) { addOp(op); });
}

unsigned SizeClasses::create() {
  classes.push_back({static_cast<unsigned>(classes.size()), {}});
  return classes.size() - 1;
}

unsigned SizeClasses::findRoot(unsigned id) {
  while (classes[id].parent != id)
    id = classes[id].parent = classes[classes[id].parent].parent;
  return id;
}

unsigned SizeClasses::find(Value tensor, unsigned dim) {
  auto [entry, isNew] = ids.try_emplace({tensor, dim}, 0);
  if (!isNew)
    return findRoot(entry->second);
  entry->second = create();
  classes.back().size = cast<ShapedType>(tensor.getType()).getDimSize(dim);
  return entry->second;
}

void SizeClasses::unite(unsigned a, unsigned b) {
  a = findRoot(a);
  b = findRoot(b);
  if (a == b)
    return;
  classes[b].parent = a;
  if (classes[a].name.empty())
    classes[a].name = classes[b].name;
  if (ShapedType::isDynamic(classes[a].size))
    classes[a].size = classes[b].size;
}

/// What problem lines call a dimension of the domain of an attn op.
static StringRef getDomainName(Operation *op, unsigned position) {
  unsigned numBatch = getNumBatchDims(op);
  if (position < numBatch)
    return position == 0 ? "b" : position + 1 == numBatch ? "hq" : "";
  switch (getDomainDims(op)[position - numBatch]) {
  case DimKind::Query: return "sq";
  case DimKind::Key: return "sk";
  default: return "";
  }
}

/// Dimensions that are indexed by one dimension of the domain alone have its size.
void SizeClasses::addIndexedOp(Operation *op, ValueRange operands, ArrayRef<AffineMap> maps) {
  llvm::SmallDenseMap<unsigned, unsigned> domain;
  for (auto [operand, map] : llvm::zip(operands, maps)) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || type.getRank() != map.getNumResults())
      continue;
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        continue;
      auto [entry, isNew] = domain.try_emplace(dim.getPosition(), 0);
      if (isNew) {
        entry->second = create();
        if (isStructuredOp(op))
          classes.back().name = getDomainName(op, dim.getPosition());
      }
      unite(entry->second, find(operand, i));
    }
  }
}

void SizeClasses::addOp(Operation *op) {
  if (isStructuredOp(op))
    addIndexedOp(op, op->getOperands(), getMaps(op));
  else if (auto linalg = dyn_cast<linalg::LinalgOp>(op))
    addIndexedOp(op, op->getOperands(), linalg.getIndexingMapsArray());

  auto uniteAll = [&](Value a, Value b) {
    for (int64_t i = 0, e = cast<RankedTensorType>(a.getType()).getRank(); i < e; ++i)
      unite(find(a, i), find(b, i));
  };
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op)) {
    for (OpResult result : op->getResults())
      if (isa<RankedTensorType>(result.getType()))
        uniteAll(dps.getTiedOpOperand(result)->get(), result);
  } else if (auto castOp = dyn_cast<tensor::CastOp>(op)) {
    if (isa<RankedTensorType>(castOp.getSource().getType()) && isa<RankedTensorType>(castOp.getType()))
      uniteAll(castOp.getSource(), castOp.getResult());
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    for (auto [i, size] : llvm::enumerate(empty.getMixedSizes())) {
      auto value = dyn_cast<Value>(size);
      auto dim = value ? value.getDefiningOp<tensor::DimOp>() : nullptr;
      if (dim && dim.getConstantIndex() && isa<RankedTensorType>(dim.getSource().getType()))
        unite(find(dim.getSource(), *dim.getConstantIndex()), find(empty, i));
    }
  } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    // Dimensions that stay alone keep their size.
    bool expands = isa<tensor::ExpandShapeOp>(op);
    Value wide = expands ? op->getResult(0) : op->getOperand(0);
    Value narrow = expands ? op->getOperand(0) : op->getResult(0);
    auto groups = expands ? cast<tensor::ExpandShapeOp>(op).getReassociationIndices()
                          : cast<tensor::CollapseShapeOp>(op).getReassociationIndices();
    for (auto [i, group] : llvm::enumerate(groups))
      if (group.size() == 1)
        unite(find(narrow, i), find(wide, group.front()));
  }
}
