//===- CaptureParts.cpp - sums of gradients of captured tensors -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/CaptureParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// An f64 takes the memory of this many f32.
static constexpr int64_t kWide = 2;

/// True for a value of the region that varies over the keys of a row.
static bool dependsOnKey(Value value, Region &region) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner()->getParent() == &region;
  Operation *op = value.getDefiningOp();
  if (op->getParentRegion() != &region)
    return false;
  if (auto index = dyn_cast<IndexOp>(op))
    return index.getKind() == IndexKind::Key;
  return llvm::any_of(op->getOperands(), [&](Value operand) { return dependsOnKey(operand, region); });
}

/// True for the key index plus a value that is the same for all keys of a row.
static bool isShiftedKey(Value value, Region &region) {
  if (auto index = value.getDefiningOp<IndexOp>())
    return index.getKind() == IndexKind::Key;
  auto sum = value.getDefiningOp<arith::AddIOp>();
  return sum && ((isShiftedKey(sum.getLhs(), region) && !dependsOnKey(sum.getRhs(), region)) ||
                 (isShiftedKey(sum.getRhs(), region) && !dependsOnKey(sum.getLhs(), region)));
}

CaptureParts attn::getCaptureParts(Region &scoreGrad, Value destination) {
  CaptureParts parts;
  bool isFirst = true;
  for (AccumulateOp op : scoreGrad.getOps<AccumulateOp>()) {
    if (op.getDestination() != destination)
      continue;
    OperandRange indices = op.getIndices();
    bool liesInRow = !indices.empty() && isShiftedKey(indices.back(), scoreGrad) &&
                     llvm::none_of(indices.drop_back(), [&](Value index) { return dependsOnKey(index, scoreGrad); });
    parts.hasLanes |= !liesInRow;
    auto isKind = [&](unsigned dim, IndexKind kind) {
      auto index = indices[dim].getDefiningOp<IndexOp>();
      return index && index.getKind() == kind;
    };
    auto find = [&](IndexKind kind) -> std::optional<unsigned> {
      for (unsigned dim = 0; dim < indices.size(); ++dim)
        if (isKind(dim, kind))
          return dim;
      return {};
    };
    if (isFirst) {
      parts.batchDim = find(IndexKind::Batch);
      parts.headDim = find(IndexKind::Head);
      if (!parts.headDim) {
        parts.headDim = find(IndexKind::KvHead);
        parts.isByKvHead = parts.headDim.has_value();
      }
    }
    isFirst = false;
    if (parts.batchDim && !isKind(*parts.batchDim, IndexKind::Batch))
      parts.batchDim.reset();
    if (parts.headDim && !isKind(*parts.headDim, parts.isByKvHead ? IndexKind::KvHead : IndexKind::Head))
      parts.headDim.reset();
  }
  // With one batch dimension, that dimension is the heads.
  if (scoreGrad.getParentOp() && getNumBatchDims(scoreGrad.getParentOp()) < 2)
    parts.batchDim.reset();
  return parts;
}

/// True if every accumulation into dimension `dim` of `destination` has the query or key index itself as its position.
static bool isOfRows(Region &scoreGrad, Value destination, unsigned dim) {
  return llvm::all_of(scoreGrad.getOps<AccumulateOp>(), [&](AccumulateOp op) {
    if (op.getDestination() != destination)
      return true;
    auto index = op.getIndices()[dim].getDefiningOp<IndexOp>();
    return index && (index.getKind() == IndexKind::Query || index.getKind() == IndexKind::Key);
  });
}

/// The elements in the part of one task, not counting a dynamic dimension. Besides batch and heads, at most one
/// dimension may be dynamic: the queries or the keys, whose rows of Q or K are larger. Otherwise nullopt.
static std::optional<int64_t> getOpenPartSize(Region &scoreGrad, Value destination, const CaptureParts &parts,
                                              int64_t lanes) {
  int64_t elements = lanes;
  bool isOpen = false;
  for (auto [dim, size] : llvm::enumerate(cast<ShapedType>(destination.getType()).getShape())) {
    if (dim == parts.batchDim || dim == parts.headDim)
      continue;
    if (!ShapedType::isDynamic(size)) {
      elements *= std::max<int64_t>(1, size);
      continue;
    }
    if (isOpen || !isOfRows(scoreGrad, destination, dim))
      return std::nullopt;
    isOpen = true;
  }
  return isOpen && elements > lanes ? std::nullopt : std::optional(elements);
}

template <typename OpTy> static bool haveRoom(OpTy op, int64_t panelKeys) {
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  for (Value capture : op.getDcaptures()) {
    CaptureParts parts = getCaptureParts(op.getScoreGrad(), capture);
    SmallVector<int64_t> sizes(cast<ShapedType>(capture.getType()).getShape());
    for (unsigned position = 0; position < numBatch; ++position)
      if (position + 1 == numBatch ? !parts.headDim : position != 0 || !parts.batchDim)
        sizes.push_back(domain[position]);
    int64_t lanes = parts.hasLanes ? panelKeys * kWide : 1, elements = lanes;
    if (llvm::none_of(sizes, ShapedType::isDynamic)) {
      for (int64_t size : sizes) {
        elements *= std::max<int64_t>(1, size);
        if (elements > kMaxPartElements)
          return false;
      }
      continue;
    }
    std::optional<int64_t> ofTask = getOpenPartSize(op.getScoreGrad(), capture, parts, lanes);
    if (!ofTask || *ofTask > kMaxTaskPartElements)
      return false;
  }
  return true;
}

bool attn::haveCapturePartsRoom(Operation *op, int64_t panelKeys) {
  return llvm::TypeSwitch<Operation *, bool>(op).Case<SdpaBackwardOp, BackwardStepOp>(
      [&](auto backward) { return haveRoom(backward, panelKeys); });
}
